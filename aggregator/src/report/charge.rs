//! `report charge`: money beside held, busy and waste; and the line that proves that nothing was lost.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::facts;
use super::grouped::{Group, Measure, grouped, ppm};
use super::money::{Amounts, hand_down, round, round_energy};
use super::render::{hours, money};
use super::usage::{dimensions, key_columns, row, total_of, total_row};
use super::{Ask, Column, Dimension, Kind, Reader, Report, ReportError, Value};

const HELD: usize = 0;
const BUSY: usize = 1;
const IDLE: usize = 2;
const UNMEASURED: usize = 3;
const UNALLOCATED: usize = 4;
const UNAVAILABLE: usize = 5;
const UNOBSERVED: usize = 6;
const COVERED: usize = 8;
const UNPRICED: usize = 9;
const BILLED: usize = 10;
const WASTE_COST: usize = 11;
const LIST_COST: usize = 17;
const ENERGY_COST: usize = 18;
const LOST: usize = 19;
const LOST_COST: usize = 20;
const SHARED_COST: usize = 21;
const RESERVED: usize = 23;

/// What is summed of `fact`, in the order of the numbers above.
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
    Measure::Sum("billed_cost"),
    Measure::Sum("waste_cost"),
    Measure::Sum("unbilled_cost"),
    Measure::Sum("to_settle_cost"),
    Measure::Sum("unallocated_cost"),
    Measure::Sum("unavailable_cost"),
    Measure::Sum("unobserved_cost"),
    Measure::Sum("list_cost"),
    Measure::Sum("energy_cost"),
    Measure::Sum("lost_ms"),
    Measure::Sum("lost_cost"),
];
/// All that a row has: the sums of `fact`, and `shared_cost`, `shared_out_cost`, `reserved_ms` of what is beside it.
const ALL: usize = 24;
/// What is summed of `beside_fact`, each with its place among the sums.
const BESIDE: &[(Measure, usize)] = &[
    (Measure::Sum("billed_cost"), BILLED),
    (Measure::Sum("unbilled_cost"), PLATFORM[0]),
    (Measure::Sum("unallocated_cost"), PLATFORM[2]),
    (Measure::Sum("unavailable_cost"), PLATFORM[3]),
    (Measure::Sum("unobserved_cost"), PLATFORM[4]),
    (Measure::Sum("list_cost"), LIST_COST),
    (Measure::Sum("shared_cost"), SHARED_COST),
    (Measure::Sum("shared_out_cost"), PLATFORM[5]),
    (Measure::Sum("reserved_ms"), RESERVED),
];
/// What the platform bears, in the order in which cents are handed down: unbilled, to settle, unallocated, unavailable,
/// unobserved, and what teams took over of the last three (negative).
const PLATFORM: [usize; 6] = [12, 13, 14, 15, 16, 22];

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
        Column::new("mode", some(shown.mode, "mode"), Kind::Text),
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

/// Money of a row, in minor units.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    charge: i128,
    waste: i128,
    list: i128,
    shared: i128,
    /// Absent: no energy was measured, or it has no price.
    energy: Option<i128>,
    platform: [i128; 6],
}

