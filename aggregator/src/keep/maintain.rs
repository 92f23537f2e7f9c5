//! Daily upkeep: compaction, retention, removal of what nothing names. One writer, as always.
//!
//! Order matters: first a cut of the compacted tables, then documents of cuts that are too old, then files. A crash anywhere
//! leaves files that nobody names, never a name without its file.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::table::{self, ChargeRow, Row, StatementLineRow, Table, reference};

use super::KeepError;
use super::retention::{minutes_are_gone, minutes_from};
use crate::close::Manifest;
use crate::ingest::next_number;
use crate::lake::{Build, Cut, Lake};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaintainAsk {
    /// Now, epoch ms.
    pub now_ms: i64,
    /// For how long cuts stay readable after newer ones came, ms.
    pub keep_cuts_ms: i64,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
}

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct MaintainReport {
    /// Tables of which something was done.
    pub tables: Vec<TableReport>,
    /// First UTC day whose minutes are kept; absent: all are.
    pub minutes_from: Option<i32>,
    /// Documents of cuts and builds that went.
    pub documents_removed: usize,
    /// The cut that names what upkeep left; absent: nothing changed.
    pub cut: Option<u64>,
}

/// What was done to a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct TableReport {
    /// Its name.
    pub table: String,
    /// Files that were put together.
    pub files_compacted: u64,
    /// What they became.
    pub files_made: u64,
    /// Files of days of minutes that are kept no longer.
    pub files_expired: u64,
    /// Files that nothing named any more, and that were removed.
    pub files_removed: u64,
}

/// Tables that upkeep puts together: those of a cut and of a build. Rows of closes are appended in large pieces, and their
/// documents name their files.
fn compacted() -> Vec<Table> {
    table::observed().into_iter().chain(reference::all()).chain(table::derived()).collect()
}

/// Tables of minutes.
fn minutes() -> Vec<Table> {
    table::observed().into_iter().filter(|t| t.by_day).collect()
}

/// Does the upkeep. The caller holds the lock.
///
/// # Errors
/// When a table or document cannot be read or written.
pub async fn maintain(lake: &Lake, ask: MaintainAsk) -> Result<MaintainReport, KeepError> {
    let Some((_, cut)) = lake.newest::<Cut>(path::CUTS).await? else {
        return Err(KeepError::Nothing(lake.shown().to_owned()));
    };
    let closed = Manifest::all(lake).await?;
    let first_day = lake.newest::<Build>(path::BUILDS).await?.and_then(|(_, b)| b.days).map(|(first, _)| first);
    let kept_from = minutes_from(&closed, first_day, ask.now_ms).max(cut.minutes_from);
    let mut found: BTreeMap<&'static str, TableReport> = BTreeMap::new();
    expire(lake, ask, kept_from, &mut found).await?;
    compact(lake, ask, &mut found).await?;
    let changed = found.values().any(|t| t.files_compacted + t.files_expired > 0) || kept_from != cut.minutes_from;
    let mut report = MaintainReport { minutes_from: kept_from, ..MaintainReport::default() };
    if changed && !ask.dry_run {
        report.cut = Some(publish(lake, cut, kept_from).await?);
    }
    report.documents_removed = old_documents(lake, ask, &closed, kept_from).await?;
    let pins = Pins::of(lake, &closed, kept_from).await?;
    for spec in compacted().into_iter().chain([StatementLineRow::TABLE, ChargeRow::TABLE]) {
        let gone = lake.vacuum(&spec, &pins.of_table(spec.name), ask.keep_cuts_ms, ask.dry_run).await?;
        entry(&mut found, spec.name).files_removed += gone.len() as u64;
    }
    let something = |t: &TableReport| t.files_compacted + t.files_expired + t.files_removed > 0;
    report.tables = found.into_values().filter(something).collect();
    Ok(report)
}

fn entry<'a>(found: &'a mut BTreeMap<&'static str, TableReport>, name: &'static str) -> &'a mut TableReport {
    found.entry(name).or_insert_with(|| TableReport { table: name.to_owned(), ..TableReport::default() })
}

/// Days of minutes that are kept no longer.
async fn expire(
    lake: &Lake,
    ask: MaintainAsk,
    kept_from: Option<i32>,
    found: &mut BTreeMap<&'static str, TableReport>,
) -> Result<(), KeepError> {
    let Some(day) = kept_from else { return Ok(()) };
    for spec in minutes() {
        let Some(version) = lake.table(spec.name).await?.and_then(|t| t.version()) else { continue };
        let files = lake.files_at(&spec, version).await?;
        let old = files.iter().filter(|f| f.day.is_some_and(|d| d < day)).count();
        if old > 0 && !ask.dry_run {
            lake.drop_days_before(&spec, day).await?;
        }
        entry(found, spec.name).files_expired += old as u64;
    }
    Ok(())
}

async fn compact(
    lake: &Lake,
    ask: MaintainAsk,
    found: &mut BTreeMap<&'static str, TableReport>,
) -> Result<(), KeepError> {
    for spec in compacted() {
        let Some(version) = lake.table(spec.name).await?.and_then(|t| t.version()) else { continue };
        let mut per_day: BTreeMap<Option<i32>, u64> = BTreeMap::new();
        for file in lake.files_at(&spec, version).await? {
            *per_day.entry(file.day).or_default() += 1;
        }
        if per_day.values().all(|files| *files < 2) {
            continue;
        }
        if ask.dry_run {
            let many = per_day.values().filter(|files| **files > 1);
            let report = entry(found, spec.name);
            many.for_each(|files| {
                (report.files_compacted, report.files_made) = (report.files_compacted + files, report.files_made + 1)
            });
            continue;
        }
        let done = lake.compact(&spec).await?;
        let report = entry(found, spec.name);
        report.files_compacted += done.files_before;
        report.files_made += done.files_after;
    }
    Ok(())
}

