//! What can be asked and done, and who answers: the one door to the ledger.
//!
//! The binary implements [`Answers`] with the builders that the command line prints from. `who` goes in with every question,
//! and the rows are selected by [`crate::who::Who::scope`] inside: nothing comes back that who asks may not see.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

mod lasts;
mod place;
mod reclaiming;

pub use lasts::Lasts;
pub use place::{Month, Place};
pub use reclaiming::{Bound, Reclaiming, SwitchBy, SwitchNow};

use crate::ask::{Ask, Lang};
use crate::problem::Problem;
use crate::who::Who;

/// A question; its window, grouping and selection are in the [`Ask`]. In brackets the command that prints the same with
/// `--format json`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Report {
    /// Money beside held, busy and waste (`report charge`).
    Charges,
    /// The six classes (`report usage`).
    Usage,
    /// Jobs, wall, CPU, node and GPU hours (`report accounting`).
    Accounting,
    /// Asked against used (`report gaps`).
    Gaps {
        /// Only the first rows.
        top: Option<usize>,
    },
    /// Findings, priced (`report findings`); grouped where `by` or `step` is given.
    Findings {
        /// Only these rules.
        rules: Vec<String>,
        /// Only the first rows.
        top: Option<usize>,
    },
    /// What findings that are done have saved (`findings verify`).
    Verified,
    /// A run on one screen (`report job`): an array, one object a run of that name.
    Job(String),
    /// From a charge down to its minutes (`explain RUN`): an array, one object a run of that name.
    Explain {
        /// `cluster/job`, a raw job id, or an allocation id.
        run: String,
        /// Every cell.
        cells: bool,
        /// Every minute.
        minutes: bool,
    },
    /// A line of a statement, or all lines of a team, down to rates and runs (`explain line PERIOD LINE`).
    ExplainLine {
        /// Billing month.
        period: String,
        /// Line or team.
        line: String,
    },
    /// How much is allocated, busy, effective, lost (`report fleet`).
    Fleet {
        /// `week` or `part`: the classes alone.
        split: Option<String>,
    },
    /// Free cards that cannot be used as they lie (`report fragmentation`).
    Fragmentation,
    /// Quota used, borrowed, lent, unmet (`report quota`); `runs`: who holds what is borrowed.
    Quota {
        /// Instead: the runs.
        runs: bool,
    },
    /// Registered, seen, offered (`report assets`).
    Assets {
        /// When, epoch ms; absent: the end of what is known.
        at_ms: Option<i64>,
    },
    /// What each card did over a week (`report census`); `hours`: the hours of the week over all cards.
    Census {
        /// Instead: the hours of the week.
        hours: bool,
    },
    /// What each card was most of the time in each hour, a character an hour (`report hours`).
    CardHours,
    /// When in the week long runs were busy, a character an hour of the week (`report week`).
    RunWeek,
    /// The period in words and six trends (`report health`).
    Health {
        /// `month` or `window`.
        period: String,
    },
    /// What stands wrong now: nodes that are late or lost, time nobody measured, cards promised twice, never calibrated or not
    /// registered, runs that hang or take too much memory (`report watch`).
    Watch {
        /// When, epoch ms; absent: the end of what is known.
        at_ms: Option<i64>,
    },
    /// A half-year of the fleet in a word, its figures beside those of the window before, and what to change (`report assessment`).
    Assessment,
    /// What teams may spend and will have spent (`report budgets`).
    Budgets {
        /// When, epoch ms; absent: the newest that is known.
        at_ms: Option<i64>,
    },
    /// Real cost of pools (`report cost`).
    Cost,
    /// What GPUs would cost (`rates quote`).
    Quote(Box<Quote>),
    /// What nobody was charged for, and why (`uncharged --month`).
    Uncharged,
    /// Every invariant, a line each (`check`).
    Check,
    /// Billing months with state, totals, hashes (`periods`).
    Periods,
    /// Lines of a month (`statement`): with `team`, of one team; where it is closed with its hash, else as a draft.
    Statement {
        /// Billing month.
        period: String,
        /// One team.
        team: Option<String>,
    },
    /// Figures, checks and close list of a month that is not closed (`close --dry-run`).
    CloseList {
        /// Billing month.
        period: String,
    },
    /// Proof of a closed month (`verify`).
    Verify {
        /// Billing month.
        period: String,
    },
    /// What closed months would be corrected by (`correct preview`).
    Corrections {
        /// Of this closed month alone.
        period: Option<String>,
    },
    /// A reference table as rows (`TABLE list`): `{"table", "version", "columns", "rows"}`.
    Reference {
        /// The table's command word: `rates`, `owners`, `pools` ...
        table: String,
    },
    /// The audit log (`audit`).
    Audit {
        /// Of this reference table alone.
        table: Option<String>,
    },
}

/// What a quote is asked for; the words are those of `rates quote`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Quote {
    /// How many GPUs.
    pub gpus: u32,
    /// Model.
    pub model: String,
    /// For how long: `12h`, `3d`.
    pub duration: String,
    /// From when.
    pub from: String,
    /// The team that would pay.
    pub team: String,
    /// Pool.
    pub pool: Option<String>,
    /// Task type.
    pub task_type: Option<String>,
    /// The run may be preempted.
    pub preemptible: bool,
    /// Parameters of the model: also estimates its memory.
    pub params: Option<String>,
}

