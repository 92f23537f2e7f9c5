//! Proving a closed period: what it names is there and unchanged, and gives the same bytes again. Writes nothing.

use std::collections::BTreeSet;

use datafusion::arrow::array::{RecordBatch, UInt32Array};
use datafusion::arrow::compute::{SortColumn, SortOptions};
use datafusion::arrow::compute::{concat_batches, lexsort_to_indices, take};
use datafusion::logical_expr::{col, lit};
use futures::{StreamExt, stream};
use gpuledger_schema::path;
use gpuledger_schema::table::{self, SESSION_DAY, StatementLineRow, Table, USAGE};
use gpuledger_schema::window::Window;
use serde::Serialize;

use super::CloseError;
use super::bill::of_closed;
use super::correct::Look;
use super::draft::draft;
use super::files::days_of;
use super::manifest::{DataFile, Manifest, rules};
use super::read::{period_of, pinned};
use super::rows::output_sha256;
use crate::keep::minutes_are_gone;
use crate::lake::{Cut, Lake};
use crate::ledger::{self, Again};
use crate::report::{Reader, ReportError};
use crate::rows::shaped;

/// Lines that are named where they differ.
const SHOWN: usize = 10;
/// Data files that are read at a time.
const AT_ONCE: usize = 2;

/// What a proof found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The period.
    pub period: String,
    /// The close.
    pub close_id: String,
    /// What was looked at and is as it was, in sentences.
    pub holds: Vec<String>,
    /// What is not as it was, in sentences: none means proved.
    pub differs: Vec<String>,
}

impl Verified {
    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("{} (close {})\n", self.period, self.close_id);
        self.holds.iter().for_each(|h| out.push_str(&format!("equal    {h}\n")));
        self.differs.iter().for_each(|d| out.push_str(&format!("DIFFERS  {d}\n")));
        let verdict = if self.differs.is_empty() { "verified" } else { "NOT verified" };
        out.push_str(&format!("{} is {verdict}\n", self.period));
        out
    }
}

/// Verifies a closed period: data files by hash, rules, cells against minutes where minutes are kept, and lines and charges, derived
/// again from the versions that the close named, against the rows it wrote, byte by byte of their fixed text form.
///
/// # Errors
/// When the period is not closed, or a version that it names cannot be opened at all.
pub async fn verify(lake: &Lake, partitions: usize, period: &str) -> Result<Verified, CloseError> {
    let manifest = Manifest::find(lake, period).await?;
    let manifest = manifest.ok_or_else(|| CloseError::NotClosed(period.to_owned()))?;
    let mut out = Verified { period: period.to_owned(), close_id: manifest.close_id.clone(), ..Verified::default() };
    let cut = lake.newest::<Cut>(path::CUTS).await?;
    let past = minutes_are_gone(&manifest, cut.and_then(|(_, c)| c.minutes_from));
    let missing = files(lake, &manifest, past, &mut out).await?;
    same_rules(&manifest, &mut out);
    let stored = of_closed(lake, partitions, manifest.clone()).await?;
    let hash = output_sha256(&stored.bill.lines, &stored.charges)?;
    match hash == manifest.output_sha256 {
        true => out.holds.push(format!("rows written: {} lines, {} charges", manifest.lines, manifest.charges)),
        false => out.differs.push(format!("rows written have hash {hash}, the close {}", manifest.output_sha256)),
    }
    if missing.derived {
        out.differs.push("cells or what describes them are gone: lines and charges cannot be derived again".to_owned());
        return Ok(out);
    }
    let reader = pinned(lake, partitions, &manifest).await?;
    if missing.observed {
        out.holds.push("(without minutes, figures are derived again from cells)".to_owned());
    } else {
        cells(&reader, &manifest, lake, &mut out).await?;
    }
    money(lake, &reader, &manifest, &stored.bill.lines, &mut out).await?;
    Ok(out)
}

/// What of the named files is gone.
#[derive(Debug, Clone, Copy, Default)]
struct Missing {
    observed: bool,
    derived: bool,
}

