//! `report accounting`: jobs ended, wall, CPU, node and GPU hours, waits: what a scheduler's accounting says.

use gpuledger_schema::unit::CARD_UNITS;

use super::grouped::Measure;
use super::narrow::selected;
use super::render::hours;
use super::usage::{dimensions, key_columns, row, total_of, total_row};
use super::{Ask, Column, Dimension, Kind, Reader, Report, ReportError, Value};
use crate::engine::{Params, bigint};

const MEASURES: &[Measure] = &[
    Measure::Sum("jobs_ended"),
    Measure::Sum("wall_ms"),
    Measure::Sum("cpu_ms"),
    Measure::Sum("node_ms"),
    Measure::Sum("gpu_unit_ms"),
    Measure::Sum("wait_ms"),
    Measure::Sum("wait_from_submit_ms"),
];

fn columns() -> Vec<Column> {
    vec![
        Column::new("jobs_ended", "ended", Kind::Count),
        Column::new("wall_hours", "wall h", Kind::Hours),
        Column::new("cpu_hours", "CPU h", Kind::Hours),
        Column::new("node_hours", "node h", Kind::Hours),
        Column::new("gpu_hours", "GPU h", Kind::Hours),
        Column::new("wait_hours", "wait h", Kind::Hours),
        Column::new("wait_from_submit_hours", "wait f. submit h", Kind::Hours),
    ]
}

fn values(sums: &[Option<i128>]) -> Vec<Value> {
    let known = |i: usize| sums[i].map_or(Value::Unknown, Value::Ms);
    let gpu = sums[4].map_or(Value::Unknown, |u| Value::Ms(u / i128::from(CARD_UNITS)));
    vec![
        Value::Count(sums[0].unwrap_or(0)),
        Value::Ms(sums[1].unwrap_or(0)),
        known(2),
        known(3),
        gpu,
        Value::Ms(sums[5].unwrap_or(0)),
        Value::Ms(sums[6].unwrap_or(0)),
    ]
}

/// The accounting of a window.
pub async fn accounting(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    let by = dimensions(ask);
    let missing = |d: &&Dimension| {
        matches!(d, Dimension::Pool | Dimension::Tier | Dimension::Node | Dimension::Device | Dimension::Kind)
    };
    if let Some(d) = by.iter().find(missing) {
        return Err(ReportError::Dimension(*d));
    }
    // owners are looked up for other runs here than for a charge
    *reader.priced().lock().await = None;
    reader.calendar(ask.window, ask.zone)?;
    let window = Params::from([("from_ms", bigint(ask.window.from_ms)), ("to_ms", bigint(ask.window.to_ms))]);
    let none = Params::new();
    for (step, params) in [
        ("read/10_run_in_window", &window),
        ("charge/20_owner_key", &none),
        ("charge/21_owner_match", &none),
        ("charge/22_owner_span", &none),
        ("read/20_run_team", &none),
        ("read/40_calendar_day", &window),
        ("read/30_accounting", &window),
    ] {
        reader.engine().step(step, params).await?;
    }
    let groups = selected(reader, "accounting", &by, MEASURES).await?;
    let total = total_of(&groups, MEASURES);
    let gpu_ms = total[4].unwrap_or(0) / i128::from(CARD_UNITS);
    let sentence = format!(
        "{} jobs ended; {} GPU-hours, {} CPU-hours, {} node-hours passed",
        total[0].unwrap_or(0),
        hours(gpu_ms, 4),
        hours(total[2].unwrap_or(0), 4),
        hours(total[3].unwrap_or(0), 4)
    );
    let mut shown = key_columns(&by);
    shown.extend(columns());
    Ok(Report {
        sentence,
        columns: shown,
        rows: groups.iter().map(|g| row(&g.key, values(&g.sums))).collect(),
        total: Some(total_row(by.len(), values(&total))),
        notes: Vec::new(),
        currency: None,
        table_decimals: 4,
    })
}
