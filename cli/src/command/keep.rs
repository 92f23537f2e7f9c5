//! `maintain`, `backup`, `restore`: keeping a lake.

use std::path::Path;

use anyhow::Context;
use gpuledger_aggregator::keep::{self, BackupReport, MaintainAsk, MaintainReport};
use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report::Format;
use gpuledger_schema::unit::{DAY_MS, HOUR_MS};
use gpuledger_schema::window::show_ms;

use super::print;
use crate::args::{Backup, Maintain, Restore};
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(super) async fn maintain(place: &Place, asked: &Maintain, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let _lock = if asked.dry_run { None } else { Some(place.writer(&lake).await?) };
    let ask = MaintainAsk {
        now_ms: clock::now_ms(),
        keep_cuts_ms: i64::from(asked.keep_cuts) * HOUR_MS,
        dry_run: asked.dry_run,
    };
    let report = keep::maintain(&lake, ask).await?;
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(report)).as_bytes())?,
        _ => print(maintained(&report, asked.dry_run).as_bytes())?,
    }
    Ok(Outcome::Done)
}

fn maintained(report: &MaintainReport, dry_run: bool) -> String {
    let mut out = String::new();
    for t in &report.tables {
        let mut parts = Vec::new();
        if t.files_expired > 0 {
            parts.push(format!("{} files of old minutes taken out", t.files_expired));
        }
        if t.files_compacted > 0 {
            parts.push(format!("{} files put together into {}", t.files_compacted, t.files_made));
        }
        if t.files_removed > 0 {
            parts.push(format!("{} files removed that nothing names", t.files_removed));
        }
        out.push_str(&format!("{}: {}\n", t.table, parts.join(", ")));
    }
    if report.documents_removed > 0 {
        out.push_str(&format!("{} documents of old cuts and builds removed\n", report.documents_removed));
    }
    match report.minutes_from {
        Some(day) => {
            let first = show_ms(i64::from(day) * DAY_MS, chrono_tz::UTC);
            out.push_str(&format!("minutes are kept from {first}\n"));
        }
        None => out.push_str("minutes are kept from the first: no closed month is 13 months old\n"),
    }
    match report.cut {
        Some(cut) => out.push_str(&format!("cut {cut} names the same rows\n")),
        None if dry_run => out.push_str("nothing was done: this is what would be\n"),
        None => out.push_str("no rows were moved\n"),
    }
    out
}

fn told(what: &str, at: &str, report: &BackupReport) -> String {
    let bytes = report.bytes;
    format!(
        "{what} {at}: cut {}, {} objects written ({bytes} bytes), {} were there\n",
        report.cut, report.written, report.there
    )
}

pub(super) async fn backup(place: &Place, asked: &Backup) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let to = Lake::open(&asked.to, true)?;
    if same_place(&lake, &to) {
        return Err(usage("a backup lies elsewhere than the data"));
    }
    let report = keep::backup(&lake, &to, || control_file(place, &lake)).await?;
    print(told("backed up to", &asked.to, &report).as_bytes())?;
    Ok(Outcome::Done)
}

fn same_place(a: &Lake, b: &Lake) -> bool {
    a.shown() == b.shown() || a.folder().is_some() && a.folder() == b.folder()
}

/// The control file as it is at one moment.
#[allow(clippy::disallowed_methods, reason = "the copy is a file of this command alone, beside the control file")]
fn control_file(place: &Place, lake: &Lake) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(control) = place.control(lake)? else { return Ok(None) };
    let copy = place.control_path(lake)?.with_extension(format!("{}.copy", std::process::id()));
    let read = || -> anyhow::Result<Vec<u8>> {
        control.copy_to(&copy)?;
        std::fs::read(&copy).with_context(|| format!("cannot read {}", copy.display()))
    };
    let bytes = read();
    let _ = std::fs::remove_file(&copy);
    bytes.map(Some)
}

pub(super) async fn restore(place: &Place, asked: &Restore) -> anyhow::Result<Outcome> {
    let from = Lake::open(&asked.from, false).with_context(|| format!("there is no backup at `{}`", asked.from))?;
    let lake = place.lake_to_write()?;
    if same_place(&lake, &from) {
        return Err(usage("a backup is restored elsewhere than where it lies: give --data"));
    }
    let _lock = place.writer(&lake).await?;
    let path = place.control_path(&lake)?;
    if path.exists() {
        return Err(usage(format!("{} is there: a backup is restored into an empty place", path.display())));
    }
    let (report, control) = keep::restore(&from, &lake).await?;
    if let Some(bytes) = control {
        write_control(&path, &bytes)?;
    }
    print(told("restored from", &asked.from, &report).as_bytes())?;
    print(b"prove it: gpuledger check, and gpuledger verify MONTH for each closed month\n")?;
    Ok(Outcome::Done)
}

#[allow(clippy::disallowed_methods, reason = "the control file of a new place, which was looked at to be absent")]
fn write_control(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