/// Every data file by size and hash. One of observed minutes may be gone where they are `past` their time; any other may not.
async fn files(lake: &Lake, manifest: &Manifest, past: bool, out: &mut Verified) -> Result<Missing, CloseError> {
    let minutes: BTreeSet<&str> = table::observed().iter().filter(|t| t.by_day).map(|t| t.name).collect();
    let derived: BTreeSet<&str> = table::derived().iter().map(|t| t.name).collect();
    let mut missing = Missing::default();
    let (mut equal, mut gone) = (0_usize, 0_usize);
    let mut reading = stream::iter(manifest.files.clone())
        .map(|file: DataFile| {
            let lake = lake.clone();
            async move { tokio::spawn(async move { (lake.digest(&file.path).await, file) }).await }
        })
        .buffered(AT_ONCE);
    while let Some(read) = reading.next().await {
        let (found, file) = read.map_err(|e| CloseError::Stopped(Box::new(e)))?;
        match found? {
            Some(d) if d.sha256 == file.sha256 && d.size_bytes == file.size_bytes => equal += 1,
            Some(d) => out.differs.push(format!(
                "{} has other bytes: {} bytes, sha256 {}; the close had {}, {}",
                file.path, d.size_bytes, d.sha256, file.size_bytes, file.sha256
            )),
            None => {
                let observed = minutes.contains(file.table.as_str());
                missing.observed |= observed;
                missing.derived |= derived.contains(file.table.as_str());
                match observed && past {
                    true => gone += 1,
                    false => out.differs.push(format!("{} is not there", file.path)),
                }
            }
        }
    }
    out.holds.push(format!("{equal} of {} data files by size and SHA-256", manifest.files.len()));
    if gone > 0 {
        out.holds.push(format!("({gone} files of minutes are not kept any more)"));
    }
    Ok(missing)
}

/// Rules that are not those of the close, by name.
fn same_rules(manifest: &Manifest, out: &mut Verified) {
    let today = rules();
    let names: BTreeSet<&String> = today.keys().chain(manifest.rules.keys()).collect();
    let other: Vec<String> =
        names.into_iter().filter(|n| today.get(*n) != manifest.rules.get(*n)).map(|n| format!("sql/{n}.sql")).collect();
    if other.is_empty() {
        out.holds.push(format!("{} rules by SHA-256", today.len()));
    } else {
        // other rules that give the same figures are no fault: the figures decide
        out.holds.push(format!(
            "(other rules than at the close, by program {}: {})",
            manifest.program,
            other.join(", ")
        ));
    }
}

/// Windows whose cells are derived again from minutes: the period, and those that it corrects.
async fn windows(lake: &Lake, manifest: &Manifest) -> Result<Vec<Window>, CloseError> {
    let mut out = vec![Window { from_ms: manifest.from_ms, to_ms: manifest.to_ms }];
    for period in &manifest.corrects {
        let corrected = Manifest::find(lake, period).await?;
        out.extend(corrected.map(|m| Window { from_ms: m.from_ms, to_ms: m.to_ms }));
    }
    Ok(out)
}

/// Cells, sessions, runs and units against what minutes and accounting give.
async fn cells(reader: &Reader, manifest: &Manifest, lake: &Lake, out: &mut Verified) -> Result<(), CloseError> {
    let windows = windows(lake, manifest).await?;
    let days: BTreeSet<i32> = windows.iter().map(|w| days_of(*w)).flat_map(|(a, b)| a..=b).collect();
    let mut again = ledger::again(reader.engine(), &days).await?;
    let (mut equal, mut other) = (0, Vec::new());
    while let Some(Again { days, tables }) = again.next().await? {
        for (spec, rows) in tables.iter().filter(|(t, _)| [USAGE.name, SESSION_DAY.name].contains(&t.name)) {
            let kept = kept(reader, spec, Some(days)).await?;
            if sorted(spec, &kept)? != sorted(spec, rows)? {
                other.push(format!("{} of UTC days {} to {}", spec.name, days.0, days.1 - 1));
            }
        }
        equal += days.1 - days.0;
    }
    for (spec, rows) in again.who_and_what().await? {
        if sorted(&spec, &kept(reader, &spec, None).await?)? != sorted(&spec, &rows)? {
            other.push(format!("table {}", spec.name));
        }
    }
    if other.is_empty() {
        out.holds.push(format!("cells of {equal} UTC days, runs and units, derived again from what was observed"));
    } else {
        out.differs.push(format!("derived again from what was observed, these are others: {}", other.join(", ")));
    }
    Ok(())
}

