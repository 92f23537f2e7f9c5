//! What the ledger costs: every row cut wherever an owner, pool, tier or price changes, each piece split and priced.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeZone;
use chrono_tz::Tz;
use gpuledger_schema::table::reference::{OwnerRow, PoolRow, RateRow, TierRow};
use gpuledger_schema::unit::{CELL_MS, SPLIT_PARTS};
use gpuledger_schema::window::Window;

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

/// Everything about a row that owners, pools, tiers and prices look at.
struct Asked<'a> {
    cluster: &'a str,
    node: Option<&'a String>,
    queue: Option<&'a String>,
    model: Option<&'a String>,
    memory: Option<i64>,
    interconnect: Option<&'a String>,
    task_type: &'a str,
    who: Option<&'a Who>,
}

fn at(from: i64, to: Option<i64>, ms: i64) -> bool {
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
    fn payers(&self, facts: &Facts, ms: i64) -> Vec<(String, Option<String>, i64)> {
        let Some(w) = self.who else { return vec![("(platform)".to_owned(), None, SPLIT_PARTS)] };
        let valid = facts.owner.iter().filter(|o| at(o.from_ms, o.to_ms, ms));
        let fitting: Vec<((i64, &str), &OwnerRow, String)> =
            valid.filter_map(|o| self.owner(o).map(|(rank, named)| ((rank, o.value.as_str()), o, named))).collect();
        let Some(best) = fitting.iter().map(|f| f.0).min() else {
            let team = if w.kind == "foreign" { "foreign" } else { "unassigned" };
            return vec![(team.to_owned(), None, SPLIT_PARTS)];
        };
        let mut out: Vec<(String, Option<String>, i64)> = fitting
            .iter()
            .filter(|f| f.0 == best)
            .map(|(_, o, named)| (o.team.replace("{value}", named), o.cost_center.clone(), o.parts))
            .collect();
        out.sort();
        out
    }

    /// The price for a team at an instant: the most specific rate; none: unpriced.
    fn price(&self, facts: &Facts, ms: i64, team: &str, pool: &str, tier: Option<&String>) -> Option<i64> {
        let held = self.who.is_some();
        let fits_rate = |r: &&RateRow| {
            at(r.from_ms, r.to_ms, ms)
                && r.team.as_ref().is_none_or(|t| held && t == team)
                && r.task_type.as_ref().is_none_or(|t| held && t == self.task_type)
                && r.pool.as_ref().is_none_or(|p| p == pool)
                && fits(r.model.as_ref(), self.model)
                && fits(r.tier.as_ref(), tier)
        };
        let specific = |r: &&RateRow| {
            (r.team.is_some(), r.task_type.is_some(), r.pool.is_some(), r.model.is_some(), r.tier.is_some())
        };
        facts.rate.iter().filter(fits_rate).max_by_key(specific).map(|r| r.price_micros)
    }

    /// Instants at which anything that fits begins or ends, and at which any price does.
    fn edges(&self, facts: &Facts) -> BTreeSet<i64> {
        let mut out = BTreeSet::new();
        let mut add = |from: i64, to: Option<i64>| {
            out.insert(from);
            out.extend(to);
        };
        facts.owner.iter().filter(|o| self.owner(o).is_some()).for_each(|o| add(o.from_ms, o.to_ms));
        facts.pool.iter().filter(|p| self.pool(p)).for_each(|p| add(p.from_ms, p.to_ms));
        facts.tier.iter().filter(|t| self.tier(t)).for_each(|t| add(t.from_ms, t.to_ms));
        facts.rate.iter().for_each(|r| add(r.from_ms, r.to_ms));
        out
    }
}

/// Time and exact money by team and local day (YYYYMMDD) of a window.
pub(crate) fn charges(facts: &Facts, ledger: &Ledger, window: Window, zone: Tz) -> BTreeMap<(String, i32), Amount> {
    let nothing = Unit::default();
    let mut out = BTreeMap::new();
    for l in &ledger.lines {
        let (who, unit) = (ledger.who.get(&l.holder), ledger.units.get(&l.unit).unwrap_or(&nothing));
        let asked = Asked {
            cluster: &unit.cluster,
            node: unit.node.as_ref(),
            queue: unit.queue.as_ref().or(who.and_then(|w| w.queue.as_ref())),
            model: unit.model.as_ref().or(who.and_then(|w| w.model.as_ref())),
            memory: unit.memory,
            interconnect: unit.interconnect.as_ref(),
            task_type: who.map_or("unknown", |w| &w.task_type),
            who,
        };
        let local = zone.timestamp_millis_opt(l.cell * CELL_MS).single().expect("an instant");
        let day: i32 = local.format("%Y%m%d").to_string().parse().expect("a date");
        line(facts, l, &asked, window, day, &mut out);
    }
    out
}

fn line(
    facts: &Facts,
    l: &Line,
    asked: &Asked<'_>,
    window: Window,
    day: i32,
    out: &mut BTreeMap<(String, i32), Amount>,
) {
    let (first, last) = (l.from.max(window.from_ms), l.to.min(window.to_ms));
    if first >= last {
        return;
    }
    let mut cuts = asked.edges(facts);
    cuts.retain(|e| first < *e && *e < last);
    cuts.extend([first, last]);
    let cuts: Vec<i64> = cuts.into_iter().collect();
    let all = [l.busy, l.idle, l.unmeasured, l.unallocated, l.unavailable, l.unobserved];
    for piece in cuts.windows(2) {
        let (a, b) = (piece[0], piece[1]);
        let cut = all.map(|v| telescope(v, a - l.from, b - l.from, l.to - l.from));
        let pool = facts.pool.iter().filter(|p| at(p.from_ms, p.to_ms, a) && asked.pool(p)).map(|p| &p.pool).min();
        let tier = facts.tier.iter().filter(|t| at(t.from_ms, t.to_ms, a) && asked.tier(t)).map(|t| &t.tier).min();
        let mut before = 0;
        for (team, _, parts) in asked.payers(facts, a) {
            let ms = cut.map(|v| telescope(v, before, before + parts, SPLIT_PARTS));
            before += parts;
            let pool = pool.map_or("default", String::as_str);
            let price = asked.price(facts, a, &team, pool, tier);
            let held = ms[0] + ms[1] + ms[2];
            let sum = out.entry((team, day)).or_default();
            for (s, v) in sum.ms.iter_mut().zip(ms) {
                *s += v;
            }
            match price {
                None => sum.unpriced += held,
                Some(price) => {
                    for (s, v) in sum.cost.iter_mut().zip([held, ms[3], ms[4], ms[5]]) {
                        *s += i128::from(v) * i128::from(price);
                    }
                }
            }
        }
    }
}
