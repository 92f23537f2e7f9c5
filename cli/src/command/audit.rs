//! `audit`: who changed what, and whether the log of it is whole.

use gpuledger_aggregator::audit::heads;
use gpuledger_aggregator::report::Format;
use gpuledger_control::{AuditQuery, Entry, Head};
use gpuledger_schema::window::{self, show_ms};

use super::print;
use super::sql::text_table;
use crate::args::{Audit, AuditVerify};
use crate::outcome::{Outcome, usage};
use crate::place::Place;

/// Columns of an entry, in CSV and JSON.
const COLUMNS: [&str; 14] = [
    "seq", "at", "actor", "action", "table", "subject", "version", "source", "reason", "approver", "before", "after",
    "previous", "hash",
];

pub(super) async fn run(place: &Place, asked: &Audit, format: Format) -> anyhow::Result<Outcome> {
    match &asked.verify {
        Some(AuditVerify::Verify { head }) => verify(place, head, format).await,
        None => list(place, asked, format),
    }
}

fn list(place: &Place, asked: &Audit, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let zone = place.zone(asked.zone.as_deref())?.unwrap_or(chrono_tz::UTC);
    let instant = |text: &Option<String>| {
        text.as_deref().map(|t| window::instant(t, zone).map_err(|e| usage(e.to_string()))).transpose()
    };
    let query = AuditQuery { table: asked.table.clone(), from_ms: instant(&asked.from)?, to_ms: instant(&asked.to)? };
    let entries = place.control(&lake)?.map(|c| c.audit(&query)).transpose()?.unwrap_or_default();
    match format {
        Format::Table if entries.is_empty() => print(b"audit: no entries\n")?,
        Format::Table => {
            let header = ["seq", "at", "actor", "action", "table", "subject", "reason", "approver"].map(str::to_owned);
            let row = |e: &Entry| {
                let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                vec![
                    e.seq.to_string(),
                    show_ms(e.at_ms, zone),
                    e.actor.clone(),
                    e.action.clone(),
                    e.table.clone(),
                    e.subject.clone(),
                    or_dash(&e.reason),
                    or_dash(&e.approver),
                ]
            };
            print(text_table(&header, &entries.iter().map(row).collect::<Vec<_>>()).as_bytes())?;
        }
        Format::Csv => print(csv(&entries, zone).as_bytes())?,
        Format::Json => {
            let rows: Vec<serde_json::Value> = entries.iter().map(|e| json(e, zone)).collect();
            print(format!("{:#}\n", serde_json::json!(rows)).as_bytes())?;
        }
        Format::Parquet => return Err(usage("the audit log is listed as table, csv or json")),
    }
    Ok(Outcome::Done)
}

/// Every cell of an entry, in the order of [`COLUMNS`]; absent is absent.
fn cells(e: &Entry, zone: chrono_tz::Tz) -> [Option<String>; 14] {
    [
        Some(e.seq.to_string()),
        Some(show_ms(e.at_ms, zone)),
        Some(e.actor.clone()),
        Some(e.action.clone()),
        Some(e.table.clone()),
        Some(e.subject.clone()),
        e.version.map(|v| v.to_string()),
        e.source.clone(),
        e.reason.clone(),
        e.approver.clone(),
        e.before.clone(),
        e.after.clone(),
        Some(e.previous.clone()),
        Some(e.hash.clone()),
    ]
}

fn csv(entries: &[Entry], zone: chrono_tz::Tz) -> String {
    let quoted = |cell: Option<String>| format!("\"{}\"", cell.unwrap_or_default().replace('"', "\"\""));
    let mut text = format!("{}\n", COLUMNS.join(","));
    for entry in entries {
        text.push_str(&format!("{}\n", cells(entry, zone).map(quoted).join(",")));
    }
    text
}

fn json(entry: &Entry, zone: chrono_tz::Tz) -> serde_json::Value {
    let value = |(name, cell): (&&str, Option<String>)| ((*name).to_owned(), serde_json::json!(cell));
    serde_json::Value::Object(COLUMNS.iter().zip(cells(entry, zone)).map(value).collect())
}

async fn verify(place: &Place, typed: &[String], format: Format) -> anyhow::Result<Outcome> {
    let mut known: Vec<Head> = typed
        .iter()
        .map(|text| text.parse().map_err(|e| usage(format!("--head {e}"))))
        .collect::<anyhow::Result<_>>()?;
    let lake = place.lake()?;
    let Some(control) = place.control(&lake)? else {
        return Err(usage("there is no audit log yet: nothing was ever imported into a reference table"));
    };
    known.extend(heads(&lake).await?);
    let check = control.verify_audit(&known)?;
    let head = check.head.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    match format {
        Format::Json => {
            let broken = check.broken.as_ref().map(|b| serde_json::json!({"seq": b.seq, "reason": b.reason}));
            let told = serde_json::json!({
                "entries": check.entries, "head": head, "heads_compared": check.heads, "broken": broken,
            });
            print(format!("{told:#}\n").as_bytes())?;
        }
        _ => {
            let verdict = match &check.broken {
                None => "the log is whole".to_owned(),
                Some(b) => format!("BROKEN at entry {}: {}", b.seq, b.reason),
            };
            print(
                format!(
                    "audit: {verdict}\n{} entries, {} kept heads compared\nhead {head}\n",
                    check.entries, check.heads
                )
                .as_bytes(),
            )?;
        }
    }
    Ok(if check.broken.is_none() { Outcome::Done } else { Outcome::Failed })
}
