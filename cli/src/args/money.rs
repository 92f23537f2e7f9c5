//! What can be typed after a reference table, after `audit`, and for quotes, budgets and costs.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Reference {
    /// Add the rows of a CSV file (all or nothing)
    Import {
        /// Zone in which dates start [default: billing_zone of the configuration]
        #[arg(long)]
        zone: Option<String>,
        #[command(flatten)]
        forced: Forced,
        /// CSV file; `-` is standard input
        file: String,
    },
    /// Show the rows, in the columns that import reads
    List {
        /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
        #[arg(long)]
        zone: Option<String>,
    },
    /// End the rows that are open
    #[command(
        after_help = "Example:\n  gpuledger rates end model=\"NVIDIA H200\" --at 2026-04-01 --zone Europe/Berlin"
    )]
    End {
        /// What the rows are about, as COLUMN=VALUE; columns that are left out are empty in the rows that are meant
        #[arg(value_name = "COLUMN=VALUE")]
        selector: Vec<String>,
        /// When: a date (midnight in the zone) or RFC 3339 with an offset
        #[arg(long, value_name = "TIME")]
        at: String,
        /// Zone of dates [default: billing_zone of the configuration]
        #[arg(long)]
        zone: Option<String>,
        #[command(flatten)]
        forced: Forced,
    },
}

/// What is said of a change, for the audit log.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Forced {
    /// Make room among the rows that are there, and touch closed periods: what differs there becomes corrections
    #[arg(long, requires_all = ["reason", "approver"])]
    pub(crate) force: bool,
    /// Why, for the audit log
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Who approved it, for the audit log
    #[arg(long, value_name = "NAME")]
    pub(crate) approver: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ManualLines {
    #[command(flatten)]
    Table(Reference),
    /// Book a credit or an adjustment in an open period
    #[command(
        after_help = "Example:\n  gpuledger manual-lines add --period 2026-10 --team vision --kind credit --amount -1250.00 --reason \"outage of 2026-10-07\" --approver grace"
    )]
    Add(ManualLine),
    /// Take a line back while its period is open
    #[command(after_help = "Example:\n  gpuledger manual-lines withdraw 2026-10-1 --reason \"booked twice\"")]
    Withdraw(Withdraw),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManualLine {
    /// Month it is booked in, YYYY-MM
    #[arg(long)]
    pub(crate) period: String,
    /// Team
    #[arg(long)]
    pub(crate) team: String,
    /// Cost centre
    #[arg(long)]
    pub(crate) cost_center: Option<String>,
    /// credit (negative) or adjustment
    #[arg(long)]
    pub(crate) kind: String,
    /// Amount; negative is in favour of the team
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) amount: String,
    /// Currency [default: that of the configuration, else of the rates]
    #[arg(long)]
    pub(crate) currency: Option<String>,
    /// Why
    #[arg(long)]
    pub(crate) reason: String,
    /// Who approved it
    #[arg(long, value_name = "NAME")]
    pub(crate) approver: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Withdraw {
    /// Name of the line, as `manual-lines list` shows it
    pub(crate) line: String,
    /// Why
    #[arg(long)]
    pub(crate) reason: String,
    /// Who approved it
    #[arg(long, value_name = "NAME")]
    pub(crate) approver: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) verify: Option<AuditVerify>,
    /// Only this table: rate, owner, period, waiver, line_answer ...
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// Only from this instant on: a date (midnight in the zone) or RFC 3339 with an offset
    #[arg(long)]
    pub(crate) from: Option<String>,
    /// Only before this instant
    #[arg(long)]
    pub(crate) to: Option<String>,
    /// Zone of dates and of what is shown [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerify {
    /// Whether the log is whole: each entry's hash, the chain, and every head that was kept
    #[command(
        after_help = "Example:\n  gpuledger audit verify --head 41:3fa9...\n\nA head is NUMBER:HASH of an entry as an earlier verify printed it. The lake keeps one of every change; one kept elsewhere shows\na log that was written anew together with them."
    )]
    Verify {
        /// A head that was kept elsewhere; may be given several times
        #[arg(long, value_name = "NUMBER:HASH")]
        head: Vec<String>,
    },
}
