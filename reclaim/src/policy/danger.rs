//! What a policy book should not say, unless somebody says why.

use std::fmt;

use gpuledger_schema::reclaim::Approval;
use gpuledger_schema::state::TaskType;

use super::{Book, HOUR_MS, MINUTE_MS, Policy, Windows};

/// Rest of training under this is a pause: of a checkpoint, of an evaluation, of a night in which data come.
const TRAINING_MS: i64 = 24 * HOUR_MS;
/// Nobody reads a mail faster.
const ANSWER_MS: i64 = 10 * MINUTE_MS;
/// Rest of anything under this is a pause.
const REST_MS: i64 = 30 * MINUTE_MS;
/// Actions in an hour over which nobody looks at each.
const HOURLY: i64 = 100;

/// Something dangerous, and which policy says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    /// The policy; absent: the bounds of the whole engine.
    pub policy: Option<String>,
    /// What.
    pub what: String,
    /// Why it may be, where somebody said so.
    pub forced: Option<String>,
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.policy {
            Some(policy) => write!(f, "policy `{policy}`: {}", self.what)?,
            None => f.write_str(&self.what)?,
        }
        match &self.forced {
            Some(why) => write!(f, " (forced: {why})"),
            None => Ok(()),
        }
    }
}

/// Everything dangerous in a book. What is not forced refuses it.
pub fn dangers(book: &Book) -> Vec<Danger> {
    let mut out = Vec::new();
    for policy in &book.policies {
        for what in of_policy(policy) {
            out.push(Danger { policy: Some(policy.name.clone()), what, forced: policy.forced.clone() });
        }
    }
    let whole = |what: String| Danger { policy: None, what, forced: None };
    if book.caps.per_hour > HOURLY {
        out.push(whole(format!("{} actions an hour: nobody looks at so many", book.caps.per_hour)));
    }
    if book.breaker.newly_idle_ppm > 500_000 || book.breaker.jobs_fall_ppm > 500_000 {
        out.push(whole("the breaker stays closed while more than half of everything changes at once".to_owned()));
    }
    out
}

fn of_policy(policy: &Policy) -> Vec<String> {
    let s = &policy.settings;
    let mut out = Vec::new();
    // A policy that names no task type speaks of training, too, unless one that does takes its place: `train` and
    // `finetune` are there unless a book has its own, so that only a scope beside the task type can take training over.
    let about = policy.scope.task_type.as_deref();
    let training = [TaskType::Train.as_str(), TaskType::Finetune.as_str()];
    let by_others = policy.scope.queue.is_some() || policy.scope.team.is_some();
    if about.map_or(by_others, |t| training.contains(&t)) && s.idle.due_ms < TRAINING_MS {
        out.push(format!("training counts as idle after {} minutes, under 24 hours", s.idle.due_ms / MINUTE_MS));
    }
    for (name, windows) in [("never_touched", s.never_touched), ("idle", s.idle)] {
        out.extend(of_windows(name, windows));
    }
    if s.approval == Approval::Automatic && s.act_on_over_limit && s.max_duration_ms.is_none() {
        out.push("acts on runs that are too long without saying how long that is".to_owned());
    }
    if s.checkpoint.as_ref().is_some_and(|c| !c.required) {
        out.push("frees a run whose checkpoint was asked for and did not come".to_owned());
    }
    out
}

fn of_windows(name: &str, w: Windows) -> Vec<String> {
    let mut out = Vec::new();
    if w.warned_ms < REST_MS {
        out.push(format!("{name}: warns after {} s; what pauses for 30 minutes is not idle", w.warned_ms / 1_000));
    }
    if w.due_ms - w.final_ms < ANSWER_MS {
        out.push(format!("{name}: leaves {} s to answer the last warning", (w.due_ms - w.final_ms) / 1_000));
    }
    out
}