/// A cut, and its build, of the same rows in the files that upkeep left. No day is touched by it.
async fn publish(lake: &Lake, before: Cut, minutes_from: Option<i32>) -> Result<u64, KeepError> {
    let built = crate::ledger::current(lake).await?;
    let mut cut =
        Cut { touched_days: BTreeSet::new(), near_days: BTreeSet::new(), touched_from: None, minutes_from, ..before };
    newest_versions(lake, &mut cut.tables).await?;
    let number = next_number(lake).await?;
    lake.create_document(&format!("{}/{}", path::CUTS, number.file_name()), &cut).await?;
    // without a build of the cut before, the next one makes up for both
    if let Some(mut build) = built {
        build.cut = number.0;
        newest_versions(lake, &mut build.tables).await?;
        let last = lake.newest::<Build>(path::BUILDS).await?.map_or(0, |(n, _)| n.0);
        lake.create_document(&format!("{}/{}", path::BUILDS, Numbered(last + 1).file_name()), &build).await?;
    }
    Ok(number.0)
}

async fn newest_versions(lake: &Lake, tables: &mut BTreeMap<String, u64>) -> Result<(), KeepError> {
    for (name, version) in tables.iter_mut() {
        if let Some(newest) = lake.table(name).await?.and_then(|t| t.version()) {
            *version = newest;
        }
    }
    Ok(())
}

/// Removes documents of cuts that are too old to be read, and of their builds; none that a close or the newest build is of.
async fn old_documents(
    lake: &Lake,
    ask: MaintainAsk,
    closed: &[Manifest],
    kept_from: Option<i32>,
) -> Result<usize, KeepError> {
    let newest = lake.newest::<Cut>(path::CUTS).await?.map_or(0, |(n, _)| n.0);
    let built = lake.newest::<Build>(path::BUILDS).await?;
    // cuts since the newest build say which days it lacks
    let needed_from = built.as_ref().map_or(0, |(_, b)| b.cut).min(newest);
    let named: BTreeSet<u64> = closed.iter().filter(|m| !minutes_are_gone(m, kept_from)).map(|m| m.cut).collect();
    let mut removed = 0;
    let mut gone = BTreeSet::new();
    for object in lake.objects(path::CUTS).await? {
        let Some(number) = Numbered::parse(&object.name).map(|n| n.0) else { continue };
        let old = object.written_ms <= ask.now_ms - ask.keep_cuts_ms;
        if old && number < needed_from && !named.contains(&number) {
            gone.insert(number);
            removed += 1;
            remove(lake, ask, path::CUTS, &object.name).await?;
        }
    }
    let last = built.map_or(0, |(n, _)| n.0);
    for object in lake.objects(path::BUILDS).await? {
        let Some(number) = Numbered::parse(&object.name).filter(|n| n.0 < last) else { continue };
        let of = lake.document::<Build>(path::BUILDS, number).await?;
        if of.is_some_and(|b| gone.contains(&b.cut)) {
            removed += 1;
            remove(lake, ask, path::BUILDS, &object.name).await?;
        }
    }
    Ok(removed)
}

async fn remove(lake: &Lake, ask: MaintainAsk, folder: &str, name: &str) -> Result<(), KeepError> {
    if !ask.dry_run {
        lake.remove(&format!("{folder}/{name}")).await?;
    }
    Ok(())
}

/// Versions that must stay readable for as long as their documents are there.
struct Pins(BTreeMap<String, BTreeSet<u64>>);

impl Pins {
    /// What the documents of cuts, builds and closes name. Minutes of a close that is old enough are not among it.
    async fn of(lake: &Lake, closed: &[Manifest], kept_from: Option<i32>) -> Result<Self, KeepError> {
        let mut pins = Self(BTreeMap::new());
        let minutes: BTreeSet<&str> = minutes().iter().map(|t| t.name).collect();
        for manifest in closed {
            let old = minutes_are_gone(manifest, kept_from);
            let of_cut = manifest.tables.iter().filter(|(t, _)| !(old && minutes.contains(t.as_str())));
            of_cut.chain(&manifest.derived).chain(&manifest.written).for_each(|(t, v)| pins.add(t, *v));
        }
        // the newest are read now; those before them are young, and what a young cut names was in use until lately
        if let Some((_, cut)) = lake.newest::<Cut>(path::CUTS).await? {
            cut.tables.iter().for_each(|(t, v)| pins.add(t, *v));
        }
        if let Some((_, build)) = lake.newest::<Build>(path::BUILDS).await? {
            build.tables.iter().for_each(|(t, v)| pins.add(t, *v));
        }
        Ok(pins)
    }

    fn add(&mut self, table: &str, version: u64) {
        self.0.entry(table.to_owned()).or_default().insert(version);
    }

    fn of_table(&self, table: &str) -> Vec<u64> {
        self.0.get(table).into_iter().flatten().copied().collect()
    }
}
