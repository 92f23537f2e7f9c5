//! `report budgets`: what teams may spend, have spent, and would have spent at the end; quota beside.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;
use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow, batch};
use gpuledger_schema::window::{self, Window, day_label, show_ms};

use super::fleet_rows::{columns, valued};
use super::quota::quota_uses;
use super::render::money;
use super::{Ask, Column, Currency, Kind, Reader, Report, ReportError, Value, last_week, texts, whole};
use crate::bill::{Period, exact};
use crate::engine::{Engine, Params, bigint};

/// Millionths of the currency in a unit of it.
const MICROS: i64 = 1_000_000;

fn shown() -> Vec<Column> {
    columns(&[
        ("team", "team", Kind::Text),
        ("from", "from", Kind::Text),
        ("to", "to", Kind::Text),
        ("budget", "budget", Kind::Money),
        ("spent", "spent", Kind::Money),
        ("used", "used", Kind::Percent),
        ("run_rate", "run rate", Kind::Money),
        ("low", "low", Kind::Money),
        ("high", "high", Kind::Money),
        ("budget_hours", "budget h", Kind::Hours),
        ("held_hours", "held h", Kind::Hours),
        ("held_of_budget", "used", Kind::Percent),
        ("run_rate_hours", "", Kind::Hours),
        ("low_hours", "", Kind::Hours),
        ("high_hours", "", Kind::Hours),
        ("reached", "reached", Kind::Text),
        ("quota_hours", "", Kind::Hours),
        ("quota_used_hours", "quota h used", Kind::Hours),
        ("borrowed_hours", "borrowed h", Kind::Hours),
    ])
}

/// Budgets that hold up to an instant (the end of what is known, where none is given). What was spent is what bills of the months
/// charge up to it, computed now, with the manual lines.
///
/// # Errors
/// A failing lake or engine.
pub(super) async fn budgets(
    reader: &Reader,
    at_ms: Option<i64>,
    zone: Tz,
    currency: &Currency,
) -> Result<Report, ReportError> {
    let known = last_week(reader).await?.to_ms;
    let at_ms = at_ms.unwrap_or(known);
    let engine = reader.engine();
    let at = Params::from([("at_ms", bigint(at_ms))]);
    let budgets = engine.step_rows("read/84_budget_now", &at).await?;
    let numbers = |name: &str| -> Result<Vec<i64>, ReportError> {
        let all = budgets.iter().map(|b| whole(b, name)).collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        Ok(all.flatten().filter_map(|n| i64::try_from(n).ok()).collect())
    };
    let (starts, ends) = (BTreeSet::from_iter(numbers("from_ms")?), numbers("to_ms")?);
    let (Some(first), Some(last)) = (starts.first().copied(), ends.into_iter().max()) else {
        return Ok(report(Vec::new(), at_ms, known, zone, currency));
    };
    let spent_by = spent(reader, &starts, at_ms.min(known), zone, currency).await?;
    engine.register_rows("team_day", spent_by.0, spent_by.1)?;
    reader.calendar(Window { from_ms: first, to_ms: last }, zone)?;
    engine.step("read/86_budget_day", &at).await?;
    engine.step("read/87_budget_spread", &Params::new()).await?;
    let reached = reached(engine).await?;
    let quota = quota_of_month(reader, at_ms, zone, currency).await?;
    let made = lines(engine, &at, currency, zone).await?;
    let complete = |(from_ms, mut row): (i64, Vec<Value>)| {
        let team = if let Value::Text(team) = &row[0] { team.clone() } else { String::new() };
        row.push(Value::Text(reached.get(&(team.clone(), from_ms)).cloned().unwrap_or_else(|| "-".to_owned())));
        row.extend(quota.get(&team).cloned().unwrap_or([Value::Unknown, Value::Unknown, Value::Unknown]));
        row
    };
    Ok(report(made.into_iter().map(complete).collect(), at_ms, known, zone, currency))
}

type Table = (datafusion::arrow::datatypes::SchemaRef, Vec<RecordBatch>);

