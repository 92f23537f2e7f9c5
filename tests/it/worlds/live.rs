//! A node under a live collector: looks with outages and lost state, rows only where something changed, runs that vanish,
//! indices by both rules, claims of the node, replicas and instances.

use gpuledger_schema::id::{allocation_id, hint_of_job, job_id};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, DeviceClaimRow, NodeStateRow, ReadingRow};
use gpuledger_schema::unit::CARD_UNITS;

use super::make::{MINUTE, Maker, Node, test_id};
use super::runs::RunSpec;

/// A good look of a source, whose epoch ends where its state was lost.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) at: i64,
    pub(super) epoch: i64,
}

impl Look {
    fn source(&self) -> String {
        format!("slurm:{}", self.epoch)
    }
}

/// Looks of a world, once a minute but for late ones, outages and lost state.
pub(super) fn looks(m: &mut Maker) -> Vec<Look> {
    let mut out: Vec<Look> = Vec::new();
    let (mut at, mut epoch) = (m.from - m.rng.range(0, 10 * MINUTE), 1);
    while at < m.as_of {
        let look = Look { at, epoch };
        let before = out.last().filter(|l| l.epoch == epoch).map_or(at, |l| l.at);
        reading(m, &look, before, true);
        out.push(look);
        let hole = match m.rng.range(0, 100) {
            0 | 1 => m.rng.range(5 * MINUTE, 50 * MINUTE),
            2..=5 => m.rng.range(MINUTE, 8 * MINUTE),
            _ => MINUTE,
        };
        if hole > 5 * MINUTE {
            reading(m, &Look { at: at + hole / 2, epoch }, at, false);
        }
        at += hole * m.scale;
        epoch += i64::from(m.rng.chance(3));
    }
    out
}

fn reading(m: &mut Maker, look: &Look, before: i64, ok: bool) {
    m.facts.reading.push(ReadingRow {
        source: look.source(),
        kind: "scheduler".to_owned(),
        cluster: m.cluster.clone(),
        node: None,
        read_at_ms: look.at,
        from_ms: before,
        to_ms: look.at,
        ok,
        rows: 1,
        error: (!ok).then(|| "timeout".to_owned()),
    });
}

/// States of a node as its looks show them.
pub(super) fn states(m: &mut Maker, node: &str) {
    let mut open: Option<NodeStateRow> = None;
    let mut seen = m.from;
    for look in m.looks.clone() {
        let changed = open.is_none() || m.rng.chance(6);
        let lost = open.as_ref().is_some_and(|o| o.source != look.source());
        if !changed && !lost {
            seen = look.at;
            continue;
        }
        let from_ms = if open.is_some() && !lost { m.rng.range(seen + 1, look.at + 1) } else { look.at };
        let row = NodeStateRow {
            cluster: m.cluster.clone(),
            node: node.to_owned(),
            from_ms,
            to_ms: None,
            state: m.rng.pick(&["up", "up", "up", "drained", "down"]).to_owned(),
            reason: None,
            source: look.source(),
            as_of_ms: look.at,
        };
        if let Some(before) = open.take().filter(|_| !lost && m.rng.chance(70)) {
            m.facts.node_state.push(NodeStateRow { to_ms: Some(from_ms), as_of_ms: look.at, ..before });
        }
        m.facts.node_state.push(row.clone());
        open = Some(row);
        seen = look.at;
    }
}

/// Runs of a node, of which some are put back and run again.
pub(super) fn runs(m: &mut Maker, node: &Node) {
    let rule = m.rng.pick(&["minor", "nvml", "nvml", "explicit"]);
    for i in 0..m.rng.range(2, 7) {
        let raw = format!("{}7{i}", &node.name[1..]);
        let start = m.rng.range(m.from - 10 * MINUTE, m.as_of - MINUTE);
        let end = run(m, node, &raw, start, rule);
        if m.rng.chance(30) && end < m.as_of - MINUTE {
            let again = end + m.rng.range(1, 3 * MINUTE);
            run(m, node, &raw, again, rule);
        }
    }
    if m.rng.chance(30) {
        let (id, hint) = (node.cards[0].id, test_id("hint", &["nobody's claim"]));
        let at = m.rng.range(m.from, m.as_of);
        claim(m, node, id, None, hint, CARD_UNITS, (at, None), 0);
    }
}

