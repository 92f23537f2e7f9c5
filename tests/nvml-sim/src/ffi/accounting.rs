//! Accounting mode.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlAccountingStats_t, nvmlDevice_t};

use super::out::{put, put_list, take};
use super::{Call, on_device};
use crate::scenario::What;
use crate::sim::{Answer, Record, code};
use crate::world::mig;

/// What the driver says its buffer holds; it holds less.
const STATED_BUFFER: u32 = 4000;

/// Statistics of driver 610: sums in basis points, so that two polls have a difference. The caller fills in the pid;
/// not in the published bindings.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct AccountingStatsV2 {
    pid: c_uint,
    is_running: c_uint,
    gpu_utilization: c_uint,
    memory_utilization: c_uint,
    max_memory_usage: u64,
    sample_count: c_uint,
    sum_gpu_util: u64,
    sum_fb_util: u64,
    time: u64,
    start_time: u64,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAccountingMode(device: nvmlDevice_t, mode: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetAccountingMode", device, |call| put(mode, u32::from(is_on(&call))))
}

/// MIG forces it off.
fn is_on(call: &Call<'_>) -> bool {
    let cut = mig::is_on(call.sim.gpu(call.gpu()), call.now);
    !cut && call.sim.accounting_since(call.gpu(), call.now).is_some()
}

fn expect_rights(call: &Call<'_>) -> Answer {
    if call.sim.world.scenario.driver.privileged { Ok(()) } else { Err(code::NO_PERMISSION) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceSetAccountingMode(device: nvmlDevice_t, mode: c_uint) -> u32 {
    on_device("nvmlDeviceSetAccountingMode", device, |call| {
        expect_rights(&call)?;
        if mig::is_on(call.sim.gpu(call.gpu()), call.now) {
            return Err(code::NOT_SUPPORTED);
        }
        // Switching on what is on keeps the entries.
        let held = call.sim.accounting_since(call.gpu(), call.now);
        call.sim.gpus[call.device.gpu].accounting = (mode == 1).then(|| held.unwrap_or(call.now));
        Ok(())
    })
}

/// Forgets the dead.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceClearAccountingPids(device: nvmlDevice_t) -> u32 {
    on_device("nvmlDeviceClearAccountingPids", device, |call| {
        expect_rights(&call)?;
        call.sim.gpus[call.device.gpu].cleared = call.now;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAccountingBufferSize(device: nvmlDevice_t, size: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetAccountingBufferSize", device, |_| put(size, STATED_BUFFER))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAccountingPids(device: nvmlDevice_t, count: *mut c_uint, pids: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetAccountingPids", device, |call| {
        if !is_on(&call) {
            return Err(code::NOT_SUPPORTED);
        }
        let mut rows: Vec<c_uint> = call.sim.records(call.device.gpu, call.now).iter().map(|r| r.pid).collect();
        let zeros = call.sim.faults(call.gpu(), call.now).find_map(|what| match what {
            What::AccountingZeros { count } => Some(*count as usize),
            _ => None,
        });
        rows.resize(rows.len() + zeros.unwrap_or(0), 0);
        put_list(pids, count, &rows, rows.len())
    })
}

/// The entry of a pid: of the dead before the living, so that a reused pid answers for the one before.
fn record(call: &mut Call<'_>, pid: c_uint) -> Result<Record, u32> {
    if !is_on(call) {
        return Err(code::NOT_SUPPORTED);
    }
    let records = call.sim.records(call.device.gpu, call.now);
    records.into_iter().find(|record| record.pid == pid).ok_or(code::NOT_FOUND)
}

fn is_unknown(call: &Call<'_>) -> bool {
    call.sim.faults(call.gpu(), call.now).any(|what| *what == What::AccountingUnknown)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAccountingStats(
    device: nvmlDevice_t,
    pid: c_uint,
    stats: *mut nvmlAccountingStats_t,
) -> u32 {
    on_device("nvmlDeviceGetAccountingStats", device, |mut call| {
        let record = record(&mut call, pid)?;
        let unknown = is_unknown(&call);
        put(
            stats,
            nvmlAccountingStats_t {
                gpuUtilization: if unknown { u32::MAX } else { record.gpu_percent },
                memoryUtilization: if unknown { u32::MAX } else { record.memory_percent },
                maxMemoryUsage: if unknown { u64::MAX } else { record.memory_peak_bytes },
                time: record.time_ms,
                startTime: record.start_us.max(0) as u64,
                isRunning: u32::from(record.running),
                reserved: [0; 5],
            },
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAccountingStats_v2(device: nvmlDevice_t, stats: *mut AccountingStatsV2) -> u32 {
    on_device("nvmlDeviceGetAccountingStats_v2", device, |mut call| {
        let asked = take(stats)?;
        let record = record(&mut call, asked.pid)?;
        let unknown = is_unknown(&call);
        put(
            stats,
            AccountingStatsV2 {
                pid: asked.pid,
                is_running: u32::from(record.running),
                gpu_utilization: if unknown { u32::MAX } else { record.gpu_percent },
                memory_utilization: if unknown { u32::MAX } else { record.memory_percent },
                max_memory_usage: if unknown { u64::MAX } else { record.memory_peak_bytes },
                sample_count: record.samples,
                sum_gpu_util: record.gpu_sum,
                sum_fb_util: record.memory_sum,
                time: record.time_ms,
                start_time: record.start_us.max(0) as u64,
            },
        )
    })
}