/// What kind of values a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Text.
    Text,
    /// Hours, a decimal string.
    Hours,
    /// Money in the document's currency, a decimal string.
    Money,
    /// A count, a JSON number.
    Count,
    /// A part of 1 as a decimal string of six digits ("0.610000" is 61 %).
    Percent,
    /// GiB, a decimal string.
    Gib,
}

/// A column of a document's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Key in the rows.
    pub name: String,
    /// Heading on a terminal; empty: not shown there.
    pub heading: String,
    /// What its values are.
    pub kind: Kind,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// Exactly what the command line prints with `--format json`. Most are `{"sentence", "currency", "rows", "total", "notes"}`
    /// with decimal strings for money and hours and `null` for what is unknown.
    pub body: Value,
    /// Columns of `rows`, where the body has them.
    pub columns: Vec<Column>,
    /// The cut of the lake that it was made from.
    pub cut: u64,
}

/// An answer as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its usual name.
    pub name: String,
    /// Its media type.
    pub media: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The cut of the lake that it was made from; absent for one of a closed month.
    pub cut: Option<u64>,
}

/// A document of a bill (`export`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Export {
    /// Billing month, quarter or months.
    pub period: String,
    /// `json`, `csv`, `xlsx`, `pdf`, `posting`, `parquet`, `focus` or `focus-csv`.
    pub document: String,
    /// The statement of one team (pdf).
    pub team: Option<String>,
    /// Language.
    pub lang: Lang,
    /// Codes of a posting file: `expense_account`, `recovery_account`, `platform_cost_center`.
    pub codes: BTreeMap<String, String>,
}

/// Something that changes what is kept. Done under the writer's lock; the audit log names who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// What somebody says of a finding: `accept`, `done`, `dismiss`, `reopen`.
    Finding {
        /// Rule.
        rule: String,
        /// What it is about, `cluster/job`.
        subject: String,
        /// The word.
        word: String,
        /// Why.
        reason: Option<String>,
    },
    /// A lead accepts or disputes a line of a draft.
    Line {
        /// Billing month.
        period: String,
        /// The line.
        line: i64,
        /// It is wrong.
        disputed: bool,
        /// Why.
        reason: Option<String>,
    },
    /// Makes a month final.
    Close {
        /// Billing month.
        period: String,
        /// Items or kinds of the close list that are waived.
        waive: Vec<String>,
        /// Why.
        reason: Option<String>,
        /// Who answers for it.
        approver: Option<String>,
    },
    /// Adds rows to a reference table; `dry_run` says what it would change and does not.
    Import {
        /// The table's command word.
        table: String,
        /// CSV.
        csv: String,
        /// Touch closed months.
        force: bool,
        /// Why.
        reason: Option<String>,
        /// Who approved it.
        approver: Option<String>,
        /// Change nothing.
        dry_run: bool,
    },
    /// What the owner, a lead of the team or an operator says of a case of reclaiming.
    Case {
        /// The case.
        case_id: i64,
        /// `keep`, `normal`, `release`, `exempt`, `approve`, `hold` or `resume`.
        word: String,
        /// Why.
        reason: Option<String>,
        /// For how long, of a keep or an exemption.
        hours: Option<i64>,
    },
    /// A switch of reclaiming.
    Switch {
        /// `notify`, `act`, `kill` or `breaker`.
        which: String,
        /// On.
        is_on: bool,
        /// Why.
        reason: String,
    },
}

/// Code of the money of a document's body (ISO 4217); `XXX`, no currency, where it carries none.
pub(crate) fn currency_of(body: &Value) -> &str {
    body.get("currency").and_then(Value::as_str).unwrap_or("XXX")
}

/// Who answers.
#[async_trait]
pub trait Answers: Send + Sync + std::fmt::Debug {
    /// Answers a question with the rows that `who` may select.
    ///
    /// # Errors
    /// A problem that names the parameter; 403 where `who` may not ask this at all; 503 where the data cannot be read.
    async fn document(&self, who: &Who, ask: &Ask, what: &Report) -> Result<Document, Problem>;

    /// The same in the format that the ask names.
    ///
    /// # Errors
    /// As [`Answers::document`]; a format that this question does not have.
    async fn file(&self, who: &Who, ask: &Ask, what: &Report) -> Result<File, Problem>;

    /// A document of a bill.
    ///
    /// # Errors
    /// As [`Answers::document`].
    async fn export(&self, who: &Who, ask: &Ask, what: &Export) -> Result<File, Problem>;

    /// Does something, and says what was done as the command line does: `{"done": text, ...}`.
    ///
    /// # Errors
    /// What stands against it; nothing was changed then.
    async fn act(&self, who: &Who, act: &Act) -> Result<Value, Problem>;

    /// Puts a segment into `inbox/<node>/` under its name; one that is there already is the same.
    ///
    /// # Errors
    /// The lake cannot be written.
    async fn deliver(&self, node: &str, name: &str, bytes: Vec<u8>) -> Result<(), Problem>;

    /// What this place is and how far it is: cheap, for the head of every page.
    async fn place(&self) -> Place;

    /// How reclaiming stands: what is switched, and how much of its caps is used. Empty where nothing was ever kept here.
    ///
    /// # Errors
    /// The control file or the policy in force cannot be read.
    async fn reclaiming(&self) -> Result<Reclaiming, Problem>;
}
