//! Cases of GPUs that are held and not used: what was seen, what will happen when, and what the owner can do.

use serde::Serialize;

use crate::value::At;

/// Kind of a zombie, a closed list: each has its own sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ZombieClass {
    /// Nothing ever ran on the GPUs.
    NeverTouched,
    /// Nothing has run since.
    IdleSince,
    /// Memory is held, the process that did is gone.
    MemoryHeld,
    /// A process outside of any allocation.
    OutsideAllocation,
    /// The job is gone, the allocation is not.
    JobGone,
    /// The holder is defunct, or waits for hardware that does not answer.
    DeadHolder,
    /// Hardly used over a day.
    LowUse,
    /// Runs longer than it may.
    OverTimeLimit,
}

/// What is done when nobody answers, a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The job goes back into the queue.
    Requeue,
    /// The job is cancelled.
    Cancel,
    /// The pod is evicted.
    Evict,
    /// The owner of the pods is suspended or scaled down.
    ScaleDown,
    /// Nothing: an operator decides.
    AskOperator,
}

/// What a case is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReclaimCase {
    /// Id of the case.
    pub id: String,
    /// Cluster.
    pub cluster: String,
    /// Job.
    pub job: String,
    /// Its name; absent: it has none.
    pub job_name: Option<String>,
    /// Whose it is; absent: not known, the lead is told.
    pub user: Option<String>,
    /// Team.
    pub team: String,
    /// Nodes.
    pub nodes: String,
    /// GPUs that it holds.
    pub gpus: i64,
}

/// What was seen of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Card {
    /// Node and index.
    pub gpu: String,
    /// Highest SM activity of any poll, percent; absent: not measured.
    pub sm_max_percent: Option<String>,
    /// Highest power, watts; absent: not measured.
    pub power_max_watts: Option<String>,
    /// Memory held, GiB; absent: not measured.
    pub memory_gib: Option<String>,
}

/// What the owner can do. A link opens a page; only the button there acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReclaimLinks {
    /// Keep the GPUs: why, and until when.
    pub keep: String,
    /// It is normal that they are not used, but inefficient.
    pub intended: String,
    /// Release them now.
    pub release: String,
    /// Why this mail came.
    pub why: String,
    /// The case.
    pub page: String,
}

/// A warning, the first or the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReclaimWarning {
    /// The case.
    pub case: ReclaimCase,
    /// What was seen.
    pub class: ZombieClass,
    /// Since when.
    pub since: At,
    /// For how long, hours, one decimal.
    pub idle_hours: String,
    /// The same, by GPU.
    pub cards: Vec<Card>,
    /// What that cost, decimal text; absent: no price.
    pub amount: Option<String>,
    /// ISO 4217 code; absent: no price.
    pub currency: Option<String>,
    /// What is done when nobody answers.
    pub action: Action,
    /// When.
    pub due: At,
    /// What the owner can do.
    pub links: ReclaimLinks,
}

/// The owner, or somebody for them, keeps the GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The case.
    pub case: ReclaimCase,
    /// Who answered, where it was not the owner.
    pub by: Option<String>,
    /// Until when.
    pub until: At,
    /// Why, as typed.
    pub reason: String,
    /// The case's page.
    pub page: String,
}

/// The GPUs were freed, and were seen to be free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freed {
    /// The case.
    pub case: ReclaimCase,
    /// What was done.
    pub action: Action,
    /// When the GPUs were seen free.
    pub freed: At,
    /// Held and not used until then, GPU-hours, one decimal.
    pub idle_hours: String,
    /// The checkpoint that was confirmed; absent: there is none.
    pub checkpoint: Option<At>,
    /// The case's page.
    pub page: String,
}

/// The GPUs could not be freed. Nothing is told to be done before it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReclaimFailure {
    /// The case.
    pub case: ReclaimCase,
    /// What was tried.
    pub action: Action,
    /// When.
    pub tried: At,
    /// What was answered.
    pub error: String,
    /// When it is tried again; absent: not any more, somebody has to look.
    pub again: Option<At>,
    /// The case's page.
    pub page: String,
}
