//! Whether what a case stands on still holds.

use gpuledger_schema::reclaim::{Allocation, Card, Case, Class, Identity, NotDone, Reason, Source, Verdict};

use super::{Round, Why, facts};
use crate::policy::{Exemption, Scope, Settings};

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// It still is what it was opened for.
    Holds,
    /// It is not, for a moment or for good.
    Works {
        /// Since when it works, where it does now.
        active_from_ms: Option<i64>,
    },
    /// Nobody can say.
    Unknown(String),
}

impl Round<'_> {
    /// Whether the allocation is still what the case was opened for.
    pub(super) fn ground(&self, case: &Case, a: &Allocation) -> Ground {
        let j = &a.judgement;
        if let Some(why) = self.unproved(a) {
            return Ground::Unknown(why);
        }
        let holds = match case.class {
            Class::NeverTouched | Class::IdleSince => j.verdict == Verdict::Idle && j.active_from_ms.is_none(),
            Class::Capacity => true,
            class => j.classes.contains(&class),
        };
        if holds {
            return Ground::Holds;
        }
        Ground::Works { active_from_ms: j.active_from_ms }
    }

    /// Why nothing can be said of it: no verdict, too little measured, or a scheduler that was not read (R1).
    pub(super) fn unproved(&self, a: &Allocation) -> Option<String> {
        let j = &a.judgement;
        if j.verdict == Verdict::Unknown {
            return Some(reasons(&j.reasons));
        }
        let fresh = &self.book.fresh;
        if j.coverage_ppm.is_none_or(|c| c < fresh.coverage_ppm) {
            return Some(reasons(&[Reason::LowCoverage]));
        }
        if !self.is_recent(j.newest_ms, fresh.tick_ms) {
            return Some(reasons(&[Reason::Stale]));
        }
        self.unread(a.identity.cluster(), fresh.reading_ms).then(|| reasons(&[Reason::SchedulerStale]))
    }

    /// Whether an instant is at most so long ago. What lies ahead by more than that comes from another clock.
    pub(super) fn is_recent(&self, at_ms: Option<i64>, max_ms: i64) -> bool {
        at_ms.is_some_and(|at| (self.now_ms - at).abs() <= max_ms)
    }

    pub(super) fn source(&self, cluster: &str) -> Option<&Source> {
        self.snapshot.sources.iter().find(|s| s.cluster == cluster)
    }

    /// Whether the scheduler of an allocation was not read successfully for too long. A bare host has none.
    pub(super) fn unread(&self, cluster: Option<&str>, max_ms: i64) -> bool {
        let Some(cluster) = cluster else { return false };
        self.source(cluster).is_none_or(|s| !self.is_recent(s.read_ms, max_ms))
    }

    /// How long it has been so, on the clock of its class, ms.
    pub(super) fn elapsed_ms(&self, case: &Case, a: &Allocation) -> i64 {
        match case.class {
            Class::NeverTouched | Class::IdleSince => rest_ms(a).unwrap_or(0),
            Class::OverLimit => self.settings(case).map_or(0, |s| self.over_ms(a, s).unwrap_or(0)),
            _ => self.now_ms - case.opened_ms,
        }
    }

    /// How far a run is over the time that its kind may last, ms; absent: nobody says how long.
    pub(super) fn over_ms(&self, a: &Allocation, settings: &Settings) -> Option<i64> {
        let max = settings.max_duration_ms.or(a.work.max_ms)?;
        Some(self.now_ms - a.identity.start_ms() - max)
    }

    pub(super) fn settings(&self, case: &Case) -> Option<&Settings> {
        self.book.named(&case.policy, self.now_ms).map(|p| &p.settings)
    }

    /// The instant at which the GPUs of a case that is no longer there were seen free; else why they are not.
    pub(super) fn freed(&self, case: &Case) -> Result<i64, Why> {
        let waits = |detail: String| (NotDone::AwaitsFree, detail);
        let Some(was) = facts(case) else { return Err(waits("its facts cannot be read".to_owned())) };
        let since = case.order_ms.unwrap_or(case.since_ms);
        if let Some(cluster) = was.identity.cluster() {
            let read = self.source(cluster).and_then(|s| s.read_ms);
            if read.is_none_or(|at| at <= since) {
                return Err(waits(format!("{cluster} was not read since")));
            }
        }
        if let Some(again) = self.made_again(&was, since) {
            return Err((NotDone::AwaitsFree, format!("its owner made it again: {again}")));
        }
        let free_ppm = self.settings(case).map_or(0, |s| s.free_memory_ppm);
        let mut seen = i64::MAX;
        for device in &was.device_ids {
            let card = self.snapshot.cards.iter().find(|c| c.device_id == *device);
            let at = card.and_then(|c| is_free(c, case.allocation_id, since, free_ppm));
            seen = seen.min(at.ok_or_else(|| waits(format!("GPU {device} was not seen free")))?);
        }
        if was.device_ids.is_empty() { Err(waits("no GPU of it is known by name".to_owned())) } else { Ok(seen) }
    }

    /// A pod that the same workload has made since.
    fn made_again(&self, was: &Allocation, since_ms: i64) -> Option<String> {
        let Identity::Kubernetes { owner: Some(owner), .. } = &was.identity else { return None };
        let of_it = |a: &&gpuledger_schema::reclaim::Allocation| match &a.identity {
            Identity::Kubernetes { owner: Some(o), start_ms, .. } => o.uid == owner.uid && *start_ms >= since_ms,
            _ => false,
        };
        self.snapshot.allocations.iter().find(of_it).map(|a| a.identity.shown())
    }

    /// An exemption or protection that speaks of it now.
    pub(super) fn spared<'b>(&self, list: &'b [Exemption], a: &Allocation) -> Option<&'b Exemption> {
        list.iter().find(|e| e.until_ms.is_none_or(|u| self.now_ms < u) && is_about(&e.scope, a))
    }
}

