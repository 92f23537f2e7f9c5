//! The rule of `sql/idle`, a second time and another way: a tick at a time instead of a window at once.

use std::collections::VecDeque;

use gpuledger_reclaim::policy::{Book, Policy};
use gpuledger_schema::reclaim::{AlertKind, Class, Judgement, Reason, Verdict};

use super::{Fleet, HOUR, MINUTE, Run};

/// A hole longer than this starts the clock again.
const HOLE: i64 = 2 * MINUTE;
/// Pauses up to this do not end a spell of work.
const PAUSE: i64 = 5 * MINUTE;
/// At rest up to this.
const REST_PPM: i64 = 10_000;

/// A tick of all cards of a run.
pub(crate) struct Tick {
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    pub(crate) peak_ppm: i64,
    pub(crate) mean_ppm: i64,
    pub(crate) dram_ppm: i64,
    pub(crate) power_mw: i64,
    pub(crate) floor_mw: i64,
}

/// What is remembered of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mirror {
    start_ms: i64,
    newest_ms: Option<i64>,
    rest_from_ms: Option<i64>,
    active_from_ms: Option<i64>,
    last_active_ms: Option<i64>,
    last_hole_ms: Option<i64>,
    last_quarrel_ms: Option<i64>,
    peak_ppm: i64,
    power_mw: i64,
    /// Measured spans of the last day: from, to, mean.
    spans: VecDeque<(i64, i64, i64)>,
}

impl Mirror {
    pub(crate) fn new(start_ms: i64) -> Self {
        Self { start_ms, ..Self::default() }
    }

    pub(crate) fn take(&mut self, t: &Tick) {
        let hole_from = self.newest_ms.unwrap_or(self.start_ms);
        if t.from_ms - hole_from > HOLE {
            self.rest_from_ms = None;
            self.last_hole_ms = Some(t.from_ms);
        }
        if self.last_active_ms.is_none_or(|at| t.from_ms - at > PAUSE) {
            self.active_from_ms = None;
        }
        let active = t.peak_ppm > REST_PPM || t.dram_ppm > REST_PPM;
        let quarrel = !active && t.power_mw > t.floor_mw;
        self.newest_ms = Some(t.to_ms);
        if active {
            self.rest_from_ms = None;
            self.active_from_ms = self.active_from_ms.or(Some(t.from_ms));
            self.last_active_ms = Some(t.to_ms);
        } else if quarrel {
            self.rest_from_ms = None;
            self.last_quarrel_ms = Some(t.to_ms);
        } else {
            if self.rest_from_ms.is_none() {
                (self.peak_ppm, self.power_mw) = (0, 0);
            }
            self.rest_from_ms = self.rest_from_ms.or(Some(t.from_ms));
            self.peak_ppm = self.peak_ppm.max(t.peak_ppm);
            self.power_mw = self.power_mw.max(t.power_mw);
        }
        if !quarrel {
            match self.spans.back_mut() {
                // a run of the same is one span, so that a day of it is short
                Some((_, to, mean)) if *to == t.from_ms && *mean == t.mean_ppm => *to = t.to_ms,
                _ => self.spans.push_back((t.from_ms, t.to_ms, t.mean_ppm)),
            }
        }
        while self.spans.front().is_some_and(|(_, to, _)| *to < t.to_ms - 26 * HOUR) {
            self.spans.pop_front();
        }
    }

    fn covered(&self, from: i64, to: i64) -> i64 {
        let part = |(a, b, _): &(i64, i64, i64)| ((*b).min(to) - (*a).max(from)).max(0);
        let ms: i64 = self.spans.iter().rev().take_while(|(_, b, _)| *b > from).map(part).sum();
        if to > from { ms * 1_000_000 / (to - from) } else { 0 }
    }

    fn mean(&self, from: i64, to: i64) -> i64 {
        let part = |(a, b, mean): &(i64, i64, i64)| ((*b).min(to) - (*a).max(from)).max(0) * mean / 1_000;
        let sum: i64 = self.spans.iter().map(part).sum();
        if to > from { sum * 1_000 / (to - from) } else { 0 }
    }

