//! What the policy allows: which one speaks of an allocation, approval, protection, hours, caps.

use chrono::{Datelike, Timelike};
use gpuledger_schema::reclaim::{ActKind, Allocation, Approval, Case, Class, Identity};

use super::{No, View, no};
use crate::plan::{Doing, Step};
use crate::policy::{Exemption, Settings};

/// What caps count over.
const HOUR_MS: i64 = 3_600_000;

impl View<'_> {
    /// The policy that speaks of an allocation: the most specific of those that hold now (team, then queue, then task type,
    /// then pool, then cluster).
    pub(super) fn policy_of(&self, a: &Allocation) -> Option<&str> {
        let mut best: Option<([bool; 5], &str)> = None;
        for p in self.book.policies.iter().filter(|p| p.is_valid(self.at_ms)) {
            let s = &p.scope;
            let pairs = [
                (&s.team, Some(a.owner.team.as_str())),
                (&s.queue, a.work.queue.as_deref()),
                (&s.task_type, Some(a.work.task_type.as_str())),
                (&s.pool, Some(a.work.pool.as_str())),
                (&s.cluster, a.identity.cluster()),
            ];
            if pairs.iter().any(|(wanted, have)| wanted.is_some() && wanted.as_deref() != *have) {
                continue;
            }
            let rank = pairs.map(|(wanted, _)| wanted.is_some());
            if best.is_none_or(|(r, _)| rank > r) {
                best = Some((rank, &p.name));
            }
        }
        best.map(|(_, name)| name)
    }

    /// Whether whoever has to approve did.
    pub(super) fn approval(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<(), No> {
        if !case.class.can_act() {
            return no("R2", "nothing can be asked of a scheduler about it");
        }
        match case.class {
            Class::LowUse if !case.released => return no("R2", "its owner did not answer"),
            Class::OverLimit if !s.act_on_over_limit && !case.released => {
                return no("R2", "the policy does not act on runs that are too long");
            }
            Class::Capacity if case.approved_by.is_none() => return no("R2", "nobody approved the order"),
            _ => {}
        }
        if !case.released && self.policy_of(a) != Some(case.policy.as_str()) {
            return no("R2", "another policy speaks of it now");
        }
        if s.approval != Approval::Automatic && case.approved_by.is_none() {
            return no("R2", "nobody approved it");
        }
        if case.held.is_some() {
            return no("R2", "an operator holds it");
        }
        Ok(())
    }

    /// Exempt and protected work is not touched.
    pub(super) fn spared(&self, a: &Allocation) -> Result<(), No> {
        let speaks = |e: &&Exemption| {
            let s = &e.scope;
            let job = match &a.identity {
                Identity::Slurm { job_raw, .. } => Some(job_raw),
                Identity::Kubernetes { uid, .. } => Some(uid),
                _ => None,
            };
            e.until_ms.is_none_or(|until| until > self.at_ms)
                && (s.job.is_none() || s.job.as_ref() == job)
                && (s.user.is_none() || s.user.as_deref() == Some(&a.owner.user))
                && (s.team.is_none() || s.team.as_deref() == Some(&a.owner.team))
                && (s.queue.is_none() || s.queue == a.work.queue)
                && (s.qos.is_none() || s.qos == a.work.qos)
                && (s.pool.is_none() || s.pool.as_deref() == Some(&a.work.pool))
                && (s.task_type.is_none() || s.task_type.as_deref() == Some(&a.work.task_type))
                && (s.cluster.is_none() || s.cluster.as_deref() == a.identity.cluster())
                && s.node.as_ref().is_none_or(|n| a.nodes.iter().any(|x| x == n))
        };
        match self.book.exemptions.iter().chain(&self.book.protected).find(speaks) {
            Some(e) => Err(("R2", format!("it is exempt or protected: {}", e.reason))),
            None => Ok(()),
        }
    }

    /// Hours in which somebody is there.
    pub(super) fn hours(&self, s: &Settings) -> Result<(), No> {
        let Some(hours) = &s.hours else { return Ok(()) };
        let Some(utc) = chrono::DateTime::from_timestamp_millis(self.at_ms) else {
            return no("R2", "there is no such time");
        };
        let local = utc.with_timezone(&hours.zone);
        let minute = local.hour() * 60 + local.minute();
        let inside = hours.days.contains(&local.weekday()) && minute >= hours.from_minute && minute < hours.to_minute;
        if inside { Ok(()) } else { no("R2", "it is outside the hours of the policy") }
    }

    /// A workload is stopped as a whole only if every pod of it is known to be idle.
    pub(super) fn siblings(&self, doing: &Doing, a: &Allocation) -> Result<(), No> {
        let Doing::Order { act, .. } = doing else { return Ok(()) };
        let fits = match &a.identity {
            Identity::Slurm { .. } => matches!(act, ActKind::Requeue | ActKind::Cancel),
            Identity::Kubernetes { owner, .. } => match act {
                ActKind::Evict => true,
                ActKind::SuspendOwner | ActKind::ScaleOwner => {
                    owner.as_ref().is_some_and(|o| o.busy_siblings == Some(0))
                }
                _ => false,
            },
            _ => false,
        };
        if fits { Ok(()) } else { no("R2", "its scheduler is not asked so, or a sibling may be busy") }
    }

    /// R2: room in every cap, counted from what was asked in the hour before and from this round.
    pub(super) fn room(&self, step: &Step, case: &Case, before: &[&Step]) -> Result<(), No> {
        // the order that follows a signal is the same action
        if case.signal_ms.is_some() && case.order_ms.is_none() {
            return Ok(());
        }
        let caps = &self.book.caps;
        let (mut round, mut hour, mut team, mut node) = (0, 0, 0, 0);
        for s in before {
            round += 1;
            hour += 1;
            team += i64::from(s.team == step.team);
            node += i64::from(s.nodes.iter().any(|n| step.nodes.contains(n)));
        }
        for p in self.now.past.iter().filter(|p| p.at_ms > self.at_ms - HOUR_MS) {
            hour += 1;
            team += i64::from(p.team == step.team);
            node += i64::from(p.nodes.iter().any(|n| step.nodes.contains(n)));
        }
        let full = round >= caps.per_round
            || hour >= caps.per_hour
            || team >= caps.per_team_hour
            || node >= caps.per_node_hour;
        if full { no("R2", "a cap is used up") } else { Ok(()) }
    }
}
