//! From looks to rows: what is different from what was written before, and nothing else. Pure.
//!
//! [`Memory`] is what was written. [`Memory::change`] compares a look with it; [`Memory::apply`] takes a change up, the same
//! way after a look as after a restart, so that a restart changes no row.
//!
//! - A run that is shown and did not change gives no row: it counts to the newest successful reading of its source.
//! - A run that a complete look no longer shows and nothing explains gives a row with `last_seen_ms`; its state stays.
//! - A waiting request that is gone without explanation is ENDED as of the look that no longer shows it.
//! - A node's interval is closed when the next begins. What a look did not show because it failed is not closed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gpuledger_schema::id::id63;
use gpuledger_schema::state::RunState;
use gpuledger_schema::table::{
    AllocationDeviceRow, AllocationRow, JobRow, NodeOfferRow, NodeStateRow, QuarantineRow, ReadingRow, Row,
};
use serde::{Deserialize, Serialize};

use super::{LookError, Snapshot};

mod memory;

pub use memory::Memory;

/// What a look adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Instant of the look.
    pub as_of_ms: i64,
    /// Whether the look succeeded and showed everything.
    pub complete: bool,
    /// The look itself, and its parts that failed.
    pub readings: Vec<ReadingRow>,
    /// Requests that are new or changed.
    pub jobs: Vec<JobRow>,
    /// Runs that are new or changed.
    pub allocations: Vec<AllocationRow>,
    /// Holdings that are new, changed or let go.
    pub holdings: Vec<AllocationDeviceRow>,
    /// Intervals of nodes that begin or end.
    pub nodes: Vec<NodeStateRow>,
    /// Offers that are new or changed.
    pub offers: Vec<NodeOfferRow>,
    /// Records refused for the first time.
    pub refused: Vec<QuarantineRow>,
    /// Requests that are no longer followed, without a row of their own: their run has one.
    pub gone: Vec<i64>,
    /// Until when the source has said what ended, where it did.
    pub accounted_ms: Option<i64>,
    /// What is over and was shown again.
    #[serde(skip)]
    shown_again: Vec<i64>,
}

/// What a source tells only for a while (events of a pod last an hour) stays as it was told.
fn keep_instants(row: &mut AllocationRow, known: &AllocationRow) {
    row.image_pull_ms = row.image_pull_ms.or(known.image_pull_ms);
    row.image_ready_ms = row.image_ready_ms.or(known.image_ready_ms);
    row.container_start_ms = row.container_start_ms.or(known.container_start_ms);
}

impl Memory {
    /// What a look at `now_ms` adds. A look that cannot be believed is a failed reading and nothing else.
    pub fn change(&self, now_ms: i64, look: Result<Snapshot, LookError>) -> Change {
        let believed = look.and_then(|snapshot| match self.unbelievable(&snapshot) {
            Some(why) => Err(LookError::new(why)),
            None => Ok(snapshot),
        });
        let snapshot = match believed {
            Ok(snapshot) => snapshot,
            Err(e) => {
                let readings = vec![self.failed(now_ms, &self.source, &e)];
                return Change { as_of_ms: now_ms, readings, ..Change::default() };
            }
        };
        let mut out = Change {
            as_of_ms: snapshot.as_of_ms,
            complete: snapshot.complete,
            accounted_ms: snapshot.accounted_ms,
            readings: self.readings(&snapshot),
            ..Change::default()
        };
        let Snapshot { jobs, allocations, holdings, nodes, offers, refused, unread, .. } = snapshot;
        self.runs(&mut out, allocations, holdings, &unread);
        self.jobs(&mut out, jobs, &unread);
        self.nodes(&mut out, nodes);
        self.offers(&mut out, offers);
        out.refused = refused.into_iter().filter(|r| !self.refused.contains(&r.refusal_id)).collect();
        out
    }

    /// Why an answer that came is no answer.
    fn unbelievable(&self, snapshot: &Snapshot) -> Option<String> {
        if let Some(before) = self.as_of_ms.filter(|before| snapshot.as_of_ms <= *before) {
            return Some(format!("the clock was put back: the last look was {} ms later", before - snapshot.as_of_ms));
        }
        if snapshot.numbered {
            return None;
        }
        let shown: BTreeSet<i64> = snapshot.allocations.iter().map(|a| a.allocation_id).collect();
        let unexplained = self.open().filter(|(id, _)| !shown.contains(id)).count();
        if unexplained > 0 && snapshot.jobs.iter().all(|j| is_over(&j.state)) {
            return Some(format!(
                "the answer shows no job, although {unexplained} runs were running at the last look and nothing says that they ended"
            ));
        }
        (!self.nodes.is_empty() && snapshot.nodes.is_empty() && snapshot.complete)
            .then(|| format!("the answer shows no node, although there were {} at the last look", self.nodes.len()))
    }

