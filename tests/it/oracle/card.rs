//! One card, millisecond by millisecond: who holds how much of it, and what is known of that time.

use std::collections::BTreeMap;

use gpuledger_schema::unit::{BRIDGE_MS, CARD_UNITS, CELL_MS};
use gpuledger_schema::window::cell_of;

use super::Facts;
use super::holding::Holdings;
use super::node::State;
use super::tick::{Tick, Version, failed};

/// A dated fact about a card; each has a bit.
#[derive(Debug, Clone)]
enum Fact {
    Known,
    Up,
    Down,
    Held { holder: i64, instance: Option<i64>, rank: i64, start: i64, share: i64 },
    Session { holder: i64, start: i64 },
    Foreign,
}

/// A part of a card in a piece of a cell: a holder's, or nobody's (0).
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub(super) holder: i64,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) units: i64,
    pub(super) over: i64,
    pub(super) failed: bool,
    pub(super) down: bool,
    pub(super) up: bool,
    session: bool,
    instances: Vec<i64>,
    /// Milliseconds in which it was measured; of them, in which nothing of it ran; in which a gap was bridged.
    pub(super) ok: i64,
    pub(super) zero: i64,
    pub(super) bridged: i64,
    pub(super) work: Option<i64>,
    pub(super) basis: Option<usize>,
    pub(super) mem: Option<i64>,
}

/// A card in a cell.
#[derive(Debug, Clone)]
pub(super) struct CardCell {
    pub(super) device: i64,
    pub(super) cell: i64,
    /// Cluster and node of each version that touches the cell, with its model.
    pub(super) at: Vec<(String, String, Option<String>)>,
    pub(super) parts: Vec<Part>,
    /// What each holder ran, in ticks in which all of its rows were measured.
    pub(super) ran: BTreeMap<i64, (i64, Option<i64>)>,
    pub(super) energy: Option<i64>,
}

/// Facts with their intervals.
fn facts_of(
    facts: &Facts,
    device: i64,
    versions: &[Version],
    ticks: &[Tick],
    holdings: &Holdings,
    states: &[State],
) -> Vec<(Fact, i64, i64)> {
    let mut out = Vec::new();
    for v in versions.iter().filter(|v| v.device == device) {
        out.push((Fact::Known, v.from, v.to));
        for s in states.iter().filter(|s| s.cluster == v.cluster && s.node == v.node) {
            let fact = if s.up { Fact::Up } else { Fact::Down };
            out.push((fact, s.from.max(v.from), s.to.min(v.to)));
        }
    }
    for n in holdings.named.iter().filter(|n| n.device == device) {
        let held = Fact::Held { holder: n.holder, instance: n.instance, rank: n.rank, start: n.start, share: n.share };
        out.push((held, n.from, n.to));
    }
    let mut others: Vec<i64> = ticks.iter().flat_map(|t| t.did.keys().copied()).collect();
    others.sort_unstable();
    others.dedup();
    let is_run = |h: &i64| facts.allocation.iter().any(|a| a.allocation_id == *h);
    for holder in others.into_iter().filter(|h| !is_run(h)) {
        for (from, to) in presence(ticks, holder) {
            let fact = if holder < 0 { Fact::Foreign } else { Fact::Session { holder, start: from } };
            out.push((fact, from, to));
        }
    }
    out.retain(|(_, from, to)| from < to);
    assert!(out.len() <= 128, "too many facts about one card for a world");
    out
}

/// When somebody whom no scheduler named was on the card: its ticks, and on a bare host short holes between two of them.
fn presence(ticks: &[Tick], holder: i64) -> Vec<(i64, i64)> {
    let healthy: Vec<&Tick> = ticks.iter().filter(|t| t.healthy && t.kept.is_some()).collect();
    let mut out: Vec<(i64, i64)> = Vec::new();
    let mut before = None;
    for t in healthy {
        let Some((from, to)) = t.kept else { continue };
        let there = t.did.contains_key(&holder);
        let hole = before.map(|b| from - b);
        let longest = if holder < 0 { 0 } else { BRIDGE_MS };
        match out.last_mut() {
            _ if !there => {}
            Some(last) if hole.is_some_and(|h| h <= longest) && Some(last.1) == before => last.1 = to,
            _ => out.push((from, to)),
        }
        before = Some(to);
    }
    out
}

