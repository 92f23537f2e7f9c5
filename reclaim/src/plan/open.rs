//! Which allocations become cases, and what people are told without one.

use gpuledger_schema::reclaim::{AlertKind, Allocation, Class, NotDone, Verdict};

use super::ground::rest_ms;
use super::{Alert, Doing, Round, Why};
use crate::policy::Settings;

impl Round<'_> {
    /// The case that an allocation without one would open, else why it opens none.
    pub(super) fn opens(&self, a: &Allocation) -> Result<Doing, Why> {
        if let Some(e) = self.spared(&self.book.exemptions, a) {
            return Err((NotDone::Exempt, e.reason.clone()));
        }
        let j = &a.judgement;
        let policy = j.policy.as_ref().and_then(|name| self.book.named(name, self.now_ms));
        let Some(policy) = policy else { return Err((NotDone::NoPolicy, String::new())) };
        if let Some(why) = self.unproved(a) {
            return Err((NotDone::Unknown, why));
        }
        let s = &policy.settings;
        let mut not_yet = None;
        for class in Class::ALL {
            match self.is_of(*class, a, s) {
                Some(true) => {
                    let begun = if class.is_rest() { j.rest_from_ms } else { None };
                    let deadline_ms = s.windows(*class).map(|w| begun.unwrap_or(self.now_ms) + w.due_ms);
                    let policy = policy.name.clone();
                    return Ok(Doing::Open { class: *class, policy, deadline_ms, rest_from_ms: begun });
                }
                Some(false) => not_yet = not_yet.or(Some(class)),
                None => {}
            }
        }
        match (j.verdict, not_yet) {
            (_, Some(class)) => Err((NotDone::NotYet, class.to_string())),
            (Verdict::Idle, None) => Err((NotDone::NotYet, String::new())),
            _ => Err((NotDone::Busy, String::new())),
        }
    }

    /// Whether it is a case of a class now; absent: it is not of that class at all.
    fn is_of(&self, class: Class, a: &Allocation, s: &Settings) -> Option<bool> {
        let j = &a.judgement;
        match class {
            Class::NeverTouched | Class::IdleSince => {
                if j.verdict != Verdict::Idle || !j.classes.contains(&class) {
                    return None;
                }
                let warned = s.windows(class)?.warned_ms;
                Some(rest_ms(a).is_some_and(|rest| rest >= warned))
            }
            Class::OverLimit => self
                .over_ms(a, s)
                .filter(|over| *over >= 0)
                .map(|over| s.windows(class).is_some_and(|w| over >= w.warned_ms)),
            Class::Capacity => None,
            // what rests is on its way to another class, and a question about it would stand in the way
            Class::LowUse if rest_ms(a).is_some_and(|rest| rest >= s.active_ms) => None,
            _ => j.classes.contains(&class).then_some(true),
        }
    }

    /// What people are told of allocations, whatever becomes of their cases.
    pub(super) fn alerts(&self) -> Vec<Alert> {
        let mut out: Vec<Alert> = self
            .stops
            .iter()
            .map(|s| Alert { kind: AlertKind::Stopped, allocation_id: None, text: format!("{}: {}", s.kind, s.why) })
            .collect();
        for a in self.by_id.values() {
            for kind in &a.judgement.alerts {
                let text = format!("{} of {}: {}", a.identity.shown(), a.owner.user, advice(*kind));
                out.push(Alert { kind: *kind, allocation_id: Some(a.allocation_id), text });
            }
        }
        out
    }
}

/// What an operator should do.
pub(super) fn advice(kind: AlertKind) -> &'static str {
    match kind {
        AlertKind::Hung => "SM busy, memory and tensor still, power low: look for a lost rank or a spinning kernel",
        AlertKind::NodeLost => "its node or card is lost: drain the node, then let the scheduler requeue it",
        AlertKind::TokenLoad => "a little load now and then: ask the owner what it waits for",
        AlertKind::MemoryOverQuota => "uses more GPU memory than granted: it may fail its neighbours",
        AlertKind::Disagreement => "witnesses contradict each other: check the exporter and the driver of the node",
        AlertKind::PartlyIdle => "some GPUs are used and some never: ask for fewer",
        AlertKind::Stopped => "a bound stopped the engine",
        AlertKind::NotDelivered => "a notice was not delivered: check the contact",
        AlertKind::ActionFailed => "an action failed",
        AlertKind::NeedsOperator => "needs an operator",
    }
}

/// What an operator should do about a class that no scheduler can free.
pub(super) fn remedy(class: Class) -> &'static str {
    match class {
        Class::MemoryHeld => {
            "GPU memory is held and no process is left: drain the node and reset the GPU or reboot; no signal is sent"
        }
        Class::OutsideAllocation => {
            "a process runs outside every allocation: find its owner by the user of the process and end it by hand"
        }
        Class::JobGone => {
            "the scheduler no longer has the job: check it by hand (Slurm: sacctmgr show runaway; Kubernetes: the node's pods)"
        }
        Class::DeadHolder => {
            "a defunct or uninterruptible process holds the GPU: drain the node and reboot; no signal is sent"
        }
        _ => "nobody could be told, or nobody can act: look at it",
    }
}
