//! `report charge`: money beside held, busy and waste; and the line that proves that nothing was lost.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::price_facts;
use super::grouped::{Group, Measure, ppm};
use super::narrow::selected;
use super::render::{hours, money};
use super::usage::{dimensions, key_columns, row, total_of, total_row};
use super::{Ask, Column, Dimension, Kind, Reader, Report, ReportError, Value};

mod amount;

use amount::{
    ALL, BILLED, BUSY, COVERED, ENERGY_COST, HELD, IDLE, LIST_COST, LOST, Line, PLATFORM, RESERVED, SHARED_COST,
    UNALLOCATED, UNAVAILABLE, UNMEASURED, UNOBSERVED, UNPRICED, gathered, handed, lines,
};

/// A charge report with the totals that must add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charges {
    /// The report.
    pub report: Report,
    /// Charged to teams, in minor units.
    pub charged: i128,
    /// The platform's, in minor units: held and not billed, to settle, unallocated, unavailable, unobserved, and (negative) what
    /// teams took over of the last three. With what is charged they are what the fleet cost.
    pub platform: [i128; 6],
    /// What the whole fleet cost, in minor units, rounded from the exact sum.
    pub fleet: i128,
}

/// Which columns have something to say: the others are in CSV, JSON and Parquet only.
#[derive(Debug, Clone, Copy)]
struct Shown {
    mode: bool,
    list: bool,
    reserved: bool,
    shared: bool,
    unbilled: bool,
    to_settle: bool,
    energy: bool,
}

fn columns(shown: Shown) -> Vec<Column> {
    let some = |on: bool, heading: &'static str| if on { heading } else { "" };
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
        Column::new("modes", some(shown.mode, "mode"), Kind::Text),
        Column::new("list", some(shown.list, "list"), Kind::Money),
        Column::new("reserved_hours", some(shown.reserved, "reserved h"), Kind::Hours),
        Column::new("shared", some(shown.shared, "of it shared"), Kind::Money),
        Column::new("unbilled", some(shown.unbilled, "unbilled"), Kind::Money),
        Column::new("to_settle", some(shown.to_settle, "to settle"), Kind::Money),
        Column::new("shared_out", some(shown.shared, "shared out"), Kind::Money),
        Column::new("energy_cost", some(shown.energy, "energy"), Kind::Money),
        Column::new("lost_card_hours", "", Kind::Hours),
    ]
}

/// Busy and idle time; where held time was not measured at all they are unknown, not zero.
fn used(sums: &[Option<i128>], i: usize) -> Value {
    let nothing_measured = sums[HELD].unwrap_or(0) > 0 && sums[COVERED].unwrap_or(0) == 0;
    if nothing_measured { Value::Unknown } else { Value::Ms(sums[i].unwrap_or(0)) }
}

fn values(sums: &[Option<i128>], cost: &Line, mode: &str) -> Vec<Value> {
    let ms = |i: usize| Value::Ms(sums[i].unwrap_or(0));
    vec![
        ms(HELD),
        used(sums, BUSY),
        used(sums, IDLE),
        ms(UNMEASURED),
        ppm(sums[COVERED].unwrap_or(0), sums[HELD].unwrap_or(0)),
        Value::Money(cost.charge),
        if used(sums, IDLE) == Value::Unknown { Value::Unknown } else { Value::Money(cost.waste) },
        ms(UNPRICED),
        ms(UNALLOCATED),
        Value::Money(cost.platform[2]),
        ms(UNAVAILABLE),
        Value::Money(cost.platform[3]),
        ms(UNOBSERVED),
        Value::Money(cost.platform[4]),
        Value::Text(mode.to_owned()),
        Value::Money(cost.list),
        ms(RESERVED),
        Value::Money(cost.shared),
        Value::Money(cost.platform[0]),
        Value::Money(cost.platform[1]),
        Value::Money(cost.platform[5]),
        cost.energy.map_or(Value::Unknown, Value::Money),
        ms(LOST),
    ]
}

/// How each group's pools are billed, in words; of several modes all, in order.
async fn modes(reader: &Reader, by: &[Dimension], groups: &[Group]) -> Result<Vec<String>, ReportError> {
    let mut with: Vec<Dimension> = by.iter().copied().filter(|d| *d != Dimension::Mode).collect();
    with.push(Dimension::Mode);
    let key = |key: &[String], of: &[Dimension]| {
        let named = of.iter().zip(key).filter(|(d, _)| **d != Dimension::Mode);
        named.map(|(_, word)| word.clone()).collect::<Vec<_>>()
    };
    let mut found: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    for group in selected(reader, "fact", &with, &[Measure::Sum("capacity_ms")]).await? {
        if let Some(mode) = group.key.last() {
            found.entry(key(&group.key, &with)).or_default().insert(mode.clone());
        }
    }
    let words = |g: &Group| match by.iter().position(|d| *d == Dimension::Mode) {
        Some(at) => g.key[at].clone(),
        None => {
            found.get(&key(&g.key, by)).map(|m| m.iter().cloned().collect::<Vec<_>>().join("+")).unwrap_or_default()
        }
    };
    Ok(groups.iter().map(words).collect())
}

