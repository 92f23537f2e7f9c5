//! Reference tables (`inventory`, `pools`, `rates` ...): import, list, and end rows.

use gpuledger_aggregator::close::Manifest;
use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::reference;
use gpuledger_aggregator::report::Format;
use gpuledger_collector::input;
use gpuledger_control::{Control, ImportOptions, ImportReport, Listing, ReferenceTable};
use gpuledger_schema::window;

use super::close::note_closed;
use super::print;
use crate::args::{Forced, Reference};
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::session;

pub(super) async fn run(
    place: &Place,
    table: ReferenceTable,
    what: Reference,
    format: Format,
) -> anyhow::Result<Outcome> {
    match what {
        Reference::Import { zone, forced, file } => {
            let read = input::read(&file, &mut std::io::stdin().lock())?;
            let told = import_as(place, table, &read.name, &read.bytes, zone.as_deref(), &forced).await?;
            print(told.as_bytes())?;
        }
        Reference::List { zone } => list(place, table, zone.as_deref(), format)?,
        Reference::End { selector, at, zone, forced } => {
            let tz = place.zone_needed(zone.as_deref())?;
            let at_ms = window::instant(&at, tz).map_err(|e| usage(e.to_string()))?;
            print(end(place, table, &named(&selector)?, at_ms, zone.as_deref(), &forced).await?.as_bytes())?;
        }
    }
    Ok(Outcome::Done)
}

/// Who runs this command, for the audit log.
pub(crate) fn actor() -> String {
    session::actor().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "unknown".to_owned())
}

/// `COLUMN=VALUE` words.
fn named(words: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let pair = |word: &String| {
        let (column, value) = word.split_once('=').ok_or_else(|| usage(format!("`{word}` is not COLUMN=VALUE")))?;
        Ok((column.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

fn options(place: &Place, zone: Option<&str>, forced: &Forced) -> anyhow::Result<ImportOptions> {
    Ok(ImportOptions {
        zone: place.zone(zone)?,
        currency: place.config.currency.clone(),
        now_ms: clock::now_ms(),
        actor: actor(),
        force: forced.force,
        reason: forced.reason.clone(),
        approver: forced.approver.clone(),
    })
}

/// Imports a CSV and publishes the table to the lake; says what changed.
pub(crate) async fn import(
    place: &Place,
    table: ReferenceTable,
    name: &str,
    bytes: &[u8],
    zone: Option<&str>,
) -> anyhow::Result<String> {
    import_as(place, table, name, bytes, zone, &Forced::default()).await
}

/// The same, with what is said of it.
pub(crate) async fn import_as(
    place: &Place,
    table: ReferenceTable,
    name: &str,
    bytes: &[u8],
    zone: Option<&str>,
    forced: &Forced,
) -> anyhow::Result<String> {
    let options = options(place, zone, forced)?;
    change(place, table, |control| control.import(table, name, bytes, options)).await
}

/// What an import would change: it is made in a copy of the control file, which is thrown away.
#[allow(
    clippy::disallowed_methods,
    reason = "the copy is this command's own; nobody else writes under the right to write"
)]
pub(crate) async fn import_dry(
    place: &Place,
    table: ReferenceTable,
    name: &str,
    bytes: &[u8],
    forced: &Forced,
) -> anyhow::Result<String> {
    let options = options(place, None, forced)?;
    let lake: Lake = place.lake_to_write()?;
    let _right = place.writer(&lake).await?;
    let copy = place.control_path(&lake)?.with_file_name("control.dry-run.sqlite");
    let clear = || {
        for end in ["", "-wal", "-shm"] {
            let mut path = copy.clone().into_os_string();
            path.push(end);
            let _ = std::fs::remove_file(path);
        }
    };
    clear();
    let work = async {
        place.control_to_write(&lake)?.copy_to(&copy)?;
        let mut control = Control::open(&copy)?;
        note_closed(&mut control, &Manifest::all(&lake).await?)?;
        Ok(told(table, &control.import(table, name, bytes, options)?))
    };
    let done: anyhow::Result<String> = work.await;
    clear();
    done
}

/// Ends the open rows of a selector and publishes the table; says what changed.
pub(crate) async fn end(
    place: &Place,
    table: ReferenceTable,
    selector: &[(String, String)],
    at_ms: i64,
    zone: Option<&str>,
    forced: &Forced,
) -> anyhow::Result<String> {
    let options = options(place, zone, forced)?;
    change(place, table, |control| control.end(table, selector, at_ms, options)).await
}

/// Changes a table under the writer's lock, and publishes it where something changed.
async fn change(
    place: &Place,
    table: ReferenceTable,
    change: impl FnOnce(&mut Control) -> Result<ImportReport, gpuledger_control::ControlError>,
) -> anyhow::Result<String> {
    let lake: Lake = place.lake_to_write()?;
    let _lock = place.writer(&lake).await?;
    let mut control = place.control_to_write(&lake)?;
    note_closed(&mut control, &Manifest::all(&lake).await?)?;
    let report = change(&mut control)?;
    if report.changed() {
        reference::publish(&lake, &control, table).await?;
    }
    Ok(told(table, &report))
}

fn told(table: ReferenceTable, report: &ImportReport) -> String {
    let mut told = format!(
        "{}: {} rows added, {} there already, version {}\n",
        table, report.added, report.unchanged, report.version
    );
    for (verb, rows) in
        [("ended", &report.ended), ("superseded", &report.superseded), ("goes on as a row of its own", &report.split)]
    {
        rows.iter().for_each(|row| told.push_str(&format!("{verb}: {row}\n")));
    }
    if !report.corrects.is_empty() {
        told.push_str(&format!(
            "closed periods touched: {}; what differs there becomes corrections in the next open period\n",
            report.corrects.join(", ")
        ));
    }
    told
}

fn list(place: &Place, table: ReferenceTable, zone: Option<&str>, format: Format) -> anyhow::Result<()> {
    let lake = place.lake()?;
    let zone = place.zone(zone)?.unwrap_or(chrono_tz::UTC);
    let listing = match place.control(&lake)? {
        Some(control) => control.list(table, zone)?,
        None => Listing { header: table.header(), rows: Vec::new() },
    };
    match format {
        Format::Csv => {
            let mut out = Vec::new();
            listing.write_csv(&mut out)?;
            print(&out)
        }
        Format::Json => {
            let rows: Vec<serde_json::Map<String, serde_json::Value>> = listing
                .rows
                .iter()
                .map(|r| listing.header.iter().zip(r).map(|(h, v)| ((*h).to_owned(), v.clone().into())).collect())
                .collect();
            print(format!("{:#}\n", serde_json::json!(rows)).as_bytes())
        }
        Format::Table if listing.rows.is_empty() => print(format!("{table}: no rows\n").as_bytes()),
        Format::Table => {
            let header: Vec<String> = listing.header.iter().map(|h| (*h).to_owned()).collect();
            print(super::sql::text_table(&header, &listing.rows).as_bytes())
        }
        Format::Parquet => Err(usage("reference tables are listed as table, csv or json")),
    }
}
