//! What the node collectors write: a day of a node as ticks of devices and their processes.

use gpuledger_schema::id;
use gpuledger_schema::state::DeviceState;
use gpuledger_schema::table::{DeviceMinuteRow, DeviceRow, ProcessMinuteRow, ReadingRow};
use gpuledger_schema::unit::PPM;
use gpuledger_schema::window::{Window, day_of};

use super::clock::overlap;
use super::hardware::{CARD_SLICES, Card, Instance, Model};
use super::load::{Doing, Load};
use super::rng::mix_below;
use super::version::versions;
use super::world::{Holding, Life, Tick, World};

/// A MiB.
const MIB: i64 = 1 << 20;
/// Parts per million in a percent: node rows come in steps of it.
const PERCENT: i64 = PPM / 100;
/// Memory that the driver keeps for itself, in MiB.
const RESERVED_MIB: i64 = 617;
/// Xid of a card that fell off the bus.
const XID_LOST: i64 = 79;
/// Version of the default weights; a node that knows no type uses those of `unknown`, which are SM activity alone.
const WEIGHTS_VERSION: i64 = 1;
/// User of the stranger's process: the node cannot resolve it.
const STRANGER: &str = "uid:60412";

/// Rows of one node and UTC day.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeDay {
    /// Device versions first seen.
    pub(super) devices: Vec<DeviceRow>,
    /// Device ticks.
    pub(super) minutes: Vec<DeviceMinuteRow>,
    /// Process ticks.
    pub(super) processes: Vec<ProcessMinuteRow>,
    /// Looks of the node's collector.
    pub(super) readings: Vec<ReadingRow>,
}

/// One tick of one card, with what all of its rows share.
struct At<'a> {
    world: &'a World,
    card: &'a Card,
    model: &'static Model,
    life: &'a Life,
    tick: Tick,
    collector_id: i64,
}

/// What a process (or all of them) did in a tick.
#[derive(Clone, Copy, Default)]
struct Did {
    busy_ms: i64,
    parts: [i64; 3],
    memory_mib: i64,
}

/// The rows of a node's day.
pub(super) fn node_day(world: &World, node: usize, day: Window) -> NodeDay {
    let mut out = NodeDay::default();
    let name = &world.hardware.nodes[node].name;
    let ticks = world.ticks(node, day);
    let collector_id = id::id63("collector", &[name]);
    // Nearly the order in which a segment is sorted.
    let mut cards: Vec<usize> = world.hardware.nodes[node].cards.clone().collect();
    cards.sort_by_key(|c| world.hardware.cards[*c].id);
    for card_index in cards {
        let card = &world.hardware.cards[card_index];
        versions(world, card_index, day, &mut out.devices);
        let held: Vec<&Holding> =
            world.holdings[card_index].iter().filter(|h| overlap(h.process, widen(day)) > 0).collect();
        let mut first = 0;
        for tick in &ticks {
            while held.get(first).is_some_and(|h| h.process.to_ms <= tick.window.from_ms) {
                first += 1;
            }
            let at = At {
                world,
                card,
                model: world.hardware.model(card_index),
                life: &world.lives[node][tick.life],
                tick: *tick,
                collector_id,
            };
            let lost = &world.incidents.lost;
            if card_index == lost.0 && overlap(lost.1, tick.window) > 0 {
                out.minutes.push(at.lost(lost.1.from_ms >= tick.window.from_ms));
            } else {
                at.rows(card_index, &held[first..], &mut out);
            }
        }
    }
    // In the order in which a segment is sorted, so that its writer copies nothing.
    out.processes.sort_by_key(|r| (r.device_id, r.tick_ms, r.seq, r.pid, r.boot_id, r.start_ticks));
    out.minutes.sort_by_key(|r| (r.device_id, r.tick_ms, r.seq, r.boot_id));
    for life in &world.lives[node] {
        let window = Window { from_ms: life.window.from_ms.max(day.from_ms), to_ms: life.window.to_ms.min(day.to_ms) };
        if window.from_ms < window.to_ms {
            let rows = out.minutes.iter().filter(|m| m.boot_id == life.boot_id && overlap(window, span(m)) > 0);
            out.readings.push(ReadingRow {
                source: name.clone(),
                kind: "node".to_owned(),
                cluster: world.hardware.clusters[world.hardware.nodes[node].cluster].name.to_owned(),
                node: Some(name.clone()),
                read_at_ms: window.to_ms,
                from_ms: window.from_ms,
                to_ms: window.to_ms,
                ok: true,
                rows: rows.count() as i64,
                error: None,
            });
        }
    }
    out
}

