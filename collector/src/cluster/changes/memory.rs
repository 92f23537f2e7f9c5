//! What was written of a cluster, as far as the next look needs it.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow, NodeOfferRow, NodeStateRow};
use serde::{Deserialize, Serialize};

use super::{Change, content_of_job, content_of_run, is_over, offer_key};
use crate::cluster::Before;

/// How long a run that is over stays known after it was last shown, so that it is not written again.
const DONE_KEEP_MS: i64 = 6 * 3_600_000;
/// How long a run that vanished is waited for: accounting that comes later than that is written with holdings of its own.
const LOST_KEEP_MS: i64 = 35 * 86_400_000;

/// A run that was written and is not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) row: AllocationRow,
    pub(super) holdings: Vec<AllocationDeviceRow>,
}

/// Something that is over: the hash of what was written, and when it was last shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) content: i64,
    seen_ms: i64,
}

/// What was written of a cluster in one epoch: the life of a state file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Cluster.
    pub cluster: String,
    /// `source` of every row: the scheduler's kind and the instant at which the epoch began.
    pub source: String,
    /// Instant of the last look, whatever it came to.
    looked_ms: Option<i64>,
    /// As-of of the last look that succeeded.
    pub(super) as_of_ms: Option<i64>,
    /// As-of of the last look that was complete.
    pub(super) complete_ms: Option<i64>,
    accounted_ms: Option<i64>,
    pub(super) jobs: BTreeMap<i64, JobRow>,
    pub(super) runs: BTreeMap<i64, Run>,
    pub(super) done: BTreeMap<i64, Done>,
    pub(super) nodes: BTreeMap<String, NodeStateRow>,
    pub(super) offers: BTreeMap<String, NodeOfferRow>,
    pub(super) refused: BTreeSet<i64>,
}

impl Memory {
    /// Nothing was written yet; the epoch begins at `now_ms`.
    pub fn new(kind: &str, cluster: &str, now_ms: i64) -> Self {
        Self {
            cluster: cluster.to_owned(),
            source: format!("{kind}:{now_ms}"),
            looked_ms: None,
            as_of_ms: None,
            complete_ms: None,
            accounted_ms: None,
            jobs: BTreeMap::new(),
            runs: BTreeMap::new(),
            done: BTreeMap::new(),
            nodes: BTreeMap::new(),
            offers: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    /// What the next look is told.
    pub fn before(&self) -> Before {
        let done = self.done.keys().copied().collect();
        Before { as_of_ms: self.as_of_ms, accounted_ms: self.accounted_ms, done }
    }

    /// Instant of the last look, whatever it came to.
    pub fn looked_ms(&self) -> Option<i64> {
        self.looked_ms
    }

    /// As-of of the last look that succeeded.
    pub fn newest_ms(&self) -> Option<i64> {
        self.as_of_ms
    }

    /// Requests and runs that were written and are not over.
    pub fn counts(&self) -> (usize, usize) {
        (self.jobs.len(), self.open().count())
    }

    /// Runs that were shown by the last look that could show them.
    pub(super) fn open(&self) -> impl Iterator<Item = (&i64, &Run)> {
        self.runs.iter().filter(|(_, run)| run.row.last_seen_ms.is_none())
    }

    /// Takes a change up: from now on it is what was written.
    pub fn apply(&mut self, change: &Change) {
        self.looked_ms = Some(change.as_of_ms);
        let ok = change.readings.iter().any(|r| r.ok);
        if !ok {
            return;
        }
        let seen_ms = change.as_of_ms;
        self.as_of_ms = Some(seen_ms);
        if change.complete {
            self.complete_ms = Some(seen_ms);
        }
        self.accounted_ms = change.accounted_ms.or(self.accounted_ms);
        for row in &change.allocations {
            let id = row.allocation_id;
            if row.terminal {
                self.runs.remove(&id);
                self.done.insert(id, Done { content: content_of_run(row), seen_ms });
            } else {
                let holdings = self.runs.remove(&id).map(|r| r.holdings).unwrap_or_default();
                self.runs.insert(id, Run { row: row.clone(), holdings });
            }
        }
        for row in &change.holdings {
            let Some(run) = self.runs.get_mut(&row.allocation_id) else { continue };
            run.holdings.retain(|h| h.holding_id != row.holding_id);
            if row.to_ms.is_none() {
                run.holdings.push(row.clone());
            }
        }
        for row in &change.jobs {
            if is_over(&row.state) {
                self.jobs.remove(&row.job_id);
                self.done.insert(row.job_id, Done { content: content_of_job(row), seen_ms });
            } else {
                self.jobs.insert(row.job_id, row.clone());
            }
        }
        change.gone.iter().for_each(|id| drop(self.jobs.remove(id)));
        for row in &change.nodes {
            match row.to_ms {
                None => drop(self.nodes.insert(row.node.clone(), row.clone())),
                Some(_) => drop(self.nodes.remove(&row.node)),
            }
        }
        for row in &change.offers {
            match row.count {
                0 => drop(self.offers.remove(&offer_key(row))),
                _ => drop(self.offers.insert(offer_key(row), row.clone())),
            }
        }
        self.refused.extend(change.refused.iter().map(|r| r.refusal_id));
        self.forget(change);
    }

    /// Forgets what no look will show again.
    fn forget(&mut self, change: &Change) {
        for id in &change.shown_again {
            if let Some(done) = self.done.get_mut(id) {
                done.seen_ms = change.as_of_ms;
            }
        }
        // while accounting is away, what it will show again is kept
        let asked_from_ms = self.accounted_ms.unwrap_or(change.as_of_ms).min(change.as_of_ms);
        self.done.retain(|_, done| done.seen_ms >= asked_from_ms - DONE_KEEP_MS);
        self.runs.retain(|_, run| run.row.last_seen_ms.is_none_or(|ms| ms >= change.as_of_ms - LOST_KEEP_MS));
    }
}
