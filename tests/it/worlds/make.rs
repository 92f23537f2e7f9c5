//! A small world from a seed: a cluster or two for an hour or two around a local midnight.

use gpuledger_schema::id::{device_id, id63};
use gpuledger_schema::table::{DeviceRow, NodeStateRow, ReadingRow};
use gpuledger_schema::unit::DAY_MS;

use super::rng::Rng;
use super::runs::RunSpec;
use super::{cards, live, runs};
use crate::oracle::Facts;

pub(super) const MINUTE: i64 = 60_000;

/// What a node is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavor {
    /// A scheduler names the cards.
    Named,
    /// Nobody schedules: whoever logs in shares them.
    Bare,
    /// A scheduler says how many, not which.
    Counted,
    /// A scheduler is looked at live: it gives indices or counts, and the node what it knows.
    Live,
}

/// A node with its cards.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) flavor: Flavor,
    pub(super) cards: Vec<Card>,
}

/// A card and when it came.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) id: i64,
    pub(super) first_seen: i64,
    pub(super) instances: Vec<i64>,
}

/// A generated world.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) cluster: String,
    pub(crate) facts: Facts,
    /// Lines of `inventory.csv`.
    pub(crate) inventory: Vec<String>,
}

/// Everything that is being made.
pub(super) struct Maker {
    pub(super) rng: Rng,
    pub(super) cluster: String,
    pub(super) from: i64,
    pub(super) as_of: i64,
    pub(super) scale: i64,
    pub(super) facts: Facts,
    pub(super) runs: Vec<RunSpec>,
    pub(super) looks: Vec<live::Look>,
    pub(super) inventory: Vec<String>,
}

/// The world of a seed around an instant.
pub(crate) fn world(seed: u64, midnight: i64) -> World {
    scaled(seed, midnight, 1)
}

/// The same over days: everything takes so many times as long, and ticks are so many times as rare.
pub(crate) fn scaled(seed: u64, midnight: i64, scale: i64) -> World {
    let mut rng = Rng::new(seed);
    let from = midnight - rng.range(20 * MINUTE, 65 * MINUTE) * scale;
    let as_of = midnight + rng.range(15 * MINUTE, 50 * MINUTE) * scale;
    let cluster = format!("w{seed:04}");
    let facts = Facts::default();
    let mut m = Maker {
        rng,
        scale,
        cluster: cluster.clone(),
        from,
        as_of,
        facts,
        runs: Vec::new(),
        looks: Vec::new(),
        inventory: Vec::new(),
    };
    m.looks = live::looks(&mut m);
    let count = m.rng.range(1, 3);
    for n in 1..=count {
        let flavor = m.rng.pick(&[Flavor::Named, Flavor::Live, Flavor::Live, Flavor::Bare, Flavor::Counted]);
        let node = m.node(&format!("n{n}"), flavor);
        match flavor {
            Flavor::Live => live::runs(&mut m, &node),
            _ => runs::of_node(&mut m, &node),
        }
        cards::minutes(&mut m, &node);
        match flavor {
            Flavor::Live => live::states(&mut m, &node.name),
            _ => m.states(&node.name),
        }
    }
    m.nameless();
    m.readings();
    if m.rng.chance(30) {
        runs::accounting_only(&mut m);
    }
    World { seed, cluster, facts: m.facts, inventory: m.inventory }
}