    fn readings(&self, snapshot: &Snapshot) -> Vec<ReadingRow> {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let note = match snapshot.refused.len() {
            0 => None,
            n => Some(format!("{n} records were refused")),
        };
        let look = ReadingRow {
            source: self.source.clone(),
            kind: "scheduler".to_owned(),
            cluster: self.cluster.clone(),
            node: None,
            read_at_ms: snapshot.as_of_ms,
            from_ms: self.as_of_ms.unwrap_or(snapshot.as_of_ms),
            to_ms: snapshot.as_of_ms,
            ok: true,
            rows: count(snapshot.jobs.len() + snapshot.allocations.len()),
            error: note,
        };
        let failed = snapshot
            .failed
            .iter()
            .map(|(part, e)| self.failed(snapshot.as_of_ms, &format!("{} {part}", self.source), e));
        std::iter::once(look).chain(failed).collect()
    }

    fn failed(&self, now_ms: i64, source: &str, why: &LookError) -> ReadingRow {
        ReadingRow {
            source: source.to_owned(),
            kind: "scheduler".to_owned(),
            cluster: self.cluster.clone(),
            node: None,
            read_at_ms: now_ms,
            from_ms: self.as_of_ms.map_or(now_ms, |before| before.min(now_ms)),
            to_ms: now_ms,
            ok: false,
            rows: 0,
            error: Some(why.what.clone()),
        }
    }

    fn runs(
        &self,
        out: &mut Change,
        shown: Vec<AllocationRow>,
        holdings: Vec<AllocationDeviceRow>,
        unread: &HashSet<String>,
    ) {
        let mut held: BTreeMap<i64, Vec<AllocationDeviceRow>> = BTreeMap::new();
        holdings.into_iter().for_each(|h| held.entry(h.allocation_id).or_default().push(h));
        // one row a run and look: where a source shows a run twice, the one that is over counts
        let mut runs: BTreeMap<i64, AllocationRow> = BTreeMap::new();
        for row in shown {
            let known = runs.get(&row.allocation_id);
            if known.is_none_or(|k| row.terminal || !k.terminal) {
                runs.insert(row.allocation_id, row);
            }
        }
        for (id, mut row) in runs {
            (row.source, row.as_of_ms) = (self.source.clone(), out.as_of_ms);
            let held = held.remove(&id).unwrap_or_default();
            let before = self.runs.get(&id);
            if let Some(known) = before {
                keep_instants(&mut row, &known.row);
            }
            if row.terminal {
                let is_known = self.done.contains_key(&id) || before.is_some_and(|b| !b.holdings.is_empty());
                if !is_known {
                    self.holdings(out, held, &[]);
                }
                match self.done.get(&id) {
                    Some(done) if done.content == content_of_run(&row) => out.shown_again.push(id),
                    _ => out.allocations.push(row),
                }
                continue;
            }
            self.holdings(out, held, before.map_or(&[], |b| &b.holdings));
            let is_same = before.is_some_and(|b| AllocationRow { as_of_ms: b.row.as_of_ms, ..row.clone() } == b.row);
            if !is_same {
                out.allocations.push(row);
            }
            out.shown_again.push(id);
        }
        if !out.complete {
            return;
        }
        let shown: BTreeSet<i64> =
            out.allocations.iter().map(|r| r.allocation_id).chain(out.shown_again.iter().copied()).collect();
        let vanished = self.open().filter(|(id, run)| !shown.contains(id) && !unread.contains(&run.row.job_raw));
        for (_, run) in vanished {
            let last_seen_ms = self.complete_ms.unwrap_or(run.row.as_of_ms).max(run.row.as_of_ms);
            let row = AllocationRow { last_seen_ms: Some(last_seen_ms), as_of_ms: out.as_of_ms, ..run.row.clone() };
            out.allocations.push(row);
        }
    }

    /// Holdings that are different from those before; those that are no longer shown end with this look.
    fn holdings(&self, out: &mut Change, now: Vec<AllocationDeviceRow>, before: &[AllocationDeviceRow]) {
        let kept: BTreeSet<i64> = now.iter().map(|h| h.holding_id).collect();
        for mut row in now {
            row.as_of_ms = out.as_of_ms;
            let old = before.iter().find(|b| b.holding_id == row.holding_id);
            let is_same = old.is_some_and(|b| AllocationDeviceRow { as_of_ms: b.as_of_ms, ..row.clone() } == *b);
            if !is_same {
                out.holdings.push(row);
            }
        }
        if out.complete {
            let let_go = before.iter().filter(|b| !kept.contains(&b.holding_id));
            let ended = |b: &AllocationDeviceRow| AllocationDeviceRow {
                to_ms: Some(out.as_of_ms),
                as_of_ms: out.as_of_ms,
                ..b.clone()
            };
            let ended: Vec<_> = let_go.map(ended).collect();
            out.holdings.extend(ended);
        }
    }

