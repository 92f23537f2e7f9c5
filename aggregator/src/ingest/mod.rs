//! Ingest: takes segments from the inbox, validates them, drops what is there already, and commits once.
//!
//! A batch is named by a document before any table changes; every table then gets its commit (process rows before the
//! device rows that prove them complete), then the cut is written, then the segments leave the inbox. A repeat after a
//! crash at any point gives the same cut.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::DataFrame;
use gpuledger_schema::id::id63;
use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::table::{self, AllocationRow, DeviceRow, ProcessMinuteRow, QuarantineRow, Row, Table};

use crate::engine::{Engine, EngineError};
use crate::lake::{Batch, BatchSegment, Cut, Lake, LakeError, Listed};

mod dedupe;
mod owner;
mod segment;
mod touched;

use dedupe::Known;
use owner::{Owners, file_of, folder_of};
use segment::{Checked, Problem};
use touched::Touched;

/// Compressed bytes a batch takes at most: its rows lie in memory while they are compared.
const BATCH_BYTES_MAX: u64 = 6 << 20;

/// What can stop an ingest as a whole.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A batch was not committed to its end; a repeat takes it up.
    #[error("a batch was not committed to its end; run it again")]
    Stopped(#[source] Box<tokio::task::JoinError>),
    /// Rows of a table could not be compared with what is there.
    #[error("cannot compare new rows of `{table}` with the lake's")]
    Compare {
        /// The table.
        table: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What an ingest did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestReport {
    /// Segments taken in.
    pub segments: usize,
    /// Rows new to the lake.
    pub rows: u64,
    /// Rows that were there already (answered as accepted).
    pub duplicates: u64,
    /// Records quarantined: refused segments and rows in conflict.
    pub quarantined: Vec<String>,
    /// Segments left in the inbox because their other half is not there yet.
    pub waiting: Vec<String>,
}

impl IngestReport {
    /// Adds what came after.
    fn add(&mut self, later: Self) {
        self.segments += later.segments;
        self.rows += later.rows;
        self.duplicates += later.duplicates;
        self.quarantined.extend(later.quarantined);
        self.waiting.extend(later.waiting);
    }
}

/// Takes in everything that waits in the inbox. The caller holds the writer's lock.
pub async fn ingest(lake: &Lake, progress: &mut (dyn FnMut(usize, usize) + Send)) -> Result<IngestReport, IngestError> {
    let mut report = IngestReport::default();
    let in_all = waiting(lake).await?.len();
    let cut = lake.newest::<Cut>(path::CUTS).await?.map(|(_, c)| c).unwrap_or_default();
    let mut owners = Owners::of(lake, &cut).await?;
    if let Some((number, batch)) = unfinished(lake).await? {
        let checked = read_all(lake, &owners, &batch.segments, &mut report).await?;
        commit(lake, number, checked, &mut report).await?;
    }
    let mut seen = Seen::default();
    let mut batch = next_batch(lake, &mut owners, &mut seen, &mut report).await?;
    while !batch.is_empty() {
        let names: Vec<BatchSegment> = batch.iter().map(|c| c.entry.clone()).collect();
        let number = next_number(lake).await?;
        lake.create_document(&format!("{}/{}", path::BATCHES, number.file_name()), &Batch { segments: names }).await?;
        // while a batch is committed the next one is read and checked
        let committing = tokio::spawn(commit_named(lake.clone(), number, batch));
        let mut read = IngestReport::default();
        let next = next_batch(lake, &mut owners, &mut seen, &mut read).await;
        report.add(committing.await.map_err(|e| IngestError::Stopped(Box::new(e)))??);
        report.add(read);
        batch = next?;
        progress(report.segments, in_all);
    }
    Ok(report)
}

async fn commit_named(lake: Lake, number: Numbered, batch: Vec<Checked>) -> Result<IngestReport, IngestError> {
    let mut report = IngestReport::default();
    commit(&lake, number, batch, &mut report).await?;
    Ok(report)
}

/// The next number for a batch or cut: one more than any there is.
pub async fn next_number(lake: &Lake) -> Result<Numbered, LakeError> {
    let mut newest = 0;
    for folder in [path::BATCHES, path::CUTS] {
        let names = lake.list(folder).await?;
        newest = names.iter().filter_map(|(n, _)| Numbered::parse(n)).map(|n| n.0).fold(newest, u64::max);
    }
    Ok(Numbered(newest + 1))
}

/// A batch that was named and has no cut: a process died in between.
async fn unfinished(lake: &Lake) -> Result<Option<(Numbered, Batch)>, LakeError> {
    let Some((number, batch)) = lake.newest::<Batch>(path::BATCHES).await? else { return Ok(None) };
    let done = lake.document::<Cut>(path::CUTS, number).await?.is_some();
    Ok((!done).then_some((number, batch)))
}

async fn read_all(
    lake: &Lake,
    owners: &Owners,
    entries: &[BatchSegment],
    report: &mut IngestReport,
) -> Result<Vec<Checked>, LakeError> {
    let mut out = Vec::new();
    for e in entries {
        let Some(bytes) = lake.get(&format!("{}/{}", path::INBOX, e.name)).await? else { continue };
        match segment::check(&e.name, bytes, owners) {
            Ok(checked) => out.push(checked),
            Err((bytes, problem)) => set_aside(lake, &e.name, bytes, &problem, report).await?,
        }
    }
    Ok(out)
}

/// What waits in the inbox and in the folders of nodes: first who has which device, then process files, so that a device
/// file finds its process file in the batch or before it. Otherwise in the order in which they were written: what came
/// at about the same time speaks of the same days, so that a batch writes few of them. Files that are still being written
/// are left alone.
async fn waiting(lake: &Lake) -> Result<Vec<Listed>, LakeError> {
    let mut listed = lake.list_nested(path::INBOX).await?;
    listed.retain(|Listed { name, .. }| {
        let (folder, file) = (folder_of(name).unwrap_or_default(), file_of(name));
        !folder.starts_with('.') && !file.starts_with('.') && !file.ends_with(".tmp")
    });
    let of = |name: &str, table: &str| file_of(name).strip_prefix(table).is_some_and(|rest| rest.starts_with('~'));
    listed.sort_by_cached_key(|Listed { name, written_ms, .. }| {
        let later = (!of(name, DeviceRow::TABLE.name), !of(name, ProcessMinuteRow::TABLE.name));
        (later, *written_ms, name.clone())
    });
    Ok(listed)
}

/// Reads waiting segments up to the size of a batch; what is broken is set aside, a lone device file waits.
async fn next_batch(
    lake: &Lake,
    owners: &mut Owners,
    seen: &mut Seen,
    report: &mut IngestReport,
) -> Result<Vec<Checked>, LakeError> {
    let listed = waiting(lake).await?;
    let mut batch: Vec<Checked> = Vec::new();
    let mut size = 0;
    for Listed { name, size_bytes: bytes, .. } in listed {
        if seen.names.contains(&name) {
            continue;
        }
        if size > 0 && size + bytes > BATCH_BYTES_MAX {
            break;
        }
        seen.names.insert(name.clone());
        let Some(content) = lake.get(&format!("{}/{name}", path::INBOX)).await? else { continue };
        match segment::check(&name, content, owners) {
            Err((content, problem)) => set_aside(lake, &name, content, &problem, report).await?,
            Ok(checked) => {
                if checked.table.name == DeviceRow::TABLE.name {
                    checked.rows.iter().for_each(|rows| owners.learn(rows));
                }
                let lone = match &checked.pair {
                    Some(hash) => !seen.takes(hash) && !taken_before(lake, hash).await?,
                    None => false,
                };
                if lone {
                    report.waiting.push(name);
                    continue;
                }
                size += bytes;
                seen.hashes.insert(checked.entry.sha256.clone());
                batch.push(checked);
            }
        }
    }
    Ok(batch)
}

/// What one ingest has looked at so far.
#[derive(Debug, Default)]
struct Seen {
    names: BTreeSet<String>,
    /// SHA-256 of what its batches take in, in hex.
    hashes: BTreeSet<String>,
}

impl Seen {
    /// Whether a segment whose hash begins so goes in with one of its batches.
    fn takes(&self, hash: &str) -> bool {
        self.hashes.range(hash.to_owned()..).next().is_some_and(|h| h.starts_with(hash))
    }
}

/// Whether a segment of this hash went in with an earlier batch.
async fn taken_before(lake: &Lake, hash: &str) -> Result<bool, LakeError> {
    for (name, _) in lake.list(path::BATCHES).await?.into_iter().rev() {
        let Some(number) = Numbered::parse(&name) else { continue };
        let batch = lake.document::<Batch>(path::BATCHES, number).await?;
        if batch.is_some_and(|b| b.segments.iter().any(|s| s.sha256.starts_with(hash))) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn set_aside(
    lake: &Lake,
    name: &str,
    bytes: Vec<u8>,
    problem: &Problem,
    report: &mut IngestReport,
) -> Result<(), LakeError> {
    let reason = problem.to_string();
    report.quarantined.push(format!("{name}: {reason}"));
    lake.put(&format!("{}/{name}", path::QUARANTINE), bytes).await?;
    let document = BTreeMap::from([("segment", name), ("reason", reason.as_str())]);
    lake.create_document(&format!("{}/{name}.reason.json", path::QUARANTINE), &document).await?;
    lake.remove(&format!("{}/{name}", path::INBOX)).await
}

/// Commits a batch to every table, writes the cut and clears the inbox.
async fn commit(
    lake: &Lake,
    number: Numbered,
    segments: Vec<Checked>,
    report: &mut IngestReport,
) -> Result<(), IngestError> {
    let mut cut = lake.newest::<Cut>(path::CUTS).await?.map(|(_, c)| c).unwrap_or_default();
    let mut by_table: BTreeMap<&str, Vec<(String, RecordBatch)>> = BTreeMap::new();
    let mut names = Vec::new();
    for s in segments {
        names.push(s.entry.name.clone());
        let rows = by_table.entry(s.table.name).or_default();
        rows.extend(s.rows.into_iter().map(|r| (s.entry.name.clone(), r)));
    }
    let mut touched = Touched::default();
    let mut refused: Vec<QuarantineRow> = Vec::new();
    for spec in table::observed() {
        let mut rows = by_table.remove(spec.name).unwrap_or_default();
        if spec.name == "quarantine" && !refused.is_empty() {
            let batch = table::batch(&refused).map_err(|e| compare(&spec, e))?;
            rows.push(("conflicts".to_owned(), batch));
        }
        if rows.is_empty() {
            continue;
        }
        let before = existing(lake, &cut, &spec, &rows).await?;
        let known = Known::new(&spec, &before).map_err(|e| compare(&spec, e))?;
        let fresh = known.fresh(&spec, rows).map_err(|e| compare(&spec, e))?;
        touched.note(&spec, &fresh.rows, &before);
        refused.extend(fresh.conflicts.into_iter().map(|c| conflict_row(&spec, c)));
        report.duplicates += fresh.duplicates;
        report.rows += fresh.rows.iter().map(|b| b.num_rows() as u64).sum::<u64>();
        let version = lake.append(&spec, number.0, fresh.rows).await?;
        cut.tables.insert(spec.name.to_owned(), version);
    }
    report.quarantined.extend(refused.iter().map(|r| format!("{}: {}", r.source, r.reason)));
    if touched.has_requests() {
        touched.runs_of_requests(&runs(lake, &cut).await?);
    }
    touched.tell(&mut cut);
    lake.create_document(&format!("{}/{}", path::CUTS, number.file_name()), &cut).await?;
    for name in &names {
        lake.remove(&format!("{}/{name}", path::INBOX)).await?;
    }
    report.segments += names.len();
    Ok(())
}

fn compare(spec: &Table, source: impl std::error::Error + Send + Sync + 'static) -> IngestError {
    IngestError::Compare { table: spec.name.to_owned(), source: Box::new(source) }
}

fn conflict_row(spec: &Table, conflict: dedupe::Conflict) -> QuarantineRow {
    let reason = format!(
        "{}: another row with the same key ({}) and other values is there already; the first is kept",
        spec.name,
        spec.key.join(", ")
    );
    QuarantineRow {
        refusal_id: id63("refusal", &[&conflict.source, "", "", &reason, &conflict.raw]),
        source: conflict.source,
        line: None,
        field: None,
        reason,
        raw: conflict.raw,
        cluster: None,
    }
}

/// A table of the lake as that cut has it, if it has it.
async fn in_lake(lake: &Lake, cut: &Cut, spec: &Table) -> Result<Option<DataFrame>, IngestError> {
    let Some(version) = cut.tables.get(spec.name) else { return Ok(None) };
    let engine = Engine::new(2);
    engine.register(spec.name, lake.provider_at(spec, *version).await?)?;
    engine.context().table(spec.name).await.map(Some).map_err(|e| compare(spec, e))
}

/// Whose every run of the lake is, and when it ran.
async fn runs(lake: &Lake, cut: &Cut) -> Result<Vec<RecordBatch>, IngestError> {
    let spec = AllocationRow::TABLE;
    let fail = |e| compare(&spec, e);
    let Some(frame) = in_lake(lake, cut, &spec).await? else { return Ok(Vec::new()) };
    let frame = frame.select_columns(&["job_id", "start_ms", "end_ms", "last_seen_ms"]).map_err(fail)?;
    frame.collect().await.map_err(fail)
}

/// Rows of the lake that new rows must be compared with: of the same ticks for minutes, else all of the table.
async fn existing(
    lake: &Lake,
    cut: &Cut,
    spec: &Table,
    rows: &[(String, RecordBatch)],
) -> Result<Vec<RecordBatch>, IngestError> {
    let fail = |e| compare(spec, e);
    let Some(mut frame) = in_lake(lake, cut, spec).await? else { return Ok(Vec::new()) };
    if spec.by_day {
        // Three columns tell which boots have ticks of these numbers on a day; usually none has, and no row is read.
        let Some((from, to)) = dedupe::tick_range(rows) else { return Ok(Vec::new()) };
        let new = dedupe::boot_days(rows.iter().map(|(_, batch)| batch));
        let in_time = frame.filter(dedupe::in_ticks(from, to)).map_err(fail)?;
        let asked: Vec<_> = new.keys().copied().collect();
        let there = in_time.clone().filter(dedupe::of_boot_days(&asked)).map_err(fail)?;
        let there = there.select_columns(&["boot_id", "day", "seq"]).map_err(fail)?.collect().await.map_err(fail)?;
        let there = dedupe::boot_days(there.iter());
        let both = new.iter().filter(|(key, n)| there.get(key).is_some_and(|t| t.overlaps(n)));
        let both: Vec<_> = both.map(|(key, _)| *key).collect();
        if both.is_empty() {
            return Ok(Vec::new());
        }
        frame = in_time.filter(dedupe::of_boot_days(&both)).map_err(fail)?;
    }
    frame.collect().await.map_err(fail)
}
