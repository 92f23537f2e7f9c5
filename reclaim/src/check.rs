//! The checker: reads a plan as a stranger would, and refuses what it cannot prove from the snapshot.
//!
//! Written apart from the planner and sharing no rule with it, only types: a mistake has to be made twice to stop work. It goes
//! by R1 (no verdict without coverage and a fresh reading), R2 (no action without delivered warnings, the same identity,
//! approval and room in every cap) and R3 (what is not known stops, and never starts).

mod policy;
mod proof;

use std::fmt;

use gpuledger_schema::reclaim::{Allocation, Case, CaseState, Mode, Snapshot};

use crate::plan::{Doing, Notice, Plan, Step, hash_of};
use crate::policy::Book;

/// A step that may not be taken, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Position of the step in its plan; absent: the whole plan.
    pub step: Option<usize>,
    /// R1, R2, R3, or `plan` where the document is not what it says.
    pub rule: &'static str,
    /// Why.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(n) => write!(f, "step {n}: {}: {}", self.rule, self.why),
            None => write!(f, "{}: {}", self.rule, self.why),
        }
    }
}

/// Why a step is refused.
type No = (&'static str, String);

/// Everything that is wrong with a plan, given the snapshot it was made of.
pub fn check(plan: &Plan, snapshot: &Snapshot, book: &Book) -> Vec<Refusal> {
    let whole = |why: &str| Refusal { step: None, rule: "plan", why: why.to_owned() };
    let mut out = Vec::new();
    if !plan.is_whole() {
        out.push(whole("it does not say what it said when it was made"));
    }
    if plan.body.policy_hash != book.hash || snapshot.policy_hash != book.hash {
        out.push(whole("plan, snapshot and policy do not belong together"));
    }
    if plan.body.snapshot_hash != hash_of(snapshot) {
        out.push(whole("it was made of another snapshot"));
    }
    if plan.body.mode != snapshot.mode {
        out.push(whole("plan and snapshot are of different times"));
    }
    let mut acts: Vec<&Step> = Vec::new();
    for (n, step) in plan.body.steps.iter().enumerate() {
        if let Err((rule, why)) = refuse(step, snapshot, book, plan.body.made_ms, &acts) {
            out.push(Refusal { step: Some(n), rule, why });
        }
        if step.doing.is_act() {
            acts.push(step);
        }
        let twice = step.case_id.is_some() && plan.body.steps[..n].iter().any(|s| s.case_id == step.case_id);
        if twice {
            out.push(Refusal { step: Some(n), rule: "plan", why: "a second step about the same case".to_owned() });
        }
    }
    out
}

/// One step against the world as it is now; what acts before it in this round count against the caps.
///
/// # Errors
/// The rule that refuses it, and why.
pub fn refuse(step: &Step, now: &Snapshot, book: &Book, at_ms: i64, before: &[&Step]) -> Result<(), No> {
    let view = View { now, book, at_ms };
    match (&step.doing, step.case_id) {
        (Doing::Open { class, policy, .. }, None) => view.opening(step, *class, policy),
        (Doing::Open { .. }, Some(_)) | (_, None) => {
            Err(("plan", "a step about a case names none, or too many".to_owned()))
        }
        (doing, Some(id)) => {
            let case = now.cases.iter().find(|c| c.case_id == id);
            let case = case.ok_or(("plan", "there is no such open case".to_owned()))?;
            if case.seq != step.seq {
                return Err(("plan", "the case has moved since".to_owned()));
            }
            view.of_case(step, doing, case, before)
        }
    }
}

/// What is known, and when it is asked.
struct View<'a> {
    now: &'a Snapshot,
    book: &'a Book,
    at_ms: i64,
}

fn no<T>(rule: &'static str, why: &str) -> Result<T, No> {
    Err((rule, why.to_owned()))
}

