//! The cluster collector: what a scheduler says of jobs, runs, holdings and nodes, looked at again and again.
//!
//! A [`Looker`] looks at one scheduler and gives a [`Snapshot`]. [`changes`] compares it with what was written before and
//! writes what is different; [`log`] makes that durable; [`deliver`] brings it to the inbox; [`keeper`] holds the three
//! together; [`run`] is the loop. A look that fails says that it failed and nothing else: unknown is never "no jobs".

use std::collections::HashSet;

use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow, NodeOfferRow, NodeStateRow, QuarantineRow};

pub mod changes;
pub mod config;
pub mod deliver;
pub mod keeper;
pub mod kubernetes;
pub mod log;
pub mod metrics;
pub mod run;
pub mod slurm;
#[cfg(test)]
mod told;

/// What one look at a scheduler showed. Rows leave `source` and `as_of_ms` to the tracker, which stamps them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The instant before the look began, epoch ms: what is shown was true at this instant or later.
    pub as_of_ms: i64,
    /// Whether everything that is there is shown: only then is what is not shown gone.
    pub complete: bool,
    /// Whether it is one state of the source, as it numbers them (a list of a Kubernetes API server): then even an empty
    /// one is believed.
    pub numbered: bool,
    /// Requests, waiting, running and over.
    pub jobs: Vec<JobRow>,
    /// Runs, running and over.
    pub allocations: Vec<AllocationRow>,
    /// What the runs hold. Of a run that is over they count only where nothing was known of its holdings before.
    pub holdings: Vec<AllocationDeviceRow>,
    /// Nodes in their state now. `from_ms` is when it began, where the source says so; else `as_of_ms`. `to_ms` is absent.
    pub nodes: Vec<NodeStateRow>,
    /// What the scheduler offers on each node now.
    pub offers: Vec<NodeOfferRow>,
    /// Records that were refused: each is written once.
    pub refused: Vec<QuarantineRow>,
    /// Raw ids of jobs that are there and could not be read: nothing is concluded of them.
    pub unread: HashSet<String>,
    /// Until when the source has said what ended, epoch ms; absent where it did not say this time. The next look is told.
    pub accounted_ms: Option<i64>,
    /// Parts of the look that failed while the rest stands, each with its name (`accounting`).
    pub failed: Vec<(&'static str, LookError)>,
}

/// Why a look gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct LookError {
    /// What failed, in words: the command or address, and what it said.
    pub what: String,
}

/// What is known from the looks before, as it is on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Before {
    /// As-of of the last look that succeeded in this epoch.
    pub as_of_ms: Option<i64>,
    /// Until when the source has said what ended: the next look asks from here on, with an overlap.
    pub accounted_ms: Option<i64>,
    /// Requests (`job_id`) and runs (`allocation_id`) that were written as over, as far back as looks may show them.
    pub done: HashSet<i64>,
}

/// A source of looks. `now_ms` is passed in.
pub trait Looker: Send {
    /// First part of `source` in the rows: `slurm` or `kubernetes`.
    fn kind(&self) -> &'static str;
    /// Looks once. The future may be dropped at any await: nothing is lost but this look.
    fn look(&mut self, now_ms: i64, before: &Before) -> impl Future<Output = Result<Snapshot, LookError>> + Send;
    /// Calls made to the scheduler since the start, by name, for the metrics.
    fn calls(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

impl LookError {
    /// An error in words.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
