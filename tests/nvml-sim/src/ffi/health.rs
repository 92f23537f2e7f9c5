//! Power, heat, clocks, memory errors.

use std::ffi::{c_int, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{nvmlBAR1Memory_t, nvmlDevice_t, nvmlTemperature_v1_t};

use super::out::{put, take};
use super::system::expect_version;
use super::{Call, on_device};
use crate::scenario::{Health, Limit};
use crate::sim::{Answer, code};

fn health(call: &Call<'_>) -> Health {
    call.sim.health(call.gpu(), call.now)
}

/// Load over the last second, in percent.
fn load(call: &Call<'_>) -> f64 {
    call.sim.load(call.gpu(), call.now - 1_000_000, call.now).1
}

/// GPU temperature: as scripted, else by load.
pub(super) fn temperature_c(call: &Call<'_>) -> c_int {
    health(call).temperature_c.unwrap_or_else(|| 32 + (load(call) * 0.35) as c_int)
}

/// Limit reasons: as scripted, else idle when nothing runs.
fn limits(call: &Call<'_>) -> u64 {
    match health(call).limits {
        Some(limits) => limits.iter().fold(0, |bits, limit| bits | limit.bit()),
        None if load(call) < 0.01 => Limit::Idle.bit(),
        None => 0,
    }
}

/// Power now (mean of the last 100 ms), in milliwatts.
pub(super) fn power_mw(call: &Call<'_>, over_us: i64) -> u32 {
    (call.sim.load(call.gpu(), call.now - over_us, call.now).0 * 1000.0) as u32
}

/// Energy since the driver's load, in millijoules.
pub(super) fn energy_mj(call: &mut Call<'_>) -> u64 {
    (call.sim.energy_joules(call.device.gpu, call.now).max(0.0) * 1000.0) as u64
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(device: nvmlDevice_t, energy: *mut c_ulonglong) -> u32 {
    on_device("nvmlDeviceGetTotalEnergyConsumption", device, |mut call| put(energy, energy_mj(&mut call)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPowerUsage(device: nvmlDevice_t, power: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetPowerUsage", device, |call| put(power, power_mw(&call, 1_000_000)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(device: nvmlDevice_t, limit: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetEnforcedPowerLimit", device, |call| put_limit(&call, limit))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPowerManagementLimit(device: nvmlDevice_t, limit: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetPowerManagementLimit", device, |call| put_limit(&call, limit))
}

fn put_limit(call: &Call<'_>, limit: *mut c_uint) -> Answer {
    put(limit, (call.sim.watts(call.gpu()).1 * 1000.0) as c_uint)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTemperature(device: nvmlDevice_t, _sensor: c_uint, celsius: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetTemperature", device, |call| put(celsius, temperature_c(&call).max(0) as c_uint))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTemperatureV(device: nvmlDevice_t, temperature: *mut nvmlTemperature_v1_t) -> u32 {
    on_device("nvmlDeviceGetTemperatureV", device, |call| {
        let asked = take(temperature)?;
        expect_version::<nvmlTemperature_v1_t>(asked.version, 1)?;
        put(temperature, nvmlTemperature_v1_t { temperature: temperature_c(&call), ..asked })
    })
}

/// Graphics 0, SM 1, memory 2, video 3.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetClockInfo(device: nvmlDevice_t, kind: c_uint, clock: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetClockInfo", device, |call| {
        let busy = load(&call) > 0.0;
        let health = health(&call);
        match kind {
            0 | 1 | 3 => put(clock, health.sm_clock_mhz.unwrap_or(if busy { 1980 } else { 345 })),
            2 => put(clock, health.memory_clock_mhz.unwrap_or(2619)),
            _ => Err(code::INVALID_ARGUMENT),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(device: nvmlDevice_t, kind: c_uint, clock: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetMaxClockInfo", device, |_| put(clock, if kind == 2 { 2619 } else { 1980 }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPerformanceState(device: nvmlDevice_t, state: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetPerformanceState", device, |_| put(state, 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(device: nvmlDevice_t, reasons: *mut c_ulonglong) -> u32 {
    on_device("nvmlDeviceGetCurrentClocksThrottleReasons", device, |call| put(reasons, limits(&call)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrentClocksEventReasons(device: nvmlDevice_t, reasons: *mut c_ulonglong) -> u32 {
    on_device("nvmlDeviceGetCurrentClocksEventReasons", device, |call| put(reasons, limits(&call)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEccMode(device: nvmlDevice_t, current: *mut c_uint, pending: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetEccMode", device, |call| {
        let mode = u32::from(health(&call).ecc.unwrap_or(true));
        put(current, mode)?;
        put(pending, mode)
    })
}

/// Errors of a kind, corrected 0 or uncorrected 1; the volatile and the aggregate count are one here.
pub(super) fn ecc_errors(call: &Call<'_>, kind: c_uint) -> Result<u64, u32> {
    let health = health(call);
    if !health.ecc.unwrap_or(true) {
        return Err(code::NOT_SUPPORTED);
    }
    match kind {
        0 => Ok(health.ecc_corrected.unwrap_or(0)),
        1 => Ok(health.ecc_uncorrected.unwrap_or(0)),
        _ => Err(code::INVALID_ARGUMENT),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: nvmlDevice_t,
    kind: c_uint,
    _counter: c_uint,
    errors: *mut c_ulonglong,
) -> u32 {
    on_device("nvmlDeviceGetTotalEccErrors", device, |call| put(errors, ecc_errors(&call, kind)?))
}

/// All errors are in device memory (location 2).
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryErrorCounter(
    device: nvmlDevice_t,
    kind: c_uint,
    _counter: c_uint,
    location: c_uint,
    errors: *mut c_ulonglong,
) -> u32 {
    on_device("nvmlDeviceGetMemoryErrorCounter", device, |call| {
        let found = ecc_errors(&call, kind)?;
        put(errors, if location == 2 { found } else { 0 })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetRemappedRows(
    device: nvmlDevice_t,
    corrected: *mut c_uint,
    uncorrected: *mut c_uint,
    pending: *mut c_uint,
    failed: *mut c_uint,
) -> u32 {
    on_device("nvmlDeviceGetRemappedRows", device, |call| {
        let rows = remapped(&call);
        put(corrected, rows[0])?;
        put(uncorrected, rows[1])?;
        put(pending, rows[2])?;
        put(failed, rows[3])
    })
}

/// Remapped rows: corrected, uncorrected, pending, failed.
pub(super) fn remapped(call: &Call<'_>) -> [u32; 4] {
    let health = health(call);
    [
        health.remapped_corrected.unwrap_or(0),
        health.remapped_uncorrected.unwrap_or(0),
        u32::from(health.remapped_pending.unwrap_or(false)),
        u32::from(health.remapped_failed.unwrap_or(false)),
    ]
}

/// Memory temperature: as scripted, else a little above the GPU's.
pub(super) fn memory_temperature_c(call: &Call<'_>) -> u32 {
    health(call).memory_temperature_c.unwrap_or(temperature_c(call).max(0) as u32 + 8)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetBAR1MemoryInfo(device: nvmlDevice_t, bar1: *mut nvmlBAR1Memory_t) -> u32 {
    on_device("nvmlDeviceGetBAR1MemoryInfo", device, |_| {
        let total = 128 << 30;
        put(bar1, nvmlBAR1Memory_t { bar1Total: total, bar1Free: total, bar1Used: 0 })
    })
}
