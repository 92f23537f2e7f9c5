//! Policies: dated, typed settings by task type, queue and team, and the bounds of the whole engine.
//!
//! A policy book is one TOML file. It is read whole or not at all: an unknown key, a window without order, two policies about
//! the same thing at the same time stop it. Its hash stands on every plan, so that what was decided can be read again by what
//! it was decided by. Units stand in the names of keys.

mod danger;
mod file;
mod hours;
mod words;

pub use danger::{Danger, dangers};
pub use file::PolicyError;
pub use hours::Hours;
pub use words::{Lang, in_words};

use std::collections::BTreeMap;

use gpuledger_schema::reclaim::{ActKind, Approval, Class};

/// A minute in ms.
pub const MINUTE_MS: i64 = 60_000;
/// An hour in ms.
pub const HOUR_MS: i64 = 60 * MINUTE_MS;

/// When an owner is warned, warned for the last time, and when it is due; all from the beginning of rest, ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// First warning.
    pub warned_ms: i64,
    /// Last warning.
    pub final_ms: i64,
    /// Due.
    pub due_ms: i64,
}

impl Windows {
    /// Windows in minutes.
    pub const fn minutes(warned: i64, last: i64, due: i64) -> Self {
        Self { warned_ms: warned * MINUTE_MS, final_ms: last * MINUTE_MS, due_ms: due * MINUTE_MS }
    }
}

/// How a checkpoint is asked for before anything is freed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Signal, e.g. `USR1`.
    pub signal: String,
    /// Whether the signal goes to the batch script, else to the steps.
    pub to_batch: bool,
    /// How long a newer checkpoint is waited for, ms.
    pub wait_ms: i64,
    /// Whether nothing is freed without one.
    pub required: bool,
    /// File whose time proves it; `{job}` and `{user}` stand for those. Absent: what the scheduler's record says.
    pub file: Option<String>,
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Windows of what was never used.
    pub never_touched: Windows,
    /// Windows of what is at rest.
    pub idle: Windows,
    /// Windows of what runs longer than its kind may, from the end of that time.
    pub over_limit: Windows,
    /// Windows of what an order wants back, from the order.
    pub capacity: Windows,
    /// Mean SM activity of a day under which an owner is asked, ppm.
    pub low_use_ppm: i64,
    /// How long it has to work before a case is given up, ms.
    pub active_ms: i64,
    /// Time after the start in which nothing is judged, ms.
    pub warm_up_ms: i64,
    /// More time for what was never used, in which data may be brought, ms.
    pub staging_ms: i64,
    /// How long a run may last, ms.
    pub max_duration_ms: Option<i64>,
    /// Who approves.
    pub approval: Approval,
    /// Whether what runs too long is acted upon.
    pub act_on_over_limit: bool,
    /// What Slurm is asked.
    pub slurm: ActKind,
    /// What Kubernetes is asked.
    pub kubernetes: ActKind,
    /// How a checkpoint is asked for; absent: none is.
    pub checkpoint: Option<Checkpoint>,
    /// `Nice` of a job that was put back, so that it resumes early; absent: left alone.
    pub resume_nice: Option<i64>,
    /// Longest extension an owner may give at once, ms.
    pub keep_max_ms: i64,
    /// How long "normal, but inefficient" lasts before it is reviewed, ms.
    pub review_ms: i64,
    /// When it may act; absent: always.
    pub hours: Option<Hours>,
    /// How often it is tried.
    pub attempts_max: i64,
    /// Pause between tries, ms.
    pub retry_ms: i64,
    /// How long the GPU may take to be seen free, ms.
    pub confirm_ms: i64,
    /// Memory in use up to which a card counts as free, ppm of its memory.
    pub free_memory_ppm: i64,
}

/// What a policy, an exemption or a protection is about. What is absent is any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Cluster.
    pub cluster: Option<String>,
    /// Pool.
    pub pool: Option<String>,
    /// Task type.
    pub task_type: Option<String>,
    /// Queue.
    pub queue: Option<String>,
    /// Team.
    pub team: Option<String>,
    /// User (exemptions and protections).
    pub user: Option<String>,
    /// Node (exemptions and protections).
    pub node: Option<String>,
    /// Raw job id or pod UID (exemptions).
    pub job: Option<String>,
    /// Quality of service (protections).
    pub qos: Option<String>,
}

/// A policy, from an instant on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub scope: Scope,
    /// From, epoch ms.
    pub from_ms: i64,
    /// To (exclusive), epoch ms; absent: open.
    pub to_ms: Option<i64>,
    /// What it says.
    pub settings: Settings,
    /// Why it may be what would otherwise be refused.
    pub forced: Option<String>,
}

/// What is left alone, for a time or for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// What.
    pub scope: Scope,
    /// Why.
    pub reason: String,
    /// Until, epoch ms; absent: for good (protections only).
    pub until_ms: Option<i64>,
}

