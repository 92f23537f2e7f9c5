//! Lines of statements: what modes bill, what quotas reserve, what is shared out, and what the platform bears.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;
use gpuledger_schema::window::Window;

use super::Facts;
use super::money::{Piece, Use, at};
use super::price::{Price, price, terms};
use super::quota::{Reserve, borrow};
use super::share::{divide, weights};

const CLASSES: [&str; 3] = ["unallocated", "unavailable", "unobserved"];
const PLATFORM: &str = "(platform)";

/// What makes a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: String,
    pub(crate) team: String,
    pub(crate) cost_center: Option<String>,
    pub(crate) pool: String,
    pub(crate) tier: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) task_type: Option<String>,
    pub(crate) mode: String,
    pub(crate) rate: Option<i64>,
    pub(crate) list: Option<i64>,
    pub(crate) price: Option<i64>,
    pub(crate) discount: Option<String>,
    pub(crate) reason: Option<String>,
}

/// What stands on a line: its quantity, what was held (busy, idle, unmeasured), exact money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) quantity: i64,
    pub(crate) held: [i64; 3],
    pub(crate) exact: i128,
}

/// Lines of which a set of worlds should have each.
pub(crate) const LINES: [&str; 16] = [
    "use",
    "reserved",
    "overage",
    "shared_unallocated",
    "shared_unavailable",
    "shared_unobserved",
    "unbilled_held",
    "to_settle",
    "unallocated",
    "unavailable",
    "unobserved",
    "shared_out",
    "a line without a price",
    "a price of several discounts",
    "lent capacity",
    "showback",
];

/// Which of them there are.
pub(crate) fn lines_seen(lines: &BTreeMap<Key, Sum>) -> Vec<&'static str> {
    let there = |what: &str| {
        lines.iter().any(|(k, s)| match what {
            "a line without a price" => k.price.is_none(),
            "a price of several discounts" => k.discount.as_ref().is_some_and(|d| d.contains(',')),
            "lent capacity" => k.kind == "unbilled_held" && s.exact < 0,
            "showback" => k.mode == "showback" && k.kind == "use",
            kind => k.kind == kind,
        })
    };
    LINES.into_iter().filter(|w| there(w)).collect()
}

/// Lines of one bill.
#[derive(Debug, Default)]
struct Lines(BTreeMap<Key, Sum>);

impl Lines {
    fn add(&mut self, key: Key, quantity: i64, held: [i64; 3]) {
        let exact = i128::from(quantity) * i128::from(key.price.unwrap_or(0));
        let sum = self.0.entry(key).or_default();
        sum.quantity += quantity;
        sum.exact += exact;
        for (s, v) in sum.held.iter_mut().zip(held) {
            *s += v;
        }
    }
}

/// The line of a use, as a team's.
fn team_line(kind: &str, of: &Use, mode: &str, p: Option<&Price>) -> Key {
    Key {
        kind: kind.to_owned(),
        team: of.team.clone().unwrap_or_else(|| PLATFORM.to_owned()),
        cost_center: of.cost_center.clone(),
        pool: of.pool.clone(),
        tier: of.tier.clone(),
        model: of.model.clone(),
        task_type: of.task_type.clone(),
        mode: mode.to_owned(),
        rate: p.map(|p| p.rate),
        list: p.map(|p| p.list),
        price: p.map(|p| p.price),
        discount: p.and_then(|p| p.discount.clone()),
        reason: None,
    }
}

/// The same as the platform's: no team, cost centre or task type.
fn platform_line(kind: &str, of: &Use, mode: &str, p: Option<&Price>) -> Key {
    let bare = Use { team: None, cost_center: None, task_type: None, ..of.clone() };
    team_line(kind, &bare, mode, p)
}

/// A price without what discounts made of it.
fn at_list(p: Option<&Price>) -> Option<Price> {
    p.map(|p| Price { price: p.list, discount: None, ..p.clone() })
}