/// Who gets how much of the card while these facts hold.
fn grant(now: &[&Fact]) -> Vec<Part> {
    let mut asked: Vec<(i64, i64, i64, i64, bool, Vec<i64>)> = Vec::new();
    let mut shares: BTreeMap<(i64, Option<i64>), i64> = BTreeMap::new();
    for f in now {
        if let Fact::Held { holder, instance, rank, start, share } = f {
            let of = shares.entry((*holder, *instance)).or_insert(0);
            *of = (*share).max(*of);
            if !asked.iter().any(|a| a.2 == *holder) {
                asked.push((*rank, -*start, *holder, 0, false, Vec::new()));
            }
        }
    }
    for a in &mut asked {
        a.3 = shares.iter().filter(|((h, _), _)| *h == a.2).map(|(_, s)| *s).sum();
        a.5 = shares.keys().filter(|(h, _)| *h == a.2).filter_map(|(_, i)| *i).collect();
    }
    let mut sessions: Vec<(i64, i64)> = now
        .iter()
        .filter_map(|f| if let Fact::Session { holder, start } = f { Some((-*start, *holder)) } else { None })
        .collect();
    sessions.sort_unstable();
    let n = sessions.len() as i64;
    for (i, (start, holder)) in sessions.iter().enumerate() {
        let odd = i64::from((i as i64) < CARD_UNITS % n);
        asked.push((3, *start, *holder, CARD_UNITS / n + odd, true, Vec::new()));
    }
    asked.sort_unstable();
    let mut left = CARD_UNITS;
    let mut out = Vec::new();
    for (_, _, holder, share, session, instances) in asked {
        let units = share.min(left);
        left -= units;
        out.push(Part { holder, units, over: share - units, session, instances, ..Part::default() });
    }
    if out.is_empty() && now.iter().any(|f| matches!(f, Fact::Foreign)) {
        out.push(Part { holder: -1, units: left, ..Part::default() });
        left = 0;
    }
    if left > 0 {
        out.push(Part { units: left, ..Part::default() });
    }
    out
}

/// What a tick says of a part: whether it counts as measured, whether nothing ran, the composite, its basis, memory.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    counts: bool,
    nothing: bool,
    silent: bool,
    composite: Option<i64>,
    basis: Option<usize>,
    mem: Option<i64>,
    healthy: bool,
}

fn said(part: &Part, tick: Option<&Tick>) -> Said {
    let Some(t) = tick.filter(|t| t.healthy) else { return Said::default() };
    if part.holder == 0 {
        return Said { counts: true, healthy: true, ..Said::default() };
    }
    match t.did.get(&part.holder) {
        Some(d) => Said {
            counts: d.busy.is_some(),
            nothing: d.busy == Some(0),
            composite: d.composite,
            basis: Some(d.basis),
            mem: d.mem,
            silent: false,
            healthy: true,
        },
        None => {
            let own = !part.instances.is_empty() && part.instances.iter().all(|i| t.quiet.contains(i));
            Said { counts: t.util || own, nothing: true, silent: true, healthy: true, ..Said::default() }
        }
    }
}

impl Part {
    /// One more millisecond.
    fn pass(&mut self, ms: i64, said: &Said) {
        self.to = ms + 1;
        if said.counts {
            self.ok += 1;
            self.zero += i64::from(said.nothing);
            if let Some(c) = said.composite {
                self.work = Some(self.work.unwrap_or(0) + c);
            } else if said.silent {
                self.work = Some(self.work.unwrap_or(0));
            }
            self.basis = said.basis.map_or(self.basis, |b| Some(self.basis.map_or(b, |s| s.min(b))));
        }
        self.mem = self.mem.max(said.mem);
        self.bridged += i64::from(self.session && !said.healthy);
    }
}

/// Every cell of a card in which it was known.
pub(super) fn cells(
    facts: &Facts,
    device: i64,
    versions: &[Version],
    ticks: &[Tick],
    holdings: &Holdings,
    states: &[State],
) -> Vec<CardCell> {
    let dated = facts_of(facts, device, versions, ticks, holdings, states);
    let mine: Vec<&Version> = versions.iter().filter(|v| v.device == device).collect();
    let (Some(first), Some(last)) = (mine.iter().map(|v| v.from).min(), mine.iter().map(|v| v.to).max()) else {
        return Vec::new();
    };
    let mut day = Sheet::new();
    let mut out = Vec::new();
    for cell in cell_of(first)..=cell_of(last - 1) {
        day.paint(cell * CELL_MS, &dated, ticks);
        let parts = day.parts(&dated, ticks, device);
        if parts.is_empty() {
            continue;
        }
        let at = mine.iter().filter(|v| v.from < (cell + 1) * CELL_MS && v.to > cell * CELL_MS);
        let at = at.map(|v| (v.cluster.clone(), v.node.clone(), v.model.clone())).collect();
        let (ran, energy) = day.ran(&dated, ticks);
        out.push(CardCell { device, cell, at, parts, ran, energy });
    }
    out
}

