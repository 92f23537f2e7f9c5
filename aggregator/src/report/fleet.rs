//! `report fleet`: how much of the fleet is allocated, busy and effective, what waits, what fails, and what is lost.

use std::collections::BTreeMap;

use datafusion::common::ScalarValue;
use gpuledger_schema::unit::CARD_UNITS;

use super::fleet_rows::{columns, instants, order, percent, share, sums, window_days};
use super::fleet_split::{Split, split_up, week_name};
use super::fragment::fragment_steps;
use super::grouped::{Group, Measure};
use super::render::hours;
use super::usage::{key_columns, row};
use super::{Ask, Dimension, Kind, Reader, Report, ReportError, Value, prepare};
use crate::engine::{Params, int};

/// What the indicators can be grouped by.
const DIMENSIONS: [Dimension; 7] = [
    Dimension::Pool,
    Dimension::Tier,
    Dimension::Queue,
    Dimension::Team,
    Dimension::TaskType,
    Dimension::Model,
    Dimension::Cluster,
];
/// Hours of a working day: from, to (local).
const WORKDAY: (i32, i32) = (8, 20);
/// Ineffective occupancy above this part is worth a look, in parts per million.
pub(super) const INEFFECTIVE_PPM: i128 = 30_000;

/// Sums of the classes: their places below.
pub(super) const CLASSES: &[Measure] = &[
    Measure::Sum("busy_ms"),
    Measure::Sum("held_idle_ms"),
    Measure::Sum("held_unmeasured_ms"),
    Measure::Sum("held_ms"),
    Measure::Sum("unallocated_ms"),
    Measure::Sum("covered_ms"),
    Measure::Sum("effective_ms"),
    Measure::Sum("judged_ms"),
    Measure::Sum("mem_byte_ms"),
    Measure::Sum("card_byte_ms"),
    Measure::Sum("unavailable_ms"),
    Measure::Sum("unobserved_ms"),
    Measure::Sum("estimated_ms"),
];
const MONEY: &[Measure] = &[Measure::Sum("judged_cost"), Measure::Sum("priced_effective_ms"), Measure::Sum("gap_ms")];
const WAITS: &[Measure] = &[
    Measure::Sum("started"),
    Measure::Sum("wait_known"),
    Measure::Sum("wait_ms"),
    Measure::Sum("run_ms"),
    Measure::Sum("waiting_loss_unit_ms"),
    Measure::Sum("waiting"),
    Measure::Sum("still_waiting_unit_ms"),
];
const RANKS: &[Measure] = &[Measure::Max("wait_p95_ms")];
const ENDS: &[Measure] = &[
    Measure::Sum("ended"),
    Measure::Sum("outcomes"),
    Measure::Sum("completed"),
    Measure::Sum("failed"),
    Measure::Sum("preempted"),
    Measure::Sum("lost_unit_ms"),
    Measure::Sum("lost_at_most_unit_ms"),
];
const MEMORY: &[Measure] =
    &[Measure::Sum("cards"), Measure::Sum("total_bytes"), Measure::Sum("peak_bytes"), Measure::Sum("margin_bytes")];

/// Runs what the indicators are summed from.
pub(super) async fn fleet_steps(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    prepare(reader, ask).await?;
    let (engine, none) = (reader.engine(), Params::new());
    let hours = Params::from([("day_from_hour", int(WORKDAY.0)), ("day_to_hour", int(WORKDAY.1))]);
    for (step, params) in [
        ("waste/10_run_gap", &none),
        ("waste/60_fleet_part", &hours),
        ("waste/61_fleet_money", &none),
        ("waste/62_job_wait", &instants(ask.window)),
        ("waste/64_run_end", &instants(ask.window)),
        ("waste/65_card_memory", &window_days(ask.window)),
    ] {
        engine.step(step, params).await?;
    }
    Ok(())
}

/// Everything that was summed for a group.
#[derive(Debug, Default, Clone)]
struct Sums {
    classes: Vec<Option<i128>>,
    money: Vec<Option<i128>>,
    waits: Vec<Option<i128>>,
    ranks: Vec<Option<i128>>,
    ends: Vec<Option<i128>>,
    memory: Vec<Option<i128>>,
}