/// When a card was seen free of an allocation: a tick after `since`, no process of it, and its memory given back or held by
/// somebody else. Nothing running on a card whose memory is held is not a free card.
fn is_free(card: &Card, allocation_id: i64, since_ms: i64, free_ppm: i64) -> Option<i64> {
    let at = card.newest_ms.filter(|at| *at > since_ms)?;
    if card.users.contains(&allocation_id) || card.holders.contains(&allocation_id) {
        return None;
    }
    let given_back = match (card.mem_used_bytes, card.mem_total_bytes) {
        (Some(used), Some(total)) => i128::from(used) * 1_000_000 <= i128::from(total) * i128::from(free_ppm),
        _ => false,
    };
    (given_back || !card.holders.is_empty()).then_some(at)
}

/// How long all cards of an allocation have been at rest, ms.
pub(super) fn rest_ms(a: &Allocation) -> Option<i64> {
    Some(a.judgement.newest_ms? - a.judgement.rest_from_ms?)
}

pub(super) fn reasons(list: &[Reason]) -> String {
    list.iter().map(|r| r.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether a scope speaks of an allocation.
fn is_about(scope: &Scope, a: &Allocation) -> bool {
    let fits = |wanted: &Option<String>, have: Option<&str>| wanted.as_deref().is_none_or(|w| have == Some(w));
    let job = match &a.identity {
        Identity::Slurm { job_raw, .. } => Some(job_raw.as_str()),
        Identity::Kubernetes { uid, .. } => Some(uid.as_str()),
        Identity::Session { .. } | Identity::Process { .. } => None,
    };
    fits(&scope.cluster, a.identity.cluster())
        && fits(&scope.pool, Some(&a.work.pool))
        && fits(&scope.task_type, Some(&a.work.task_type))
        && fits(&scope.queue, a.work.queue.as_deref())
        && fits(&scope.team, Some(&a.owner.team))
        && fits(&scope.user, Some(&a.owner.user))
        && fits(&scope.qos, a.work.qos.as_deref())
        && fits(&scope.job, job)
        && scope.node.as_ref().is_none_or(|n| a.nodes.contains(n))
}