/// The milliseconds of one cell.
struct Sheet {
    base: i64,
    dated: Vec<u128>,
    failed: Vec<bool>,
    tick: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Sheet {
    fn new() -> Self {
        let n = CELL_MS as usize;
        Self { base: 0, dated: vec![0; n], failed: vec![false; n], tick: vec![NONE; n] }
    }

    fn paint(&mut self, base: i64, dated: &[(Fact, i64, i64)], ticks: &[Tick]) {
        self.base = base;
        self.dated.fill(0);
        self.tick.fill(NONE);
        let inside =
            |from: i64, to: i64| ((from - base).clamp(0, CELL_MS) as usize)..((to - base).clamp(0, CELL_MS) as usize);
        for (i, (_, from, to)) in dated.iter().enumerate() {
            for ms in &mut self.dated[inside(*from, *to)] {
                *ms |= 1 << i;
            }
        }
        for (i, t) in ticks.iter().enumerate() {
            if let Some((from, to)) = t.kept {
                self.tick[inside(from, to)].fill(i as u32);
            }
        }
        failed(ticks, base, base + CELL_MS, &mut self.failed);
    }

    /// Walks the cell. A piece ends wherever any fact begins or ends.
    fn parts(&self, dated: &[(Fact, i64, i64)], ticks: &[Tick], device: i64) -> Vec<Part> {
        let mut done: Vec<Part> = Vec::new();
        let mut open: Vec<Part> = Vec::new();
        let mut says: Vec<Said> = Vec::new();
        let mut before = (0, false, NONE);
        for i in 0..CELL_MS as usize {
            let now = (self.dated[i], self.failed[i], self.tick[i]);
            let ms = self.base + i as i64;
            if now != before || i == 0 {
                if (now.0, now.1) != (before.0, before.1) || i == 0 {
                    done.append(&mut open);
                    open = self.begin(i, dated, device);
                }
                let tick = ticks.get(now.2 as usize);
                says = open.iter().map(|p| said(p, tick)).collect();
                before = now;
            }
            for (p, s) in open.iter_mut().zip(&says) {
                p.pass(ms, s);
            }
        }
        done.append(&mut open);
        done
    }

    fn begin(&self, i: usize, dated: &[(Fact, i64, i64)], device: i64) -> Vec<Part> {
        let now: Vec<&Fact> =
            dated.iter().enumerate().filter(|(b, _)| self.dated[i] >> b & 1 == 1).map(|(_, (f, _, _))| f).collect();
        if !now.iter().any(|f| matches!(f, Fact::Known)) {
            return Vec::new();
        }
        let (down, up) = (now.iter().any(|f| matches!(f, Fact::Down)), now.iter().any(|f| matches!(f, Fact::Up)));
        let mut parts = grant(&now);
        for p in &mut parts {
            p.from = self.base + i as i64;
            (p.failed, p.down, p.up) = (self.failed[i], down, up);
            if p.holder == -1 {
                p.holder = -device;
            }
        }
        parts
    }

    /// Busy time of each holder and energy of the card in the cell: a tick is cut at the cell's edges, and
    /// where the card was not known.
    fn ran(&self, dated: &[(Fact, i64, i64)], ticks: &[Tick]) -> (BTreeMap<i64, (i64, Option<i64>)>, Option<i64>) {
        let known = dated.iter().enumerate().filter(|(_, (f, _, _))| matches!(f, Fact::Known));
        let known: u128 = known.map(|(bit, _)| 1 << bit).sum();
        let mut pieces: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        for (i, t) in self.tick.iter().enumerate().filter(|(i, t)| **t != NONE && self.dated[*i] & known != 0) {
            let ms = self.base + i as i64;
            let piece = pieces.entry(*t).or_insert((ms, ms));
            piece.1 = ms + 1;
        }
        let mut ran: BTreeMap<i64, (i64, Option<i64>)> = BTreeMap::new();
        let mut energy = None;
        for (t, (from, to)) in pieces {
            let t = &ticks[t as usize];
            let part = |v: i64| super::split::telescope(v, from - t.start, to - t.start, t.dur);
            energy = t.energy.map_or(energy, |e| Some(energy.unwrap_or(0) + part(e)));
            for (holder, d) in t.did.iter().filter(|_| t.healthy) {
                if let Some(busy) = d.busy {
                    let of = ran.entry(*holder).or_insert((0, None));
                    *of = (of.0 + part(busy), of.1.max(d.mem));
                }
            }
        }
        (ran, energy)
    }
}