impl Maker {
    fn node(&mut self, name: &str, flavor: Flavor) -> Node {
        let model = self.rng.pick(&["H200", "A100"]);
        let mut cards = Vec::new();
        let most = if flavor == Flavor::Live { 4 } else { 3 };
        for gpu in 0..self.rng.range(1, most) {
            let uuid = format!("GPU-{}-{name}-{gpu}", self.cluster);
            let late = if self.rng.chance(15) { self.rng.range(0, 25 * MINUTE) } else { 0 };
            let mut row = self.card(&uuid, name, model, flavor, self.from + late);
            if flavor == Flavor::Live {
                row.minor = Some(if self.rng.chance(4) { 0 } else { gpu });
                row.pci = self.rng.maybe(96, 0, 1).map(|_| format!("00000000:{:02X}:00.0", 0x80 - 0x15 * gpu));
            }
            let mut card = Card { id: row.device_id, first_seen: row.first_seen_ms, instances: Vec::new() };
            if flavor == Flavor::Named && self.rng.chance(25) {
                card.instances = self.instances(&row, None);
            }
            if flavor == Flavor::Live && self.rng.chance(12) {
                // cut into instances while runs are on it, and at times made whole again
                let from = self.rng.range(self.from, self.as_of);
                let to = self.rng.maybe(40, from + 1, self.as_of);
                card.instances = self.instances(&row, Some((from, to)));
            }
            self.versions(&row, flavor);
            cards.push(card);
        }
        Node { name: name.to_owned(), flavor, cards }
    }

    fn card(&mut self, uuid: &str, node: &str, model: &str, flavor: Flavor, first_seen_ms: i64) -> DeviceRow {
        DeviceRow {
            device_id: device_id(uuid),
            first_seen_ms,
            retired_ms: None,
            cluster: self.cluster.clone(),
            node: node.to_owned(),
            uuid: uuid.to_owned(),
            parent_id: None,
            model: Some(model.to_owned()),
            memory_bytes: Some(if model == "H200" { 141 << 30 } else { 80 << 30 }),
            mig_profile: None,
            compute_slices: None,
            card_slices: Some(7),
            interconnect: None,
            compute_capability: None,
            driver: Some("550".to_owned()),
            minor: None,
            pci: None,
            queue: None,
            scheduler: if flavor == Flavor::Bare { "none" } else { "slurm" }.to_owned(),
        }
    }

    fn instances(&mut self, card: &DeviceRow, at: Option<(i64, Option<i64>)>) -> Vec<i64> {
        let (first_seen_ms, retired_ms) = at.unwrap_or((card.first_seen_ms, None));
        let mut out = Vec::new();
        for n in 0..2 {
            let uuid = format!("MIG-{}-{n}", card.uuid);
            let row = DeviceRow {
                device_id: device_id(&uuid),
                parent_id: Some(card.device_id),
                uuid,
                compute_slices: Some(1),
                first_seen_ms,
                retired_ms,
                ..card.clone()
            };
            out.push(row.device_id);
            self.facts.device.push(row);
        }
        out
    }

    /// The card, at times in a second version, moved to another node, given to a scheduler, or taken out.
    fn versions(&mut self, first: &DeviceRow, flavor: Flavor) {
        let mut row = first.clone();
        let at = self.rng.range(row.first_seen_ms + 1, self.as_of);
        let mut next = DeviceRow { first_seen_ms: at, ..row.clone() };
        match self.rng.range(0, 20) {
            0 | 1 => next.driver = Some("560".to_owned()),
            2 if flavor == Flavor::Named => next.node = "m1".to_owned(),
            3 if flavor == Flavor::Bare => next.scheduler = "slurm".to_owned(),
            4 => {
                row.retired_ms = Some(at);
                next.first_seen_ms = row.first_seen_ms;
            }
            _ => next.first_seen_ms = row.first_seen_ms,
        }
        if next.node == "m1" {
            self.states("m1");
        }
        if next.first_seen_ms > row.first_seen_ms {
            self.facts.device.push(next);
        }
        self.facts.device.push(row);
    }