    pub(crate) fn judge(&self, fleet: &Fleet, run: &Run, policy: &Policy) -> Judgement {
        let s = &policy.settings;
        let now = fleet.now_ms;
        let never = self.last_active_ms.is_none() && self.last_hole_ms.is_none() && self.last_quarrel_ms.is_none();
        let class = if never { Class::NeverTouched } else { Class::IdleSince };
        let window = s.windows(class).map_or(i64::MAX, |w| w.warned_ms);
        let newest = self.newest_ms.unwrap_or(self.start_ms);
        let from = (newest - window).max(self.start_ms);
        let coverage = self.newest_ms.map(|_| self.covered(from, newest));
        let mut out = Judgement {
            policy: Some(policy.name.clone()),
            verdict: Verdict::Unknown,
            reasons: Vec::new(),
            classes: Vec::new(),
            alerts: Vec::new(),
            rest_from_ms: self.rest_from_ms,
            active_from_ms: self.active_from_ms.filter(|_| self.last_active_ms.is_some_and(|at| newest - at <= PAUSE)),
            newest_ms: self.newest_ms,
            coverage_ppm: coverage,
            peak_ppm: self.rest_from_ms.map(|_| self.peak_ppm),
            power_mw: self.rest_from_ms.map(|_| self.power_mw),
            floor_mw: Some(super::FLOOR_MW),
            mean_ppm: (newest - self.start_ms >= 24 * HOUR).then(|| self.mean(newest - 24 * HOUR, newest)),
        };
        let why = self.unknown_because(fleet, coverage);
        if self.last_quarrel_ms.is_some_and(|at| at > from) {
            out.alerts.push(AlertKind::Disagreement);
        }
        if let Some(why) = why {
            out.reasons.push(why);
            return out;
        }
        self.verdict(&mut out, run, policy, class, window, newest, now);
        out
    }

    fn unknown_because(&self, fleet: &Fleet, coverage: Option<i64>) -> Option<Reason> {
        let Some(newest) = self.newest_ms else { return Some(Reason::NeverMeasured) };
        let fresh = fleet.policy.as_ref().expect("a policy").fresh;
        if fleet.now_ms - newest > fresh.tick_ms {
            return Some(Reason::Stale);
        }
        if fleet.read_ms.is_none_or(|r| fleet.now_ms - r > fresh.reading_ms) {
            return Some(Reason::SchedulerStale);
        }
        if self.last_quarrel_ms == self.newest_ms {
            return Some(Reason::Disagreement);
        }
        (coverage.unwrap_or(0) < fresh.coverage_ppm).then_some(Reason::LowCoverage)
    }

    #[allow(clippy::too_many_arguments, reason = "one rule, read in one place")]
    fn verdict(
        &self,
        out: &mut Judgement,
        run: &Run,
        policy: &Policy,
        class: Class,
        window: i64,
        newest: i64,
        now: i64,
    ) {
        let rest = self.rest_from_ms.map(|from| newest - from);
        let worked = self.last_active_ms.is_some_and(|at| at > newest - window);
        if rest.is_some_and(|r| r >= window) {
            out.verdict = Verdict::Idle;
            out.classes.push(class);
        } else if worked || out.active_from_ms.is_some() {
            out.verdict = Verdict::Busy;
        } else if self.last_hole_ms.is_some_and(|at| at > newest - window)
            || self.last_quarrel_ms.is_some_and(|at| at > newest - window)
        {
            out.reasons.push(Reason::ClockRestarted);
            return;
        } else {
            out.reasons.push(Reason::TooYoung);
            return;
        }
        if out.mean_ppm.is_some_and(|m| m < policy.settings.low_use_ppm) && out.verdict == Verdict::Busy {
            out.classes.push(Class::LowUse);
            if matches!(run.load, super::Load::Token { .. }) {
                out.alerts.push(AlertKind::TokenLoad);
            }
        }
        if matches!(run.load, super::Load::Hangs) {
            out.alerts.push(AlertKind::Hung);
        }
        let max = policy.settings.max_duration_ms.or(run.work.max_ms);
        if max.is_some_and(|m| now - run.identity.start_ms() >= m) {
            out.classes.push(Class::OverLimit);
        }
    }
}

/// The policy that speaks of a run.
pub(crate) fn policy_of<'a>(book: &'a Book, run: &Run, at_ms: i64) -> Option<&'a Policy> {
    let fits = |wanted: &Option<String>, have: Option<&str>| wanted.as_deref().is_none_or(|w| have == Some(w));
    let speaks = |p: &&Policy| {
        p.is_valid(at_ms)
            && fits(&p.scope.team, Some(&run.owner.team))
            && fits(&p.scope.queue, run.work.queue.as_deref())
            && fits(&p.scope.task_type, Some(&run.work.task_type))
            && fits(&p.scope.pool, Some(&run.work.pool))
            && fits(&p.scope.cluster, run.identity.cluster())
    };
    let rank = |p: &Policy| {
        let s = &p.scope;
        (s.team.is_some(), s.queue.is_some(), s.task_type.is_some(), s.pool.is_some(), s.cluster.is_some())
    };
    book.policies.iter().filter(speaks).max_by_key(|p| rank(p))
}