/// A run as it was, and what looks, indices and claims tell of it. Gives its end.
fn run(m: &mut Maker, node: &Node, raw: &str, start: i64, rule: &str) -> i64 {
    let end = start + m.rng.range(1, 50 * MINUTE) * m.scale;
    let gpus = m.rng.range(1, node.cards.len() as i64 + 1);
    let sluid = m.rng.chance(25).then(|| format!("s{raw}-{start}"));
    let job_hint = hint_of_job(&m.cluster, raw);
    let own_hint = sluid.as_ref().map(|s| hint_of_job(&m.cluster, s));
    let mut on: Vec<i64> = node.cards.iter().map(|c| c.id).collect();
    m.rng.shuffle(&mut on);
    on.truncate(if m.rng.chance(80) { gpus as usize } else { node.cards.len() });
    let own = node.cards.iter().filter(|c| on.contains(&c.id)).flat_map(|c| c.instances.clone());
    let instances: Vec<i64> = own.filter(|_| m.rng.chance(60)).collect();
    let spec = RunSpec {
        hint_id: own_hint.unwrap_or(job_hint),
        id: allocation_id(&m.cluster, raw, start),
        cluster: m.cluster.clone(),
        raw: raw.to_owned(),
        start,
        end: (end < m.as_of).then_some(end),
        node: node.name.clone(),
        on: on.clone(),
        instances,
        as_of: m.as_of,
    };
    let submit = start - m.rng.range(0, 30 * MINUTE);
    let Some(first) = shown(m, &spec, sluid, job_hint, submit, gpus, end) else { return end };
    m.request(&spec, submit, gpus);
    hold(m, node, &spec, gpus, rule, first);
    if m.rng.chance(45) {
        let hint = if m.rng.chance(70) { job_hint } else { spec.hint_id };
        claims(m, node, &spec, hint, end);
    }
    m.runs.push(spec);
    end
}

/// Rows that looks give of a run. The instant of the first, if any shows it.
fn shown(
    m: &mut Maker,
    run: &RunSpec,
    sluid: Option<String>,
    job_hint: i64,
    submit: i64,
    gpus: i64,
    end: i64,
) -> Option<i64> {
    let as_run = AllocationRow {
        hint_id: job_hint,
        job_id: job_id(&run.cluster, &run.raw, submit),
        sluid,
        end_ms: None,
        terminal: false,
        state: "RUNNING".to_owned(),
        ..m.reading(run, submit, gpus)
    };
    let looks = m.looks.clone();
    let (mut first, mut written, mut gone, mut seen) = (None, 0, false, 0);
    let (mut rows, mut over) = (Vec::new(), false);
    for look in looks.iter().filter(|l| l.at >= run.start) {
        let row = AllocationRow { source: look.source(), as_of_ms: look.at, ..as_run.clone() };
        let there = look.at < end && !(written == look.epoch && m.rng.chance(3));
        if there {
            if written != look.epoch || gone {
                rows.push(row);
                (written, gone) = (look.epoch, false);
                first = first.or(Some(look.at));
            }
            seen = look.at;
        } else if written == look.epoch && !gone && (look.at < end || m.rng.chance(35)) {
            rows.push(AllocationRow { last_seen_ms: Some(seen), ..row });
            gone = true;
        } else if look.at >= end && !over && written > 0 && m.rng.chance(if gone { 4 } else { 80 }) {
            let state = m.rng.pick(&["COMPLETED", "FAILED", "REQUEUED", "PREEMPTED"]).to_owned();
            rows.push(AllocationRow { end_ms: Some(end), terminal: true, state, ..row });
            over = true;
        }
    }
    m.facts.allocation.extend(rows);
    first
}

