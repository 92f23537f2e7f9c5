//! `inventory`, `pools`, `tiers`, `rules`, `weights`, `rates`, `owners`, `quotas`: import and list.

use gpuledger_aggregator::reference;
use gpuledger_aggregator::report::Format;
use gpuledger_collector::input;
use gpuledger_control::{ImportOptions, Listing, ReferenceTable};

use super::print;
use crate::args::Reference;
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(super) async fn run(
    place: &Place,
    table: ReferenceTable,
    what: Reference,
    format: Format,
) -> anyhow::Result<Outcome> {
    match what {
        Reference::Import { zone, file } => {
            let read = input::read(&file, &mut std::io::stdin().lock())?;
            let told = import(place, table, &read.name, &read.bytes, zone.as_deref()).await?;
            print(told.as_bytes())?;
        }
        Reference::List { zone } => list(place, table, zone.as_deref(), format)?,
    }
    Ok(Outcome::Done)
}

/// Imports a CSV and publishes the table to the lake; says what changed.
pub(crate) async fn import(
    place: &Place,
    table: ReferenceTable,
    name: &str,
    bytes: &[u8],
    zone: Option<&str>,
) -> anyhow::Result<String> {
    let lake = place.lake_to_write()?;
    let _lock = lake.lock()?;
    let mut control = place.control_to_write(&lake)?;
    let options = ImportOptions {
        zone: place.zone(zone)?,
        currency: place.config.currency.clone(),
        now_ms: clock::now_ms(),
        actor: std::env::var("USER").unwrap_or_else(|_| "unknown".to_owned()),
    };
    let report = control.import(table, name, bytes, options)?;
    if report.added > 0 || !report.ended.is_empty() {
        reference::publish(&lake, &control, table).await?;
    }
    let mut told = format!(
        "{}: {} rows added, {} there already, version {}\n",
        table, report.added, report.unchanged, report.version
    );
    for ended in &report.ended {
        told.push_str(&format!("ended: {ended}\n"));
    }
    Ok(told)
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