/// What teams spent by day since each start: the bills of the months, cut where budgets start and at `until_ms`.
async fn spent(
    reader: &Reader,
    starts: &BTreeSet<i64>,
    until_ms: i64,
    zone: Tz,
    currency: &Currency,
) -> Result<Table, ReportError> {
    let apart = reader.fork().await?;
    let engine = apart.engine();
    register_bill(engine, &[], Vec::new())?;
    let none = Params::from([("budget_from_ms", bigint(0))]);
    let (mut schema, mut days) = engine.run("read/85_team_day", &none).await?;
    // budgets that started at different times share the months after: each is priced once
    let mut shared: BTreeMap<(i64, i64), (String, Vec<i64>)> = BTreeMap::new();
    for start in starts {
        for (name, month) in months(Window { from_ms: *start, to_ms: until_ms }, zone)? {
            shared.entry((month.from_ms, month.to_ms)).or_insert_with(|| (name, Vec::new())).1.push(*start);
        }
    }
    for ((from_ms, to_ms), (name, starts)) in shared {
        let period = Period { name, window: Window { from_ms, to_ms }, zone, currency: currency.clone() };
        let bill = exact(&apart, &period, gpuledger_schema::bill::DRAFT).await?;
        register_bill(engine, &bill.lines, bill.charges)?;
        for start in starts {
            let start = Params::from([("budget_from_ms", bigint(start))]);
            let (found, rows) = engine.run("read/85_team_day", &start).await?;
            schema = rows.first().map_or(found, RecordBatch::schema);
            days.extend(rows);
        }
    }
    schema = days.first().map_or(schema, RecordBatch::schema);
    Ok((schema, days))
}

fn register_bill(engine: &Engine, lines: &[StatementLineRow], charges: Vec<RecordBatch>) -> Result<(), ReportError> {
    let rows = batch(lines).map_err(|e| ReportError::Shape(e.to_string()))?;
    engine.register_rows("bill_line", rows.schema(), vec![rows])?;
    Ok(engine.register_rows("bill_charge", ChargeRow::TABLE.schema(), charges)?)
}

/// The calendar months of a window, the first and the last cut to it, in order.
fn months(window: Window, zone: Tz) -> Result<Vec<(String, Window)>, ReportError> {
    let mut out = Vec::new();
    let mut from_ms = window.from_ms;
    while from_ms < window.to_ms {
        let name = window::month_of(from_ms, zone);
        let month = window::month(&name, zone).map_err(|e| ReportError::Shape(e.to_string()))?;
        let to_ms = month.to_ms.min(window.to_ms);
        out.push((name, Window { from_ms, to_ms }));
        from_ms = to_ms;
    }
    Ok(out)
}

/// Percents that were reached, in words, by team and start of its budget.
async fn reached(engine: &Engine) -> Result<BTreeMap<(String, i64), String>, ReportError> {
    let (_, rows) = engine.run("read/87_budget_alert", &Params::new()).await?;
    let mut all = BTreeSet::new();
    for batch in &rows {
        let (team, measure) = (texts(batch, "team")?, texts(batch, "measure")?);
        let (from, percent, day) = (whole(batch, "from_ms")?, whole(batch, "percent")?, whole(batch, "day")?);
        for i in 0..batch.num_rows() {
            let number = |n: Option<i128>| n.and_then(|n| i64::try_from(n).ok()).unwrap_or(0);
            // money before hours
            let order = u8::from(measure[i] == "hours");
            all.insert((team[i].clone(), number(from[i]), order, number(percent[i]), number(day[i])));
        }
    }
    let mut out: BTreeMap<(String, i64), String> = BTreeMap::new();
    for (team, from_ms, order, percent, day) in all {
        let said = out.entry((team, from_ms)).or_default();
        let of = if order == 1 { " of hours" } else { "" };
        let word = format!("{percent} %{of} {}", day_label(i32::try_from(day).unwrap_or(0)));
        *said = if said.is_empty() { word } else { format!("{said}, {word}") };
    }
    Ok(out)
}

/// Quota, what was held within it and what was borrowed, by team, in the month of an instant up to it.
async fn quota_of_month(
    reader: &Reader,
    at_ms: i64,
    zone: Tz,
    currency: &Currency,
) -> Result<BTreeMap<String, [Value; 3]>, ReportError> {
    let month =
        window::month(&window::month_of(at_ms - 1, zone), zone).map_err(|e| ReportError::Shape(e.to_string()))?;
    let window = Window { from_ms: month.from_ms, to_ms: at_ms };
    let ask = Ask { window, zone, by: Vec::new(), step: None, currency: currency.clone() };
    let apart = reader.fork().await?;
    let mut sums: BTreeMap<String, [Option<i128>; 3]> = BTreeMap::new();
    for batch in &quota_uses(&apart, &ask).await? {
        let team = texts(batch, "team")?;
        let measures = ["quota_ms", "used_ms", "borrowed_ms"].map(|name| whole(batch, name));
        let [quota, used, borrowed] = measures;
        let of_batch = [quota?, used?, borrowed?];
        for (i, team) in team.into_iter().enumerate() {
            let sum = sums.entry(team).or_default();
            for (s, column) in sum.iter_mut().zip(&of_batch) {
                *s = column[i].map(|ms| ms + s.unwrap_or(0)).or(*s);
            }
        }
    }
    let value = |ms: Option<i128>| ms.map_or(Value::Unknown, Value::Ms);
    Ok(sums.into_iter().map(|(team, sum)| (team, sum.map(value))).collect())
}

