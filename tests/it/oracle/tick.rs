//! Ticks of a card in true time, and what each holder did in them.

use std::collections::BTreeMap;

use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow};
use gpuledger_schema::unit::{DAY_MS, PPM};

use super::Facts;
use super::holding::{Hinted, Run};

/// A card in one version of its facts, as long as it was known.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) device: i64,
    pub(super) cluster: String,
    pub(super) node: String,
    pub(super) model: Option<String>,
    pub(super) memory: Option<i64>,
    pub(super) queue: Option<String>,
    pub(super) interconnect: Option<String>,
    pub(super) minor: Option<i64>,
    pub(super) pci: Option<String>,
    pub(super) bare: bool,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// Physical cards, known from first seen to retired, the next version or the as-of.
pub(super) fn versions(facts: &Facts, as_of: &BTreeMap<String, i64>) -> Vec<Version> {
    let mut out = Vec::new();
    for d in facts.device.iter().filter(|d| d.parent_id.is_none()) {
        let Some(known_to) = as_of.get(&d.cluster) else { continue };
        let later = facts.device.iter().filter(|o| o.device_id == d.device_id && o.first_seen_ms > d.first_seen_ms);
        let next = later.map(|o| o.first_seen_ms).min();
        let to = [d.retired_ms, next, Some(*known_to)].into_iter().flatten().min().unwrap_or(*known_to);
        if to > d.first_seen_ms {
            out.push(Version {
                device: d.device_id,
                cluster: d.cluster.clone(),
                node: d.node.clone(),
                model: d.model.clone(),
                memory: d.memory_bytes,
                queue: d.queue.clone(),
                interconnect: d.interconnect.clone(),
                minor: d.minor,
                pci: d.pci.clone(),
                bare: d.scheduler == "none",
                from: d.first_seen_ms,
                to,
            });
        }
    }
    out.sort_by_key(|v| (v.device, v.from));
    out
}

/// What a holder did in a tick.
#[derive(Debug, Clone, Default)]
pub(super) struct Did {
    /// The sum of its busy time; absent where any of its rows has none.
    pub(super) busy: Option<i64>,
    pub(super) composite: Option<i64>,
    pub(super) basis: usize,
    pub(super) mem: Option<i64>,
    /// On which instance (0: the card itself) it was seen, and by what evidence.
    pub(super) seen: Vec<(i64, String)>,
}

/// A tick, placed.
#[derive(Debug, Clone)]
pub(super) struct Tick {
    pub(super) start: i64,
    pub(super) dur: i64,
    /// What is left of it after earlier ticks kept their time.
    pub(super) kept: Option<(i64, i64)>,
    pub(super) healthy: bool,
    pub(super) failing: bool,
    pub(super) util: bool,
    pub(super) energy: Option<i64>,
    /// Instances whose own utilization was measured in it.
    pub(super) quiet: Vec<i64>,
    pub(super) did: BTreeMap<i64, Did>,
}

const FATAL: [i64; 6] = [48, 64, 79, 95, 119, 120];

/// Wall clock minus boot clock of the newest tick that can be trusted, a day to either side.
fn offset(facts: &Facts, row: &DeviceMinuteRow) -> i64 {
    let near = || {
        let of_boot = facts.device_minute.iter().filter(|o| o.boot_id == row.boot_id);
        of_boot.filter(|o| (o.day - row.day).abs() <= 1)
    };
    let trusted = near().filter(|o| o.synchronised).map(|o| o.seq).max();
    let newest = trusted.or_else(|| near().map(|o| o.seq).max());
    near().filter(|o| Some(o.seq) == newest).map(|o| o.tick_ms - o.mono_ms).max().unwrap_or(0)
}

/// Whose a process row is.
fn owner(row: &ProcessMinuteRow, start: i64, dur: i64, bare: bool, runs: &BTreeMap<i64, Run>) -> i64 {
    let hinted = |r: &&Run| r.hinted(row.hint_id) != Hinted::No;
    let touched = runs.values().filter(hinted).filter(|r| (start..start + dur).any_overlap(r.start, r.end));
    match touched.min_by_key(|r| r.start) {
        Some(run) => run.row.allocation_id,
        None if bare => row.hint_id,
        None => -row.device_id,
    }
}

trait Overlap {
    fn any_overlap(&self, from: i64, to: i64) -> bool;
}

impl Overlap for std::ops::Range<i64> {
    fn any_overlap(&self, from: i64, to: i64) -> bool {
        self.start.max(from) < self.end.min(to)
    }
}