impl View<'_> {
    fn of_case(&self, step: &Step, doing: &Doing, case: &Case, before: &[&Step]) -> Result<(), No> {
        let settings = match self.book.policies.iter().find(|p| p.name == case.policy && p.is_valid(self.at_ms)) {
            Some(p) => &p.settings,
            None => return no("plan", "its policy is not in the book"),
        };
        let found = self.now.allocations.iter().find(|a| a.allocation_id == case.allocation_id);
        match doing {
            Doing::Tell { notice, deadline_ms } => {
                let a = found.ok_or(("R3", "nothing is told about what is not there".to_owned()))?;
                self.told(case, a, *notice, *deadline_ms, settings)
            }
            Doing::Due => {
                let a = found.ok_or(("R3", "what is not there is not due".to_owned()))?;
                self.still(case, a, settings)?;
                self.warned_and_waited(case, a, settings)
            }
            Doing::Approve => {
                let a = found.ok_or(("R3", "what is not there is not approved".to_owned()))?;
                if case.state != CaseState::Due {
                    return no("R2", "only what is due is approved");
                }
                self.still(case, a, settings)?;
                self.approval(case, a, settings)
            }
            Doing::Signal { .. } | Doing::Order { .. } => {
                let a = found.ok_or(("R3", "nothing is asked about what is not there".to_owned()))?;
                if !case_identity(case).is_some_and(|i| i.is_same(&a.identity) && i.is_same(&step.identity)) {
                    return no("R2", "it cannot be told whether it is still the same");
                }
                self.acting(step, case, a, settings, before)
            }
            Doing::Freed { .. } => self.seen_free(case, settings, found),
            Doing::Postpone { deadline_ms, .. } if *deadline_ms < case.deadline_ms => {
                no("R2", "a deadline comes nearer")
            }
            Doing::Recover { active_from_ms } => {
                let a = found.ok_or(("R3", "what is not there does not work".to_owned()))?;
                let newest = a.judgement.newest_ms.unwrap_or(i64::MIN);
                if newest.saturating_sub(*active_from_ms) < settings.active_ms {
                    return no("R1", "it has not worked for a whole window");
                }
                Ok(())
            }
            Doing::Resume if case.until_ms.is_none_or(|until| self.at_ms < until) => {
                no("R2", "its owner keeps it, or it is exempt")
            }
            Doing::Open { .. } => no("plan", "a case is opened once"),
            Doing::Postpone { .. }
            | Doing::Resume
            | Doing::Fail { .. }
            | Doing::Escalate { .. }
            | Doing::Exempt { .. } => Ok(()),
        }
    }

    fn told(
        &self,
        case: &Case,
        a: &Allocation,
        notice: Notice,
        deadline_ms: Option<i64>,
        settings: &crate::policy::Settings,
    ) -> Result<(), No> {
        let from = match notice {
            Notice::First | Notice::Question => CaseState::Observed,
            Notice::Last => CaseState::Warned,
        };
        if case.state != from {
            return no("R2", "the notice does not follow from its state");
        }
        if a.owner.contact.is_none() {
            return no("R2", "nobody can be told");
        }
        if !self.now.switches.notify || !self.book.notify {
            return no("R2", "owners are not told");
        }
        self.nothing_is_wrong(false)?;
        if notice != Notice::Question && deadline_ms.is_none_or(|d| d <= self.at_ms) {
            return no("R2", "a warning names a deadline that lies ahead");
        }
        self.still(case, a, settings)
    }

    /// Whether everything that has to hold at the moment of acting holds.
    fn acting(
        &self,
        step: &Step,
        case: &Case,
        a: &Allocation,
        settings: &crate::policy::Settings,
        before: &[&Step],
    ) -> Result<(), No> {
        if self.now.mode != Mode::Live {
            return no("R3", "the past is not acted upon");
        }
        if !matches!(case.state, CaseState::Approved | CaseState::Failed | CaseState::Acting) {
            return no("R2", "nobody approved it");
        }
        if !(self.now.switches.act && self.book.act) {
            return no("R2", "nothing is acted upon");
        }
        self.nothing_is_wrong(true)?;
        if case.approved_by.is_none() {
            return no("R2", "nobody approved it");
        }
        if !case.released {
            self.warned_and_waited(case, a, settings)?;
        }
        self.approval(case, a, settings)?;
        self.fresh_enough(a)?;
        // what a signal for a checkpoint makes the cards do is not the owner's work
        if case.state == CaseState::Acting && case.signal_ms.is_some() {
            self.only_the_signal(case, a, settings)?;
        } else {
            self.still(case, a, settings)?;
        }
        self.checkpoint(&step.doing, case, a, settings)?;
        self.siblings(&step.doing, a)?;
        self.spared(a)?;
        self.hours(settings)?;
        self.room(step, case, before)
    }
}

/// Who the case is about, from the document it was opened with.
fn case_identity(case: &Case) -> Option<gpuledger_schema::reclaim::Identity> {
    let facts: Allocation = serde_json::from_str(&case.facts).ok()?;
    Some(facts.identity)
}