    fn jobs(&self, out: &mut Change, shown: Vec<JobRow>, unread: &HashSet<String>) {
        let jobs: BTreeMap<i64, JobRow> = shown.into_iter().map(|j| (j.job_id, j)).collect();
        let ids: BTreeSet<i64> = jobs.keys().copied().collect();
        for (id, mut row) in jobs {
            (row.source, row.as_of_ms) = (self.source.clone(), out.as_of_ms);
            if is_over(&row.state) {
                match self.done.get(&id) {
                    Some(done) if done.content == content_of_job(&row) => out.shown_again.push(id),
                    _ => out.jobs.push(row),
                }
            } else if !self.jobs.get(&id).is_some_and(|before| is_same_job(before, &row)) {
                out.jobs.push(row);
            }
        }
        if !out.complete {
            return;
        }
        let vanished = self.jobs.iter().filter(|(id, job)| !ids.contains(id) && !unread.contains(&job.job_raw));
        for (id, job) in vanished {
            if job.state == RunState::Pending.as_str() {
                let state = RunState::Ended.as_str().to_owned();
                out.jobs.push(JobRow { state, as_of_ms: out.as_of_ms, ..job.clone() });
            } else {
                out.gone.push(*id);
            }
        }
    }

    fn nodes(&self, out: &mut Change, shown: Vec<NodeStateRow>) {
        let shown: BTreeMap<String, NodeStateRow> = shown.into_iter().map(|n| (n.node.clone(), n)).collect();
        let end =
            |row: &NodeStateRow, to_ms: i64| NodeStateRow { to_ms: Some(to_ms), as_of_ms: out.as_of_ms, ..row.clone() };
        let mut rows = Vec::new();
        for (name, mut row) in shown.iter().map(|(name, row)| (name, row.clone())) {
            (row.source, row.as_of_ms) = (self.source.clone(), out.as_of_ms);
            match self.nodes.get(name) {
                None => rows.push(NodeStateRow { from_ms: out.as_of_ms, ..row }),
                Some(before) if before.state == row.state && before.reason == row.reason => {}
                Some(before) => {
                    // what the last look showed is not taken back; what the source says of the time since is believed
                    let least = self.as_of_ms.unwrap_or(before.from_ms).max(before.from_ms + 1);
                    let from_ms = row.from_ms.clamp(least.min(out.as_of_ms), out.as_of_ms);
                    rows.push(end(before, from_ms));
                    rows.push(NodeStateRow { from_ms, ..row });
                }
            }
        }
        if out.complete {
            let left = self.nodes.iter().filter(|(name, _)| !shown.contains_key(*name));
            let last_ms = self.complete_ms.unwrap_or(out.as_of_ms);
            rows.extend(left.map(|(_, row)| end(row, last_ms.max(row.from_ms))));
        }
        out.nodes = rows;
    }

    fn offers(&self, out: &mut Change, shown: Vec<NodeOfferRow>) {
        let shown: BTreeMap<String, NodeOfferRow> = shown.into_iter().map(|o| (offer_key(&o), o)).collect();
        if out.complete {
            let left = self.offers.iter().filter(|(key, _)| !shown.contains_key(*key));
            let none =
                |o: &NodeOfferRow| NodeOfferRow { count: 0, allocatable: Some(0), as_of_ms: out.as_of_ms, ..o.clone() };
            let left: Vec<_> = left.map(|(_, o)| none(o)).collect();
            out.offers.extend(left);
        }
        for (key, mut row) in shown {
            (row.source, row.as_of_ms) = (self.source.clone(), out.as_of_ms);
            let before = self.offers.get(&key);
            if before.is_none_or(|b| NodeOfferRow { as_of_ms: b.as_of_ms, ..row.clone() } != *b) {
                out.offers.push(row);
            }
        }
    }
}

impl Change {
    /// As it is read back: without what only the memory needed.
    pub fn settled(self) -> Self {
        Self { shown_again: Vec::new(), ..self }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        let Self { readings, jobs, allocations, holdings, nodes, offers, refused, .. } = self;
        readings.len() + jobs.len() + allocations.len() + holdings.len() + nodes.len() + offers.len() + refused.len()
    }
}

/// Whether a state means that the request is over. A word that is not ours is not: it must not end anything.
fn is_over(state: &str) -> bool {
    state.parse::<RunState>().is_ok_and(RunState::is_terminal)
}

/// Whether a request is as it was. Its priority grows with its age, and is no reason for a row.
fn is_same_job(before: &JobRow, now: &JobRow) -> bool {
    JobRow { as_of_ms: before.as_of_ms, priority: before.priority, ..now.clone() } == *before
}

fn content_of_job(row: &JobRow) -> i64 {
    id63("content", &[&JobRow { as_of_ms: 0, priority: None, ..row.clone() }.content()])
}

fn content_of_run(row: &AllocationRow) -> i64 {
    id63("content", &[&AllocationRow { as_of_ms: 0, ..row.clone() }.content()])
}

fn offer_key(row: &NodeOfferRow) -> String {
    format!("{}\u{1f}{}", row.node, row.resource)
}

#[cfg(test)]
mod tests;
