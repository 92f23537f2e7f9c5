//! Whose the ledger's time is: every row cut wherever anything dated about money changes, each piece split among who pays.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeZone;
use chrono_tz::Tz;
use gpuledger_schema::table::reference::{OwnerRow, PoolRow, TierRow};
use gpuledger_schema::unit::{CELL_MS, SPLIT_PARTS};
use gpuledger_schema::window::Window;

use super::price::price;
use super::split::telescope;
use super::who::{fits, fits_glob, has_label};
use super::{Facts, Ledger, Line, Unit, Who};

/// What a team has on a day: busy, held idle, held unmeasured, unallocated, unavailable and unobserved time, and the
/// exact money of what it held and of the last three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) ms: [i64; 6],
    pub(crate) unpriced: i64,
    pub(crate) cost: [i128; 4],
}

/// Everything that a price looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    /// Absent: nobody holds.
    pub(super) team: Option<String>,
    pub(super) cost_center: Option<String>,
    /// Absent: reserved capacity.
    pub(super) task_type: Option<String>,
    pub(super) pool: String,
    pub(super) model: Option<String>,
    pub(super) tier: Option<String>,
    pub(super) preemptible: bool,
}

/// A part of a row that is one team's.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) cluster: String,
    pub(super) unit: i64,
    pub(super) holder: i64,
    /// Start of the row of usage.
    pub(super) from: i64,
    /// The part of a cell between two changes that it lies in.
    pub(super) slice: i64,
    pub(super) slice_to: i64,
    /// The last change before it.
    pub(super) epoch: i64,
    pub(super) day: i32,
    /// When its run started.
    pub(super) start: i64,
    pub(super) of: Use,
    /// Held above the quota.
    pub(super) borrowed: bool,
    pub(super) ms: [i64; 6],
}

impl Piece {
    pub(super) fn held(&self) -> i64 {
        self.ms[0] + self.ms[1] + self.ms[2]
    }
}

/// Everything about a row that owners, pools and tiers look at.
struct Asked<'a> {
    cluster: &'a str,
    node: Option<&'a String>,
    queue: Option<&'a String>,
    model: Option<&'a String>,
    memory: Option<i64>,
    interconnect: Option<&'a String>,
    who: Option<&'a Who>,
}

pub(super) fn at(from: i64, to: Option<i64>, ms: i64) -> bool {
    from <= ms && to.is_none_or(|to| ms < to)
}

impl Asked<'_> {
    fn pool(&self, p: &PoolRow) -> bool {
        fits(p.cluster.as_ref(), Some(&self.cluster.to_owned()))
            && fits_glob(p.node_pattern.as_ref(), self.node)
            && fits(p.queue.as_ref(), self.queue)
            && fits(p.model.as_ref(), self.model)
    }

    fn tier(&self, t: &TierRow) -> bool {
        fits_glob(t.model_pattern.as_ref(), self.model)
            && t.memory_min_bytes.is_none_or(|min| self.memory.is_some_and(|m| m >= min))
            && t.memory_max_bytes.is_none_or(|max| self.memory.is_some_and(|m| m <= max))
            && fits(t.interconnect.as_ref(), self.interconnect)
    }

    /// How good an owner row fits, and what it names; less is better.
    fn owner(&self, o: &OwnerRow) -> Option<(i64, String)> {
        let w = self.who?;
        if !fits(o.cluster.as_ref(), w.cluster.as_ref()) {
            return None;
        }
        let any = o.value == "*";
        let foreign = w.kind == "foreign";
        let named = match o.kind.as_str() {
            "label" => {
                has_label(w.labels.as_ref(), &o.value).then(|| o.value.split('=').nth(1).unwrap_or_default().to_owned())
            }
            "account" if foreign => (o.value == "foreign").then(|| o.value.clone()),
            "account" => w.account.clone().filter(|a| any || *a == o.value),
            _ if foreign => None,
            _ => w.user.clone().filter(|u| any || *u == o.value),
        };
        let kind = match o.kind.as_str() {
            "label" => 0,
            "account" => 4,
            _ => 8,
        };
        named.map(|n| (kind + if any { 2 } else { 0 } + i64::from(o.cluster.is_none()), n))
    }

    /// Who pays at an instant: team, cost centre and parts of 10 000, in order.
    fn payers(&self, facts: &Facts, ms: i64) -> Vec<(Option<String>, Option<String>, i64)> {
        let Some(w) = self.who else { return vec![(None, None, SPLIT_PARTS)] };
        let valid = facts.owner.iter().filter(|o| at(o.from_ms, o.to_ms, ms));
        let fitting: Vec<((i64, &str), &OwnerRow, String)> =
            valid.filter_map(|o| self.owner(o).map(|(rank, named)| ((rank, o.value.as_str()), o, named))).collect();
        let Some(best) = fitting.iter().map(|f| f.0).min() else {
            let team = if w.kind == "foreign" { "foreign" } else { "unassigned" };
            return vec![(Some(team.to_owned()), None, SPLIT_PARTS)];
        };
        let mut out: Vec<(Option<String>, Option<String>, i64)> = fitting
            .iter()
            .filter(|f| f.0 == best)
            .map(|(_, o, named)| (Some(o.team.replace("{value}", named)), o.cost_center.clone(), o.parts))
            .collect();
        out.sort();
        out
    }
}

