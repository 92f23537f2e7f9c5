//! Utilization: of processes from the ring, of the device over the last second, and raw samples.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessUtilizationInfo_v1_t, nvmlProcessUtilizationSample_t, nvmlProcessesUtilizationInfo_v1_t,
    nvmlSample_t, nvmlUtilization_t, nvmlValue_t,
};

use super::out::{put, put_list, put_rows, take};
use super::system::expect_version;
use super::{Call, on_device};
use crate::profile;
use crate::scenario::{IdleProbe, What, us};
use crate::sim::{Answer, code};
use crate::world::ring::{self, Sample, Seen};

/// What a count probe answers: a capacity, not a number of processes.
const CAPACITY: usize = 100;

/// The device's rate is a mean over this span; real models have a sixth of a second to a second.
const RATE_US: i64 = 1_000_000;

type Row = nvmlProcessUtilizationSample_t;

/// Samples whose stamp is after `last_seen` by the wall clock.
fn samples_since(call: &Call<'_>, last_seen: u64) -> Vec<Sample> {
    let last_seen = i64::try_from(last_seen).unwrap_or(i64::MAX);
    ring::samples(call.sim.tasks(call.gpu()), call.gpu(), call.now, |at| call.sim.wall(at) > last_seen)
}

/// Rows of the processes seen since, with what the scenario puts among them.
fn rows(call: &Call<'_>, last_seen: u64) -> Vec<Row> {
    let samples = samples_since(call, last_seen);
    let count = samples.len().max(1) as u64;
    let seen = ring::by_task(&samples);
    let mut rows: Vec<Row> = seen.iter().filter_map(|seen| row(call, seen, count)).collect();
    for what in call.sim.faults(call.gpu(), call.now) {
        let What::Rows { rows: false_rows, copies, instead } = what else { continue };
        if *instead {
            rows.clear();
        }
        for fault in false_rows.iter().flat_map(|row| std::iter::repeat_n(row, *copies as usize)) {
            let stamp = call.sim.wall(call.now) - us(fault.age_s);
            rows.push(Row {
                pid: fault.pid,
                timeStamp: stamp.max(0) as u64,
                smUtil: fault.sm,
                memUtil: fault.mem,
                encUtil: 0,
                decUtil: 0,
            });
        }
    }
    rows
}

fn row(call: &Call<'_>, seen: &Seen, count: u64) -> Option<Row> {
    let driver = &call.sim.world.scenario.driver;
    let task = &call.sim.tasks(call.gpu())[seen.task];
    let namespace_pid = task.namespace_pid.filter(|_| profile::translates_utilization(driver));
    let percent = |sum: u64| (sum / count / 100) as u32;
    Some(Row {
        pid: namespace_pid.or(task.pid)?,
        timeStamp: call.sim.wall(seen.last).max(0) as u64,
        smUtil: percent(seen.compute),
        memUtil: percent(seen.memory),
        encUtil: percent(seen.encoder),
        decUtil: percent(seen.decoder),
    })
}