impl Line {
    fn add(&mut self, other: &Self) {
        self.charge += other.charge;
        self.waste += other.waste;
        self.list += other.list;
        self.shared += other.shared;
        self.energy = match (self.energy, other.energy) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        for (sum, more) in self.platform.iter_mut().zip(other.platform) {
            *sum += more;
        }
    }
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

/// Groups of charges and of the money beside them, together.
async fn gathered(reader: &Reader, by: &[Dimension]) -> Result<Vec<Group>, ReportError> {
    let engine = reader.engine();
    let mut groups = grouped(engine, "fact", by, MEASURES).await?;
    for group in &mut groups {
        group.sums.resize(ALL, None);
    }
    let measures: Vec<Measure> = BESIDE.iter().map(|(m, _)| *m).collect();
    for beside in grouped(engine, "beside_fact", by, &measures).await? {
        let at = groups.iter().position(|g| g.key == beside.key).unwrap_or_else(|| {
            groups.push(Group { key: beside.key.clone(), sums: vec![None; ALL] });
            groups.len() - 1
        });
        for (value, (_, place)) in beside.sums.iter().zip(BESIDE) {
            let sum = &mut groups[at].sums[*place];
            *sum = match (*sum, *value) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
    }
    super::grouped::in_order(&mut groups);
    Ok(groups)
}

/// What teams are charged: the total is rounded once and handed down to statements (team and cost centre), and what these make of a
/// row's team or cost centre to its rows; so a report says of a team what its statement says. Rows that name neither get the
/// total handed down to them directly.
async fn charged(reader: &Reader, ask: &Ask, by: &[Dimension], groups: &[Group]) -> Result<Vec<i128>, ReportError> {
    let engine = reader.engine();
    let exact = |g: &Group| g.sums[BILLED].unwrap_or(0);
    let own: Vec<usize> = (0..by.len()).filter(|i| matches!(by[*i], Dimension::Team | Dimension::CostCenter)).collect();
    if own.is_empty() || groups.is_empty() {
        let all: Vec<Amounts> = vec![("charge", groups.iter().map(exact).collect())];
        return Ok(round(engine, &ask.currency, &all).await?.remove(0));
    }
    let mut statements = gathered(reader, &[Dimension::Team, Dimension::CostCenter]).await?;
    // as a bill orders them: a team's statement without a cost centre comes first
    statements.sort_by_cached_key(|s| (s.key[0].clone(), s.key[1] != "-", s.key[1].clone()));
    let sums: Vec<Amounts> = vec![("statements", statements.iter().map(exact).collect())];
    let totals = round(engine, &ask.currency, &sums).await?.remove(0);
    let mut targets: BTreeMap<Vec<&str>, i128> = BTreeMap::new();
    for (statement, total) in statements.iter().zip(totals) {
        let key = own.iter().map(|i| statement.key[usize::from(by[*i] == Dimension::CostCenter)].as_str()).collect();
        *targets.entry(key).or_default() += total;
    }
    let mut rows: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for (i, group) in groups.iter().enumerate() {
        rows.entry(own.iter().map(|k| group.key[*k].as_str()).collect()).or_default().push(i);
    }
    let parts: Vec<(String, Vec<i128>)> = rows
        .values()
        .enumerate()
        .map(|(n, of)| (n.to_string(), of.iter().map(|i| exact(&groups[*i])).collect()))
        .collect();
    let wanted: Vec<i128> = rows.keys().map(|key| targets.get(key).copied().unwrap_or(0)).collect();
    let amounts = hand_down(engine, &ask.currency, &parts, &wanted).await?;
    let mut out = vec![0; groups.len()];
    for (of, amounts) in rows.values().zip(amounts) {
        for (i, amount) in of.iter().zip(amounts) {
            out[*i] = amount;
        }
    }
    Ok(out)
}

/// Rounds charge, waste, list and energy by themselves; what the fleet cost beyond the charge is handed down to the platform's
/// kinds, so that the parts add up to the fleet's cost to the minor unit.
async fn lines(
    reader: &Reader,
    ask: &Ask,
    by: &[Dimension],
    groups: &[Group],
) -> Result<(Vec<Line>, i128), ReportError> {
    let engine = reader.engine();
    let amounts = |i: usize| groups.iter().map(|g| g.sums[i].unwrap_or(0)).collect::<Vec<_>>();
    let charge = charged(reader, ask, by, groups).await?;
    let measures: Vec<Amounts> =
        vec![("waste", amounts(WASTE_COST)), ("list", amounts(LIST_COST)), ("shared", amounts(SHARED_COST))];
    let top = round(engine, &ask.currency, &measures).await?;
    let energy = round_energy(engine, &ask.currency, &[("energy", amounts(ENERGY_COST))]).await?;
    let kinds: Vec<i128> = PLATFORM.iter().map(|i| amounts(*i).iter().sum::<i128>()).collect();
    let exact = amounts(BILLED).iter().sum::<i128>() + kinds.iter().sum::<i128>();
    let fleet = round(engine, &ask.currency, &[("fleet", vec![exact])]).await?[0].first().copied().unwrap_or(0);
    let total: i128 = charge.iter().sum();
    let platform = hand_down(engine, &ask.currency, &[("platform", kinds)], &[fleet - total]).await?;
    let below: Vec<(String, Vec<i128>)> = PLATFORM.iter().map(|i| (i.to_string(), amounts(*i))).collect();
    let below = if groups.is_empty() {
        vec![Vec::new(); PLATFORM.len()]
    } else {
        hand_down(engine, &ask.currency, &below, &platform[0]).await?
    };
    let line = |i: usize| Line {
        charge: charge[i],
        waste: top[0][i],
        list: top[1][i],
        shared: top[2][i],
        energy: groups[i].sums[ENERGY_COST].map(|_| energy[0][i]),
        platform: [0, 1, 2, 3, 4, 5].map(|k| below[k][i]),
    };
    Ok(((0..groups.len()).map(line).collect(), fleet))
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
    for group in grouped(reader.engine(), "fact", &with, &[Measure::Sum("capacity_ms")]).await? {
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
        notes.push(format!("lost cards: {} GPU-hours of failed cards that somebody held are in no charge", h(LOST)));
    }
    if shown.shared {
        notes.push("shared: what nobody used is shared out over the window that was asked for".to_owned());
    }
    notes
}

/// The charges of a window.
///
/// # Errors
/// A failing lake or engine, or a dimension that charges do not have.
pub async fn charge(reader: &Reader, ask: &Ask) -> Result<Charges, ReportError> {
    facts(reader, ask).await?;
    let by = dimensions(ask);
    let groups = gathered(reader, &by).await?;
    let (cost, fleet) = lines(reader, ask, &by, &groups).await?;
    let mode = modes(reader, &by, &groups).await?;
    let all: Vec<Measure> = vec![Measure::Sum(""); ALL];
    let total = total_of(&groups, &all);
    let mut sum = Line::default();
    cost.iter().for_each(|line| sum.add(line));
    let there = |i: usize| groups.iter().any(|g| g.sums[i].unwrap_or(0) != 0);
    let differs = groups
        .iter()
        .any(|g| g.sums[LIST_COST].unwrap_or(0) != g.sums[BILLED].unwrap_or(0) - g.sums[SHARED_COST].unwrap_or(0));
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