pub(super) fn at(sums: &[Option<i128>], i: usize) -> Option<i128> {
    sums.get(i).copied().flatten()
}

/// The groups of an ask with all their sums; without keys the one group of everything.
async fn gathered(reader: &Reader, by: &[Dimension]) -> Result<BTreeMap<Vec<String>, Sums>, ReportError> {
    let engine = reader.engine();
    let flags = DIMENSIONS.iter().map(|d| {
        let name = match d {
            Dimension::Pool => "by_pool",
            Dimension::Tier => "by_tier",
            Dimension::Queue => "by_queue",
            Dimension::Team => "by_team",
            Dimension::TaskType => "by_task_type",
            Dimension::Model => "by_model",
            _ => "by_cluster",
        };
        (name, ScalarValue::Boolean(Some(by.contains(d))))
    });
    engine.step("waste/63_wait_rank", &flags.collect()).await?;
    let keys: Vec<&str> = by.iter().map(|d| d.word()).collect();
    let mut out: BTreeMap<Vec<String>, Sums> = BTreeMap::new();
    let mut take = |groups: Vec<Group>, into: fn(&mut Sums) -> &mut Vec<Option<i128>>| {
        for group in groups.into_iter().filter(|g| g.sums.iter().any(Option::is_some)) {
            *into(out.entry(group.key).or_default()) = group.sums;
        }
    };
    take(sums(engine, "fleet_part", &keys, CLASSES).await?, |s| &mut s.classes);
    take(sums(engine, "fleet_money", &keys, MONEY).await?, |s| &mut s.money);
    take(sums(engine, "job_wait", &keys, WAITS).await?, |s| &mut s.waits);
    take(sums(engine, "wait_rank", &keys, RANKS).await?, |s| &mut s.ranks);
    take(sums(engine, "run_end", &keys, ENDS).await?, |s| &mut s.ends);
    // cards have no team and no task type
    if !by.iter().any(|d| matches!(d, Dimension::Team | Dimension::TaskType)) {
        take(sums(engine, "card_memory", &keys, MEMORY).await?, |s| &mut s.memory);
    }
    Ok(out)
}

fn indicators() -> Vec<super::Column> {
    columns(&[
        ("held_hours", "held h", Kind::Hours),
        ("allocation_rate", "alloc.", Kind::Percent),
        ("busy_rate", "busy", Kind::Percent),
        ("effective_rate", "effect.", Kind::Percent),
        ("memory_rate", "memory", Kind::Percent),
        ("coverage", "cover.", Kind::Percent),
        ("ineffective_occupancy", "ineff.", Kind::Percent),
        ("idle_loss_hours", "idle h", Kind::Hours),
        ("waiting_loss_hours", "wait. h", Kind::Hours),
        ("request_gap_hours", "", Kind::Hours),
        ("jobs_started", "jobs", Kind::Count),
        ("wait_mean_hours", "wait", Kind::Hours),
        ("wait_p95_hours", "P95", Kind::Hours),
        ("wait_of_run", "", Kind::Percent),
        ("requests_waiting", "", Kind::Count),
        ("still_waiting_gpu_hours", "", Kind::Hours),
        ("jobs_ended", "", Kind::Count),
        ("completion_rate", "", Kind::Percent),
        ("failure_rate", "fail", Kind::Percent),
        ("preemption_rate", "", Kind::Percent),
        ("lost_hours", "", Kind::Hours),
        ("lost_at_most_hours", "", Kind::Hours),
        ("cost_per_effective_hour", "cost/eff.h", Kind::Money),
        ("cards_measured", "", Kind::Count),
        ("memory_margin_per_card_gib", "", Kind::Gib),
        ("memory_ever_used", "", Kind::Percent),
        ("held_unmeasured_hours", "", Kind::Hours),
        ("unallocated_hours", "", Kind::Hours),
        ("unavailable_hours", "", Kind::Hours),
        ("unobserved_hours", "", Kind::Hours),
        ("estimated_hours", "", Kind::Hours),
    ])
}