/// Rows of a table as the close named them.
async fn kept(reader: &Reader, spec: &Table, days: Option<(i32, i32)>) -> Result<Vec<RecordBatch>, CloseError> {
    let fail = |e| ReportError::Group { table: spec.name.to_owned(), source: Box::new(e) };
    let mut frame = reader.engine().context().table(spec.name).await.map_err(fail)?;
    if let Some((from, to)) = days {
        frame = frame.filter(col("day").gt_eq(lit(from)).and(col("day").lt(lit(to)))).map_err(fail)?;
    }
    Ok(frame.collect().await.map_err(fail)?)
}

/// The rows of a table in order of its key.
fn sorted(spec: &Table, rows: &[RecordBatch]) -> Result<RecordBatch, CloseError> {
    let shape = |e: datafusion::arrow::error::ArrowError| ReportError::Shape(e.to_string());
    let whole = concat_batches(&spec.schema(), &shaped(spec, rows)?).map_err(shape)?;
    let keys = spec.key.iter().filter_map(|k| whole.column_by_name(k)).map(|values| SortColumn {
        values: values.clone(),
        options: Some(SortOptions { descending: false, nulls_first: true }),
    });
    let order: UInt32Array = lexsort_to_indices(&keys.collect::<Vec<_>>(), None).map_err(shape)?;
    let columns =
        whole.columns().iter().map(|c| take(c, &order, None)).collect::<Result<Vec<_>, _>>().map_err(shape)?;
    Ok(RecordBatch::try_new(whole.schema(), columns).map_err(shape)?)
}

/// Lines and charges derived again from cells, against the hash of the close.
async fn money(
    lake: &Lake,
    reader: &Reader,
    manifest: &Manifest,
    stored: &[StatementLineRow],
    out: &mut Verified,
) -> Result<(), CloseError> {
    let mut known = Vec::new();
    for earlier in &manifest.earlier {
        match Manifest::find(lake, &earlier.period).await? {
            Some(m) if m.close_id == earlier.close_id && m.output_sha256 == earlier.output_sha256 => known.push(m),
            _ => out
                .differs
                .push(format!("the close of {} that it knew ({}) is not there", earlier.period, earlier.close_id)),
        }
    }
    let found = draft(lake, reader, &period_of(manifest)?, &known, &manifest.close_id, Look::All).await?;
    let hash = found.output_sha256()?;
    if hash == manifest.output_sha256 {
        out.holds.push(format!("lines and charges derived again: sha256 {hash}"));
        return Ok(());
    }
    out.differs
        .push(format!("lines and charges derived again have sha256 {hash}, the close {}", manifest.output_sha256));
    out.differs.extend(lines_that_differ(stored, &found.lines));
    Ok(())
}

/// The first lines that are other than they were written.
fn lines_that_differ(stored: &[StatementLineRow], again: &[StatementLineRow]) -> Vec<String> {
    let by_id = |lines: &[StatementLineRow]| -> std::collections::BTreeMap<i64, StatementLineRow> {
        lines.iter().map(|l| (l.line_id, l.clone())).collect()
    };
    let (stored, again) = (by_id(stored), by_id(again));
    let ids: BTreeSet<i64> = stored.keys().chain(again.keys()).copied().collect();
    let said = |l: Option<&StatementLineRow>| {
        l.map_or_else(|| "nothing".to_owned(), |l| format!("{} ms, {} minor units", l.quantity_ms, l.amount_minor))
    };
    let differ = ids.into_iter().filter(|id| stored.get(id) != again.get(id));
    let shown =
        differ.map(|id| format!("line {id}: written {}, again {}", said(stored.get(&id)), said(again.get(&id))));
    shown.take(SHOWN).collect()
}
