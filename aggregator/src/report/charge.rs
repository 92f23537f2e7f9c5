//! `report charge`: money beside held, busy and waste; and the line that proves that nothing was lost.

use super::grouped::{Group, Measure, grouped, ppm};
use super::money::{Amounts, hand_down, round};
use super::render::{hours, money};
use super::usage::{dimensions, key_columns, row, total_of, total_row};
use super::{Ask, Column, Kind, Reader, Report, ReportError, Value, prepare};

const MEASURES: &[Measure] = &[
    Measure::Sum("held_ms"),
    Measure::Sum("busy_ms"),
    Measure::Sum("held_idle_ms"),
    Measure::Sum("held_unmeasured_ms"),
    Measure::Sum("unallocated_ms"),
    Measure::Sum("unavailable_ms"),
    Measure::Sum("unobserved_ms"),
    Measure::Sum("capacity_ms"),
    Measure::Sum("covered_ms"),
    Measure::Sum("unpriced_ms"),
    Measure::Sum("held_cost"),
    Measure::Sum("waste_cost"),
    Measure::Sum("unallocated_cost"),
    Measure::Sum("unavailable_cost"),
    Measure::Sum("unobserved_cost"),
];

/// A charge report with the totals that must add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charges {
    /// The report.
    pub report: Report,
    /// Charged to teams, in minor units.
    pub charged: i128,
    /// Unallocated, unavailable and unobserved, in minor units: the platform's.
    pub platform: [i128; 3],
    /// What the whole fleet cost, in minor units, rounded from the exact sum.
    pub fleet: i128,
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("held_hours", "held h", Kind::Hours),
        Column::new("busy_hours", "busy h", Kind::Hours),
        Column::new("held_idle_hours", "waste h", Kind::Hours),
        Column::new("held_unmeasured_hours", "unmeas. h", Kind::Hours),
        Column::new("coverage", "cover.", Kind::Percent),
        Column::new("charge", "charge", Kind::Money),
        Column::new("waste", "of it waste", Kind::Money),
        Column::new("unpriced_hours", "", Kind::Hours),
        Column::new("unallocated_hours", "", Kind::Hours),
        Column::new("unallocated_cost", "", Kind::Money),
        Column::new("unavailable_hours", "", Kind::Hours),
        Column::new("unavailable_cost", "", Kind::Money),
        Column::new("unobserved_hours", "", Kind::Hours),
        Column::new("unobserved_cost", "", Kind::Money),
    ]
}

/// Money of a line: charge, waste, unallocated, unavailable, unobserved.
type Line = [i128; 5];

/// Busy and idle time; where held time was not measured at all they are unknown, not zero.
fn used(sums: &[Option<i128>], i: usize) -> Value {
    let nothing_measured = sums[0].unwrap_or(0) > 0 && sums[8].unwrap_or(0) == 0;
    if nothing_measured { Value::Unknown } else { Value::Ms(sums[i].unwrap_or(0)) }
}

fn values(sums: &[Option<i128>], cost: &Line) -> Vec<Value> {
    let ms = |i: usize| Value::Ms(sums[i].unwrap_or(0));
    vec![
        ms(0),
        used(sums, 1),
        used(sums, 2),
        ms(3),
        ppm(sums[8].unwrap_or(0), sums[0].unwrap_or(0)),
        Value::Money(cost[0]),
        if used(sums, 2) == Value::Unknown { Value::Unknown } else { Value::Money(cost[1]) },
        ms(9),
        ms(4),
        Value::Money(cost[2]),
        ms(5),
        Value::Money(cost[3]),
        ms(6),
        Value::Money(cost[4]),
    ]
}

/// Rounds charge and waste by themselves; what the fleet cost beyond the charge is handed down to the platform's kinds,
/// so that the parts add up to the fleet's cost to the minor unit.
async fn lines(reader: &Reader, ask: &Ask, groups: &[Group]) -> Result<(Vec<Line>, i128), ReportError> {
    let amounts = |i: usize| groups.iter().map(|g| g.sums[i].unwrap_or(0)).collect::<Vec<_>>();
    let measures: Vec<Amounts> = vec![("charge", amounts(10)), ("waste", amounts(11))];
    let total = |i: usize| amounts(i).iter().sum::<i128>();
    let kinds = [total(12), total(13), total(14)];
    let fleet: Vec<Amounts> = vec![("fleet", vec![total(10) + kinds.iter().sum::<i128>()])];
    let engine = reader.engine();
    let top = round(engine, &ask.currency, &measures).await?;
    let fleet = round(engine, &ask.currency, &fleet).await?[0].first().copied().unwrap_or(0);
    let charged: i128 = top[0].iter().sum();
    let platform = hand_down(engine, &ask.currency, &[("platform", kinds.to_vec())], &[fleet - charged]).await?;
    let below: Vec<Amounts> =
        vec![("unallocated", amounts(12)), ("unavailable", amounts(13)), ("unobserved", amounts(14))];
    let below = if groups.is_empty() {
        vec![Vec::new(); 3]
    } else {
        hand_down(engine, &ask.currency, &below, &platform[0]).await?
    };
    let out = (0..groups.len()).map(|i| [top[0][i], top[1][i], below[0][i], below[1][i], below[2][i]]).collect();
    Ok((out, fleet))
}

/// The charges of a window.
pub async fn charge(reader: &Reader, ask: &Ask) -> Result<Charges, ReportError> {
    prepare(reader, ask).await?;
    let by = dimensions(ask);
    let groups = grouped(reader.engine(), "fact", &by, MEASURES).await?;
    let (cost, fleet) = lines(reader, ask, &groups).await?;
    let total = total_of(&groups, MEASURES);
    let mut sum: Line = [0; 5];
    for line in &cost {
        for (s, v) in sum.iter_mut().zip(line) {
            *s += v;
        }
    }
    let h = |i: usize| hours(total[i].unwrap_or(0), 1);
    let m = |v: i128| format!("{} {}", money(v, ask.currency.digits(), true), ask.currency.code());
    let sentence = if total[0] > Some(0) && total[8].unwrap_or(0) == 0 {
        format!("{} GPU-hours held cost {}; what of them was used is unknown: nothing was measured", h(0), m(sum[0]))
    } else {
        format!("{} GPU-hours held cost {}; {} of them were held and not used ({})", h(0), m(sum[0]), h(2), m(sum[1]))
    };
    let mut notes = vec![format!(
        "conservation: charged {} + unallocated {} + unavailable {} + unobserved {} = fleet {}",
        m(sum[0]),
        m(sum[2]),
        m(sum[3]),
        m(sum[4]),
        m(fleet)
    )];
    if total[9].unwrap_or(0) > 0 {
        notes.push(format!(
            "unpriced: {} of the held GPU-hours have no rate and are in no charge; `gpuledger report charge --by model` says which",
            h(9)
        ));
    }
    if total[3].unwrap_or(0) > 0 {
        notes.push(format!(
            "unmeasured: {} of the held GPU-hours were not measured; they are neither busy nor waste",
            h(3)
        ));
    }
    let mut shown = key_columns(&by);
    shown.extend(columns());
    let report = Report {
        sentence,
        columns: shown,
        rows: groups.iter().zip(&cost).map(|(g, c)| row(&g.key, values(&g.sums, c))).collect(),
        total: Some(total_row(by.len(), values(&total, &sum))),
        notes,
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    };
    Ok(Charges { report, charged: sum[0], platform: [sum[2], sum[3], sum[4]], fleet })
}
