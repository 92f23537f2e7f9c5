//! What becomes of an open case in this round.

use gpuledger_schema::reclaim::{Allocation, Approval, Case, CaseState, Class, NotDone};

use super::ground::Ground;
use super::open::remedy;
use super::{Doing, Notice, Round, Why, facts};
use crate::policy::{Settings, Windows};

/// Warnings that may bounce before somebody has to look at the address.
const BOUNCES_MAX: i64 = 2;

impl Round<'_> {
    /// The one move of a case, else why it stays.
    pub(super) fn moves(&self, case: &Case) -> Result<Doing, Why> {
        let Some(s) = self.settings(case) else { return Err((NotDone::NoPolicy, case.policy.clone())) };
        let doing = match self.by_id.get(&case.allocation_id) {
            None => self.no_longer_there(case, s)?,
            Some(a) => self.of_present(case, a, s)?,
        };
        self.unstopped(&doing).map(|()| doing)
    }

    fn of_present(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        // where nobody can be asked, telling people of the same session harms nobody
        let asked = case.class.can_act() && a.identity.cluster().is_some();
        if asked && !facts(case).is_some_and(|was| was.identity.is_same(&a.identity)) {
            return Err((NotDone::Unknown, "it cannot be told whether it is still the same".to_owned()));
        }
        if case.state == CaseState::Acting {
            return self.acting(case, Some(a), s);
        }
        let exempt = self.spared(&self.book.exemptions, a);
        if let (Some(e), true) = (exempt, case.state != CaseState::Exempt) {
            return Ok(Doing::Exempt { reason: e.reason.clone(), until_ms: e.until_ms });
        }
        if let Some(why) = &case.held {
            return Err((NotDone::Held, why.clone()));
        }
        match case.state {
            CaseState::Kept | CaseState::Exempt if case.until_ms.is_some_and(|u| self.now_ms >= u) => Ok(Doing::Resume),
            CaseState::Kept => Err((NotDone::Kept, String::new())),
            CaseState::Exempt => Err((NotDone::Exempt, String::new())),
            _ => self.by_ground(case, a, s),
        }
    }

    fn by_ground(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        // whoever looks at the case sees the deadline that holds, also before it counts as idle again
        if let Some(doing) = self.put_off(case, a, s) {
            return Ok(doing);
        }
        match self.ground(case, a) {
            Ground::Unknown(why) => return Err((NotDone::Unknown, why)),
            Ground::Works { active_from_ms: Some(from) } => {
                let long = a.judgement.newest_ms.is_some_and(|newest| newest - from >= s.active_ms);
                return if long {
                    Ok(Doing::Recover { active_from_ms: from })
                } else {
                    Err((NotDone::Busy, "works, not yet for a whole window".to_owned()))
                };
            }
            Ground::Works { active_from_ms: None } => {
                return Err((NotDone::NotYet, "at rest again, not yet for its window".to_owned()));
            }
            Ground::Holds => {}
        }
        match case.state {
            CaseState::Observed => self.observed(case, a, s),
            CaseState::Warned => self.warned(case, a, s),
            CaseState::Final => self.final_warned(case, a, s),
            CaseState::Due => self.due(case, a, s),
            CaseState::Approved => self.act_when_due(case, a, s),
            CaseState::Failed if case.failures >= s.attempts_max => Ok(Doing::Escalate {
                why: format!("{} tries did not free it: look at the scheduler and the node", case.failures),
            }),
            CaseState::Failed if case.until_ms.is_some_and(|u| self.now_ms < u) => {
                Err((NotDone::AwaitsRetry, String::new()))
            }
            CaseState::Failed => self.act_when_due(case, a, s),
            _ => Err((NotDone::ForOperator, remedy(case.class).to_owned())),
        }
    }

    /// What began to rest again after it was approved rests its whole window again, unless its owner gave it back.
    fn act_when_due(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        let window = s.windows(case.class).filter(|_| !case.released);
        let passed = case.deadline_ms.is_none_or(|at| self.now_ms >= at);
        if window.is_some_and(|w| !passed || self.elapsed_ms(case, a) < w.due_ms) {
            return Err((NotDone::NotYet, "its deadline has not passed".to_owned()));
        }
        self.act(case, a, s)
    }

    /// A clock that started again puts the deadline off; it never comes nearer.
    fn put_off(&self, case: &Case, a: &Allocation, s: &Settings) -> Option<Doing> {
        let rest_from_ms = a.judgement.rest_from_ms.filter(|_| case.class.is_rest())?;
        if case.rest_from_ms.is_some_and(|known| rest_from_ms <= known) {
            return None;
        }
        let due = s.windows(case.class).map(|w| rest_from_ms + w.due_ms);
        Some(Doing::Postpone { deadline_ms: due.max(case.deadline_ms), rest_from_ms })
    }

    fn observed(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        if !case.class.can_act() {
            return Ok(Doing::Escalate { why: remedy(case.class).to_owned() });
        }
        if a.owner.contact.is_none() {
            return Ok(Doing::Escalate { why: format!("nobody can be told: {} has no contact", a.owner.user) });
        }
        if case.bounces >= BOUNCES_MAX {
            return Ok(Doing::Escalate { why: format!("warnings to {} bounce: mend the contact", a.owner.user) });
        }
        match s.windows(case.class) {
            None => Ok(Doing::Tell { notice: Notice::Question, deadline_ms: None }),
            Some(w) => {
                let at_least = self.now_ms + w.due_ms - w.warned_ms;
                Ok(Doing::Tell { notice: Notice::First, deadline_ms: Some(at_least).max(case.deadline_ms) })
            }
        }
    }

    fn warned(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        let Some(w) = s.windows(case.class) else { return Err((NotDone::OwnerAsked, String::new())) };
        if case.bounces >= BOUNCES_MAX {
            return Ok(Doing::Escalate { why: format!("warnings to {} bounce: mend the contact", a.owner.user) });
        }
        let told = case.warned_ms.is_some_and(|at| self.now_ms >= at + w.final_ms - w.warned_ms);
        if !told || self.elapsed_ms(case, a) < w.final_ms {
            return Err((NotDone::NotYet, "the last warning is not yet to be given".to_owned()));
        }
        let at_least = self.now_ms + w.due_ms - w.final_ms;
        Ok(Doing::Tell { notice: Notice::Last, deadline_ms: Some(at_least).max(case.deadline_ms) })
    }

    fn final_warned(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        let w = s.windows(case.class).unwrap_or(Windows { warned_ms: 0, final_ms: 0, due_ms: i64::MAX });
        let told = case.final_ms.is_some_and(|at| self.now_ms >= at + w.due_ms - w.final_ms);
        let passed = case.deadline_ms.is_some_and(|at| self.now_ms >= at);
        if told && passed && self.elapsed_ms(case, a) >= w.due_ms {
            return Ok(Doing::Due);
        }
        Err((NotDone::NotYet, "its deadline has not passed".to_owned()))
    }

    fn due(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        if let Some(p) = self.spared(&self.book.protected, a) {
            return Err((NotDone::Protected, p.reason.clone()));
        }
        if case.class == Class::OverLimit && !s.act_on_over_limit {
            return Err((NotDone::ForOperator, "the policy does not act on runs that are too long".to_owned()));
        }
        let approved = match s.approval {
            Approval::Automatic => case.class != Class::Capacity || case.approved_by.is_some(),
            // an operator stands above an owner
            Approval::Owner | Approval::Operator => case.approved_by.is_some(),
        };
        if approved { Ok(Doing::Approve) } else { Err((NotDone::NotApproved, format!("waits for its {}", s.approval))) }
    }

    /// It is not in the snapshot any more: only a reading that says so, and a card that was seen free, end a case.
    fn no_longer_there(&self, case: &Case, s: &Settings) -> Result<Doing, Why> {
        if case.state == CaseState::Acting {
            return self.acting(case, None, s);
        }
        let waited = case.until_ms.is_some_and(|until| self.now_ms >= until);
        if case.state == CaseState::Failed && waited && self.freed(case).is_err() {
            let why = "the run is gone and its GPUs are not seen free: drain the node, reset the GPU or reboot";
            return Ok(Doing::Escalate { why: why.to_owned() });
        }
        self.freed(case).map(|seen_ms| Doing::Freed { seen_ms }).map_err(|(_, detail)| (NotDone::Gone, detail))
    }
}