/// The last tick of a day ends in the next one.
fn widen(day: Window) -> Window {
    Window { to_ms: day.to_ms + super::clock::MINUTE_MS, ..day }
}

fn span(row: &DeviceMinuteRow) -> Window {
    Window { from_ms: row.tick_ms, to_ms: row.tick_ms + row.dur_ms }
}

impl At<'_> {
    /// The card's rows in this tick; `held` starts with the first holding that may still have a process.
    fn rows(&self, card_index: usize, held: &[&Holding], out: &mut NodeDay) {
        let window = self.tick.window;
        let hour = self.world.clock.hour(window.from_ms);
        let mut acts: Vec<(&Holding, i64)> = Vec::new();
        for holding in held.iter().take_while(|h| h.process.from_ms < window.to_ms) {
            let load = &self.load(holding);
            if overlap(holding.process, window) > 0 && (load.cards == 0 || holding.rank < load.cards) {
                acts.push((*holding, load.percent(&holding.doing, window.from_ms, hour)));
            }
        }
        // Processes that share a card share its time.
        let wanted: i64 = if self.card.mig { 0 } else { acts.iter().map(|a| a.1).sum() };
        if wanted > 100 {
            acts.iter_mut().for_each(|a| a.1 = a.1 * 100 / wanted);
        }
        let mut total = Did::default();
        let alone = acts.len() == 1;
        let first_process = out.processes.len();
        for (holding, percent) in &acts {
            let did = self.did(self.load(holding), &holding.doing, overlap(holding.process, window), *percent);
            total = total.and(did);
            out.processes.push(self.process(holding, did, *percent, alone));
        }
        if let Some((_, stranger)) = self.world.incidents.stranger.filter(|s| s.0 == card_index) {
            let present = overlap(stranger, window);
            if present > 0 {
                let did = Did { busy_ms: present * 41 / 100, parts: [29, 18, 6], memory_mib: 5_210 };
                total = total.and(did);
                out.processes.push(self.stranger(stranger, did, present));
            }
        }
        if self.card.mig {
            for slot in self.card.slots.clone() {
                if let Some(instance) = &self.world.hardware.slots[slot].instance {
                    let rows = &out.processes[first_process..];
                    let own = rows.iter().find(|r| r.instance_id == Some(instance.id));
                    out.minutes.push(self.instance(instance, own));
                }
            }
        }
        let count = (out.processes.len() - first_process) as i64;
        out.minutes.push(self.device(total, count));
    }

    fn load(&self, holding: &Holding) -> &'static Load {
        &self.world.jobs[holding.job].kind.load
    }

    fn did(&self, load: &Load, doing: &Doing, present_ms: i64, percent: i64) -> Did {
        let dur_ms = self.tick.window.to_ms - self.tick.window.from_ms;
        let part = |of: i64| (percent * of * present_ms + 50 * dur_ms) / (100 * dur_ms);
        Did {
            busy_ms: present_ms * percent / 100,
            parts: load.parts.map(part),
            memory_mib: load.memory(doing, self.tick.window.from_ms),
        }
    }

    /// A device row with everything that does not depend on what it did.
    fn blank(&self, device_id: i64) -> DeviceMinuteRow {
        let Window { from_ms, to_ms } = self.tick.window;
        DeviceMinuteRow {
            day: day_of(from_ms) as i32,
            device_id,
            boot_id: self.life.boot_id,
            seq: self.tick.seq,
            collector_id: self.collector_id,
            tick_ms: from_ms,
            mono_ms: from_ms - self.life.boot_ms,
            dur_ms: to_ms - from_ms,
            synchronised: true,
            state: DeviceState::Ok.as_str().to_owned(),
            reason: None,
            process_count: 0,
            gpu_util_ppm: None,
            mem_util_ppm: None,
            sm_ppm: None,
            dram_ppm: None,
            tensor_ppm: None,
            activity_source: None,
            mem_used_bytes: None,
            mem_reserved_bytes: None,
            mem_total_bytes: None,
            power_mw: None,
            power_limit_mw: None,
            energy_mj: None,
            temperature_c: None,
            limit_reasons: None,
            ecc_uncorrected: None,
            xid: None,
        }
    }

    fn lost(&self, just_now: bool) -> DeviceMinuteRow {
        DeviceMinuteRow {
            state: DeviceState::Lost.as_str().to_owned(),
            reason: Some("GPU is lost".to_owned()),
            xid: just_now.then_some(XID_LOST),
            ..self.blank(self.card.id)
        }
    }

    fn device(&self, did: Did, process_count: i64) -> DeviceMinuteRow {
        let blank = self.blank(self.card.id);
        let dur_ms = blank.dur_ms;
        let busy_percent = (did.busy_ms * 100 / dur_ms).min(100);
        let [sm, dram, tensor] = did.parts.map(|p| p.min(100));
        let measured = !self.card.mig;
        // Power follows the SMs more than the clock; a card with a context draws a little more than an empty one.
        let (rest, full) = self.model.watts;
        let context = if process_count > 0 { 18 } else { 0 };
        let watts = (rest + context + (full - rest) * (busy_percent + 3 * sm) / 400).min(full);
        let watts = watts - mix_below(self.card.id as u64, blank.tick_ms as u64 / 240_000, 4);
        DeviceMinuteRow {
            reason: self.card.mig.then(|| "mig".to_owned()),
            process_count,
            gpu_util_ppm: measured.then(|| (did.busy_ms * PPM / dur_ms).min(PPM)),
            mem_util_ppm: measured.then_some(dram * PERCENT),
            sm_ppm: measured.then_some(sm * PERCENT),
            dram_ppm: measured.then_some(dram * PERCENT),
            tensor_ppm: measured.then_some(tensor * PERCENT),
            activity_source: measured.then(|| self.model.activity.to_owned()),
            mem_used_bytes: Some(did.memory_mib * MIB),
            mem_reserved_bytes: Some(RESERVED_MIB * MIB),
            mem_total_bytes: Some(self.model.memory_mib * MIB),
            power_mw: Some(watts * 1_000),
            energy_mj: Some(watts * dur_ms),
            temperature_c: Some(29 + watts * 46 / full),
            limit_reasons: (watts * 100 > full * 93).then(|| "sw_power_cap".to_owned()),
            ecc_uncorrected: Some(0),
            ..blank
        }
    }

    /// An instance's own row: its processes are counted on its card's row, whose tick proves them complete.
    fn instance(&self, instance: &Instance, process: Option<&ProcessMinuteRow>) -> DeviceMinuteRow {
        let blank = self.blank(instance.id);
        // an instance's own row speaks of the instance
        let of_instance = |value: Option<i64>| value.unwrap_or(0) * CARD_SLICES / instance.slices;
        DeviceMinuteRow {
            gpu_util_ppm: Some((of_instance(process.and_then(|p| p.busy_ms)) * PPM / blank.dur_ms).min(PPM)),
            sm_ppm: Some(of_instance(process.and_then(|p| p.sm_ppm)).min(PPM)),
            dram_ppm: Some(of_instance(process.and_then(|p| p.dram_ppm)).min(PPM)),
            tensor_ppm: Some(of_instance(process.and_then(|p| p.tensor_ppm)).min(PPM)),
            activity_source: Some(self.model.activity.to_owned()),
            mem_used_bytes: Some(process.and_then(|p| p.mem_peak_bytes).unwrap_or(0)),
            mem_total_bytes: Some(instance.memory_mib * MIB),
            ..blank
        }
    }

    fn process(&self, holding: &Holding, did: Did, percent: i64, alone: bool) -> ProcessMinuteRow {
        let job = &self.world.jobs[holding.job];
        let load = &job.kind.load;
        let present_ms = overlap(holding.process, self.tick.window);
        let seed = holding.doing.seed;
        let minute = self.tick.seq as u64;
        let peak = if percent == 0 { 0 } else { (percent + mix_below(seed, minute, 4) * 4).min(100) };
        let instance = self.world.hardware.slots[holding.slot].instance.as_ref();
        // a process row speaks of the whole card: a seventh of it at full load is a seventh of a card's time
        let of_card = |value: i64| instance.map_or(value, |i| value * i.slices / CARD_SLICES);
        let [sm, dram, tensor] = did.parts.map(of_card);
        ProcessMinuteRow {
            instance_id: instance.map(|i| i.id),
            hint_id: holding.hint_id,
            hint: holding.hint.clone(),
            evidence: "cgroup".to_owned(),
            pid: holding.pid,
            start_ticks: (holding.process.from_ms - self.life.boot_ms) / 10,
            user: job.user.to_owned(),
            command: Some(load.command.to_owned()),
            busy_ms: Some(of_card(did.busy_ms)),
            covered_ms: present_ms,
            peak_ppm: Some(peak * PERCENT),
            mem_peak_bytes: Some(did.memory_mib * MIB),
            mem_peak_source: Some("polled".to_owned()),
            sm_ppm: Some(sm * PERCENT),
            dram_ppm: Some(dram * PERCENT),
            tensor_ppm: Some(tensor * PERCENT),
            composite_ppm: Some(sm * PERCENT),
            weights_version: Some(WEIGHTS_VERSION),
            apportionment: if alone || self.card.mig { "exclusive" } else { "sm_share" }.to_owned(),
            cpu_ms: Some(present_ms * (20 + percent) / 100),
            host_rss_bytes: Some((load.host_gib * 1_024 + mix_below(seed, minute / 30, 12) * 32) * MIB),
            read_bytes: Some(load.read_mib * percent / 100 * MIB),
            io_wait_ms: Some(load.read_mib * (100 - percent) / 100),
            state: Some(if percent > 0 { "R" } else { "S" }.to_owned()),
            ..self.nobodys()
        }
    }

    fn stranger(&self, there: Window, did: Did, present_ms: i64) -> ProcessMinuteRow {
        let (boot, pid) = (&self.life.boot, 77_310);
        let start_ticks = (there.from_ms - self.life.boot_ms) / 10;
        let name = &self.world.hardware.nodes[self.card.node].name;
        let [sm, dram, tensor] = did.parts;
        ProcessMinuteRow {
            hint_id: id::hint_of_session(name, boot, &pid.to_string(), &start_ticks.to_string()),
            hint: format!("session:{name}:{pid}"),
            evidence: "session".to_owned(),
            pid,
            start_ticks,
            user: STRANGER.to_owned(),
            command: Some("python3".to_owned()),
            busy_ms: Some(did.busy_ms),
            covered_ms: present_ms,
            peak_ppm: Some(63 * PERCENT),
            mem_peak_bytes: Some(did.memory_mib * MIB),
            mem_peak_source: Some("polled".to_owned()),
            sm_ppm: Some(sm * PERCENT),
            dram_ppm: Some(dram * PERCENT),
            tensor_ppm: Some(tensor * PERCENT),
            ..self.nobodys()
        }
    }

    /// A process row with its tick, and nothing else.
    fn nobodys(&self) -> ProcessMinuteRow {
        let from_ms = self.tick.window.from_ms;
        ProcessMinuteRow {
            day: day_of(from_ms) as i32,
            device_id: self.card.id,
            instance_id: None,
            boot_id: self.life.boot_id,
            seq: self.tick.seq,
            tick_ms: from_ms,
            hint_id: 0,
            hint: String::new(),
            evidence: String::new(),
            pid: 0,
            start_ticks: 0,
            user: String::new(),
            command: None,
            busy_ms: None,
            covered_ms: 0,
            peak_ppm: None,
            mem_peak_bytes: None,
            mem_peak_source: None,
            sm_ppm: None,
            dram_ppm: None,
            tensor_ppm: None,
            composite_ppm: None,
            weights_version: None,
            apportionment: "exclusive".to_owned(),
            cpu_ms: None,
            host_rss_bytes: None,
            read_bytes: None,
            io_wait_ms: None,
            state: None,
            reason: None,
        }
    }
}

impl Did {
    fn and(self, other: Self) -> Self {
        let [a, b, c] = self.parts;
        let [d, e, f] = other.parts;
        Self {
            busy_ms: self.busy_ms + other.busy_ms,
            parts: [a + d, b + e, c + f],
            memory_mib: self.memory_mib + other.memory_mib,
        }
    }
}
