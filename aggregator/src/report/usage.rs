//! `report usage`: the six classes, effective time and coverage.

use super::dimension::Dimension;
use super::facts::price_facts;
use super::grouped::{Group, Measure, ppm};
use super::narrow::selected;
use super::{Ask, Column, Kind, Reader, Report, ReportError, Value, texts};
use crate::engine::Params;

const MEASURES: &[Measure] = &[
    Measure::Sum("busy_ms"),
    Measure::Sum("held_idle_ms"),
    Measure::Sum("held_unmeasured_ms"),
    Measure::Sum("unallocated_ms"),
    Measure::Sum("unavailable_ms"),
    Measure::Sum("unobserved_ms"),
    Measure::Sum("held_ms"),
    Measure::Sum("capacity_ms"),
    Measure::Sum("covered_ms"),
    Measure::Sum("effective_ms"),
    Measure::Sum("judged_ms"),
    Measure::Sum("held_zero_ms"),
    Measure::Sum("over_share_ms"),
    Measure::Sum("conflict_ms"),
    Measure::Sum("estimated_ms"),
    Measure::Sum("foreign_ms"),
    Measure::Max("mem_peak_bytes"),
    Measure::Sum("energy_mj"),
];

/// Which columns of a usage report a table shows; CSV, JSON and Parquet have all.
fn columns() -> Vec<Column> {
    vec![
        Column::new("held_hours", "held", Kind::Hours),
        Column::new("busy_hours", "busy", Kind::Hours),
        Column::new("held_idle_hours", "idle", Kind::Hours),
        Column::new("held_unmeasured_hours", "unmeas.", Kind::Hours),
        Column::new("unallocated_hours", "unalloc.", Kind::Hours),
        Column::new("unavailable_hours", "unavail.", Kind::Hours),
        Column::new("unobserved_hours", "unobs.", Kind::Hours),
        Column::new("capacity_hours", "capacity", Kind::Hours),
        Column::new("effective_hours", "effect.", Kind::Hours),
        Column::new("coverage", "cover.", Kind::Percent),
        Column::new("held_zero_hours", "", Kind::Hours),
        Column::new("over_share_hours", "", Kind::Hours),
        Column::new("conflict_hours", "", Kind::Hours),
        Column::new("estimated_hours", "", Kind::Hours),
        Column::new("foreign_hours", "", Kind::Hours),
        Column::new("gpu_mem_peak_gib", "", Kind::Gib),
        Column::new("energy_mj", "", Kind::Count),
    ]
}

fn values(sums: &[Option<i128>]) -> Vec<Value> {
    let ms = |i: usize| Value::Ms(sums[i].unwrap_or(0));
    let known = |i: usize, make: fn(i128) -> Value| sums[i].map_or(Value::Unknown, make);
    vec![
        ms(6),
        ms(0),
        ms(1),
        ms(2),
        ms(3),
        ms(4),
        ms(5),
        ms(7),
        known(9, Value::Ms),
        ppm(sums[8].unwrap_or(0), sums[6].unwrap_or(0)),
        ms(11),
        ms(12),
        ms(13),
        ms(14),
        ms(15),
        known(16, Value::Bytes),
        known(17, Value::Count),
    ]
}

/// The sum of groups, measure by measure; a peak is the greatest.
pub(super) fn total_of(groups: &[Group], measures: &[Measure]) -> Vec<Option<i128>> {
    measures
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let known = groups.iter().filter_map(|g| g.sums[i]);
            match m {
                Measure::Sum(_) => known.reduce(|a, b| a + b),
                Measure::Max(_) => known.max(),
            }
        })
        .collect()
}

/// The dimensions of an ask: its step first.
pub(super) fn dimensions(ask: &Ask) -> Vec<Dimension> {
    let mut by: Vec<Dimension> = ask.step.map(super::Step::dimension).into_iter().collect();
    by.extend(ask.by.iter().copied().filter(|d| Some(*d) != ask.step.map(super::Step::dimension)));
    by
}

/// Columns for dimensions.
pub(super) fn key_columns(by: &[Dimension]) -> Vec<Column> {
    by.iter().map(|d| Column::new(d.word(), &d.word().replace('_', " "), Kind::Text)).collect()
}

/// A row from a key and values.
pub(super) fn row(key: &[String], values: Vec<Value>) -> Vec<Value> {
    key.iter().map(|k| Value::Text(k.clone())).chain(values).collect()
}

/// The total row: `total` in the first key column.
pub(super) fn total_row(keys: usize, values: Vec<Value>) -> Vec<Value> {
    let words = (0..keys).map(|i| Value::Text(if i == 0 { "total".to_owned() } else { String::new() }));
    words.chain(values).collect()
}

/// Says of which models busy time was never compared with a known load, where there is busy time.
async fn uncalibrated(reader: &Reader, busy_ms: i128) -> Result<Option<String>, ReportError> {
    if busy_ms == 0 {
        return Ok(None);
    }
    let (_, rows) = reader.engine().run("read/71_uncalibrated", &Params::new()).await?;
    let mut models = Vec::new();
    for batch in &rows {
        models.extend(texts(batch, "model")?);
    }
    let said = format!("uncalibrated: busy time of {} was never compared with a known load", models.join(", "));
    Ok((!models.is_empty()).then_some(said))
}

/// The usage of a window.
pub async fn usage(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    price_facts(reader, ask).await?;
    let by = dimensions(ask);
    let groups = selected(reader, "fact", &by, MEASURES).await?;
    let total = total_of(&groups, MEASURES);
    let hours = |i: usize| super::render::hours(total[i].unwrap_or(0), 1);
    let mut notes = Vec::new();
    if total[10] < total[6] {
        notes.push("effective is known only where something was measured or an average was imported".to_owned());
    }
    if total[13].unwrap_or(0) > 0 {
        notes.push(format!("{} GPU-hours were claimed beyond what the cards have (check L4)", hours(13)));
    }
    notes.extend(uncalibrated(reader, total[0].unwrap_or(0)).await?);
    let sentence = format!(
        "{} GPU-hours: {} held ({} busy, {} idle, {} unmeasured), {} unallocated, {} unavailable, {} unobserved",
        hours(7),
        hours(6),
        hours(0),
        hours(1),
        hours(2),
        hours(3),
        hours(4),
        hours(5)
    );
    let mut shown = key_columns(&by);
    shown.extend(columns());
    Ok(Report {
        sentence,
        columns: shown,
        rows: groups.iter().map(|g| row(&g.key, values(&g.sums))).collect(),
        total: Some(total_row(by.len(), values(&total))),
        notes,
        currency: None,
        table_decimals: 1,
    })
}