/// What a count probe answers; None: zero rows and success.
fn probe(call: &Call<'_>, symbol: &str, rows: usize) -> Option<usize> {
    let lie = call.sim.faults(call.gpu(), call.now).find_map(|what| match what {
        What::Probe { call, count } if call == symbol => Some(*count as usize),
        _ => None,
    });
    let zero = rows == 0 && call.sim.world.scenario.driver.idle_probe == IdleProbe::Zero;
    lie.or_else(|| (!zero).then(|| rows.max(CAPACITY)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    utilization: *mut Row,
    count: *mut c_uint,
    last_seen_us: c_ulonglong,
) -> u32 {
    let symbol = "nvmlDeviceGetProcessUtilization";
    on_device(symbol, device, |call| {
        let rows = rows(&call, last_seen_us);
        let room = take(count)? as usize;
        if utilization.is_null() || room < rows.len() || room == 0 {
            let probe = probe(&call, symbol, rows.len());
            put(count, probe.unwrap_or(0) as c_uint)?;
            return probe.map_or(Ok(()), |_| Err(code::INSUFFICIENT_SIZE));
        }
        put(count, rows.len() as c_uint)?;
        put_rows(utilization, &rows);
        if rows.is_empty() { Err(code::NOT_FOUND) } else { Ok(()) }
    })
}

/// The same rows with two engines more, and a count that is one.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetProcessesUtilizationInfo(
    device: nvmlDevice_t,
    info: *mut nvmlProcessesUtilizationInfo_v1_t,
) -> u32 {
    on_device("nvmlDeviceGetProcessesUtilizationInfo", device, |call| {
        let mut asked = take(info)?;
        expect_version::<nvmlProcessesUtilizationInfo_v1_t>(asked.version, 1)?;
        let rows = rows(&call, asked.lastSeenTimeStamp);
        if rows.is_empty() {
            asked.processSamplesCount = 0;
            put(info, asked)?;
            return Err(code::NOT_FOUND);
        }
        let wide = |row: &Row| nvmlProcessUtilizationInfo_v1_t {
            timeStamp: row.timeStamp,
            pid: row.pid,
            smUtil: row.smUtil,
            memUtil: row.memUtil,
            encUtil: row.encUtil,
            decUtil: row.decUtil,
            jpgUtil: 0,
            ofaUtil: 0,
        };
        let rows: Vec<_> = rows.iter().map(wide).collect();
        let answer = put_list(asked.procUtilArray, &mut asked.processSamplesCount, &rows, rows.len());
        put(info, asked)?;
        answer
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUtilizationRates(device: nvmlDevice_t, rates: *mut nvmlUtilization_t) -> u32 {
    on_device("nvmlDeviceGetUtilizationRates", device, |call| {
        let (_, load) = call.sim.load(call.gpu(), call.now - RATE_US, call.now);
        let memory = memory_percent(&call);
        put(rates, nvmlUtilization_t { gpu: load as c_uint, memory })
    })
}

/// Mean load of the frame buffer over the last samples, in whole percent.
fn memory_percent(call: &Call<'_>) -> u32 {
    let since = call.now - RATE_US;
    let samples = ring::samples(call.sim.tasks(call.gpu()), call.gpu(), call.now, |at| at > since);
    let sum: u64 = samples.iter().filter_map(|sample| sample.memory).map(|credit| credit.level).sum();
    (sum / samples.len().max(1) as u64 / 100) as u32
}

/// Raw samples: power 0, GPU 1, memory 2, encoder 3, decoder 4.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetSamples(
    device: nvmlDevice_t,
    kind: c_uint,
    last_seen_us: c_ulonglong,
    value_type: *mut c_uint,
    count: *mut c_uint,
    samples: *mut nvmlSample_t,
) -> u32 {
    on_device("nvmlDeviceGetSamples", device, |call| {
        let cut = crate::world::mig::is_on(call.sim.gpu(call.gpu()), call.now);
        if cut && kind != 0 {
            return Err(code::NOT_SUPPORTED);
        }
        let value: fn(&Call<'_>, &Sample) -> u32 = match kind {
            0 => |call, sample| (call.sim.load(call.gpu(), sample.at - 138_889, sample.at).0 * 1000.0) as u32,
            1 => |_, sample| sample.compute.map_or(0, |credit| (credit.level / 100) as u32),
            2 => |_, sample| sample.memory.map_or(0, |credit| (credit.level / 100) as u32),
            3 => |_, sample| sample.encoder.map_or(0, |credit| (credit.level / 100) as u32),
            4 => |_, sample| sample.decoder.map_or(0, |credit| (credit.level / 100) as u32),
            _ => return Err(code::NOT_SUPPORTED),
        };
        let taken = samples_since(&call, last_seen_us);
        let row = |sample: &Sample| nvmlSample_t {
            timeStamp: call.sim.wall(sample.at).max(0) as u64,
            sampleValue: nvmlValue_t { uiVal: value(&call, sample) },
        };
        put(value_type, 1)?;
        put_samples(samples, count, &taken.iter().map(row).collect::<Vec<_>>())
    })
}

/// A null list asks for the capacity, which is more than there are; a fill without any is NOT_FOUND.
fn put_samples(to: *mut nvmlSample_t, count: *mut c_uint, rows: &[nvmlSample_t]) -> Answer {
    if to.is_null() {
        return put(count, 120);
    }
    let room = take(count)? as usize;
    let rows = &rows[rows.len().saturating_sub(room)..];
    put(count, rows.len() as c_uint)?;
    put_rows(to, rows);
    if rows.is_empty() { Err(code::NOT_FOUND) } else { Ok(()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEncoderUtilization(
    device: nvmlDevice_t,
    percent: *mut c_uint,
    period_us: *mut c_uint,
) -> u32 {
    on_device("nvmlDeviceGetEncoderUtilization", device, |call| {
        engine(&call, percent, period_us, |sample| sample.encoder)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDecoderUtilization(
    device: nvmlDevice_t,
    percent: *mut c_uint,
    period_us: *mut c_uint,
) -> u32 {
    on_device("nvmlDeviceGetDecoderUtilization", device, |call| {
        engine(&call, percent, period_us, |sample| sample.decoder)
    })
}

fn engine(
    call: &Call<'_>,
    percent: *mut c_uint,
    period_us: *mut c_uint,
    of: fn(&Sample) -> Option<ring::Credit>,
) -> Answer {
    let samples = ring::samples(call.sim.tasks(call.gpu()), call.gpu(), call.now, |at| at > call.now - RATE_US);
    let sum: u64 = samples.iter().filter_map(of).map(|credit| credit.level).sum();
    put(percent, (sum / samples.len().max(1) as u64 / 100) as c_uint)?;
    put(period_us, RATE_US as c_uint)
}