/// How much may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Actions in a round.
    pub per_round: i64,
    /// Actions in an hour.
    pub per_hour: i64,
    /// Actions in an hour on one team.
    pub per_team_hour: i64,
    /// Actions in an hour on one node.
    pub per_node_hour: i64,
}

/// When the breaker trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// Cases that would begin in one round: part of all allocations, ppm.
    pub newly_idle_ppm: i64,
    /// Under so many new cases nothing trips.
    pub newly_idle_min: i64,
    /// Points by which the coverage falls from one round to the next, ppm.
    pub coverage_fall_ppm: i64,
    /// Cards whose witnesses disagree: part of all cards, ppm.
    pub disagree_ppm: i64,
    /// Under so many such cards nothing trips.
    pub disagree_min: i64,
    /// Part of the jobs that a scheduler may lose between two readings, ppm.
    pub jobs_fall_ppm: i64,
}

/// How old what is known may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fresh {
    /// Newest tick, for a verdict, ms.
    pub tick_ms: i64,
    /// Newest tick, for acting, ms.
    pub act_tick_ms: i64,
    /// Scheduler's reading, for a verdict, ms.
    pub reading_ms: i64,
    /// Scheduler's reading, for acting, ms.
    pub act_reading_ms: i64,
    /// Least measured part of a window, ppm (R1).
    pub coverage_ppm: i64,
}

/// A policy book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Book {
    /// SHA-256 of its text, in hex.
    pub hash: String,
    /// The text that it was read from.
    pub text: String,
    /// What it says of the switches; a thrown kill switch beats it.
    pub notify: bool,
    /// Whether it acts.
    pub act: bool,
    /// How much.
    pub caps: Caps,
    /// When it stops.
    pub breaker: Breaker,
    /// How fresh.
    pub fresh: Fresh,
    /// Policies, by name and from.
    pub policies: Vec<Policy>,
    /// Exemptions.
    pub exemptions: Vec<Exemption>,
    /// Protected work.
    pub protected: Vec<Exemption>,
    /// Power of a card with nothing to do, mW, by model; of other models it is measured on free cards.
    pub power_floor_mw: BTreeMap<String, i64>,
}

impl Book {
    /// Reads a book.
    ///
    /// # Errors
    /// Everything that is wrong with it, with its place; then nothing of it counts.
    pub fn read(text: &str) -> Result<Self, PolicyError> {
        file::read(text)
    }

    /// The policy of a name at an instant.
    pub fn named(&self, name: &str, at_ms: i64) -> Option<&Policy> {
        self.policies.iter().find(|p| p.name == name && p.is_valid(at_ms))
    }
}

impl Policy {
    /// Whether it holds at an instant.
    pub fn is_valid(&self, at_ms: i64) -> bool {
        self.from_ms <= at_ms && self.to_ms.is_none_or(|to| at_ms < to)
    }
}

impl Settings {
    /// What holds where nobody says otherwise.
    pub const fn built_in() -> Self {
        Self {
            never_touched: Windows::minutes(60, 105, 120),
            idle: Windows::minutes(240, 270, 300),
            over_limit: Windows::minutes(0, 60, 120),
            capacity: Windows::minutes(0, 15, 30),
            low_use_ppm: 50_000,
            active_ms: 30 * MINUTE_MS,
            warm_up_ms: 0,
            staging_ms: 0,
            max_duration_ms: None,
            approval: Approval::Operator,
            act_on_over_limit: false,
            slurm: ActKind::Requeue,
            kubernetes: ActKind::Evict,
            checkpoint: None,
            resume_nice: None,
            keep_max_ms: 24 * HOUR_MS,
            review_ms: 14 * 24 * HOUR_MS,
            hours: None,
            attempts_max: 3,
            retry_ms: 10 * MINUTE_MS,
            confirm_ms: 10 * MINUTE_MS,
            free_memory_ppm: 50_000,
        }
    }

    /// The windows of a class; absent: it is never due by itself. What was never used has its warm-up and its time for bringing
    /// data before its clock starts. What is at rest has at least that, too: after a hole in what was seen nobody knows whether it
    /// ever worked, and an outage must not take time from it (R3).
    pub fn windows(&self, class: Class) -> Option<Windows> {
        let later = self.warm_up_ms + self.staging_ms;
        let never = Windows {
            warned_ms: self.never_touched.warned_ms + later,
            final_ms: self.never_touched.final_ms + later,
            due_ms: self.never_touched.due_ms + later,
        };
        match class {
            Class::NeverTouched => Some(never),
            Class::IdleSince => Some(Windows {
                warned_ms: self.idle.warned_ms.max(never.warned_ms),
                final_ms: self.idle.final_ms.max(never.final_ms),
                due_ms: self.idle.due_ms.max(never.due_ms),
            }),
            Class::OverLimit => Some(self.over_limit),
            Class::Capacity => Some(self.capacity),
            Class::LowUse | Class::MemoryHeld | Class::OutsideAllocation | Class::JobGone | Class::DeadHolder => None,
        }
    }
}
