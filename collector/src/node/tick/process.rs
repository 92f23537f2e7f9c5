//! Process rows of a tick.

use std::collections::BTreeMap;

use gpuledger_schema::id;
use gpuledger_schema::table::ProcessMinuteRow;
use gpuledger_schema::unit::PPM;

use super::account;
use super::apportion::{Method, Parts, apportion, step};
use super::reason::Reasons;
use super::{At, Person};
use crate::node::integrate::{Key, ProcessUse, Who};
use crate::node::seen::{Absent, Measure, Process};
use crate::node::source::nvml::look::{Activity, CardMinute, InstanceMinute};

/// Version of the default weights; a node that knows no task type uses those of `unknown`: SM activity alone.
const WEIGHTS_VERSION: i64 = 1;
/// Stands for a start that could not be read: no process on a GPU starts with the kernel.
const START_UNKNOWN: i64 = 0;
/// What a row is called whose process nobody could find.
const UNATTRIBUTED: &str = "unattributed";
/// User of such a row.
const UNKNOWN_USER: &str = "unknown";

/// A process's tick before its parts are known.
struct Draft {
    key: Key,
    used: ProcessUse,
    estimated: bool,
    method: Method,
    parts: Parts,
}

/// Rows of a card's processes, one for each (pid, start).
pub(super) fn rows(at: &At<'_>, minute: &CardMinute, people: &BTreeMap<Process, Person>) -> Vec<ProcessMinuteRow> {
    let drafts = if minute.facts.mig { of_instances(at, minute) } else { of_card(at, minute) };
    let accounts = minute.accounts.as_deref().unwrap_or_default();
    let mut out: Vec<ProcessMinuteRow> = Vec::new();
    for draft in drafts {
        let polled = &draft.used.memory_peak_bytes;
        let peak = if draft.estimated {
            polled.clone().map(|bytes| (bytes, "accounting"))
        } else {
            account::memory_peak(draft.key.who, polled, accounts, minute.at)
        };
        let row = row(at, draft, peak, people);
        // one process in two places of a card is one row: the card's
        match out.iter_mut().find(|r| (r.pid, r.start_ticks) == (row.pid, row.start_ticks)) {
            Some(first) => join(first, row),
            None => out.push(row),
        }
    }
    out
}

/// Processes of a whole card: integrated use, short-lived ones from accounts, activity split by busy time.
fn of_card(at: &At<'_>, minute: &CardMinute) -> Vec<Draft> {
    let polled = &at.card.used.processes;
    let accounts = minute.accounts.as_deref().unwrap_or_default();
    let util = &at.card.used.rates.gpu_ppm;
    let short = account::short_lived(accounts, polled, at.span, util, minute.at);
    let mut uses: Vec<(Key, ProcessUse, bool)> = polled.iter().map(|(k, u)| (k.clone(), u.clone(), false)).collect();
    uses.extend(short.into_iter().map(|(k, u)| (k, u, true)));
    hold_down(&mut uses, at.span.dur_ms());

    let busy: Vec<Measure<i64>> = uses.iter().map(|u| u.1.busy_ms.clone()).collect();
    let split = apportion(&parts_of(&at.activity(&minute.activity, None)), &busy);
    let draft = |((key, used, estimated), (method, parts))| Draft { key, used, estimated, method, parts };
    uses.into_iter().zip(split).map(draft).collect()
}

/// Windows hold their processes down one by one, so their sum fits the tick already; this says it for whatever path a
/// number may have come by.
fn hold_down(uses: &mut [(Key, ProcessUse, bool)], dur_ms: i64) {
    let total: i64 = uses.iter().filter_map(|u| u.1.busy_ms.as_ref().ok()).sum();
    if total > dur_ms {
        for busy_ms in uses.iter_mut().filter_map(|u| u.1.busy_ms.as_mut().ok()) {
            *busy_ms = (i128::from(*busy_ms) * i128::from(dur_ms) / i128::from(total)) as i64;
        }
    }
}

