//! Sums of a charge report, and their money rounded so that it adds up.

use std::collections::BTreeMap;

use crate::report::grouped::{Group, Measure, grouped, in_order};
use crate::report::money::{Amounts, hand_down, hand_down_energy, round, round_energy};
use crate::report::{Ask, Dimension, Reader, ReportError};

pub(super) const HELD: usize = 0;
pub(super) const BUSY: usize = 1;
pub(super) const IDLE: usize = 2;
pub(super) const UNMEASURED: usize = 3;
pub(super) const UNALLOCATED: usize = 4;
pub(super) const UNAVAILABLE: usize = 5;
pub(super) const UNOBSERVED: usize = 6;
pub(super) const COVERED: usize = 8;
pub(super) const UNPRICED: usize = 9;
pub(super) const BILLED: usize = 10;
pub(super) const WASTE_COST: usize = 11;
pub(super) const LIST_COST: usize = 17;
pub(super) const ENERGY_COST: usize = 18;
pub(super) const LOST: usize = 19;
pub(super) const LOST_COST: usize = 20;
pub(super) const SHARED_COST: usize = 21;
pub(super) const RESERVED: usize = 23;

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
pub(super) const ALL: usize = 24;
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
pub(super) const PLATFORM: [usize; 6] = [12, 13, 14, 15, 16, 22];

/// Money of a row, in minor units.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line {
    pub(super) charge: i128,
    pub(super) waste: i128,
    pub(super) list: i128,
    pub(super) shared: i128,
    /// What failed cards that somebody held would have cost.
    pub(super) lost: i128,
    /// Absent: no energy was measured, or it has no price.
    pub(super) energy: Option<i128>,
    pub(super) platform: [i128; 6],
}

impl Line {
    pub(super) fn add(&mut self, other: &Self) {
        self.charge += other.charge;
        self.waste += other.waste;
        self.list += other.list;
        self.shared += other.shared;
        self.lost += other.lost;
        self.energy = match (self.energy, other.energy) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        for (sum, more) in self.platform.iter_mut().zip(other.platform) {
            *sum += more;
        }
    }
}

/// Groups of charges and of the money beside them, together.
pub(super) async fn gathered(reader: &Reader, by: &[Dimension]) -> Result<Vec<Group>, ReportError> {
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
    in_order(&mut groups);
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
pub(super) async fn lines(
    reader: &Reader,
    ask: &Ask,
    by: &[Dimension],
    groups: &[Group],
) -> Result<(Vec<Line>, i128), ReportError> {
    let engine = reader.engine();
    let amounts = |i: usize| groups.iter().map(|g| g.sums[i].unwrap_or(0)).collect::<Vec<_>>();
    let charge = charged(reader, ask, by, groups).await?;
    let measures: Vec<Amounts> = vec![
        ("waste", amounts(WASTE_COST)),
        ("list", amounts(LIST_COST)),
        ("shared", amounts(SHARED_COST)),
        ("lost", amounts(LOST_COST)),
    ];
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
        lost: top[3][i],
        energy: groups[i].sums[ENERGY_COST].map(|_| energy[0][i]),
        platform: [0, 1, 2, 3, 4, 5].map(|k| below[k][i]),
    };
    Ok(((0..groups.len()).map(line).collect(), fleet))
}

/// The measures of a row that are handed down by themselves: which sum, and where its money stands.
const HANDED: [(usize, fn(&mut Line) -> &mut i128); 11] = [
    (BILLED, |l| &mut l.charge),
    (WASTE_COST, |l| &mut l.waste),
    (LIST_COST, |l| &mut l.list),
    (SHARED_COST, |l| &mut l.shared),
    (LOST_COST, |l| &mut l.lost),
    (PLATFORM[0], |l| &mut l.platform[0]),
    (PLATFORM[1], |l| &mut l.platform[1]),
    (PLATFORM[2], |l| &mut l.platform[2]),
    (PLATFORM[3], |l| &mut l.platform[3]),
    (PLATFORM[4], |l| &mut l.platform[4]),
    (PLATFORM[5], |l| &mut l.platform[5]),
];

/// The money of groups under rounded lines above them, handed down measure by measure: `above` says of each group under which.
pub(super) async fn handed(
    reader: &Reader,
    ask: &Ask,
    groups: &[Group],
    above: &[usize],
    totals: &[Line],
) -> Result<Vec<Line>, ReportError> {
    let mut rows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    above.iter().enumerate().for_each(|(i, at)| rows.entry(*at).or_default().push(i));
    let exact = |of: &[usize], sum: usize| of.iter().map(|i| groups[*i].sums[sum].unwrap_or(0)).collect::<Vec<_>>();
    let (mut parts, mut wanted, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (at, of) in &rows {
        for (measure, (sum, amount)) in HANDED.iter().enumerate() {
            parts.push((format!("{at}:{measure}"), exact(of, *sum)));
            wanted.push(*amount(&mut totals[*at].clone()));
            places.push((of, measure));
        }
    }
    let energy: Vec<(String, Vec<i128>)> =
        rows.iter().map(|(at, of)| (at.to_string(), exact(of, ENERGY_COST))).collect();
    let energies: Vec<i128> = rows.keys().map(|at| totals[*at].energy.unwrap_or(0)).collect();
    let mut out = vec![Line::default(); groups.len()];
    if groups.is_empty() {
        return Ok(out);
    }
    let amounts = hand_down(reader.engine(), &ask.currency, &parts, &wanted).await?;
    for ((of, measure), amounts) in places.into_iter().zip(amounts) {
        for (i, amount) in of.iter().zip(amounts) {
            *HANDED[measure].1(&mut out[*i]) = amount;
        }
    }
    let amounts = hand_down_energy(reader.engine(), &ask.currency, &energy, &energies).await?;
    for (of, amounts) in rows.values().zip(amounts) {
        for (i, amount) in of.iter().zip(amounts) {
            out[*i].energy = groups[*i].sums[ENERGY_COST].map(|_| amount);
        }
    }
    Ok(out)
}