/// Time of whole cards from share units x time.
fn cards_ms(units: Option<i128>) -> Value {
    units.map_or(Value::Unknown, |u| Value::Ms(u / i128::from(CARD_UNITS)))
}

/// Minor units of money per hour of effective time, rounded half up.
fn per_hour(cost: Option<i128>, effective_ms: Option<i128>, digits: u32) -> Value {
    match (cost, effective_ms.filter(|ms| *ms > 0)) {
        (Some(cost), Some(ms)) => {
            let (over, under) = (cost * 10_i128.pow(digits), ms * 1_000_000);
            Value::Money((2 * over + under) / (2 * under))
        }
        _ => Value::Unknown,
    }
}

/// The mean of a sum over a count, rounded down; unknown where nothing was counted.
fn mean(sum: Option<i128>, count: Option<i128>, make: fn(i128) -> Value) -> Value {
    match (sum, count.filter(|n| *n > 0)) {
        (Some(sum), Some(n)) => make(sum / n),
        _ => Value::Unknown,
    }
}

/// Held and unallocated: what the allocation rate is of.
pub(super) fn in_hand(classes: &[Option<i128>]) -> Option<i128> {
    Some(at(classes, 3)? + at(classes, 4)?)
}

fn values(s: &Sums, allocatable: Option<i128>, digits: u32) -> Vec<Value> {
    let c = |i| at(&s.classes, i);
    let (w, e, m) = (|i| at(&s.waits, i), |i| at(&s.ends, i), |i| at(&s.memory, i));
    let ms = |v: Option<i128>| v.map_or(Value::Unknown, Value::Ms);
    let count = |v: Option<i128>| v.map_or(Value::Unknown, Value::Count);
    let measured = c(3).zip(c(2)).map(|(held, unmeasured)| held - unmeasured);
    let idle = c(1).filter(|_| measured > Some(0) || c(3) == Some(0));
    vec![
        ms(c(3)),
        share(c(3), allocatable),
        share(c(0), c(5)),
        share(c(6), c(7)),
        share(c(8), c(9)),
        share(c(5), c(3)),
        share(c(1), measured),
        ms(idle),
        cards_ms(w(4)),
        ms(at(&s.money, 2)),
        count(w(0)),
        mean(w(2), w(1), Value::Ms),
        ms(at(&s.ranks, 0)),
        share(w(2), w(3)),
        count(w(5)),
        cards_ms(w(6)),
        count(e(0)),
        share(e(2), e(1)),
        share(e(3), e(1)),
        share(e(4), e(1)),
        cards_ms(e(5)),
        cards_ms(e(6)),
        per_hour(at(&s.money, 0), at(&s.money, 1), digits),
        count(m(0)),
        mean(m(3), m(0), Value::Bytes),
        share(m(2), m(1)),
        ms(c(2)),
        ms(c(4)),
        ms(c(10)),
        ms(c(11)),
        ms(c(12)),
    ]
}

/// Fleet indicators of a window.
///
/// # Errors
/// A dimension that they do not have, or a failing lake or engine.
pub async fn fleet(reader: &Reader, ask: &Ask, split: Option<Split>) -> Result<Report, ReportError> {
    reader.whole("fleet")?;
    if let Some(d) = ask.by.iter().find(|d| !DIMENSIONS.contains(d)) {
        return Err(ReportError::Dimension(*d));
    }
    fleet_steps(reader, ask).await?;
    if let Some(split) = split {
        return split_up(reader, ask, split).await;
    }
    let all = gathered(reader, &[]).await?.remove(&Vec::new()).unwrap_or_default();
    let groups = if ask.by.is_empty() { BTreeMap::new() } else { gathered(reader, &ask.by).await? };
    // what a team or task type holds is a part of the whole fleet's time: free cards are nobody's
    let of_holders = ask.by.iter().any(|d| matches!(d, Dimension::Team | Dimension::TaskType));
    let digits = ask.currency.digits();
    let mut keys: Vec<&Vec<String>> = groups.keys().collect();
    keys.sort_by_cached_key(|k| order(k));
    let mut rows = Vec::new();
    for key in keys {
        let s = &groups[key];
        let allocatable = if of_holders { in_hand(&all.classes) } else { in_hand(&s.classes) };
        rows.push(row(key, values(s, allocatable, digits)));
    }
    let total = values(&all, in_hand(&all.classes), digits);
    if ask.by.is_empty() && !all.classes.is_empty() {
        rows.push(total.clone());
    }
    let mut shown = key_columns(&ask.by);
    shown.extend(indicators());
    Ok(Report {
        sentence: sentence(&all),
        columns: shown,
        rows,
        total: (!ask.by.is_empty()).then(|| super::usage::total_row(ask.by.len(), total)),
        notes: notes(reader, ask, &all).await?,
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    })
}

