//! `manual-lines add` and `withdraw`: credits and adjustments that a person books, one by one.

use anyhow::Context;
use gpuledger_control::ReferenceTable::ManualLines;
use gpuledger_schema::table::money::ManualLineRow;

use super::{print, reference};
use crate::args::{Forced, ManualLine, Withdraw};
use crate::clock;
use crate::outcome::Outcome;
use crate::place::Place;

pub(super) async fn add(place: &Place, line: &ManualLine) -> anyhow::Result<Outcome> {
    let name = free_name(place, &line.period)?;
    let now = chrono::DateTime::from_timestamp_millis(clock::now_ms())
        .context("the clock is beyond what can be written")?
        .to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let cells = [
        name.as_str(),
        &line.period,
        &line.kind,
        &line.team,
        line.cost_center.as_deref().unwrap_or_default(),
        &line.amount,
        line.currency.as_deref().unwrap_or_default(),
        &line.reason,
        &line.approver,
        &now,
    ];
    let row = cells.map(|text| format!("\"{}\"", text.replace('"', "\"\""))).join(",");
    let text = format!("line,period,kind,team,cost_center,amount,currency,reason,approver,from\n{row}\n");
    let said = Forced { force: false, reason: Some(line.reason.clone()), approver: Some(line.approver.clone()) };
    let told = reference::import_as(place, ManualLines, "what was typed", text.as_bytes(), None, &said).await?;
    print(format!("line {name}\n{told}").as_bytes())?;
    Ok(Outcome::Done)
}

pub(super) async fn withdraw(place: &Place, line: &Withdraw) -> anyhow::Result<Outcome> {
    let said = Forced { force: false, reason: Some(line.reason.clone()), approver: line.approver.clone() };
    let selector = [("line".to_owned(), line.line.clone())];
    let told = reference::end(place, ManualLines, &selector, clock::now_ms(), None, &said).await?;
    print(told.as_bytes())?;
    Ok(Outcome::Done)
}

/// A name that no line has: the period and a number.
fn free_name(place: &Place, period: &str) -> anyhow::Result<String> {
    let lake = place.lake_to_write()?;
    let lines = place.control(&lake)?.map(|c| c.rows::<ManualLineRow>()).transpose()?.unwrap_or_default();
    let mut number = 1;
    while lines.iter().any(|l| l.line == format!("{period}-{number}")) {
        number += 1;
    }
    Ok(format!("{period}-{number}"))
}