/// The state of every budget: when it starts, and its row up to the column `high_hours`.
async fn lines(
    engine: &Engine,
    at: &Params,
    currency: &Currency,
    zone: Tz,
) -> Result<Vec<(i64, Vec<Value>)>, ReportError> {
    let mut params = at.clone();
    params.insert("divisor", bigint(currency.divisor()));
    params.insert("minor_micros", bigint(MICROS / 10_i64.pow(currency.digits())));
    let all = shown();
    let measured: Vec<Column> = all[3..15].to_vec();
    let (_, batches) = engine.run("read/88_budget", &params).await?;
    let numbers = valued(&batches, &measured)?;
    let mut keys = Vec::new();
    for batch in &batches {
        let (team, from, to) = (texts(batch, "team")?, whole(batch, "from_ms")?, whole(batch, "to_ms")?);
        for (i, team) in team.into_iter().enumerate() {
            let number = |n: Option<i128>| n.and_then(|n| i64::try_from(n).ok()).unwrap_or(0);
            keys.push((team, number(from[i]), number(to[i])));
        }
    }
    let row = |((team, from_ms, to_ms), measures): ((String, i64, i64), Vec<Value>)| {
        let mut row = vec![Value::Text(team), Value::Text(show_ms(from_ms, zone)), Value::Text(show_ms(to_ms, zone))];
        row.extend(measures);
        (from_ms, row)
    };
    Ok(keys.into_iter().zip(numbers).map(row).collect())
}

fn report(made: Vec<Vec<Value>>, at_ms: i64, known: i64, zone: Tz, currency: &Currency) -> Report {
    let over = made.iter().filter(|row| matches!((&row[3], &row[4]), (Value::Money(b), Value::Money(s)) if s > b));
    let over: Vec<String> =
        over.filter_map(|r| if let Value::Text(t) = &r[0] { Some(t.clone()) } else { None }).collect();
    let total =
        |at: usize| made.iter().filter_map(|r| if let Value::Money(n) = r[at] { Some(n) } else { None }).sum::<i128>();
    let at = show_ms(at_ms, zone);
    let written = |n: i128| format!("{} {}", money(n, currency.digits(), true), currency.code());
    let sentence = match (made.len(), over.is_empty()) {
        (0, _) => format!("no budget holds at {at}"),
        (n, true) => format!("{n} budgets at {at}: {} spent of {}", written(total(4)), written(total(3))),
        (n, false) => format!(
            "{n} budgets at {at}: {} spent of {}; over their budget: {}",
            written(total(4)),
            written(total(3)),
            over.join(", ")
        ),
    };
    let mut notes = Vec::new();
    if !made.is_empty() {
        notes.push(
            "run rate, low and high are estimates of the budget's end: as it went so far, and at the 10th and the 90th \
             percentile of a day; low and high are unknown before three whole days"
                .to_owned(),
        );
        notes.push("quota and borrowed are of this month so far".to_owned());
    }
    if at_ms > known {
        notes.push(format!("nothing is known after {}: what was spent is up to then", show_ms(known, zone)));
    }
    Report {
        sentence,
        columns: shown(),
        rows: made,
        total: None,
        notes,
        currency: Some(currency.clone()),
        table_decimals: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_cut_into_its_months() {
        let zone = chrono_tz::Europe::Berlin;
        let at = |text: &str| window::instant(text, zone).unwrap();
        let window = Window { from_ms: at("2026-01-15"), to_ms: at("2026-03-02") };
        let found: Vec<_> = months(window, zone).unwrap().into_iter().map(|(n, w)| (n, w.from_ms, w.to_ms)).collect();
        assert_eq!(
            found,
            [
                ("2026-01".to_owned(), at("2026-01-15"), at("2026-02-01")),
                ("2026-02".to_owned(), at("2026-02-01"), at("2026-03-01")),
                ("2026-03".to_owned(), at("2026-03-01"), at("2026-03-02")),
            ]
        );
        assert!(months(Window { from_ms: at("2026-01-15"), to_ms: at("2026-01-15") }, zone).unwrap().is_empty());
    }
}