/// GPUs by index, by count, or a part of one.
fn hold(m: &mut Maker, node: &Node, run: &RunSpec, gpus: i64, rule: &str, as_of_ms: i64) {
    let style = m.rng.range(0, 10);
    let mut indices: Vec<i64> = (0..node.cards.len() as i64 + 1).collect();
    m.rng.shuffle(&mut indices);
    let rows = if style < 5 { gpus } else { 1 };
    for i in 0..rows {
        let index = (style < 5).then(|| indices[i as usize]);
        let share_units = match style {
            0..5 => CARD_UNITS,
            5..8 => gpus * CARD_UNITS,
            8 => CARD_UNITS / 4,
            _ => 2 * (CARD_UNITS / 7),
        };
        let row = AllocationDeviceRow {
            holding_id: test_id("holding", &[&run.id.to_string(), &i.to_string(), "live"]),
            allocation_id: run.id,
            cluster: run.cluster.clone(),
            node: Some(node.name.clone()),
            device_id: None,
            instance_id: None,
            model: None,
            share_units,
            evidence: if index.is_some() { "gres" } else { "count" }.to_owned(),
            gres_index: index,
            index_rule: index.map(|_| rule.to_owned()),
            from_ms: None,
            to_ms: None,
            as_of_ms,
        };
        m.facts.allocation_device.push(row);
    }
}

/// What the node's records say that the run was given.
fn claims(m: &mut Maker, node: &Node, run: &RunSpec, hint: i64, end: i64) {
    let style = m.rng.range(0, 3);
    for card in node.cards.iter().filter(|c| run.on.contains(&c.id)) {
        let late = m.rng.pick(&[30_000, 60_000, 4 * MINUTE, 16 * MINUTE]);
        let from = run.start + m.rng.range(-30_000, late);
        let to = m.rng.maybe(40, end - 5 * MINUTE, end + 2 * MINUTE).filter(|to| *to > from);
        let instance = card.instances.first().copied().filter(|_| m.rng.chance(60));
        match (instance, style) {
            (Some(_), _) => claim(m, node, card.id, instance, hint, CARD_UNITS / 7, (from, to), 0),
            (None, 0) => {
                for container in 0..m.rng.range(1, 3) {
                    claim(m, node, card.id, None, hint, CARD_UNITS / 4, (from + container * 20_000, to), container);
                }
            }
            _ => claim(m, node, card.id, None, hint, CARD_UNITS, (from, to), 0),
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the columns of a claim")]
fn claim(
    m: &mut Maker,
    node: &Node,
    device_id: i64,
    instance_id: Option<i64>,
    hint_id: i64,
    share_units: i64,
    (from_ms, to_ms): (i64, Option<i64>),
    container: i64,
) {
    let parts = [device_id, instance_id.unwrap_or(0), hint_id, from_ms, container].map(|v| v.to_string());
    let key: Vec<&str> = parts.iter().map(String::as_str).collect();
    let row = DeviceClaimRow {
        claim_id: test_id("claim", &key),
        cluster: m.cluster.clone(),
        node: node.name.clone(),
        device_id,
        instance_id,
        hint_id,
        hint: String::new(),
        evidence: "kubelet".to_owned(),
        share_units,
        container: Some(format!("c{container}")),
        resource: None,
        from_ms,
        to_ms: None,
        as_of_ms: from_ms,
    };
    m.facts.device_claim.push(row.clone());
    let again = from_ms + m.rng.range(1, 40 * MINUTE);
    if m.rng.chance(40) && to_ms.is_none_or(|to| again < to) {
        m.facts.device_claim.push(DeviceClaimRow { as_of_ms: again, ..row.clone() });
    }
    if let Some(to) = to_ms {
        m.facts.device_claim.push(DeviceClaimRow { to_ms, as_of_ms: to, ..row });
    }
}
