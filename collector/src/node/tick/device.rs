//! Device rows of a tick.

use gpuledger_schema::id;
use gpuledger_schema::state::DeviceState;
use gpuledger_schema::table::DeviceMinuteRow;

use super::reason::Reasons;
use super::{At, CardState};
use crate::node::seen::{Absent, Measure};
use crate::node::source::nvml::look::{Activity, CardMinute, MemoryNow};

/// The row of a card that answered.
pub(super) fn card(at: &At<'_>, minute: &CardMinute, process_count: i64) -> DeviceMinuteRow {
    let mut why = Reasons::default();
    let activity = at.activity(&minute.activity, None);
    let gpu_util = first(activity.as_ref().ok().map(|a| &a.gpu_ppm), &at.card.used.rates.gpu_ppm);
    let row = DeviceMinuteRow {
        process_count,
        gpu_util_ppm: why.take("gpu_util_ppm", gpu_util),
        mem_util_ppm: why.take("mem_util_ppm", at.card.used.rates.memory_ppm.clone()),
        power_mw: why.take("power_mw", minute.power_mw.clone()),
        power_limit_mw: why.take("power_limit_mw", minute.power_limit_mw.clone()),
        energy_mj: why.take("energy_mj", minute.energy_mj.clone()),
        temperature_c: why.take("temperature_c", minute.temperature_c.clone()),
        limit_reasons: why.take("limit_reasons", minute.limit_reasons.clone()),
        ecc_uncorrected: why.take("ecc_uncorrected", minute.ecc_uncorrected.clone()),
        xid: why.take("xid", minute.xid.clone()).flatten(),
        ..blank(at, at.device_id, DeviceState::Ok)
    };
    let row = with_memory(with_activity(row, &activity, &mut why), &minute.memory, &mut why);
    if let Ok(rows) = &minute.remapped {
        if rows.failed {
            why.note("a memory row could not be replaced");
        } else if rows.pending {
            why.note("a memory row waits for a reset to be replaced");
        }
    }
    DeviceMinuteRow { reason: why.finish(), ..row }
}

/// Rows of a card's MIG instances: their processes are counted on the card's row, whose tick proves them complete.
pub(super) fn instances<'a>(at: &'a At<'_>, minute: &'a CardMinute) -> impl Iterator<Item = DeviceMinuteRow> + 'a {
    minute.instances.iter().map(|instance| {
        let mut why = Reasons::default();
        let activity = at.activity(&instance.activity, Some(instance.facts.gpu_instance));
        let gpu_util = match &activity {
            Ok(activity) => activity.gpu_ppm.clone(),
            Err(why) => Err(why.clone()),
        };
        let of_card: Measure<i64> = Err(Absent::Mig);
        let row = DeviceMinuteRow {
            gpu_util_ppm: why.take("gpu_util_ppm", gpu_util),
            mem_util_ppm: why.take("mem_util_ppm", of_card.clone()),
            power_mw: why.take("power_mw", of_card.clone()),
            power_limit_mw: why.take("power_limit_mw", of_card.clone()),
            energy_mj: why.take("energy_mj", of_card.clone()),
            temperature_c: why.take("temperature_c", of_card.clone()),
            limit_reasons: why.take("limit_reasons", Err(Absent::Mig)),
            ecc_uncorrected: why.take("ecc_uncorrected", of_card),
            ..blank(at, id::device_id(&instance.facts.uuid), DeviceState::Ok)
        };
        let row = with_memory(with_activity(row, &activity, &mut why), &instance.memory, &mut why);
        DeviceMinuteRow { reason: why.finish(), ..row }
    })
}

/// The row of a card that could not be read.
pub(super) fn unreadable(at: &At<'_>) -> DeviceMinuteRow {
    let (state, reason) = match &at.card.state {
        CardState::Lost => (DeviceState::Lost, Absent::Lost.to_string()),
        CardState::Hung => (DeviceState::Error, Absent::Hung.to_string()),
        CardState::NotPermitted => (DeviceState::NotPermitted, Absent::NotPermitted.to_string()),
        CardState::Error(why) => (DeviceState::Error, why.clone()),
        CardState::Ok => match &at.card.used.listed {
            Err(why) => (DeviceState::Error, format!("processes not listed: {why}")),
            Ok(()) => (DeviceState::Error, "not looked at".to_owned()),
        },
    };
    DeviceMinuteRow { reason: Some(reason), xid: at.card.last_xid, ..blank(at, at.device_id, state) }
}

/// The first measure that has a value; else why the second has none.
fn first(one: Option<&Measure<i64>>, other: &Measure<i64>) -> Measure<i64> {
    match one {
        Some(Ok(value)) => Ok(*value),
        _ => other.clone(),
    }
}

fn with_activity(row: DeviceMinuteRow, activity: &Measure<Activity>, why: &mut Reasons) -> DeviceMinuteRow {
    let part = |of: fn(&Activity) -> &Measure<i64>| match activity {
        Ok(activity) => of(activity).clone(),
        Err(why) => Err(why.clone()),
    };
    let sm_ppm = why.take("sm_ppm", part(|a| &a.sm_ppm));
    let dram_ppm = why.take("dram_ppm", part(|a| &a.dram_ppm));
    let tensor_ppm = why.take("tensor_ppm", part(|a| &a.tensor_ppm));
    let any = sm_ppm.or(dram_ppm).or(tensor_ppm).is_some();
    let source = activity.as_ref().ok().filter(|_| any).map(|a| a.source.to_owned());
    DeviceMinuteRow { sm_ppm, dram_ppm, tensor_ppm, activity_source: source, ..row }
}

fn with_memory(row: DeviceMinuteRow, memory: &Measure<MemoryNow>, why: &mut Reasons) -> DeviceMinuteRow {
    let total = memory.as_ref().map(|m| m.total_bytes).map_err(Clone::clone);
    let used = memory.as_ref().map(|m| m.used_bytes).map_err(Clone::clone);
    let reserved = memory.as_ref().map_err(Clone::clone).and_then(|m| m.reserved_bytes.clone());
    DeviceMinuteRow {
        mem_used_bytes: why.take("mem_used_bytes", used),
        mem_reserved_bytes: why.take("mem_reserved_bytes", reserved),
        mem_total_bytes: why.take("mem_total_bytes", total),
        ..row
    }
}

/// A device row with everything that does not depend on what was measured.
fn blank(at: &At<'_>, device_id: i64, state: DeviceState) -> DeviceMinuteRow {
    DeviceMinuteRow {
        day: at.day(),
        device_id,
        boot_id: at.node.boot.id(),
        seq: at.span.seq(),
        collector_id: at.node.collector_id,
        tick_ms: at.span.start.wall_ms,
        mono_ms: at.span.start.boot_ms,
        dur_ms: at.span.dur_ms(),
        synchronised: at.span.start.synchronised,
        state: state.as_str().to_owned(),
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