/// Processes of a card in MIG mode: the driver gives no use of processes, but an instance's activity is that of its
/// only process.
fn of_instances(at: &At<'_>, minute: &CardMinute) -> Vec<Draft> {
    let processes = &at.card.used.processes;
    let mut out = Vec::new();
    for (key, used) in processes {
        let instance = minute.instances.iter().find(|i| Some(&i.facts.uuid) == key.instance.as_ref());
        let place = |k: &&Key| k.instance == key.instance;
        let together = processes.keys().filter(place).count();
        let scaled = instance.map_or(Err(Absent::Mig), |i| of_card_time(at, minute, i));
        let (busy_ms, parts) = match scaled {
            Ok(activity) => {
                let busy = activity.gpu_ppm.clone().and_then(|ppm| busy_of(ppm, together, at.span.dur_ms()));
                (busy, alone(parts_of(&Ok(activity)), together))
            }
            Err(why) => (Err(why.clone()), [Err(why.clone()), Err(why.clone()), Err(why)]),
        };
        let method = match parts.iter().any(Result::is_ok) {
            true if together == 1 => Method::Exclusive,
            true => Method::SmShare,
            false => Method::None,
        };
        let covered_ms = if busy_ms.is_ok() { at.span.dur_ms() } else { used.covered_ms };
        let used = ProcessUse { busy_ms, covered_ms, ..used.clone() };
        out.push(Draft { key: key.clone(), used, estimated: false, method, parts });
    }
    out
}

/// An instance's activity in time of the whole card.
fn of_card_time(at: &At<'_>, minute: &CardMinute, instance: &InstanceMinute) -> Measure<Activity> {
    let activity = at.activity(&instance.activity, Some(instance.facts.gpu_instance))?;
    let (Some(slices), Some(card)) = (instance.facts.slices, minute.facts.card_slices.filter(|s| *s > 0)) else {
        return Err(Absent::Failed("slices of the instance are not known".to_owned()));
    };
    let of_card = |ppm: Measure<i64>| ppm.map(|v| v * slices.min(card) / card);
    Ok(Activity {
        gpu_ppm: of_card(activity.gpu_ppm),
        sm_ppm: of_card(activity.sm_ppm),
        dram_ppm: of_card(activity.dram_ppm),
        tensor_ppm: of_card(activity.tensor_ppm),
        source: activity.source,
    })
}

/// Busy time of a process from its instance's utilization: all of it when alone, nothing when there was nothing.
fn busy_of(gpu_ppm: i64, together: usize, dur_ms: i64) -> Measure<i64> {
    match (gpu_ppm, together) {
        (0, _) => Ok(0),
        (ppm, 1) => Ok(ppm * dur_ms / PPM),
        _ => Err(Absent::Failed("several processes in one instance".to_owned())),
    }
}

fn alone(parts: Parts, together: usize) -> Parts {
    parts.map(|part| match part {
        Ok(ppm) if together == 1 || ppm == 0 => Ok(step(ppm)),
        Ok(_) => Err(Absent::Failed("several processes in one instance".to_owned())),
        Err(why) => Err(why),
    })
}

fn parts_of(activity: &Measure<Activity>) -> Parts {
    match activity {
        Ok(a) => [a.sm_ppm.clone(), a.dram_ppm.clone(), a.tensor_ppm.clone()],
        Err(why) => [Err(why.clone()), Err(why.clone()), Err(why.clone())],
    }
}