fn notes(ask: &Ask, total: &[Option<i128>], sum: &Line, fleet: i128, shown: Shown) -> Vec<String> {
    let h = |i: usize| hours(total[i].unwrap_or(0), 1);
    let m = |v: i128| format!("{} {}", money(v, ask.currency.digits(), true), ask.currency.code());
    let mut held = String::new();
    if shown.unbilled {
        held.push_str(&format!(" + held and not billed {}", m(sum.platform[0])));
    }
    if shown.to_settle {
        held.push_str(&format!(" + to settle {}", m(sum.platform[1])));
    }
    let out = if shown.shared { format!(" - shared out {}", m(-sum.platform[5])) } else { String::new() };
    let mut notes = vec![format!(
        "conservation: charged {}{held} + unallocated {} + unavailable {} + unobserved {}{out} = fleet {}",
        m(sum.charge),
        m(sum.platform[2]),
        m(sum.platform[3]),
        m(sum.platform[4]),
        m(fleet)
    )];
    if total[UNPRICED].unwrap_or(0) > 0 {
        notes.push(format!(
            "unpriced: {} of the held GPU-hours have no rate and are in no charge; `gpuledger report charge --by model` says which",
            h(UNPRICED)
        ));
    }
    if total[UNMEASURED].unwrap_or(0) > 0 {
        notes.push(format!(
            "unmeasured: {} of the held GPU-hours were not measured; they are neither busy nor waste",
            h(UNMEASURED)
        ));
    }
    if total[LOST].unwrap_or(0) > 0 {
        notes.push(format!(
            "lost cards: {} GPU-hours of failed cards that somebody held are in no charge ({} at list price)",
            h(LOST),
            m(sum.lost)
        ));
    }
    if shown.shared {
        notes.push("shared: what nobody used is shared out over the window that was asked for".to_owned());
    }
    notes
}

/// Rows with their money and what they cost together: rounded over all there are, then selected. What is selected is rounded first, by
/// what it is selected by alone, and handed down to its rows: however they are grouped, they come to the same.
async fn priced(reader: &Reader, ask: &Ask, by: &[Dimension]) -> Result<(Vec<Group>, Vec<Line>, i128), ReportError> {
    let narrow = reader.narrow();
    if narrow.is_all() {
        let groups = gathered(reader, by).await?;
        let (cost, fleet) = lines(reader, ask, by, &groups).await?;
        return Ok((groups, cost, fleet));
    }
    let selected_by = narrow.wide(&[]);
    let above = gathered(reader, &selected_by).await?;
    let (totals, _) = lines(reader, ask, &selected_by, &above).await?;
    let wide = narrow.wide(by);
    let groups = gathered(reader, &wide).await?;
    let places: BTreeMap<&[String], usize> = above.iter().enumerate().map(|(i, g)| (g.key.as_slice(), i)).collect();
    let word = |group: &Group, d: &Dimension| wide.iter().position(|w| w == d).map(|at| group.key[at].clone());
    let under = |group: &Group| {
        let key: Vec<String> = selected_by.iter().filter_map(|d| word(group, d)).collect();
        places.get(key.as_slice()).copied().ok_or_else(|| ReportError::Shape(format!("no sum of {}", key.join(", "))))
    };
    let under = groups.iter().map(under).collect::<Result<Vec<_>, _>>()?;
    let cost = handed(reader, ask, &groups, &under, &totals).await?;
    let sums = vec![Measure::Sum(""); ALL];
    let (mut kept, mut costs, mut sum) = (Vec::new(), Vec::new(), 0);
    for (group, of) in narrow.select(&groups, &wide, by.len(), &sums) {
        let mut line = Line::default();
        of.iter().for_each(|i| line.add(&cost[*i]));
        sum += line.charge + line.platform.iter().sum::<i128>();
        kept.push(group);
        costs.push(line);
    }
    Ok((kept, costs, sum))
}

/// The charges of a window.
///
/// # Errors
/// A failing lake or engine, or a dimension that charges do not have.
pub async fn charge(reader: &Reader, ask: &Ask) -> Result<Charges, ReportError> {
    price_facts(reader, ask).await?;
    let by = dimensions(ask);
    let (groups, cost, fleet) = priced(reader, ask, &by).await?;
    let mode = modes(reader, &by, &groups).await?;
    let all: Vec<Measure> = vec![Measure::Sum(""); ALL];
    let total = total_of(&groups, &all);
    let mut sum = Line::default();
    cost.iter().for_each(|line| sum.add(line));
    let there = |i: usize| groups.iter().any(|g| g.sums[i].unwrap_or(0) != 0);
    let differs = groups.iter().any(|g| g.sums[LIST_COST].unwrap_or(0) != g.sums[BILLED].unwrap_or(0));
    let shown = Shown {
        mode: mode.iter().any(|m| !m.is_empty() && m != "held"),
        list: differs,
        reserved: there(RESERVED),
        shared: there(SHARED_COST),
        unbilled: there(PLATFORM[0]),
        to_settle: there(PLATFORM[1]),
        energy: groups.iter().any(|g| g.sums[ENERGY_COST].is_some()),
    };
    let h = |i: usize| hours(total[i].unwrap_or(0), 1);
    let m = |v: i128| format!("{} {}", money(v, ask.currency.digits(), true), ask.currency.code());
    let sentence = if total[HELD] > Some(0) && total[COVERED].unwrap_or(0) == 0 {
        format!(
            "{} GPU-hours held cost {}; what of them was used is unknown: nothing was measured",
            h(HELD),
            m(sum.charge)
        )
    } else {
        format!(
            "{} GPU-hours held cost {}; {} of them were held and not used ({})",
            h(HELD),
            m(sum.charge),
            h(IDLE),
            m(sum.waste)
        )
    };
    let mut headings = key_columns(&by);
    headings.extend(columns(shown));
    let report = Report {
        sentence,
        columns: headings,
        rows: groups.iter().zip(&cost).zip(&mode).map(|((g, c), m)| row(&g.key, values(&g.sums, c, m))).collect(),
        total: Some(total_row(by.len(), values(&total, &sum, ""))),
        notes: notes(ask, &total, &sum, fleet, shown),
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    };
    Ok(Charges { report, charged: sum.charge, platform: sum.platform, fleet })
}
