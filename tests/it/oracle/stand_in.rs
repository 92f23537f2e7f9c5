//! GPUs that nobody named: in a cell one row set of their node (or cluster) stands for the cards that are not held by name.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::id::id63;
use gpuledger_schema::table::reference::InventoryRow;
use gpuledger_schema::unit::{CARD_UNITS, CELL_MS};
use gpuledger_schema::window::cell_of;

use super::account::settle;
use super::card::CardCell;
use super::holding::{Holdings, Unnamed};
use super::node::State;
use super::split::telescope;
use super::tick::Version;
use super::{Facts, Line};

/// A place: cluster, node ('' for any) and, where nothing is known of the cluster, the model.
pub(super) type Place = (String, String, String);

/// What stand-ins make of a ledger.
#[derive(Debug, Default)]
pub(super) struct Stands {
    pub(super) lines: Vec<Line>,
    /// Cards and cells whose rows of nobody are part of a stand-in.
    pub(super) replaced: BTreeSet<(i64, i64)>,
    /// The places by id, and the models of nameless capacity at each.
    pub(super) units: BTreeMap<i64, (Place, BTreeSet<String>)>,
    /// Whether a run held what was known only later in the cell, or no longer.
    pub(super) unseen: bool,
}

/// Capacity without a named holder.
#[derive(Debug, Clone, Default)]
struct Capacity {
    from: i64,
    to: i64,
    unallocated: i64,
    unavailable: i64,
    unobserved: i64,
    healthy: i64,
}

impl Capacity {
    fn all(&self) -> i64 {
        self.unallocated + self.unavailable + self.unobserved
    }

    fn add(into: &mut Option<Self>, other: &Self) {
        let c = into.get_or_insert(Self { from: other.from, to: other.to, ..Self::default() });
        (c.from, c.to) = (c.from.min(other.from), c.to.max(other.to));
        c.unallocated += other.unallocated;
        c.unavailable += other.unavailable;
        c.unobserved += other.unobserved;
        c.healthy += other.healthy;
    }
}

/// Everything of one cluster.
struct Cluster<'a> {
    name: &'a str,
    versions: Vec<&'a Version>,
    states: Vec<&'a State>,
    inventory: Vec<(&'a InventoryRow, i64)>,
    holdings: &'a Holdings,
    cards: Vec<&'a CardCell>,
}

pub(super) fn stand_ins(
    facts: &Facts,
    as_of: &BTreeMap<String, i64>,
    versions: &[Version],
    holdings: &Holdings,
    cards: &[CardCell],
    states: &[State],
) -> Stands {
    let mut out = Stands::default();
    for (name, known_to) in as_of {
        let end = |to: Option<i64>| to.unwrap_or(*known_to).min(*known_to);
        let cluster = Cluster {
            name,
            versions: versions.iter().filter(|v| v.cluster == *name).collect(),
            states: states.iter().filter(|s| s.cluster == *name).collect(),
            inventory: facts
                .inventory
                .iter()
                .filter(|i| i.cluster == *name && i.from_ms < end(i.to_ms))
                .map(|i| (i, end(i.to_ms)))
                .collect(),
            holdings,
            cards: cards.iter().filter(|c| c.at.iter().any(|a| a.0 == *name)).collect(),
        };
        let unnamed: Vec<&Unnamed> = holdings.unnamed.iter().filter(|u| u.cluster == *name).collect();
        let spans =
            unnamed.iter().map(|u| (u.from, u.to)).chain(cluster.inventory.iter().map(|(i, to)| (i.from_ms, *to)));
        let Some((first, last)) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { continue };
        for cell in cell_of(first)..=cell_of(last - 1) {
            cluster.cell(cell, &unnamed, &mut out);
        }
    }
    out
}

/// An unnamed holder's part of a cell.
#[derive(Debug, Clone, Default)]
struct Held {
    holder: i64,
    from: i64,
    to: i64,
    held: i64,
    granted: i64,
    covered: i64,
}

