//! `import` and `ingest`: files become segments, segments become rows of the lake.

use gpuledger_aggregator::ingest::IngestReport;
use gpuledger_aggregator::lake::Lake;
use gpuledger_collector::import::{Imported, jobs, map, sacct, series, sonar};
use gpuledger_collector::input::{self, Input};
use gpuledger_schema::path::safe_writer;
use gpuledger_schema::window;

use super::print;
use crate::args::{Files, Import, Jobs, Sacct, Sonar};
use crate::outcome::{Outcome, usage};
use crate::place::{self, Place};

/// Refusals shown one by one on stderr; the rest is counted, and all are in the table `quarantine`.
const REFUSALS_SHOWN: usize = 20;

pub(super) async fn run(place: &Place, what: Import) -> anyhow::Result<Outcome> {
    let (imported, files) = match &what {
        Import::Sacct(a) => (from_sacct(place, a)?, &a.files),
        Import::Jobs(a) => (from_jobs(place, a)?, &a.files),
        Import::Series(a) => (from_series(a)?, &a.files),
        Import::Sonar(a) => (from_sonar(a)?, &a.files),
    };
    let writer = match &what {
        Import::Sacct(a) => format!("sacct-{}", a.cluster),
        Import::Jobs(a) => format!("jobs-{}", a.cluster),
        Import::Series(a) => format!("series-{}", a.cluster),
        Import::Sonar(a) => format!("sonar-{}", a.cluster),
    };
    let lake = place.lake_to_write()?;
    let lock = place.writer(&lake).await?;
    deliver(&lake, &imported, &safe_writer(&writer)).await?;
    let ingested = if files.no_ingest { None } else { Some(place::take_in(&lake).await?) };
    drop(lock);
    tell(&imported, ingested.as_ref())?;
    let quarantined = imported.quarantine.len() + ingested.map_or(0, |r| r.quarantined.len());
    Ok(Outcome::after(quarantined))
}

/// `gpuledger ingest`: what waits in the inbox goes in, and the ledger is brought up to date.
pub(super) async fn ingest(place: &Place) -> anyhow::Result<Outcome> {
    let lake = place.lake_to_write()?;
    let _lock = place.writer(&lake).await?;
    let report = place::take_in(&lake).await?;
    let built = place::build(&lake, place.partitions()).await?;
    let mut text = told(&report);
    text.push_str(&if built.up_to_date {
        "ledger: up to date\n".to_owned()
    } else {
        format!("ledger: {} days built, {} rows of usage\n", built.days, built.rows)
    });
    print(text.as_bytes())?;
    Ok(Outcome::after(report.quarantined.len()))
}

async fn deliver(lake: &Lake, imported: &Imported, writer: &str) -> anyhow::Result<()> {
    for segment in imported.segments(writer)? {
        lake.deliver(&segment.name.file_name(), segment.bytes).await?;
    }
    Ok(())
}

fn tell(imported: &Imported, ingested: Option<&IngestReport>) -> anyhow::Result<()> {
    for r in imported.quarantine.iter().take(REFUSALS_SHOWN) {
        let line = r.line.map(|l| format!(":{l}")).unwrap_or_default();
        let field = r.field.as_ref().map(|f| format!("{f}: ")).unwrap_or_default();
        eprintln!("{}{line}: {field}{}", r.source, r.reason);
    }
    if imported.quarantine.len() > REFUSALS_SHOWN {
        let more = imported.quarantine.len() - REFUSALS_SHOWN;
        eprintln!("... and {more} more: gpuledger sql \"SELECT * FROM quarantine\"");
    }
    let mut text = format!(
        "read {} records: {} jobs, {} runs, {} samples, {} points, {} steps passed over, {} notes in quarantine\n",
        imported.records,
        imported.jobs.len(),
        imported.allocations.len(),
        imported.samples.len(),
        imported.queue_minutes.len(),
        imported.skipped,
        imported.quarantine.len()
    );
    text.push_str(&ingested.map_or_else(|| "left in the inbox: run `gpuledger ingest`\n".to_owned(), told));
    print(text.as_bytes())
}

fn told(report: &IngestReport) -> String {
    for q in &report.quarantined {
        eprintln!("quarantined: {q}");
    }
    for w in &report.waiting {
        eprintln!("waiting for its process file: {w}");
    }
    format!("ingested {} segments: {} rows new, {} there already\n", report.segments, report.rows, report.duplicates)
}

fn read(files: &Files) -> anyhow::Result<Vec<Input>> {
    let mut stdin = std::io::stdin().lock();
    files.files.iter().map(|f| Ok(input::read(f, &mut stdin)?)).collect()
}

fn as_of(text: Option<&str>) -> anyhow::Result<Option<i64>> {
    text.map(|t| {
        window::instant(t, chrono_tz::UTC)
            .map_err(|_| usage(format!("--as-of `{t}` is not an instant with an offset (2026-04-01T00:00:00Z)")))
    })
    .transpose()
}

fn zone(text: Option<&str>) -> anyhow::Result<Option<chrono_tz::Tz>> {
    text.map(|z| window::zone(z).map_err(|e| usage(e.to_string()))).transpose()
}

fn from_sacct(_: &Place, a: &Sacct) -> anyhow::Result<Imported> {
    let options = sacct::SacctOptions {
        cluster: a.cluster.clone(),
        zone: zone(a.zone.as_deref())?,
        fields: a.fields.clone(),
        as_of_ms: as_of(a.as_of.as_deref())?,
    };
    Ok(sacct::import(&read(&a.files)?, &options)?)
}

fn from_jobs(_: &Place, a: &Jobs) -> anyhow::Result<Imported> {
    let map = map::Map::parse(&map_text(&a.map)?)
        .map_err(|e| anyhow::Error::new(e).context(format!("column map {}", a.map)))?;
    let options = jobs::JobsOptions {
        cluster: a.cluster.clone(),
        map,
        zone: zone(a.zone.as_deref())?,
        as_of_ms: as_of(a.as_of.as_deref())?,
    };
    Ok(jobs::import(&read(&a.files)?, &options)?)
}

fn from_sonar(a: &Sonar) -> anyhow::Result<Imported> {
    Ok(sonar::import(&read(&a.files)?, &sonar::SonarOptions { cluster: a.cluster.clone() })?)
}

fn map_text(path: &str) -> anyhow::Result<String> {
    let text = input::read(path, &mut std::io::empty())?;
    String::from_utf8(text.bytes).map_err(|_| usage(format!("{path} is not UTF-8")))
}

fn from_series(a: &Jobs) -> anyhow::Result<Imported> {
    let map = series::SeriesMap::parse(&map_text(&a.map)?)
        .map_err(|e| anyhow::Error::new(e).context(format!("column map {}", a.map)))?;
    let options = series::SeriesOptions {
        cluster: a.cluster.clone(),
        map,
        zone: zone(a.zone.as_deref())?,
        as_of_ms: as_of(a.as_of.as_deref())?,
    };
    Ok(series::import(&read(&a.files)?, &options)?)
}