/// Composite and its basis (1 gpu, 2 sm, 3 sm+dram, 4 sm+dram+tensor) of a process row.
fn composite(facts: &Facts, row: &ProcessMinuteRow, task: &str, start: i64, dur: i64) -> (Option<i64>, usize) {
    let valid =
        facts.weight.iter().find(|w| w.task_type == task && w.from_ms <= start && w.to_ms.is_none_or(|to| start < to));
    let w = valid.expect("weights cover all time");
    let sm = row.sm_ppm.or(row.busy_ms.map(|b| b * PPM / dur));
    let (mut sum, mut weights) = (0, 0);
    for (part, weight) in [(sm, w.sm_ppm), (row.dram_ppm, w.dram_ppm), (row.tensor_ppm, w.tensor_ppm)] {
        if let Some(part) = part {
            sum += part * weight;
            weights += weight;
        }
    }
    let basis = match (row.sm_ppm, row.dram_ppm, row.tensor_ppm) {
        (None, _, _) => 1,
        (_, None, _) => 2,
        (_, _, None) => 3,
        _ => 4,
    };
    ((weights > 0).then(|| sum / weights), basis)
}

fn place(facts: &Facts, m: &DeviceMinuteRow) -> i64 {
    let by_mono = m.mono_ms + offset(facts, m);
    if (m.tick_ms - by_mono).abs() > 1000 { by_mono } else { m.tick_ms }
}

/// Ticks of a card in order of start. Where they overlap, the earlier start keeps the time.
pub(super) fn ticks(facts: &Facts, device: i64, versions: &[Version], runs: &BTreeMap<i64, Run>) -> Vec<Tick> {
    let mut rows: Vec<(i64, &DeviceMinuteRow)> =
        facts.device_minute.iter().filter(|m| m.device_id == device).map(|m| (place(facts, m), m)).collect();
    rows.sort_by_key(|(start, m)| (*start, m.collector_id, m.boot_id, m.seq));
    let mut out: Vec<Tick> = rows.iter().map(|(start, m)| one(facts, *start, m, versions, runs)).collect();
    keep_time(&mut out);
    out
}

fn one(facts: &Facts, start: i64, m: &DeviceMinuteRow, versions: &[Version], runs: &BTreeMap<i64, Run>) -> Tick {
    let same = |p: &&ProcessMinuteRow| p.device_id == m.device_id && p.boot_id == m.boot_id && p.seq == m.seq;
    let processes: Vec<&ProcessMinuteRow> = facts.process_minute.iter().filter(same).collect();
    let span = start..start + m.dur_ms;
    let bare = versions.iter().any(|v| v.device == m.device_id && v.bare && span.any_overlap(v.from, v.to));
    let mut did: BTreeMap<i64, Did> = BTreeMap::new();
    for p in &processes {
        let holder = owner(p, start, m.dur_ms, bare, runs);
        let task = runs.get(&holder).map_or("unknown", |r| r.task_type.as_str());
        let (part, basis) = composite(facts, p, task, start, m.dur_ms);
        let d = did.entry(holder).or_insert(Did { busy: Some(0), composite: None, basis, mem: None, seen: Vec::new() });
        d.busy = d.busy.zip(p.busy_ms).map(|(a, b)| a + b);
        d.composite = part.map_or(d.composite, |c| Some(PPM.min(d.composite.unwrap_or(0) + c)));
        d.basis = basis.min(d.basis);
        d.seen.push((p.instance_id.unwrap_or(0), p.evidence.clone()));
        d.mem = p.mem_peak_bytes.map_or(d.mem, |b| Some(d.mem.unwrap_or(0) + b));
    }
    let instances = facts.device.iter().filter(|d| d.parent_id == Some(m.device_id)).map(|d| d.device_id);
    let measured = |i: &i64| {
        let of = |o: &&DeviceMinuteRow| o.device_id == *i && o.boot_id == m.boot_id && o.seq == m.seq;
        facts.device_minute.iter().filter(of).any(|o| o.state == "ok" && o.gpu_util_ppm.is_some())
    };
    Tick {
        start,
        dur: m.dur_ms,
        kept: None,
        healthy: m.state == "ok" && processes.len() as i64 == m.process_count,
        failing: m.state == "lost" || m.xid.is_some_and(|x| FATAL.contains(&x)),
        util: m.gpu_util_ppm.is_some(),
        energy: m.energy_mj,
        quiet: instances.filter(measured).collect(),
        did,
    }
}

/// Millisecond by millisecond: the first tick that covers it keeps it.
fn keep_time(ticks: &mut [Tick]) {
    let mut taken = i64::MIN;
    for t in ticks {
        let mut first = None;
        for ms in t.start..t.start + t.dur {
            if ms >= taken {
                first.get_or_insert(ms);
                taken = ms + 1;
            }
        }
        t.kept = first.map(|from| (from, t.start + t.dur));
    }
}

/// Whether a card has failed at each millisecond of `[from, to)`: from a failing tick's start to the first healthy tick
/// after it.
pub(super) fn failed(ticks: &[Tick], from: i64, to: i64, into: &mut [bool]) {
    into.fill(false);
    for t in ticks.iter().filter(|t| t.failing) {
        let well = ticks.iter().filter(|o| o.healthy && !o.failing && o.start > t.start).map(|o| o.start).min();
        for ms in t.start.max(from)..well.unwrap_or(i64::MAX).min(to) {
            into[(ms - from) as usize] = true;
        }
    }
    debug_assert!(DAY_MS > to - from);
}