impl Cluster<'_> {
    fn cell(&self, cell: i64, unnamed: &[&Unnamed], out: &mut Stands) {
        let (a, b) = (cell * CELL_MS, (cell + 1) * CELL_MS);
        let counts: Vec<Unnamed> = unnamed
            .iter()
            .filter(|u| u.from < b && u.to > a)
            .map(|u| Unnamed { from: u.from.max(a), to: u.to.min(b), ..(*u).clone() })
            .collect();
        let spare = self.spare(a, out);
        let cards: Vec<&&CardCell> = self.cards.iter().filter(|c| c.cell == cell).collect();
        let mut nodes: BTreeSet<&str> = spare.keys().map(String::as_str).collect();
        nodes.extend(cards.iter().flat_map(|c| c.at.iter().map(|at| at.1.as_str())));
        let known = !nodes.is_empty();
        let wide = known && counts.iter().any(|c| c.node.is_empty() || !nodes.contains(c.node.as_str()));
        let mut capacity: BTreeMap<String, Option<Capacity>> = BTreeMap::new();
        let mut unseen: BTreeMap<String, Vec<Unnamed>> = BTreeMap::new();
        let mut seen = Vec::new();
        for c in counts {
            if c.node.is_empty() || !nodes.contains(c.node.as_str()) {
                seen.push(c);
                continue;
            }
            for (from, to, is_seen) in self.parts(&c, out) {
                let part = Unnamed { from, to, ..c.clone() };
                if is_seen { seen.push(part) } else { unseen.entry(c.node.clone()).or_default().push(part) }
            }
        }
        let mut holders: BTreeMap<(String, String), Vec<&Unnamed>> = BTreeMap::new();
        for c in &seen {
            let node = if wide || !known { String::new() } else { c.node.clone() };
            let model = if known { String::new() } else { c.model.clone() };
            holders.entry((node, model)).or_default().push(c);
        }
        if known {
            for (node, _) in holders.keys() {
                let here = cards.iter().filter(|c| node.is_empty() || c.at.iter().any(|at| at.1 == *node));
                for card in here {
                    if let Some(rest) = nobody(card) {
                        out.replaced.insert((card.device, cell));
                        Capacity::add(capacity.entry(node.clone()).or_default(), &rest);
                    }
                }
            }
        }
        for (node, c) in &spare {
            let place = if wide { String::new() } else { node.clone() };
            Capacity::add(capacity.entry(place).or_default(), c);
        }
        let mut granted: BTreeMap<String, i64> = BTreeMap::new();
        for ((node, model), counts) in &holders {
            let place = capacity.get(node).cloned().flatten().unwrap_or_default();
            let rows = serve(counts, known.then_some(&place));
            *granted.entry(node.clone()).or_default() += rows.iter().map(|r| r.granted).sum::<i64>();
            let unit = self.unit(node, model, out);
            self.rows(unit, cell, node, rows, known, &cards, out);
        }
        out.unseen |= !unseen.is_empty();
        for (node, counts) in &unseen {
            let rows = serve(&counts.iter().collect::<Vec<_>>(), None);
            let unit = self.unit(node, "", out);
            self.rows(unit, cell, node, rows, false, &cards, out);
        }
        for (node, c) in capacity {
            let (unit, taken) = (self.unit(&node, "", out), granted.get(&node).copied().unwrap_or(0));
            out.lines.extend(c.and_then(|c| rest(&c, taken, unit, cell)));
        }
    }

    fn unit(&self, node: &str, model: &str, out: &mut Stands) -> i64 {
        let unit = id63("place", &[self.name, node, model, ""]);
        let place = (self.name.to_owned(), node.to_owned(), model.to_owned());
        out.units.entry(unit).or_insert((place, BTreeSet::new()));
        unit
    }

    /// A holding of a node cut where the node, or nameless capacity that could be its own, begins or ends to be known.
    fn parts(&self, held: &Unnamed, out: &mut Stands) -> Vec<(i64, i64, bool)> {
        let mut edges: BTreeSet<i64> = self.versions.iter().flat_map(|v| [v.from, v.to]).collect();
        edges.extend(self.inventory.iter().flat_map(|(i, to)| [i.from_ms, *to]));
        edges.retain(|ms| held.from < *ms && *ms < held.to);
        edges.extend([held.from, held.to]);
        let edges: Vec<i64> = edges.into_iter().collect();
        let mut parts: Vec<(i64, i64, bool)> = Vec::new();
        for pair in edges.windows(2) {
            let seen = self.versions.iter().any(|v| v.node == held.node && v.from <= pair[0] && pair[0] < v.to)
                || self.spare_at(pair[0], &held.node, out) > 0
                || self.spare_at(pair[0], "", out) > 0;
            match parts.last_mut() {
                Some(last) if last.2 == seen => last.1 = pair[1],
                _ => parts.push((pair[0], pair[1], seen)),
            }
        }
        parts
    }

    /// How many nameless GPUs there are of a node ('' for any) at a millisecond.
    fn spare_at(&self, ms: i64, node: &str, out: &mut Stands) -> i64 {
        let nodes: BTreeSet<&str> = self.inventory.iter().map(|(i, _)| i.node.as_deref().unwrap_or_default()).collect();
        let stands_for = |v: &Version| if nodes.contains(v.node.as_str()) { v.node == node } else { node.is_empty() };
        let (unallocated, unavailable, unobserved) = self.at(ms, node, &stands_for, out);
        unallocated + unavailable + unobserved
    }

    /// GPUs of the inventory that no card stands for, by node, millisecond by millisecond.
    fn spare(&self, base: i64, out: &mut Stands) -> BTreeMap<String, Capacity> {
        let mut found: BTreeMap<String, Capacity> = BTreeMap::new();
        let nodes: BTreeSet<&str> = self.inventory.iter().map(|(i, _)| i.node.as_deref().unwrap_or_default()).collect();
        for node in &nodes {
            let stands_for =
                |v: &Version| if nodes.contains(v.node.as_str()) { v.node == *node } else { node.is_empty() };
            let mut now = (u128::MAX, 0, 0, 0);
            for ms in base..base + CELL_MS {
                let bits = self.bits(ms, node);
                if bits != now.0 {
                    let (unallocated, unavailable, unobserved) = self.at(ms, node, &stands_for, out);
                    now = (bits, unallocated, unavailable, unobserved);
                }
                if now.1 + now.2 + now.3 > 0 {
                    let c = found.entry((*node).to_owned()).or_insert(Capacity { from: ms, ..Capacity::default() });
                    c.to = ms + 1;
                    c.unallocated += now.1;
                    c.unavailable += now.2;
                    c.unobserved += now.3;
                }
            }
        }
        found
    }

    /// Which dated facts hold at a millisecond.
    fn bits(&self, ms: i64, node: &str) -> u128 {
        let mut bits = 0;
        let mut bit = |holds: bool| bits = bits << 1 | u128::from(holds);
        for (i, to) in &self.inventory {
            bit(i.node.as_deref().unwrap_or_default() == node && i.from_ms <= ms && ms < *to);
        }
        for v in &self.versions {
            bit(v.from <= ms && ms < v.to);
        }
        for s in &self.states {
            bit(s.node == node && s.from <= ms && ms < s.to);
        }
        bits
    }

    /// Nameless GPUs of a node at a millisecond: unallocated, unavailable, unobserved.
    fn at(&self, ms: i64, node: &str, stands_for: &dyn Fn(&Version) -> bool, out: &mut Stands) -> (i64, i64, i64) {
        let mut seen = self.versions.iter().filter(|v| v.from <= ms && ms < v.to && stands_for(v)).count() as i64;
        let mut rows: Vec<&InventoryRow> = self
            .inventory
            .iter()
            .filter(|(i, to)| i.node.as_deref().unwrap_or_default() == node && i.from_ms <= ms && ms < *to)
            .map(|(i, _)| *i)
            .collect();
        rows.sort_by(|a, b| (&a.model, a.from_ms).cmp(&(&b.model, b.from_ms)));
        let states: Vec<bool> =
            self.states.iter().filter(|s| s.node == node && s.from <= ms && ms < s.to).map(|s| s.up).collect();
        let mut sums = (0, 0, 0);
        for row in rows {
            let left = row.gpus - seen.min(row.gpus);
            seen -= seen.min(row.gpus);
            if left > 0 {
                let unit = self.unit(node, "", out);
                out.units.entry(unit).and_modify(|u| {
                    u.1.insert(row.model.clone());
                });
            }
            if states.contains(&false) {
                sums.1 += left;
            } else if row.declared_up || states.contains(&true) {
                sums.0 += left;
            } else {
                sums.2 += left;
            }
        }
        sums
    }

    /// What a run's processes ran in the cell on cards that it does not hold by name there.
    fn ran(&self, holder: i64, node: &str, cards: &[&&CardCell]) -> (i64, Option<i64>) {
        let mut sum = (0, None);
        for c in cards.iter().filter(|c| node.is_empty() || c.at.iter().any(|at| at.1 == node)) {
            let (a, b) = (c.cell * CELL_MS, (c.cell + 1) * CELL_MS);
            let mut names = self.holdings.named.iter().filter(|n| n.holder == holder && n.device == c.device);
            let named = names.any(|n| n.from < b && n.to > a);
            if let Some((busy, mem)) = c.ran.get(&holder).filter(|_| !named) {
                sum = (sum.0 + busy, sum.1.max(*mem));
            }
        }
        sum
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a row")]
    fn rows(
        &self,
        unit: i64,
        cell: i64,
        node: &str,
        rows: Vec<Held>,
        known: bool,
        cards: &[&&CardCell],
        out: &mut Stands,
    ) {
        let holders: BTreeSet<i64> = rows.iter().map(|r| r.holder).collect();
        for holder in holders {
            let mut mine: Vec<&Held> = rows.iter().filter(|r| r.holder == holder).collect();
            mine.sort_by_key(|r| r.from);
            let all: i64 = mine.iter().map(|r| r.covered).sum();
            let (ran, mem_peak) = if known { self.ran(holder, node, cards) } else { (0, None) };
            let mut upto = 0;
            for (i, r) in mine.iter().enumerate() {
                let busy = if all == 0 { 0 } else { telescope(ran.min(all), upto, upto + r.covered, all) };
                upto += r.covered;
                out.lines.push(Line {
                    unit,
                    cell,
                    holder,
                    from: r.from,
                    to: r.to,
                    busy,
                    idle: r.covered - busy,
                    unmeasured: r.granted - r.covered,
                    covered: r.covered,
                    effective: (r.covered > 0).then_some(busy),
                    over_share: if i == 0 { ran - ran.min(all) } else { 0 },
                    conflict: r.held - r.granted,
                    mem_peak,
                    basis: (r.covered > 0).then(|| "gpu".to_owned()),
                    capacity_unknown: !known,
                    ..Line::default()
                });
            }
        }
    }
}

