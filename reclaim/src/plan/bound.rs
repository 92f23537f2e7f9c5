//! What bounds a round: switches, the breaker, caps.

use std::collections::BTreeMap;

use gpuledger_schema::reclaim::{Case, NotDone, Past, StopKind};

use super::{Doing, Left, PlanBody, Round, Stop, Why, facts};

/// An hour in ms: what caps count over.
const HOUR_MS: i64 = 3_600_000;

/// Whether opening this would be one more allocation that became idle.
pub(super) fn is_newly_idle(doing: &Doing) -> bool {
    matches!(doing, Doing::Open { class, .. } if class.is_rest() || *class == gpuledger_schema::reclaim::Class::JobGone)
}

/// Whether a bound stops this kind of step. What only writes down what was seen goes on.
fn blocks(stop: StopKind, doing: &Doing) -> bool {
    match doing {
        Doing::Open { .. } | Doing::Escalate { .. } => matches!(
            stop,
            StopKind::CoverageFalls
                | StopKind::WitnessesDisagree
                | StopKind::SchedulerUnreadable
                | StopKind::SchedulerShort
        ),
        Doing::Tell { .. } => stop != StopKind::ActOff,
        Doing::Due => !matches!(stop, StopKind::ActOff | StopKind::NotifyOff),
        Doing::Approve | Doing::Signal { .. } | Doing::Order { .. } => true,
        Doing::Recover { .. }
        | Doing::Resume
        | Doing::Freed { .. }
        | Doing::Fail { .. }
        | Doing::Exempt { .. }
        | Doing::Postpone { .. } => false,
    }
}

impl Round<'_> {
    /// Whether nothing stops a step.
    pub(super) fn unstopped(&self, doing: &Doing) -> Result<(), Why> {
        match self.stops.iter().find(|s| blocks(s.kind, doing)) {
            Some(stop) => Err((NotDone::Stopped, stop.kind.to_string())),
            None => Ok(()),
        }
    }

    /// What stops this round. `would_open`: allocations that became idle and have no case yet.
    pub(super) fn find_stops(&self, would_open: i64) -> Vec<Stop> {
        let mut out = Vec::new();
        let mut add = |kind: StopKind, why: String| out.push(Stop { kind, why });
        let (switches, book) = (&self.snapshot.switches, self.book);
        if let Some(why) = &switches.killed {
            add(StopKind::Killed, why.clone());
        }
        if let Some(why) = &switches.breaker {
            add(StopKind::BreakerOpen, why.clone());
        }
        if !(switches.notify && book.notify) {
            add(StopKind::NotifyOff, "owners are not told".to_owned());
        }
        if !(switches.act && book.act) {
            add(StopKind::ActOff, "nothing is acted upon".to_owned());
        }
        let all = i64::try_from(self.snapshot.allocations.len()).unwrap_or(i64::MAX);
        if would_open >= book.breaker.newly_idle_min && part(would_open, all) > book.breaker.newly_idle_ppm {
            add(StopKind::ManyNewlyIdle, format!("{would_open} of {all} allocations became idle at once"));
        }
        let seen = &self.snapshot.seen;
        if let (Some(now), Some(before)) = (seen.coverage_ppm, seen.coverage_before_ppm)
            && before - now >= book.breaker.coverage_fall_ppm
        {
            add(StopKind::CoverageFalls, format!("{} % measured, {} % before", now / 10_000, before / 10_000));
        }
        let cards = i64::try_from(self.snapshot.cards.len()).unwrap_or(i64::MAX);
        if seen.disagreeing >= book.breaker.disagree_min && part(seen.disagreeing, cards) > book.breaker.disagree_ppm {
            add(StopKind::WitnessesDisagree, format!("on {} of {cards} cards", seen.disagreeing));
        }
        out.extend(self.scheduler_stops());
        out
    }

    fn scheduler_stops(&self) -> Vec<Stop> {
        let mut out = Vec::new();
        for s in &self.snapshot.sources {
            let failed = s.failed_ms.is_some_and(|at| s.read_ms.is_none_or(|read| at > read));
            if failed || !self.is_recent(s.read_ms, self.book.fresh.reading_ms) {
                let why = s.error.clone().unwrap_or_else(|| "no fresh reading".to_owned());
                out.push(Stop { kind: StopKind::SchedulerUnreadable, why: format!("{}: {why}", s.cluster) });
            }
            if let (Some(now), Some(before)) = (s.jobs, s.jobs_before)
                && before >= self.book.breaker.newly_idle_min
                && part(before - now, before) > self.book.breaker.jobs_fall_ppm
            {
                let why = format!("{}: {now} jobs, {before} before", s.cluster);
                out.push(Stop { kind: StopKind::SchedulerShort, why });
            }
        }
        out
    }

    /// Takes acts into a plan as far as the caps go: what is needed least first.
    pub(super) fn within_caps(&self, mut acts: Vec<(&Case, Doing)>, body: &mut PlanBody) {
        acts.sort_by_key(|(case, _)| {
            let work = facts(case).map(|a| a.work).unwrap_or_default();
            let least = (work.priority.unwrap_or(i64::MAX), !work.borrowed, work.preemptible != Some(true));
            (least, work.checkpoint_ms.is_none(), case.deadline_ms, case.case_id)
        });
        let mut used = Used::of(&self.snapshot.past, self.now_ms);
        for (case, doing) in acts {
            // a signal and the order after it are one action
            let counted = case.signal_ms.is_none() || case.order_ms.is_some();
            let step = self.step(case, doing);
            match if counted { used.take(self, &step.team, &step.nodes) } else { Ok(()) } {
                Ok(()) => body.steps.push(step),
                Err(why) => {
                    let left = Left { detail: String::new(), ..self.left_case(case, (why, String::new())) };
                    body.left.push(left);
                }
            }
        }
    }
}

