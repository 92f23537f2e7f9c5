//! Ticks of cards and the processes seen in them: missing, lost, overlapping, of a clock that jumped.

use gpuledger_schema::id::{boot_id, hint_of_session};
use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow};
use gpuledger_schema::unit::BRIDGE_MS;
use gpuledger_schema::window::day_of;

use super::make::{Card, Flavor, MINUTE, Maker, Node, test_id};

/// Somebody logged in on a bare host.
#[derive(Debug, Clone)]
struct Session {
    hint_id: i64,
    user: &'static str,
    from: i64,
    to: i64,
    on: Vec<i64>,
}

/// The clock of a boot.
#[derive(Debug, Clone, Copy)]
struct Boot {
    id: i64,
    started: i64,
    seq: i64,
    /// How far the wall clock was off, and until when nobody had set it.
    wrong: i64,
    set_at: i64,
}

/// All ticks of a node.
pub(super) fn minutes(m: &mut Maker, node: &Node) {
    let sessions = if node.flavor == Flavor::Bare { sessions(m, node) } else { Vec::new() };
    let jitter = if m.rng.chance(20) { 300 } else { 0 };
    let first = boot(m, node, 1, m.from - 10 * MINUTE);
    for card in &node.cards {
        let mut boot_now = first;
        let reboot = if m.rng.chance(15) { m.rng.range(m.from, m.as_of) } else { i64::MAX };
        let blind = m.rng.chance(12);
        let mut lost = 0;
        let mut at = card.first_seen - if m.rng.chance(30) { m.rng.range(0, 50_000) } else { 0 };
        while at < m.as_of + 2 * MINUTE {
            if at >= reboot && boot_now.id == first.id {
                boot_now = boot(m, node, 2, reboot);
                boot_now.set_at = 0;
            }
            boot_now.seq = (at - boot_now.started) / 1000 * 10;
            let dur = if m.rng.chance(10) { m.rng.range(5_000, 70_000) } else { MINUTE };
            if m.rng.chance(1) {
                lost = m.rng.range(1, 5);
            }
            let tick = Tick { at, dur, lost: lost > 0, blind, jitter, extra: false };
            lost = (lost - 1).max(0);
            if !m.rng.chance(5) {
                one(m, node, card, &sessions, boot_now, tick);
            }
            if m.rng.chance(2) {
                let again = Tick { at: at + m.rng.range(1, dur), extra: true, lost: false, ..tick };
                let seq = (again.at - boot_now.started) / 1000 * 10 + 1;
                one(m, node, card, &sessions, Boot { seq, ..boot_now }, again);
            }
            // of any length, or just bridged, or just not
            let long = m.rng.range(MINUTE, 14 * MINUTE);
            let hole = if m.rng.chance(3) { m.rng.pick(&[long, BRIDGE_MS, BRIDGE_MS + 1]) } else { 0 };
            at += dur + hole + (m.scale - 1) * MINUTE;
        }
    }
}

fn boot(m: &mut Maker, node: &Node, number: i64, started: i64) -> Boot {
    let late = m.rng.chance(30);
    Boot {
        id: boot_id(&format!("{}-{}", m.cluster, node.name), &number.to_string()),
        started,
        seq: 0,
        wrong: m.rng.pick(&[700, -700, 1_500, -1_500, 240_000, -240_000]),
        set_at: if late { m.rng.range(m.from, m.as_of) } else { 0 },
    }
}

fn sessions(m: &mut Maker, node: &Node) -> Vec<Session> {
    let mut out = Vec::new();
    for i in 0..m.rng.range(1, 5) {
        let from = m.rng.range(m.from - 5 * MINUTE, m.as_of);
        let to = from + m.rng.range(MINUTE, 60 * MINUTE);
        let on = node.cards.iter().map(|c| c.id).filter(|_| m.rng.chance(70)).collect();
        let user = m.rng.pick(&["ann", "bob", "zoe"]);
        let hint_id = hint_of_session(&format!("{}-{}", m.cluster, node.name), "boot", &i.to_string(), "1");
        out.push(Session { hint_id, user, from, to, on });
    }
    out
}

/// A tick that is being made.
#[derive(Debug, Clone, Copy)]
struct Tick {
    at: i64,
    dur: i64,
    lost: bool,
    blind: bool,
    jitter: i64,
    /// Written by a second collector.
    extra: bool,
}