/// A part of what nobody used that has one price, one method and one day.
type Item = (String, i32, &'static str, String, bool, String, (bool, Option<String>), (bool, Option<String>), Rated);
type Rated = ((bool, Option<i64>), (bool, Option<i64>));

/// Lines of a bill of everything that the pieces are about, and what was borrowed among them.
pub(crate) fn bill(facts: &Facts, pieces: &mut Vec<Piece>, window: Window, zone: Tz) -> BTreeMap<Key, Sum> {
    let reserves = borrow(facts, pieces);
    let mut lines = Lines::default();
    let reserved = reserve(facts, pieces, &reserves, zone, &mut lines);
    for p in pieces.iter().filter(|p| p.held() != 0) {
        held(facts, p, &reserved, zone, &mut lines);
    }
    let mut items: BTreeMap<Item, i64> = BTreeMap::new();
    for p in pieces.iter() {
        let (mode, shares) = terms(facts, &p.of.pool, p.epoch);
        let of = at_list(price(facts, &p.of, p.slice, false, zone).as_ref());
        for (k, class) in CLASSES.into_iter().enumerate().filter(|(k, _)| p.ms[k + 3] != 0) {
            lines.add(platform_line(class, &p.of, &mode, of.as_ref()), p.ms[k + 3], [0; 3]);
            let absent = |v: Option<String>| (v.is_none(), v);
            let number = |v: Option<i64>| (v.is_none(), v);
            let rated = (number(of.as_ref().map(|o| o.rate)), number(of.as_ref().map(|o| o.list)));
            let (tier, model) = (absent(p.of.tier.clone()), absent(p.of.model.clone()));
            let share = shares[k].clone();
            let key = (p.of.pool.clone(), p.day, class, mode.clone(), p.holder == 0, share, tier, model, rated);
            *items.entry(key).or_default() += p.ms[k + 3];
        }
    }
    give_back(&reserves, &mut items, &mut lines);
    share_out(facts, pieces, window, &items, &mut lines);
    lines.0.retain(|_, s| *s != Sum::default());
    lines.0
}

/// Reserved capacity: what teams pay, with what the platform is credited with. Gives the line of each pool, team and day.
fn reserve(
    facts: &Facts,
    pieces: &[Piece],
    reserves: &[Reserve],
    zone: Tz,
    lines: &mut Lines,
) -> BTreeMap<(String, String, i32), Key> {
    let mut out: BTreeMap<(String, String, i32), Key> = BTreeMap::new();
    for r in reserves {
        let cards = || pieces.iter().filter(|p| p.of.pool == r.pool && p.epoch == r.epoch);
        let models: BTreeSet<Option<String>> = cards().map(|p| p.of.model.clone()).collect();
        let tiers: BTreeSet<Option<String>> = cards().map(|p| p.of.tier.clone()).collect();
        let alike = |of: BTreeSet<Option<String>>| if of.len() == 1 { of.into_iter().next().flatten() } else { None };
        let (model, tier) = (alike(models), alike(tiers));
        for (team, ms) in r.quota.iter().filter(|(_, ms)| **ms > 0) {
            let rows = facts.owner.iter().filter(|o| at(o.from_ms, o.to_ms, r.epoch));
            let rows = rows.filter(|o| o.team.replace("{value}", &o.value) == *team);
            let centers: BTreeSet<Option<String>> = rows.map(|o| o.cost_center.clone()).collect();
            let of = Use {
                team: Some(team.clone()),
                cost_center: alike(centers),
                task_type: None,
                pool: r.pool.clone(),
                model: model.clone(),
                tier: tier.clone(),
                preemptible: false,
            };
            let p = price(facts, &of, r.slice, false, zone);
            let key = team_line("reserved", &of, "quota", p.as_ref());
            lines.add(key.clone(), *ms, [0; 3]);
            lines.add(platform_line("unbilled_held", &of, "quota", p.as_ref()), -ms, [0; 3]);
            let first = out.entry((r.pool.clone(), team.clone(), r.day)).or_insert_with(|| key.clone());
            if before(&key, first) {
                *first = key;
            }
        }
    }
    out
}

/// The order in which reserved lines of a team, pool and day are numbered.
fn before(a: &Key, b: &Key) -> bool {
    let order = |k: &Key| {
        let text = |v: &Option<String>| (v.is_none(), v.clone());
        let number = |v: Option<i64>| (v.is_none(), v);
        let places = (text(&k.cost_center), text(&k.tier), text(&k.model));
        (places, number(k.rate), number(k.list), number(k.price), text(&k.discount))
    };
    order(a) < order(b)
}

/// Held time, as its pool's mode bills it.
fn held(facts: &Facts, p: &Piece, reserved: &BTreeMap<(String, String, i32), Key>, zone: Tz, lines: &mut Lines) {
    let mode = terms(facts, &p.of.pool, p.epoch).0;
    let of = price(facts, &p.of, p.slice, p.borrowed, zone);
    let times = [p.ms[0], p.ms[1], p.ms[2]];
    let team = |kind: &str| team_line(kind, &p.of, &mode, of.as_ref());
    let platform = |kind: &str| platform_line(kind, &p.of, &mode, of.as_ref());
    let payer = p.of.team.as_ref().is_some_and(|t| t != "foreign");
    match (payer, mode.as_str()) {
        (false, _) => lines.add(platform("unbilled_held"), p.held(), times),
        (true, "busy") => {
            lines.add(team("use"), times[0], times);
            lines.add(platform("unbilled_held"), times[1], [0; 3]);
            lines.add(platform("to_settle"), times[2], [0; 3]);
        }
        (true, "showback") => {
            let shown = of.clone().map(|o| Price { price: 0, ..o });
            let mut key = team_line("use", &p.of, &mode, shown.as_ref());
            key.price = Some(0);
            lines.add(key, p.held(), times);
            lines.add(platform("unbilled_held"), p.held(), [0; 3]);
        }
        (true, "quota") if p.borrowed => lines.add(team("overage"), p.held(), times),
        (true, "quota") => {
            let place = (p.of.pool.clone(), p.of.team.clone().unwrap_or_default(), p.day);
            lines.add(reserved[&place].clone(), 0, times);
            lines.add(platform("unbilled_held"), p.held(), [0; 3]);
        }
        _ => lines.add(team("use"), p.held(), times),
    }
}

/// The use that an item was.
fn item_use(item: &Item) -> (Use, Option<Price>) {
    let of = Use { pool: item.0.clone(), tier: item.6.1.clone(), model: item.7.1.clone(), ..Use::default() };
    let p = item.8.0.1.zip(item.8.1.1).map(|(rate, list)| Price { rate, list, price: list, discount: None });
    (of, p)
}

/// Reserved time that nobody held comes off what nobody used.
fn give_back(reserves: &[Reserve], items: &mut BTreeMap<Item, i64>, lines: &mut Lines) {
    let mut taken: BTreeMap<(String, i32, &str), i64> = BTreeMap::new();
    for r in reserves {
        let mut spare = r.spare;
        for (k, class) in CLASSES.into_iter().enumerate() {
            let part = spare.min(r.free[k]);
            spare -= part;
            *taken.entry((r.pool.clone(), r.day, class)).or_default() += part;
        }
    }
    for ((pool, day, class), ms) in taken {
        let fits = |i: &&Item| i.0 == pool && i.1 == day && i.2 == class && i.3 == "quota" && i.4;
        let of: Vec<Item> = items.keys().filter(fits).cloned().collect();
        if of.is_empty() {
            continue;
        }
        let sizes: Vec<i128> = of.iter().map(|i| i128::from(items[i])).collect();
        for (item, ms) in of.iter().zip(divide(ms, &sizes)) {
            let (of, p) = item_use(item);
            lines.add(platform_line(class, &of, &item.3, p.as_ref()), -ms, [0; 3]);
            lines.add(platform_line("unbilled_held", &of, &item.3, p.as_ref()), ms, [0; 3]);
            *items.get_mut(item).expect("an item") -= ms;
        }
    }
}

/// What is left of what nobody used goes to who bears it.
fn share_out(facts: &Facts, pieces: &[Piece], window: Window, items: &BTreeMap<Item, i64>, lines: &mut Lines) {
    for (item, ms) in items.iter().filter(|(i, ms)| i.5 != "none" && **ms > 0) {
        let teams = weights(facts, pieces, &item.0, &item.5, window);
        if teams.is_empty() {
            continue;
        }
        let sizes: Vec<i128> = teams.values().copied().collect();
        let (of, p) = item_use(item);
        for (team, ms) in teams.keys().zip(divide(*ms, &sizes)).filter(|(_, ms)| *ms > 0) {
            let mut centers: BTreeMap<Option<String>, i128> = BTreeMap::new();
            for p in pieces.iter().filter(|p| p.of.pool == item.0 && p.of.team.as_ref() == Some(team) && p.held() > 0) {
                *centers.entry(p.of.cost_center.clone()).or_default() += i128::from(p.held());
            }
            if centers.is_empty() {
                centers.insert(None, 1);
            }
            let sizes: Vec<i128> = centers.values().copied().collect();
            for (center, ms) in centers.keys().zip(divide(ms, &sizes)) {
                let own = Use { team: Some(team.clone()), cost_center: center.clone(), ..of.clone() };
                lines.add(team_line(&format!("shared_{}", item.2), &own, &item.3, p.as_ref()), ms, [0; 3]);
                let out =
                    Key { reason: Some(item.2.to_owned()), ..platform_line("shared_out", &of, &item.3, p.as_ref()) };
                lines.add(out, -ms, [0; 3]);
            }
        }
    }
}
