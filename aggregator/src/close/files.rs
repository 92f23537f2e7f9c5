//! Data files that figures came from, with their hashes.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use gpuledger_schema::table::{self, RUN, SESSION_DAY, Table, UNIT, USAGE, reference};
use gpuledger_schema::window::{Window, day_of};

use super::CloseError;
use super::manifest::{DataFile, Manifest};
use crate::lake::{Lake, TableFile};
use crate::ledger::FAILURE_DAYS;

/// Derived tables that money is made from.
pub(super) const DERIVED: [Table; 4] = [USAGE, SESSION_DAY, RUN, UNIT];
/// How far before a day its ledger looks: failures of a device.
const DAYS_BEFORE: i32 = FAILURE_DAYS + 1;
/// How far after a day its ledger looks: clocks, and local days that end later than UTC days.
const DAYS_AFTER: i32 = 2;

/// A file that is used, of which table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Used {
    pub(super) table: String,
    pub(super) file: TableFile,
}

/// First and last UTC day of a window.
pub(super) fn days_of(window: Window) -> (i32, i32) {
    (day_of(window.from_ms) as i32, day_of(window.to_ms - 1) as i32)
}

/// The files of the named versions that money of these windows is derived from: whole tables where they are not partitioned by
/// day, else the days of the windows with what the ledger looks at around them.
pub(super) async fn used(
    lake: &Lake,
    tables: &BTreeMap<String, u64>,
    derived: &BTreeMap<String, u64>,
    windows: &[Window],
) -> Result<Vec<Used>, CloseError> {
    let days: Vec<(i32, i32)> = windows.iter().map(|w| days_of(*w)).collect();
    let mut out = Vec::new();
    let observed: Vec<String> = table::observed().iter().map(|t| t.name.to_owned()).collect();
    let of_cut = table::observed().into_iter().chain(reference::all()).map(|t| (t, tables));
    for (spec, versions) in of_cut.chain(DERIVED.into_iter().map(|t| (t, derived))) {
        let Some(version) = versions.get(spec.name) else { continue };
        let of_ledger = observed.iter().any(|o| o == spec.name);
        for file in lake.files_at(&spec, *version).await? {
            let near = |(first, last): &(i32, i32), day: i32| {
                let (before, after) = if of_ledger { (DAYS_BEFORE, DAYS_AFTER) } else { (0, 0) };
                (first - before..=last + after).contains(&day)
            };
            // who held what is known from the sessions of all days
            let whole = spec.name == SESSION_DAY.name;
            if whole || file.day.is_none_or(|day| days.iter().any(|d| near(d, day))) {
                out.push(Used { table: spec.name.to_owned(), file });
            }
        }
    }
    out.sort();
    Ok(out)
}

/// Hashes files, several at a time. What an earlier close hashed under the same path and size is not read again: data files are
/// never written twice.
pub(super) async fn hashed(
    lake: &Lake,
    used: Vec<Used>,
    earlier: &[Manifest],
    at_once: usize,
) -> Result<Vec<DataFile>, CloseError> {
    let known: BTreeMap<&str, &DataFile> =
        earlier.iter().flat_map(|m| &m.files).map(|f| (f.path.as_str(), f)).collect();
    let (mut out, mut unknown) = (Vec::new(), Vec::new());
    for u in used {
        match known.get(u.file.path.as_str()).filter(|k| k.size_bytes == u.file.size_bytes) {
            Some(known) => out.push((*known).clone()),
            None => unknown.push(u),
        }
    }
    let mut reading = stream::iter(unknown)
        .map(|u| {
            let lake = lake.clone();
            async move { tokio::spawn(async move { (lake.digest(&u.file.path).await, u) }).await }
        })
        .buffered(at_once.max(1));
    while let Some(read) = reading.next().await {
        let (found, u) = read.map_err(|e| CloseError::Stopped(Box::new(e)))?;
        let found = found?.ok_or_else(|| CloseError::Gone(u.file.path.clone()))?;
        out.push(DataFile { table: u.table, path: u.file.path, size_bytes: found.size_bytes, sha256: found.sha256 });
    }
    out.sort();
    Ok(out)
}