fn part(of: i64, all: i64) -> i64 {
    if all <= 0 { 0 } else { i64::try_from(i128::from(of) * 1_000_000 / i128::from(all)).unwrap_or(i64::MAX) }
}

/// How much of the caps is used: actions in this round, in this hour, and in this hour on each team and node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    round: i64,
    hour: i64,
    team: BTreeMap<String, i64>,
    node: BTreeMap<String, i64>,
}

impl Used {
    /// By what was asked of schedulers before a round.
    pub fn of(past: &[Past], now_ms: i64) -> Self {
        let mut used = Self::default();
        // what a clock puts into the future counts, too
        for past in past.iter().filter(|p| p.at_ms > now_ms - HOUR_MS) {
            used.add(&past.team, &past.nodes);
        }
        used.round = 0;
        used
    }

    /// Actions in this hour.
    pub fn hour(&self) -> i64 {
        self.hour
    }

    /// Most actions in this hour on one team.
    pub fn team(&self) -> i64 {
        self.team.values().copied().max().unwrap_or(0)
    }

    /// Most actions in this hour on one node.
    pub fn node(&self) -> i64 {
        self.node.values().copied().max().unwrap_or(0)
    }

    fn add(&mut self, team: &str, nodes: &[String]) {
        self.round += 1;
        self.hour += 1;
        *self.team.entry(team.to_owned()).or_default() += 1;
        for node in nodes {
            *self.node.entry(node.clone()).or_default() += 1;
        }
    }

    fn take(&mut self, round: &Round<'_>, team: &str, nodes: &[String]) -> Result<(), NotDone> {
        let caps = &round.book.caps;
        if self.round >= caps.per_round {
            return Err(NotDone::CapRound);
        }
        if self.hour >= caps.per_hour {
            return Err(NotDone::CapHour);
        }
        if self.team.get(team).copied().unwrap_or(0) >= caps.per_team_hour {
            return Err(NotDone::CapTeam);
        }
        if nodes.iter().any(|n| self.node.get(n).copied().unwrap_or(0) >= caps.per_node_hour) {
            return Err(NotDone::CapNode);
        }
        self.add(team, nodes);
        Ok(())
    }
}