    /// States of a node: pieces of up, down and silence; at times two that overlap, or an older reading of one.
    pub(super) fn states(&mut self, node: &str) {
        let mut at = self.from - self.rng.range(0, 30 * MINUTE);
        while at < self.as_of {
            let to = at + self.rng.range(MINUTE, 60 * MINUTE) * self.scale;
            let state = self.rng.pick(&["up", "up", "up", "", "", "drained", "down", "maintenance"]);
            if !state.is_empty() {
                let open = to >= self.as_of && self.rng.chance(50);
                let row = self.state(node, at, (!open).then_some(to), state);
                if self.rng.chance(20) {
                    let older = self.rng.pick(&["up", "down"]);
                    let mut old = self.state(node, at, Some(to + MINUTE), older);
                    old.as_of_ms -= MINUTE;
                    self.facts.node_state.push(old);
                }
                if self.rng.chance(15) {
                    let (a, b) = (self.rng.range(at, to), self.rng.range(at, to));
                    let inner = self.state(node, a.min(b) + 1, Some(a.max(b) + 2), "drained");
                    self.facts.node_state.push(inner);
                }
                self.facts.node_state.push(row);
            }
            at = to;
        }
        self.facts.node_state.sort_by_key(|s| (s.cluster.clone(), s.node.clone(), s.from_ms, s.as_of_ms));
        self.facts.node_state.dedup_by_key(|s| (s.node.clone(), s.from_ms, s.as_of_ms));
    }

    fn state(&self, node: &str, from_ms: i64, to_ms: Option<i64>, state: &str) -> NodeStateRow {
        NodeStateRow {
            cluster: self.cluster.clone(),
            node: node.to_owned(),
            from_ms,
            to_ms,
            state: state.to_owned(),
            reason: None,
            source: "sinfo".to_owned(),
            as_of_ms: self.as_of,
        }
    }

    /// GPUs of the inventory beyond the cards that are seen: on a node of their own, on one with cards, or anywhere.
    fn nameless(&mut self) {
        if !self.rng.chance(45) {
            return;
        }
        let node = self.rng.pick(&["n1", "n9", "n9", ""]);
        let model = self.rng.pick(&["H200", "A100", "L40S"]);
        let (gpus, up) = (self.rng.range(1, 6), self.rng.pick(&["true", "false"]));
        let from = super::reference::iso(self.from + self.rng.range(-20 * MINUTE, 30 * MINUTE));
        let to = if self.rng.chance(25) {
            super::reference::iso(self.as_of - self.rng.range(1, 10 * MINUTE))
        } else {
            String::new()
        };
        self.inventory.push(format!("{},{node},{model},{gpus},80,,,{up},{from},{to}", self.cluster));
        if self.rng.chance(30) {
            let from = super::reference::iso(self.from);
            self.inventory.push(format!("{},{node},B300,2,80,,,,{from},", self.cluster));
        }
        if node == "n9" {
            self.states("n9");
        }
        for i in 0..self.rng.range(0, 4) {
            runs::counted(self, node, &format!("9{i}"));
        }
    }

    /// Looks at the sources: the newest good one makes the as-of; a failed one says nothing.
    fn readings(&mut self) {
        let cluster = self.cluster.clone();
        let one = |to_ms: i64, ok: bool| ReadingRow {
            source: "slurm".to_owned(),
            kind: "scheduler".to_owned(),
            cluster: cluster.clone(),
            node: None,
            read_at_ms: to_ms,
            from_ms: to_ms - 5 * MINUTE,
            to_ms,
            ok,
            rows: 0,
            error: (!ok).then(|| "timeout".to_owned()),
        };
        // a look at the end of each day before the last
        let mut day = self.from / DAY_MS * DAY_MS + DAY_MS;
        while day < self.as_of - 8 * MINUTE {
            self.facts.reading.push(one(day - 1, true));
            day += DAY_MS;
        }
        self.facts.reading.extend([
            one(self.as_of - 7 * MINUTE, true),
            one(self.as_of, true),
            one(self.as_of + 40 * MINUTE, false),
        ]);
    }
}

/// An id of something that only tests name.
pub(super) fn test_id(kind: &str, parts: &[&str]) -> i64 {
    id63(kind, parts)
}
