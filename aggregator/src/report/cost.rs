//! `report cost`: what pools really cost against what was billed for them; energy beside.

use chrono_tz::Tz;
use gpuledger_schema::bill::DRAFT;
use gpuledger_schema::table::batch;
use gpuledger_schema::window::Window;

use super::fleet_rows::{columns, rows};
use super::quote::price_text;
use super::render::money;
use super::{Ask, Column, Currency, Kind, Reader, Report, ReportError, Value, price_facts};
use crate::bill::{Period, exact, round};
use crate::engine::{Params, bigint};

/// Millionths of the currency in a unit of it.
const MICROS: i64 = 1_000_000;

fn shown() -> Vec<Column> {
    columns(&[
        ("pool", "pool", Kind::Text),
        ("depreciation", "depreciation", Kind::Money),
        ("power", "power", Kind::Money),
        ("operations", "operations", Kind::Money),
        ("other", "other", Kind::Money),
        ("cost", "cost", Kind::Money),
        ("billed", "billed", Kind::Money),
        ("recovery", "over/under", Kind::Money),
        ("capacity_hours", "capacity h", Kind::Hours),
        ("held_hours", "held h", Kind::Hours),
        ("full_cost_micros", "full cost/h", Kind::Count),
        ("held_cost_micros", "a held h", Kind::Count),
        ("energy_mj", "", Kind::Count),
        ("energy_cost", "energy", Kind::Money),
    ])
}

/// The cost of pools in a month.
///
/// # Errors
/// A failing lake or engine.
pub async fn cost(
    reader: &Reader,
    month: &str,
    window: Window,
    zone: Tz,
    currency: &Currency,
) -> Result<Report, ReportError> {
    reader.whole("cost")?;
    let engine = reader.engine();
    let period = Period { name: month.to_owned(), window, zone, currency: currency.clone() };
    let mut bill = exact(reader, &period, DRAFT).await?;
    round(engine, currency, &mut bill).await?;
    let lines = batch(&bill.lines).map_err(|e| ReportError::Shape(e.to_string()))?;
    engine.register_rows("bill_line", lines.schema(), vec![lines])?;
    let ask = Ask { window, zone, by: Vec::new(), step: None, currency: currency.clone() };
    price_facts(reader, &ask).await?;
    let minor_micros = bigint(MICROS / 10_i64.pow(currency.digits()));
    let of_window = Params::from([
        ("from_ms", bigint(window.from_ms)),
        ("to_ms", bigint(window.to_ms)),
        ("minor_micros", minor_micros.clone()),
    ]);
    engine.step("read/89_cost_part", &of_window).await?;
    let params = Params::from([("minor_micros", minor_micros)]);
    let mut made = rows(engine, "read/89_pool_cost", &params, &shown()).await?;
    let written = |n: i128| format!("{} {}", money(n, currency.digits(), true), currency.code());
    let sum = |rows: &[Vec<Value>], at: usize| {
        rows.iter().filter_map(|r| if let Value::Money(n) = r[at] { Some(n) } else { None }).reduce(|a, b| a + b)
    };
    let sentence = match (sum(&made, 5), sum(&made, 7)) {
        (Some(cost), Some(recovery)) => {
            let verb = if recovery < 0 { "under-recovered" } else { "over-recovered" };
            format!("{month}: pools cost {}; {verb} by {}", written(cost), written(recovery.abs()))
        }
        _ => format!("{month}: no pool has cost rows (`gpuledger cost-pools import`)"),
    };
    let without: Vec<String> = made.iter().filter(|r| r[5] == Value::Unknown).map(|r| word(&r[0])).collect();
    let mut notes = Vec::new();
    if !without.is_empty() {
        notes.push(format!(
            "no cost rows in this month: {}; what they cost is unknown, not nothing",
            without.join(", ")
        ));
    }
    notes
        .push("billed is what teams pay for the pool by this month's bill, without lines that name no pool".to_owned());
    for row in &mut made {
        for at in [10, 11] {
            if let Value::Count(micros) = row[at] {
                row[at] = Value::Text(price_text(micros));
            }
        }
    }
    Ok(Report {
        sentence,
        columns: priced_columns(),
        rows: made,
        total: None,
        notes,
        currency: Some(currency.clone()),
        table_decimals: 1,
    })
}

/// The columns as they are shown: prices are decimals of the currency.
fn priced_columns() -> Vec<Column> {
    let mut all = shown();
    for (at, name) in [(10, "full_cost_per_gpu_hour"), (11, "cost_per_held_gpu_hour")] {
        all[at] = Column::new(name, &all[at].heading, Kind::Text);
    }
    all
}

fn word(value: &Value) -> String {
    if let Value::Text(text) = value { text.clone() } else { String::new() }
}