fn row(
    at: &At<'_>,
    draft: Draft,
    peak: Measure<(i64, &'static str)>,
    people: &BTreeMap<Process, Person>,
) -> ProcessMinuteRow {
    let mut why = Reasons::default();
    let Draft { key, used, estimated, method, parts: [sm, dram, tensor] } = draft;
    let mem_peak_source = peak.as_ref().ok().map(|p| p.1.to_owned());
    let busy_ms = why.take("busy_ms", used.busy_ms);
    let peak_ppm = why.take("peak_ppm", used.peak_ppm);
    let mem_peak_bytes = why.take("mem_peak_bytes", peak.map(|p| p.0));
    let sm_ppm = why.take("sm_ppm", sm);
    let row = ProcessMinuteRow {
        instance_id: key.instance.as_deref().map(id::device_id),
        pid: i64::from(key.who.pid()),
        busy_ms,
        covered_ms: used.covered_ms,
        peak_ppm,
        mem_peak_bytes,
        mem_peak_source,
        sm_ppm,
        dram_ppm: why.take("dram_ppm", dram),
        tensor_ppm: why.take("tensor_ppm", tensor),
        composite_ppm: sm_ppm,
        weights_version: sm_ppm.map(|_| WEIGHTS_VERSION),
        apportionment: method.as_str().to_owned(),
        ..unattributed(at)
    };
    let row = match key.who {
        Who::Known(process) => with_person(row, process, people.get(&process), &mut why),
        Who::Unknown(_) => with_nobody(row, "start", &mut why),
    };
    if estimated {
        why.note("busy_ms estimated from accounting");
    }
    ProcessMinuteRow { reason: why.finish(), ..row }
}

/// What `/proc` and the attribution say of a process.
fn with_person(
    row: ProcessMinuteRow,
    process: Process,
    person: Option<&Person>,
    why: &mut Reasons,
) -> ProcessMinuteRow {
    let start_ticks = i64::try_from(process.start_ticks).unwrap_or(i64::MAX);
    let row = ProcessMinuteRow { start_ticks, ..row };
    let row = match person.and_then(|p| p.belongs.as_ref()) {
        Some(belongs) => {
            if belongs.conflict {
                why.note("a record names another allocation than the cgroup");
            }
            ProcessMinuteRow {
                hint_id: belongs.hint_id,
                hint: belongs.hint.clone(),
                evidence: belongs.evidence.to_owned(),
                ..row
            }
        }
        None => row,
    };
    let Some(facts) = person.and_then(|p| p.facts.as_ref()) else { return with_nobody(row, "user", why) };
    let absent = person.map_or(&[][..], |p| p.absent.as_slice());
    let reason =
        |column: &str| absent.iter().find(|(c, _)| *c == column).map_or(Absent::NoEarlier, |(_, why)| why.clone());
    let mut read = |column, value: Option<i64>| why.take(column, value.ok_or_else(|| reason(column)));
    ProcessMinuteRow {
        user: facts.user.clone(),
        command: facts.command.clone(),
        cpu_ms: read("cpu_ms", facts.cpu_ms),
        host_rss_bytes: read("host_rss_bytes", facts.rss_bytes),
        read_bytes: read("read_bytes", facts.read_bytes),
        io_wait_ms: read("io_wait_ms", facts.io_wait_ms),
        state: facts.state.map(String::from),
        ..row
    }
}

/// A process that was gone before anything else could be read of it; `what` is the first thing that is not known.
fn with_nobody(row: ProcessMinuteRow, what: &'static str, why: &mut Reasons) -> ProcessMinuteRow {
    for column in [what, "command", "cpu_ms", "host_rss_bytes", "read_bytes", "io_wait_ms", "state"] {
        let _: Option<i64> = why.take(column, Err(Absent::Gone));
    }
    row
}

/// A row of this tick that belongs to nobody: it keeps the card's total.
fn unattributed(at: &At<'_>) -> ProcessMinuteRow {
    ProcessMinuteRow {
        day: at.day(),
        device_id: at.device_id,
        instance_id: None,
        boot_id: at.node.boot.id(),
        seq: at.span.seq(),
        tick_ms: at.span.start.wall_ms,
        hint_id: id::id63("hint", &[UNATTRIBUTED, &at.node.boot.node, &at.card.uuid]),
        hint: UNATTRIBUTED.to_owned(),
        evidence: "none".to_owned(),
        pid: 0,
        start_ticks: START_UNKNOWN,
        user: UNKNOWN_USER.to_owned(),
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
        apportionment: Method::None.as_str().to_owned(),
        cpu_ms: None,
        host_rss_bytes: None,
        read_bytes: None,
        io_wait_ms: None,
        state: None,
        reason: None,
    }
}

/// Adds a second place of a process to its first: what is absent in one is absent in the sum, but for the memory peak,
/// of which the greater stands.
fn join(first: &mut ProcessMinuteRow, second: ProcessMinuteRow) {
    let both = |a: Option<i64>, b: Option<i64>| a.zip(b).map(|(a, b)| a + b);
    first.busy_ms = both(first.busy_ms, second.busy_ms);
    first.covered_ms = first.covered_ms.max(second.covered_ms);
    first.peak_ppm = first.peak_ppm.max(second.peak_ppm);
    if second.mem_peak_bytes > first.mem_peak_bytes {
        first.mem_peak_bytes = second.mem_peak_bytes;
        first.mem_peak_source = second.mem_peak_source;
    }
    first.sm_ppm = both(first.sm_ppm, second.sm_ppm);
    first.dram_ppm = both(first.dram_ppm, second.dram_ppm);
    first.tensor_ppm = both(first.tensor_ppm, second.tensor_ppm);
    first.composite_ppm = both(first.composite_ppm, second.composite_ppm);
    if let Some(reason) = second.reason.filter(|r| Some(r) != first.reason.as_ref()) {
        first.reason = Some(first.reason.take().map_or(reason.clone(), |own| format!("{own}; {reason}")));
    }
}