fn sentence(all: &Sums) -> String {
    let c = |i| at(&all.classes, i);
    if c(3).is_none() {
        return "nothing is known of any GPU in this time".to_owned();
    }
    format!(
        "{} of the allocatable GPU-hours were held ({} h); {} of what was measured of them was busy, {} effective",
        percent(c(3), in_hand(&all.classes)),
        hours(c(3).unwrap_or(0), 1),
        percent(c(0), c(5)),
        percent(c(6), c(7))
    )
}

/// The three losses, the trend of ineffective occupancy, and the parts of the week.
async fn notes(reader: &Reader, ask: &Ask, all: &Sums) -> Result<Vec<String>, ReportError> {
    fragment_steps(reader, ask).await?;
    let engine = reader.engine();
    let fragment = sums(engine, "fragment_loss", &[], &[Measure::Sum("fragment_ms")]).await?;
    let fragment = fragment.first().and_then(|g| g.sums[0]).unwrap_or(0);
    let said = |v: Option<i128>| v.map_or_else(|| "unknown".to_owned(), |ms| format!("{} h", hours(ms, 1)));
    let idle = at(&all.classes, 1).filter(|_| at(&all.classes, 5) > Some(0));
    let waiting = at(&all.waits, 4).map(|u| u / i128::from(CARD_UNITS));
    let mut out = vec![format!(
        "three losses, which overlap and are never added together: idle {} (held and not used), fragment {} (free, and \
         no use to those who wait), waiting {} (waits longer than the run)",
        said(idle),
        said(Some(fragment)),
        said(waiting)
    )];
    let listed = |groups: Vec<Group>, name: fn(&str) -> String, tell: fn(&[Option<i128>]) -> String| {
        groups.iter().map(|g| format!("{} {}", name(&g.key[0]), tell(&g.sums))).collect::<Vec<_>>().join(", ")
    };
    let weeks = sums(engine, "fleet_part", &["week"], CLASSES).await?;
    if !weeks.is_empty() {
        let by_week = listed(weeks, week_name, |c| percent(at(c, 1), at(c, 5)));
        out.push(format!(
            "ineffective occupancy by week (to look at above {}): {by_week}",
            percent_of(INEFFECTIVE_PPM)
        ));
    }
    let parts = sums(engine, "fleet_part", &["part"], CLASSES).await?;
    if !parts.is_empty() {
        let by_part = listed(parts, str::to_owned, |c| {
            format!("filled {} and idle {}", percent(at(c, 3), in_hand(c)), percent(at(c, 1), at(c, 5)))
        });
        out.push(format!("by part of the week (workday {} to {} h): {by_part}", WORKDAY.0, WORKDAY.1));
    }
    if at(&all.waits, 1) < at(&all.waits, 0) {
        out.push("waits are of jobs whose eligible time is known; the others are in no mean".to_owned());
    }
    if at(&all.money, 0).is_none() {
        out.push("no cost per effective hour: no time has both a price and an effective time".to_owned());
    }
    Ok(out)
}

fn percent_of(ppm: i128) -> String {
    percent(Some(ppm), Some(1_000_000))
}
