//! What can be typed to close periods and to look at what was closed.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct Close {
    /// Billing month, YYYY-MM
    pub(crate) period: String,
    /// Zone of its days [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Show figures, checks and the close list, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Waive an item of the close list by its name, or by its kind all that are listed now; may be repeated
    #[arg(long, value_name = "ITEM", requires_all = ["reason", "approver"])]
    pub(crate) waive: Vec<String>,
    /// Why the items are waived
    #[arg(long, requires = "waive")]
    pub(crate) reason: Option<String>,
    /// Who answers for it
    #[arg(long, requires = "waive")]
    pub(crate) approver: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Verify {
    /// Closed billing month, YYYY-MM
    pub(crate) period: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Periods {
    /// Zone of their days [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Take out rows of closes that died on their way; nobody reads them
    #[arg(long)]
    pub(crate) sweep: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Correct {
    /// What closed periods would be corrected by, if a period were closed now
    #[command(after_help = "Example:\n  gpuledger correct preview --period 2026-03")]
    Preview {
        /// Of this closed period alone
        #[arg(long)]
        period: Option<String>,
        /// Zone of its days [default: billing_zone of the configuration]
        #[arg(long)]
        zone: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Statement {
    #[command(subcommand)]
    pub(crate) answer: Option<StatementAnswer>,
    /// Billing month, YYYY-MM
    #[arg(required = true)]
    pub(crate) period: Option<String>,
    /// Lines of this team alone
    #[arg(long)]
    pub(crate) team: Option<String>,
    /// Zone of its days [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StatementAnswer {
    /// A line of a draft is right
    Accept(LineAnswer),
    /// A line of a draft is wrong (needs a reason): the period cannot be closed before that is settled or waived
    Dispute(LineAnswer),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LineAnswer {
    /// Billing month, YYYY-MM
    pub(crate) period: String,
    /// Line, as `gpuledger statement` shows it
    pub(crate) line: i64,
    /// Who says so
    #[arg(long)]
    pub(crate) by: String,
    /// Why
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Zone of its days [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Uncharged {
    /// Billing month, YYYY-MM
    #[arg(long)]
    pub(crate) month: String,
    /// Zone of its days [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}
