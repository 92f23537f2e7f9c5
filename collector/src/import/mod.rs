//! Importers: accounting text, job tables and samples become rows of observed tables.
//!
//! Bad input is data: a record that cannot be used becomes a [`QuarantineRow`] with file, line, field and reason,
//! and the rest goes on. An importer fails as a whole only where nothing in the file can be trusted.

use gpuledger_schema::id::id63;
use gpuledger_schema::table::{
    AllocationDeviceRow, AllocationRow, JobAverageRow, JobRow, NodeStateRow, QuarantineRow, QueueMinuteRow, ReadingRow,
    SampleRow,
};

use crate::segment::{Segment, SegmentError, segment};

pub(crate) mod decimal;
pub mod jobs;
pub mod map;
mod records;
pub mod sacct;
pub mod series;
pub mod sonar;

/// Longest text of a refused record that is kept.
const RAW_CHARS_MAX: usize = 4_000;

/// What one import gives, ready to be written as segments.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Requests.
    pub jobs: Vec<JobRow>,
    /// Runs.
    pub allocations: Vec<AllocationRow>,
    /// What the runs hold.
    pub allocation_devices: Vec<AllocationDeviceRow>,
    /// Averages of runs.
    pub job_averages: Vec<JobAverageRow>,
    /// Node states the import declares.
    pub node_states: Vec<NodeStateRow>,
    /// Samples of hosts.
    pub samples: Vec<SampleRow>,
    /// Points of series of quota, held and queued GPUs.
    pub queue_minutes: Vec<QueueMinuteRow>,
    /// One look per input file.
    pub readings: Vec<ReadingRow>,
    /// Records that were refused.
    pub quarantine: Vec<QuarantineRow>,
    /// Records read, good and bad, without headers.
    pub records: u64,
    /// Records that are no run of their own (job steps) and were passed over on purpose.
    pub skipped: u64,
}

impl Imported {
    /// One segment per table that has rows.
    pub fn segments(&self, writer: &str) -> Result<Vec<Segment>, SegmentError> {
        let mut out = Vec::new();
        out.extend(segment(writer, &self.jobs)?);
        out.extend(segment(writer, &self.allocations)?);
        out.extend(segment(writer, &self.allocation_devices)?);
        out.extend(segment(writer, &self.job_averages)?);
        out.extend(segment(writer, &self.node_states)?);
        out.extend(segment(writer, &self.samples)?);
        out.extend(segment(writer, &self.queue_minutes)?);
        out.extend(segment(writer, &self.readings)?);
        out.extend(segment(writer, &self.quarantine)?);
        Ok(out)
    }

    /// Refuses a record: where it starts, which field, why, and its text.
    pub fn refuse(&mut self, at: &At<'_>, field: Option<&str>, reason: impl Into<String>, raw: &str) {
        let reason = reason.into();
        let raw: String = raw.chars().take(RAW_CHARS_MAX).collect();
        let line = at.line.map(|l| l.to_string()).unwrap_or_default();
        self.quarantine.push(QuarantineRow {
            refusal_id: id63("refusal", &[at.source, &line, field.unwrap_or_default(), &reason, &raw]),
            source: at.source.to_owned(),
            line: at.line,
            field: field.map(str::to_owned),
            reason,
            raw,
            cluster: at.cluster.map(str::to_owned),
        });
    }
}

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// File name without its folder (`stdin` for `-`).
    pub source: &'a str,
    /// Line the record starts on, from 1; absent where the whole file is meant.
    pub line: Option<i64>,
    /// Cluster it was imported for.
    pub cluster: Option<&'a str>,
}

/// A folder of recorded data, or `None`, saying so, where this checkout has none.
#[cfg(test)]
fn recorded_folder(name: &str) -> Option<String> {
    let shared = std::env::var("GPULEDGER_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared").to_owned());
    let folder = format!("{shared}/data/{name}");
    if std::path::Path::new(&folder).is_dir() {
        return Some(folder);
    }
    println!("skipped: no recorded data in {folder}");
    None
}