fn one(m: &mut Maker, node: &Node, card: &Card, sessions: &[Session], boot: Boot, tick: Tick) {
    let unset = tick.at < boot.set_at;
    let wall = tick.at + if unset { boot.wrong } else { 0 } + m.rng.range(-tick.jitter, tick.jitter + 1);
    let state = match m.rng.range(0, 100) {
        _ if tick.lost => "lost",
        0 | 1 => "error",
        2 => "suspended",
        _ => "ok",
    };
    let xid = if m.rng.chance(1) { Some(m.rng.pick(&[79, 48, 64, 95, 119, 120])) } else { m.rng.maybe(2, 13, 32) };
    let mut device = DeviceMinuteRow {
        day: day_of(wall) as i32,
        device_id: card.id,
        boot_id: boot.id,
        seq: boot.seq,
        collector_id: if tick.extra { 2 } else { 1 },
        tick_ms: wall,
        mono_ms: tick.at - boot.started,
        dur_ms: tick.dur,
        // the flag is the tick's, whichever card it is of
        synchronised: !unset && boot.seq % 17 != 0,
        state: state.to_owned(),
        reason: None,
        process_count: 0,
        gpu_util_ppm: if tick.blind { None } else { m.rng.maybe(85, 0, 1_000_001) },
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
        energy_mj: m.rng.maybe(80, 1, 30_000_000),
        temperature_c: None,
        limit_reasons: None,
        ecc_uncorrected: None,
        xid,
    };
    let mut rows = if tick.lost { Vec::new() } else { processes(m, node, card, sessions, &device, tick) };
    device.process_count = rows.len() as i64;
    if m.rng.chance(4) && rows.pop().is_none() {
        device.process_count = 1;
    }
    for instance in &card.instances {
        let gpu_util_ppm = m.rng.maybe(60, 0, 1_000_001);
        let of = DeviceMinuteRow { device_id: *instance, process_count: 0, gpu_util_ppm, ..device.clone() };
        if m.rng.chance(90) {
            m.facts.device_minute.push(of);
        }
    }
    m.facts.process_minute.append(&mut rows);
    m.facts.device_minute.push(device);
}

fn processes(
    m: &mut Maker,
    node: &Node,
    card: &Card,
    sessions: &[Session],
    device: &DeviceMinuteRow,
    tick: Tick,
) -> Vec<ProcessMinuteRow> {
    let mut out = Vec::new();
    let (from, to) = (tick.at, tick.at + tick.dur);
    let there: Vec<(i64, Vec<i64>)> = m
        .runs
        .iter()
        .filter(|r| r.cluster == m.cluster && r.node == node.name && r.on.contains(&card.id))
        .filter(|r| r.start < to && r.until() > from)
        .map(|r| (r.hint_id, r.instances.clone()))
        .collect();
    for (hint, instances) in there {
        if m.rng.chance(75) {
            for _ in 0..m.rng.range(1, 3) {
                let instance = instances.iter().find(|i| card.instances.contains(i)).copied();
                let pid = out.len() as i64;
                out.push(process(m, device, hint, "ann", instance, pid));
            }
        }
    }
    for s in sessions.iter().filter(|s| s.from < to && s.to > from && s.on.contains(&card.id)) {
        if m.rng.chance(92) {
            let pid = out.len() as i64;
            out.push(process(m, device, s.hint_id, s.user, None, pid));
        }
    }
    if node.flavor != Flavor::Bare && m.rng.chance(8) {
        let hint = test_id("hint", &["nobody", &m.rng.range(0, 3).to_string()]);
        let pid = out.len() as i64;
        out.push(process(m, device, hint, "mallory", None, pid));
    }
    out
}

fn process(
    m: &mut Maker,
    d: &DeviceMinuteRow,
    hint: i64,
    user: &str,
    instance: Option<i64>,
    pid: i64,
) -> ProcessMinuteRow {
    let busy_ms = match m.rng.range(0, 100) {
        0..7 => None,
        7..30 => Some(0),
        30..40 => Some(d.dur_ms),
        _ => Some(m.rng.range(0, d.dur_ms + 1)),
    };
    let parts = m.rng.range(0, 4);
    let step = |r: &mut super::rng::Rng| Some(r.range(0, 101) * 10_000);
    ProcessMinuteRow {
        day: d.day,
        device_id: d.device_id,
        instance_id: instance,
        boot_id: d.boot_id,
        seq: d.seq,
        tick_ms: d.tick_ms,
        hint_id: hint,
        hint: String::new(),
        evidence: m.rng.pick(&["cgroup", "cgroup", "cgroup", "kubelet", "environ", "session"]).to_owned(),
        pid,
        start_ticks: 1,
        user: user.to_owned(),
        command: None,
        busy_ms,
        covered_ms: d.dur_ms,
        peak_ppm: None,
        mem_peak_bytes: m.rng.maybe(80, 0, 1 << 36),
        mem_peak_source: None,
        sm_ppm: if parts > 0 { step(&mut m.rng) } else { None },
        dram_ppm: if parts > 1 { step(&mut m.rng) } else { None },
        tensor_ppm: if parts > 2 { step(&mut m.rng) } else { None },
        composite_ppm: None,
        weights_version: None,
        apportionment: "sm_share".to_owned(),
        cpu_ms: None,
        host_rss_bytes: None,
        read_bytes: None,
        io_wait_ms: None,
        state: None,
        reason: None,
    }
}