/// Instants inside a window at which anything about money begins or ends.
pub(super) fn edges(facts: &Facts, window: Window) -> BTreeSet<i64> {
    let mut out = BTreeSet::new();
    let mut add = |from: i64, to: Option<i64>| {
        out.insert(from);
        out.extend(to);
    };
    facts.owner.iter().for_each(|r| add(r.from_ms, r.to_ms));
    facts.pool.iter().for_each(|r| add(r.from_ms, r.to_ms));
    facts.tier.iter().for_each(|r| add(r.from_ms, r.to_ms));
    facts.rate.iter().for_each(|r| add(r.from_ms, r.to_ms));
    facts.quota.iter().for_each(|r| add(r.from_ms, r.to_ms));
    facts.terms.iter().for_each(|r| add(r.from_ms, r.to_ms));
    facts.discount.iter().for_each(|r| add(r.from_ms, r.to_ms));
    facts.energy_price.iter().for_each(|r| add(r.from_ms, r.to_ms));
    out.retain(|e| window.from_ms < *e && *e < window.to_ms);
    out
}

/// The ledger of a window in pieces that are one team's.
pub(crate) fn pieces(facts: &Facts, ledger: &Ledger, cluster: &str, window: Window, zone: Tz) -> Vec<Piece> {
    let (nothing, edges) = (Unit::default(), edges(facts, window));
    let mut out = Vec::new();
    for l in &ledger.lines {
        let (who, unit) = (ledger.who.get(&l.holder), ledger.units.get(&l.unit).unwrap_or(&nothing));
        let asked = Asked {
            cluster: &unit.cluster,
            node: unit.node.as_ref(),
            queue: unit.queue.as_ref().or(who.and_then(|w| w.queue.as_ref())),
            model: unit.model.as_ref().or(who.and_then(|w| w.model.as_ref())),
            memory: unit.memory,
            interconnect: unit.interconnect.as_ref(),
            who,
        };
        let local = zone.timestamp_millis_opt(l.cell * CELL_MS).single().expect("an instant");
        let day: i32 = local.format("%Y%m%d").to_string().parse().expect("a date");
        for mut piece in line(facts, l, &asked, window, &edges) {
            cluster.clone_into(&mut piece.cluster);
            piece.day = day;
            out.push(piece);
        }
    }
    out
}

fn line(facts: &Facts, l: &Line, asked: &Asked<'_>, window: Window, edges: &BTreeSet<i64>) -> Vec<Piece> {
    let mut out = Vec::new();
    let (first, last) = (l.from.max(window.from_ms), l.to.min(window.to_ms));
    if first >= last {
        return out;
    }
    let mut cuts: Vec<i64> = edges.range(first + 1..last).copied().collect();
    cuts.insert(0, first);
    cuts.push(last);
    let all = [l.busy, l.idle, l.unmeasured, l.unallocated, l.unavailable, l.unobserved];
    for pair in cuts.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let cut = all.map(|v| telescope(v, a - l.from, b - l.from, l.to - l.from));
        let pool = facts.pool.iter().filter(|p| at(p.from_ms, p.to_ms, a) && asked.pool(p)).map(|p| &p.pool).min();
        let tier = facts.tier.iter().filter(|t| at(t.from_ms, t.to_ms, a) && asked.tier(t)).map(|t| &t.tier).min();
        let epoch = edges.range(..=a).next_back().copied().unwrap_or(window.from_ms);
        let end = edges.range(a + 1..).next().copied().unwrap_or(window.to_ms);
        let mut before = 0;
        for (team, cost_center, parts) in asked.payers(facts, a) {
            let ms = cut.map(|v| telescope(v, before, before + parts, SPLIT_PARTS));
            before += parts;
            out.push(Piece {
                cluster: String::new(),
                unit: l.unit,
                holder: l.holder,
                from: l.from,
                slice: epoch.max(l.cell * CELL_MS),
                slice_to: end.min((l.cell + 1) * CELL_MS),
                epoch,
                day: 0,
                start: asked.who.map_or(0, |w| w.start),
                of: Use {
                    team,
                    cost_center,
                    task_type: Some(asked.who.map_or("unknown", |w| &w.task_type).to_owned()),
                    pool: pool.map_or("default", String::as_str).to_owned(),
                    model: asked.model.cloned(),
                    tier: tier.cloned(),
                    preemptible: asked.who.is_some_and(|w| w.preemptible),
                },
                borrowed: false,
                ms,
            });
        }
    }
    out
}

/// Time and exact money by team and local day (YYYYMMDD).
pub(crate) fn charges<'a>(
    facts: &Facts,
    pieces: impl Iterator<Item = &'a Piece>,
    zone: Tz,
) -> BTreeMap<(String, i32), Amount> {
    let mut out: BTreeMap<(String, i32), Amount> = BTreeMap::new();
    for p in pieces {
        let team = p.of.team.clone().unwrap_or_else(|| "(platform)".to_owned());
        let sum = out.entry((team, p.day)).or_default();
        for (s, v) in sum.ms.iter_mut().zip(p.ms) {
            *s += v;
        }
        let Some(of) = price(facts, &p.of, p.slice, p.borrowed, zone) else {
            sum.unpriced += p.held();
            continue;
        };
        sum.cost[0] += i128::from(p.held()) * i128::from(of.price);
        for k in 1..4 {
            sum.cost[k] += i128::from(p.ms[k + 2]) * i128::from(of.list);
        }
    }
    out
}
