//! Acting: which part of it is next, and whether now.

use gpuledger_schema::reclaim::{ActKind, Allocation, Case, Identity, NotDone};

use super::{Doing, Round, Why};
use crate::policy::{Checkpoint, Settings};

impl Round<'_> {
    /// The first part of acting on a case that may be acted upon, or another try.
    pub(super) fn act(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        self.may_act(a, s)?;
        match (&s.checkpoint, &a.identity) {
            (Some(c), Identity::Slurm { .. }) if !has_checkpoint(case, a) => {
                Ok(Doing::Signal { signal: c.signal.clone(), to_batch: c.to_batch })
            }
            _ => self.order(a, s),
        }
    }

    /// A case of which something was asked: what has come of it.
    pub(super) fn acting(&self, case: &Case, a: Option<&Allocation>, s: &Settings) -> Result<Doing, Why> {
        let Some(a) = a else { return self.vanished(case, s) };
        let asked = case.order_ms.filter(|at| case.signal_ms.is_none_or(|signal| *at >= signal));
        match (asked, &s.checkpoint) {
            (Some(at), _) => self.after_order(case, a, s, at),
            (None, Some(c)) => self.after_signal(case, a, s, c),
            (None, None) => self.may_act(a, s).and_then(|()| self.order(a, s)),
        }
    }

    fn vanished(&self, case: &Case, s: &Settings) -> Result<Doing, Why> {
        match self.freed(case) {
            Ok(seen_ms) => Ok(Doing::Freed { seen_ms }),
            Err((_, why)) if case.order_ms.is_some_and(|at| self.now_ms > at + s.confirm_ms) => {
                Ok(self.fail(&format!("asked, and not seen free: {why}"), s))
            }
            Err(why) => Err(why),
        }
    }

    fn after_order(&self, case: &Case, a: &Allocation, s: &Settings, at_ms: i64) -> Result<Doing, Why> {
        if let Some(until) = case.until_ms {
            if self.now_ms < until {
                return Err((NotDone::AwaitsRetry, "the scheduler asks to wait".to_owned()));
            }
            self.may_act(a, s)?;
            return self.order(a, s);
        }
        if self.now_ms > at_ms + s.confirm_ms {
            return Ok(self.fail("it was asked for, and still holds its GPUs", s));
        }
        Err((NotDone::AwaitsFree, String::new()))
    }

    /// A checkpoint was asked for: what the signal itself makes the cards do is no work of the owner's.
    fn after_signal(&self, case: &Case, a: &Allocation, s: &Settings, c: &Checkpoint) -> Result<Doing, Why> {
        let Some(signal_ms) = case.signal_ms else { return self.act(case, a, s) };
        if has_checkpoint(case, a) {
            self.may_act(a, s)?;
            return self.order(a, s);
        }
        if self.now_ms <= signal_ms + c.wait_ms {
            return Err((NotDone::AwaitsCheckpoint, String::new()));
        }
        if c.required {
            let why = "a checkpoint was asked for and none is confirmed: it was left as it is".to_owned();
            return Ok(Doing::Escalate { why });
        }
        self.may_act(a, s)?;
        self.order(a, s)
    }

    fn fail(&self, why: &str, s: &Settings) -> Doing {
        Doing::Fail { why: why.to_owned(), retry_ms: self.now_ms + s.retry_ms }
    }

    fn order(&self, a: &Allocation, s: &Settings) -> Result<Doing, Why> {
        let act = match &a.identity {
            Identity::Slurm { .. } => s.slurm,
            Identity::Kubernetes { owner, .. } => {
                let whole = matches!(s.kubernetes, ActKind::SuspendOwner | ActKind::ScaleOwner);
                let busy = owner.as_ref().map(|o| o.busy_siblings);
                match (whole, busy) {
                    (true, None) => return Err((NotDone::ForOperator, "no workload owns the pod".to_owned())),
                    (true, Some(Some(0))) | (false, _) => s.kubernetes,
                    (true, Some(_)) => {
                        return Err((NotDone::SiblingBusy, "a sibling is busy, or not every one is judged".to_owned()));
                    }
                }
            }
            Identity::Session { .. } | Identity::Process { .. } => return Err(bare_host()),
        };
        let resume_nice = if act == ActKind::Requeue { s.resume_nice } else { None };
        Ok(Doing::Order { act, resume_nice })
    }

    /// Everything that has to hold at the moment of acting, beside what the case stands on.
    fn may_act(&self, a: &Allocation, s: &Settings) -> Result<(), Why> {
        let Some(cluster) = a.identity.cluster() else { return Err(bare_host()) };
        if let Some(p) = self.spared(&self.book.protected, a) {
            return Err((NotDone::Protected, p.reason.clone()));
        }
        if s.hours.as_ref().is_some_and(|h| !h.has(self.now_ms)) {
            return Err((NotDone::OutsideHours, String::new()));
        }
        let fresh = &self.book.fresh;
        if !self.is_recent(a.judgement.newest_ms, fresh.act_tick_ms) {
            return Err((NotDone::TickTooOld, String::new()));
        }
        if self.unread(Some(cluster), fresh.act_reading_ms) {
            return Err((NotDone::ReadingTooOld, String::new()));
        }
        Ok(())
    }
}

fn bare_host() -> Why {
    (NotDone::NoScheduler, "a bare host: ask the owner; nothing is ended from here".to_owned())
}

/// Whether a checkpoint is known that is newer than the signal which asked for it.
fn has_checkpoint(case: &Case, a: &Allocation) -> bool {
    match (case.signal_ms, a.work.checkpoint_ms) {
        (Some(signal), Some(at)) => at > signal,
        _ => false,
    }
}
