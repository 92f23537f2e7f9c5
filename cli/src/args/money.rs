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
pub(crate) enum Rates {
    #[command(flatten)]
    Table(Reference),
    /// What GPUs would cost a team for a time: price, discounts and money by interval
    #[command(
        after_help = "Examples:\n  gpuledger rates quote --gpus 8 --model \"NVIDIA H100\" --for 3d --from 2026-10-02T18:00 --team vision --zone Europe/Berlin\n  gpuledger rates quote --gpus 1 --model \"NVIDIA H100\" --for 12h --from 2026-10-02 --team nlp --zone UTC --params 70b --precision bf16 --task finetune"
    )]
    Quote(Quote),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Quote {
    /// How many GPUs
    #[arg(long)]
    pub(crate) gpus: u32,
    /// GPU model, as devices and rates name it
    #[arg(long)]
    pub(crate) model: String,
    /// For how long: 90m, 12h, 3d (a day is 24 hours), 2w
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) duration: String,
    /// From when: a date (midnight), a local time 2026-10-02T18:00, or RFC 3339 with an offset
    #[arg(long, value_name = "TIME")]
    pub(crate) from: String,
    /// IANA zone of local times, and of the windows of discounts [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// The team that would pay
    #[arg(long)]
    pub(crate) team: String,
    /// Pool of the GPUs [default: the pool that rows for their model name]
    #[arg(long)]
    pub(crate) pool: Option<String>,
    /// Cluster of the GPUs, for pools that name one
    #[arg(long)]
    pub(crate) cluster: Option<String>,
    /// Task type
    #[arg(long, default_value = "unknown")]
    pub(crate) task_type: String,
    /// The run may be preempted
    #[arg(long)]
    pub(crate) preemptible: bool,
    #[command(flatten)]
    pub(crate) memory: Memory,
}

/// What a model needs of GPU memory: an estimate.
#[derive(Debug, ClapArgs)]
pub(crate) struct Memory {
    /// Parameters of the model, 7b, 1.5t or a number: also estimates the memory that it needs
    #[arg(long, value_name = "N")]
    pub(crate) params: Option<String>,
    /// Precision of its weights: fp32, bf16, fp16, fp8, int8, int4
    #[arg(long, requires = "params", default_value = "bf16")]
    pub(crate) precision: String,
    /// What it is for: train, finetune or infer
    #[arg(long, requires = "params", default_value = "infer")]
    pub(crate) task: String,
    /// Tokens of context
    #[arg(long, requires = "params", default_value_t = 4096)]
    pub(crate) context: u32,
    /// Sequences at a time
    #[arg(long, requires = "params", default_value_t = 1)]
    pub(crate) batch: u32,
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

#[derive(Debug, ClapArgs)]
pub(crate) struct Budgets {
    /// When: a date (midnight in the zone) or RFC 3339 with an offset [default: the end of what is known]
    #[arg(long)]
    pub(crate) at: Option<String>,
    /// IANA zone of days and months [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Cost {
    /// Month, YYYY-MM
    #[arg(long)]
    pub(crate) month: String,
    /// IANA zone of the month [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}
