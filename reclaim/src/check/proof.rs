//! What has to be proved: rest, warnings, freshness, free cards.

use gpuledger_schema::reclaim::{Allocation, Case, CaseState, Class, Identity, Snapshot, StopKind, Verdict};

use super::{No, View, no};
use crate::plan::Doing;
use crate::policy::{Settings, Windows};

/// Room for the clocks of nodes: what lies further ahead comes from a clock that nobody can trust.
const AHEAD_MS: i64 = 120_000;

impl View<'_> {
    /// R1: coverage, a tick and a reading that are fresh enough for a verdict.
    fn proved(&self, a: &Allocation) -> Result<(), No> {
        let (j, fresh) = (&a.judgement, &self.book.fresh);
        if j.verdict == Verdict::Unknown {
            return no("R1", "there is no verdict");
        }
        let Some(coverage) = j.coverage_ppm else { return no("R1", "nobody says how much was measured") };
        if coverage < 900_000 || coverage < fresh.coverage_ppm {
            return no("R1", "too little was measured");
        }
        let Some(newest) = j.newest_ms else { return no("R1", "there is no tick") };
        if newest < self.at_ms - fresh.tick_ms || newest > self.at_ms + AHEAD_MS {
            return no("R1", "the newest tick is too old, or of another clock");
        }
        self.read_within(&a.identity, fresh.reading_ms)
    }

    fn read_within(&self, identity: &Identity, max_ms: i64) -> Result<(), No> {
        let (Identity::Slurm { cluster, .. } | Identity::Kubernetes { cluster, .. }) = identity else { return Ok(()) };
        for source in &self.now.sources {
            if source.cluster == *cluster
                && let Some(read) = source.read_ms
                && source.failed_ms.is_none_or(|failed| failed < read)
                && read >= self.at_ms - max_ms
                && read <= self.at_ms + AHEAD_MS
            {
                return Ok(());
            }
        }
        no("R1", "its scheduler was not read successfully lately")
    }

    /// Whether a case may be opened.
    pub(super) fn opening(&self, step: &crate::plan::Step, class: Class, policy: &str) -> Result<(), No> {
        let found = self.now.allocations.iter().find(|a| a.allocation_id == step.allocation_id);
        let Some(a) = found else { return no("R3", "nothing is opened about what is not there") };
        if self.now.cases.iter().any(|c| c.allocation_id == step.allocation_id) {
            return no("plan", "there is a case about it already");
        }
        self.proved(a)?;
        if self.now.sources.iter().any(|s| s.failed_ms > s.read_ms) {
            return no("R3", "a scheduler cannot be read");
        }
        if self.policy_of(a) != Some(policy) {
            return no("R2", "another policy speaks of it");
        }
        match class {
            Class::NeverTouched | Class::IdleSince => {
                let Some(p) = self.book.policies.iter().find(|p| p.name == policy) else {
                    return no("plan", "its policy is not in the book");
                };
                let Some(w) = p.settings.windows(class) else { return no("plan", "its class has no windows") };
                self.at_rest_for(a, w.warned_ms)
            }
            Class::Capacity => Ok(()),
            Class::OverLimit => {
                let max = a.work.max_ms.or_else(|| {
                    self.book.policies.iter().find(|p| p.name == policy).and_then(|p| p.settings.max_duration_ms)
                });
                match max {
                    Some(max) if self.at_ms - a.identity.start_ms() >= max => Ok(()),
                    _ => no("R2", "nobody says how long it may run, or it is not over"),
                }
            }
            other if a.judgement.classes.contains(&other) => Ok(()),
            _ => no("R1", "it is not of that class"),
        }
    }

    fn at_rest_for(&self, a: &Allocation, window_ms: i64) -> Result<(), No> {
        let j = &a.judgement;
        if j.verdict != Verdict::Idle || j.active_from_ms.is_some() {
            return no("R1", "it is not at rest");
        }
        match (j.rest_from_ms, j.newest_ms) {
            (Some(from), Some(newest)) if newest - from >= window_ms => Ok(()),
            _ => no("R1", "it has not been at rest for its window"),
        }
    }

    /// Whether a case still stands on what it was opened for.
    pub(super) fn still(&self, case: &Case, a: &Allocation, _: &Settings) -> Result<(), No> {
        self.proved(a)?;
        let same = super::case_identity(case).is_some_and(|i| i.is_same(&a.identity));
        if !same && case.class.can_act() && a.identity.cluster().is_some() {
            return no("R2", "it cannot be told whether it is still the same");
        }
        let holds = match case.class {
            Class::NeverTouched | Class::IdleSince => a.judgement.verdict == Verdict::Idle,
            Class::Capacity => true,
            other => a.judgement.classes.contains(&other) || other == Class::OverLimit,
        };
        if holds { Ok(()) } else { no("R1", "it is not what it was") }
    }

    /// R2: both warnings delivered, each with the time that it gives, and rest for the whole window.
    pub(super) fn warned_and_waited(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<(), No> {
        let Some(Windows { warned_ms, final_ms, due_ms }) = s.windows(case.class) else {
            return no("R2", "what has no deadline is never due");
        };
        let (Some(first), Some(last)) = (case.warned_ms, case.final_ms) else {
            return no("R2", "a warning was not delivered");
        };
        if last - first < final_ms - warned_ms || self.at_ms - last < due_ms - final_ms {
            return no("R2", "a warning did not have its time");
        }
        if case.deadline_ms.is_none_or(|d| self.at_ms < d) {
            return no("R2", "its deadline has not passed");
        }
        let signalled = case.state == CaseState::Acting && case.signal_ms.is_some();
        if case.class.is_rest() && !signalled {
            return self.at_rest_for(a, due_ms);
        }
        Ok(())
    }

    /// After a signal for a checkpoint: it may have worked since the signal, and not before it.
    pub(super) fn only_the_signal(&self, case: &Case, a: &Allocation, s: &Settings) -> Result<(), No> {
        self.proved_after_signal(a)?;
        if let (Some(from), Some(newest)) = (a.judgement.active_from_ms, a.judgement.newest_ms)
            && (newest - from >= s.active_ms || case.signal_ms.is_some_and(|signal| from < signal - 60_000))
        {
            return no("R1", "it works again");
        }
        Ok(())
    }

    /// The work of a checkpoint leaves the window without a verdict, so that only freshness is asked for.
    fn proved_after_signal(&self, a: &Allocation) -> Result<(), No> {
        match a.judgement.newest_ms {
            Some(newest) if newest >= self.at_ms - self.book.fresh.act_tick_ms => Ok(()),
            _ => no("R1", "the newest tick is too old to act upon"),
        }
    }

    /// Freshness for acting.
    pub(super) fn fresh_enough(&self, a: &Allocation) -> Result<(), No> {
        let fresh = &self.book.fresh;
        if a.judgement.newest_ms.is_none_or(|n| n < self.at_ms - fresh.act_tick_ms || n > self.at_ms + AHEAD_MS) {
            return no("R1", "the newest tick is too old to act upon");
        }
        if a.identity.cluster().is_none() {
            return no("R2", "nobody can act on a bare host");
        }
        self.read_within(&a.identity, fresh.act_reading_ms)
    }

    /// R3: nothing that stops the engine is the case.
    pub(super) fn nothing_is_wrong(&self, for_act: bool) -> Result<(), No> {
        let switches = &self.now.switches;
        if switches.killed.is_some() || switches.breaker.is_some() {
            return no("R2", "the engine is stopped");
        }
        if for_act && !(switches.notify && self.book.notify) {
            return no("R2", "owners are not told");
        }
        if let Some(kind) = self.outage() {
            return Err(("R3", kind.to_string()));
        }
        Ok(())
    }

    /// An outage that stops everything.
    fn outage(&self) -> Option<StopKind> {
        let Snapshot { sources, seen, cards, .. } = self.now;
        let b = &self.book.breaker;
        for s in sources {
            let Some(read) = s.read_ms else { return Some(StopKind::SchedulerUnreadable) };
            if s.failed_ms.is_some_and(|f| f > read) || read < self.at_ms - self.book.fresh.reading_ms {
                return Some(StopKind::SchedulerUnreadable);
            }
            if let (Some(now), Some(then)) = (s.jobs, s.jobs_before) {
                let lost = i128::from(then - now) * 1_000_000;
                if then >= b.newly_idle_min && lost > i128::from(b.jobs_fall_ppm) * i128::from(then) {
                    return Some(StopKind::SchedulerShort);
                }
            }
        }
        if let (Some(now), Some(then)) = (seen.coverage_ppm, seen.coverage_before_ppm)
            && now <= then - b.coverage_fall_ppm
        {
            return Some(StopKind::CoverageFalls);
        }
        let (bad, all) = (i128::from(seen.disagreeing), cards.len() as i128);
        let many = seen.disagreeing >= b.disagree_min && bad * 1_000_000 > i128::from(b.disagree_ppm) * all;
        many.then_some(StopKind::WitnessesDisagree)
    }

    /// "Freed" is said of what is gone by a later reading, and whose cards a later tick shows free.
    pub(super) fn seen_free(&self, case: &Case, s: &Settings, found: Option<&Allocation>) -> Result<(), No> {
        if found.is_some() {
            return no("R3", "it still holds its GPUs");
        }
        let facts: Option<Allocation> = serde_json::from_str(&case.facts).ok();
        let Some(facts) = facts else { return no("plan", "its facts cannot be read") };
        let since = case.order_ms.unwrap_or(case.since_ms);
        if let Some(cluster) = facts.identity.cluster() {
            let later = self.now.sources.iter().any(|x| x.cluster == cluster && x.read_ms.is_some_and(|r| r > since));
            if !later {
                return no("R3", "no reading says that it is gone");
            }
        }
        for device in &facts.device_ids {
            let Some(card) = self.now.cards.iter().find(|c| c.device_id == *device) else {
                return no("R3", "a card of it is not seen");
            };
            if card.newest_ms.is_none_or(|at| at <= since) {
                return no("R3", "a card of it was not seen since");
            }
            if card.users.contains(&case.allocation_id) || card.holders.contains(&case.allocation_id) {
                return no("R3", "a card of it is still used");
            }
            let empty = card.mem_used_bytes.zip(card.mem_total_bytes).is_some_and(|(used, total)| {
                i128::from(used) * 1_000_000 <= i128::from(s.free_memory_ppm) * i128::from(total)
            });
            if !empty && card.holders.is_empty() {
                return no("R3", "memory of a card of it is still held");
            }
        }
        if facts.device_ids.is_empty() { no("R3", "no card of it is known") } else { Ok(()) }
    }

    /// A policy that asks for a checkpoint first gets it first.
    pub(super) fn checkpoint(&self, doing: &Doing, case: &Case, a: &Allocation, s: &Settings) -> Result<(), No> {
        let Some(rule) = &s.checkpoint else { return Ok(()) };
        if !matches!(doing, Doing::Order { .. }) || !matches!(a.identity, Identity::Slurm { .. }) {
            return Ok(());
        }
        let Some(signal) = case.signal_ms else { return no("R2", "no checkpoint was asked for") };
        if a.work.checkpoint_ms.is_some_and(|at| at > signal) {
            return Ok(());
        }
        if rule.required || self.at_ms <= signal + rule.wait_ms {
            return no("R2", "no checkpoint is confirmed");
        }
        Ok(())
    }
}