/// What nobody holds of a card in a cell.
fn nobody(card: &CardCell) -> Option<Capacity> {
    let mut out: Option<Capacity> = None;
    let mut healthy = 0;
    for (p, c) in card.parts.iter().zip(settle(card)).filter(|(p, _)| p.holder == 0) {
        let part =
            Capacity { from: p.from, to: p.to, unallocated: c[2], unavailable: c[3], unobserved: c[4], healthy: 0 };
        Capacity::add(&mut out, &part);
        healthy += if p.failed || p.down { 0 } else { p.units * p.ok };
    }
    // a millisecond of a shared card that was settled on a holder is not nobody's
    out.map(|c| Capacity { healthy: (healthy / CARD_UNITS).min(c.unallocated + c.unobserved), ..c })
}

/// Serves the holders of a place in order of later start and id; without known capacity everything is granted.
fn serve(counts: &[&Unnamed], capacity: Option<&Capacity>) -> Vec<Held> {
    let mut shares: BTreeMap<(i64, i64, i64, i64, &str, &str), i64> = BTreeMap::new();
    for c in counts {
        *shares.entry((-c.start, c.holder, c.from, c.to, &c.node, &c.model)).or_default() += c.share;
    }
    let mut rows: BTreeMap<(i64, i64, i64, i64), i64> = BTreeMap::new();
    for ((start, holder, from, to, _, _), share) in shares {
        *rows.entry((start, holder, from, to)).or_default() += share * (to - from);
    }
    // whole milliseconds; those that parts leave over go to the largest remainders
    let mut over = rows.values().map(|units| units % CARD_UNITS).sum::<i64>() / CARD_UNITS;
    let mut order: Vec<_> =
        rows.iter().map(|(key, units)| (-(units % CARD_UNITS), key.1, key.2, key.3, *key)).collect();
    order.sort_unstable();
    for (_, _, _, _, key) in order {
        let held = rows.entry(key).or_default();
        *held = *held / CARD_UNITS + i64::from(over > 0);
        over -= 1;
    }
    let mut left = capacity.map_or(0, Capacity::all);
    let mut out = Vec::new();
    for ((_, holder, from, to), held) in rows {
        let granted = if capacity.is_some() { held.min(left) } else { held };
        left -= granted;
        let covered = match capacity {
            Some(c) if c.all() > 0 => (i128::from(granted) * i128::from(c.healthy) / i128::from(c.all())) as i64,
            _ => 0,
        };
        out.push(Held { holder, from, to, held, granted, covered });
    }
    out
}

/// What holders left of a place: they take what was unallocated or unobserved first.
fn rest(c: &Capacity, taken: i64, unit: i64, cell: i64) -> Option<Line> {
    let rest = c.all() - taken;
    let unavailable = c.unavailable.min(rest);
    let open = c.unallocated + c.unobserved;
    let unallocated = if open == 0 {
        0
    } else {
        (i128::from(rest - unavailable) * i128::from(c.unallocated) / i128::from(open)) as i64
    };
    let unobserved = rest - unavailable - unallocated;
    (rest > 0).then(|| Line {
        unit,
        cell,
        from: c.from,
        to: c.to,
        unallocated,
        unavailable,
        unobserved,
        ..Line::default()
    })
}
