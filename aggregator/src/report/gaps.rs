//! `report gaps`: what was asked for against what was used, with the money.

use gpuledger_schema::unit::CARD_UNITS;

use super::facts::price_facts;
use super::grouped::{Group, Measure, grouped, ppm};
use super::money::{Amounts, round};
use super::render::{hours, money};
use super::usage::{dimensions, key_columns, row, total_of, total_row};
use super::{Ask, Column, Dimension, Kind, Reader, Report, ReportError, Value};
use crate::engine::Params;

const MEASURES: &[Measure] = &[
    Measure::Sum("runs"),
    Measure::Sum("req_gpu_units"),
    Measure::Sum("gpu_units"),
    Measure::Sum("gpus_judged"),
    Measure::Sum("gpus_used"),
    Measure::Sum("held_ms"),
    Measure::Sum("judged_ms"),
    Measure::Sum("effective_ms"),
    Measure::Sum("gap_ms"),
    Measure::Sum("held_idle_ms"),
    Measure::Sum("held_unmeasured_ms"),
    Measure::Sum("gpu_mem_quota_bytes"),
    Measure::Sum("gpu_mem_peak_bytes"),
    Measure::Sum("time_limit_ms"),
    Measure::Sum("run_ms"),
    Measure::Sum("time_gap_unit_ms"),
    Measure::Sum("gap_cost"),
    Measure::Sum("waste_cost"),
    Measure::Sum("held_cost"),
];

fn columns() -> Vec<Column> {
    vec![
        Column::new("runs", "runs", Kind::Count),
        Column::new("gpus_asked", "asked", Kind::Count),
        Column::new("gpus_granted", "", Kind::Count),
        Column::new("gpus_judged", "", Kind::Count),
        Column::new("gpus_used", "used", Kind::Count),
        Column::new("held_hours", "held h", Kind::Hours),
        Column::new("judged_hours", "", Kind::Hours),
        Column::new("effective_hours", "effect. h", Kind::Hours),
        Column::new("effective_share", "share", Kind::Percent),
        Column::new("gap_hours", "gap h", Kind::Hours),
        Column::new("held_idle_hours", "", Kind::Hours),
        Column::new("held_unmeasured_hours", "", Kind::Hours),
        Column::new("gpu_mem_quota_gib", "mem GiB", Kind::Gib),
        Column::new("gpu_mem_peak_gib", "peak GiB", Kind::Gib),
        Column::new("time_limit_hours", "", Kind::Hours),
        Column::new("run_hours", "", Kind::Hours),
        Column::new("time_limit_gap_gpu_hours", "limit gap h", Kind::Hours),
        Column::new("gap_cost", "gap cost", Kind::Money),
        Column::new("waste", "", Kind::Money),
        Column::new("charge", "", Kind::Money),
    ]
}

/// GPUs from share units, rounded half up to a whole GPU for people; CSV keeps the sum of parts in its own column.
fn gpus(units: Option<i128>) -> Value {
    let card = i128::from(CARD_UNITS);
    units.map_or(Value::Unknown, |u| Value::Count((2 * u + card) / (2 * card)))
}

fn values(sums: &[Option<i128>], cost: [i128; 3]) -> Vec<Value> {
    let known = |i: usize, make: fn(i128) -> Value| sums[i].map_or(Value::Unknown, make);
    let judged = sums[6].unwrap_or(0);
    let effective = if judged > 0 { known(7, Value::Ms) } else { Value::Unknown };
    vec![
        Value::Count(sums[0].unwrap_or(0)),
        gpus(sums[1]),
        gpus(sums[2]),
        known(3, Value::Count),
        known(4, Value::Count),
        Value::Ms(sums[5].unwrap_or(0)),
        Value::Ms(judged),
        effective,
        ppm(sums[7].unwrap_or(0), judged),
        if judged > 0 { known(8, Value::Ms) } else { Value::Unknown },
        Value::Ms(sums[9].unwrap_or(0)),
        Value::Ms(sums[10].unwrap_or(0)),
        known(11, Value::Bytes),
        known(12, Value::Bytes),
        known(13, Value::Ms),
        known(14, Value::Ms),
        sums[15].map_or(Value::Unknown, |u| Value::Ms(u / i128::from(CARD_UNITS))),
        Value::Money(cost[0]),
        Value::Money(cost[1]),
        Value::Money(cost[2]),
    ]
}

/// The gaps of a window, greatest money first; `top` keeps only the first rows (the total stays that of all).
pub async fn gaps(reader: &Reader, ask: &Ask, top: Option<usize>) -> Result<Report, ReportError> {
    let by = dimensions(ask);
    let refused =
        by.iter().find(|d| matches!(d, Dimension::Day | Dimension::Month | Dimension::Node | Dimension::Device));
    if let Some(d) = refused {
        return Err(ReportError::Dimension(*d));
    }
    price_facts(reader, ask).await?;
    reader.engine().step("waste/10_run_gap", &Params::new()).await?;
    let narrow = reader.narrow();
    let wide = narrow.wide(&by);
    let groups = grouped(reader.engine(), "run_gap", &wide, MEASURES).await?;
    let amounts = |i: usize| groups.iter().map(|g| g.sums[i].unwrap_or(0)).collect::<Vec<_>>();
    let measures: Vec<Amounts> = vec![("gap", amounts(16)), ("waste", amounts(17)), ("charge", amounts(18))];
    let rounded = round(reader.engine(), &ask.currency, &measures).await?;
    let chosen = narrow.select(&groups, &wide, by.len(), MEASURES);
    let sum_of = |m: usize| chosen.iter().map(|(_, of)| of.iter().map(|i| rounded[m][*i]).sum::<i128>()).collect();
    let cost: [Vec<i128>; 3] = [sum_of(0), sum_of(1), sum_of(2)];
    let groups: Vec<Group> = chosen.into_iter().map(|(group, _)| group).collect();
    let mut lines: Vec<(&Group, [i128; 3])> =
        groups.iter().enumerate().map(|(i, g)| (g, [cost[0][i], cost[1][i], cost[2][i]])).collect();
    lines.sort_by_key(|(g, c)| (std::cmp::Reverse((c[0], g.sums[8].unwrap_or(0))), g.key.clone()));
    let total = total_of(&groups, MEASURES);
    let sums = [0, 1, 2].map(|i| cost[i].iter().sum::<i128>());
    let h = |i: usize| hours(total[i].unwrap_or(0), 1);
    let sentence = format!(
        "{} GPU-hours held, {} of them judged: {} effective, {} not used, worth {} {}",
        h(5),
        h(6),
        h(7),
        h(8),
        money(sums[0], ask.currency.digits(), true),
        ask.currency.code()
    );
    let mut notes = Vec::new();
    if total[6] < total[5] {
        notes.push("held time without measurement or average is not judged: it is in no gap".to_owned());
    }
    let mut shown = key_columns(&by);
    shown.extend(columns());
    let kept = top.unwrap_or(lines.len());
    if kept < lines.len() {
        notes.push(format!("the first {kept} of {} rows; the total is of all", lines.len()));
    }
    Ok(Report {
        sentence,
        columns: shown,
        rows: lines.iter().take(kept).map(|(g, c)| row(&g.key, values(&g.sums, *c))).collect(),
        total: Some(total_row(by.len(), values(&total, sums))),
        notes,
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    })
}
