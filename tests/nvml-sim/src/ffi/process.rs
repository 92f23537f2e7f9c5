//! Process lists.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessDetail_v1_t, nvmlProcessDetailList_v1_t, nvmlProcessInfo_t, nvmlProcessInfo_v1_t,
};

use super::out::{put, put_list, put_rows, take};
use super::system::expect_version;
use super::{Call, on_device};
use crate::profile;
use crate::scenario::{Kind, What};
use crate::sim::{Answer, code};
use crate::world::task::Task;

/// "No such instance", and "not known".
const NO_INSTANCE: u32 = u32::MAX;
const UNKNOWN_BYTES: u64 = u64::MAX;

/// A process as a list has it.
#[derive(Debug, Clone, Copy)]
struct Listed {
    pid: u32,
    bytes: u64,
    gi: u32,
    ci: u32,
}

impl Listed {
    fn row(&self) -> nvmlProcessInfo_t {
        nvmlProcessInfo_t {
            pid: self.pid,
            usedGpuMemory: self.bytes,
            gpuInstanceId: self.gi,
            computeInstanceId: self.ci,
        }
    }
}

/// Those on the device now that a list has.
fn listed(call: &Call<'_>, has: fn(Kind) -> bool) -> Vec<Listed> {
    let device = call.device;
    let instance =
        device.mig.and_then(|index| crate::world::mig::device(call.sim.gpu(device.gpu), call.now, index).cloned());
    let in_instance = |task: &Task| match &instance {
        None => true,
        Some(instance) => task.gi == Some(instance.gi) && (task.ci == instance.ci || task.ci.is_none()),
    };
    let there = call
        .sim
        .tasks(device.gpu)
        .iter()
        .filter(|task| task.is_there(call.now) && has(task.kind) && !task.hidden && in_instance(task));
    let listed = there.filter_map(|task| {
        Some(Listed {
            pid: task.namespace_pid.or(task.pid)?,
            bytes: if task.mem_unknown { UNKNOWN_BYTES } else { task.memory_at(call.now) },
            gi: task.gi.unwrap_or(NO_INSTANCE),
            ci: task.ci.or(task.gi.map(|_| 0)).unwrap_or(NO_INSTANCE),
        })
    });
    listed.collect()
}

fn compute(kind: Kind) -> bool {
    matches!(kind, Kind::Compute | Kind::Both | Kind::Mps)
}

fn graphics(kind: Kind) -> bool {
    matches!(kind, Kind::Graphics | Kind::Both)
}

fn mps(kind: Kind) -> bool {
    kind == Kind::Mps
}

/// What a count probe says: the scenario's lie, if it has one, else the truth.
fn probe(call: &Call<'_>, symbol: &str, truth: usize) -> usize {
    let lie = call.sim.faults(call.gpu(), call.now).find_map(|what| match what {
        What::Probe { call, count } if call == symbol => Some(*count as usize),
        _ => None,
    });
    lie.unwrap_or(truth)
}

/// A list by the third version of the call, whose rows some drivers made wider.
fn list_v3(
    symbol: &'static str,
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
    has: fn(Kind) -> bool,
) -> u32 {
    on_device(symbol, device, |call| {
        let listed = listed(&call, has);
        if profile::process_row_bytes(&call.sim.world.scenario.driver) == 32 {
            return put_wide(count, infos, &listed);
        }
        let rows: Vec<_> = listed.iter().map(Listed::row).collect();
        put_list(infos, count, &rows, probe(&call, symbol, rows.len()))
    })
}

/// Rows of 32 bytes where the caller thinks of 24. The driver writes past the end of a list that is exactly full; here
/// that is too little room, so that a test fails instead of its memory.
fn put_wide(count: *mut c_uint, infos: *mut nvmlProcessInfo_t, listed: &[Listed]) -> Answer {
    let room = take(count)? as usize * size_of::<nvmlProcessInfo_t>();
    put(count, listed.len() as c_uint)?;
    if size_of::<nvmlProcessDetail_v1_t>() * listed.len() > room {
        return Err(code::INSUFFICIENT_SIZE);
    }
    let rows: Vec<_> = listed.iter().map(detail).collect();
    if !infos.is_null() {
        put_rows(infos.cast::<nvmlProcessDetail_v1_t>(), &rows);
    }
    Ok(())
}

fn detail(listed: &Listed) -> nvmlProcessDetail_v1_t {
    nvmlProcessDetail_v1_t {
        pid: listed.pid,
        usedGpuMemory: listed.bytes,
        gpuInstanceId: listed.gi,
        computeInstanceId: listed.ci,
        usedGpuCcProtectedMemory: 0,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> u32 {
    list_v3("nvmlDeviceGetComputeRunningProcesses_v3", device, count, infos, compute)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> u32 {
    list_v3("nvmlDeviceGetGraphicsRunningProcesses_v3", device, count, infos, graphics)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> u32 {
    list_v3("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, count, infos, mps)
}

/// The second version: rows of 24 bytes in every driver.
fn list_v2(
    symbol: &'static str,
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
    has: fn(Kind) -> bool,
) -> u32 {
    on_device(symbol, device, |call| {
        let rows: Vec<_> = listed(&call, has).iter().map(Listed::row).collect();
        put_list(infos, count, &rows, probe(&call, symbol, rows.len()))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v2(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> u32 {
    list_v2("nvmlDeviceGetComputeRunningProcesses_v2", device, count, infos, compute)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v2(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> u32 {
    list_v2("nvmlDeviceGetGraphicsRunningProcesses_v2", device, count, infos, graphics)
}

/// The first version: pid and memory only.
fn list_v1(
    symbol: &'static str,
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_v1_t,
    has: fn(Kind) -> bool,
) -> u32 {
    on_device(symbol, device, |call| {
        let listed = listed(&call, has);
        let row = |one: &Listed| nvmlProcessInfo_v1_t { pid: one.pid, usedGpuMemory: one.bytes };
        let rows: Vec<_> = listed.iter().map(row).collect();
        put_list(infos, count, &rows, probe(&call, symbol, rows.len()))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_v1_t,
) -> u32 {
    list_v1("nvmlDeviceGetComputeRunningProcesses", device, count, infos, compute)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_v1_t,
) -> u32 {
    list_v1("nvmlDeviceGetGraphicsRunningProcesses", device, count, infos, graphics)
}

/// One list for a mode: compute 0, graphics 1, MPS 2.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetRunningProcessDetailList(
    device: nvmlDevice_t,
    list: *mut nvmlProcessDetailList_v1_t,
) -> u32 {
    on_device("nvmlDeviceGetRunningProcessDetailList", device, |call| {
        let mut asked = take(list)?;
        expect_version::<nvmlProcessDetailList_v1_t>(asked.version, 1)?;
        let has = match asked.mode {
            0 => compute,
            1 => graphics,
            2 => mps,
            _ => return Err(code::INVALID_ARGUMENT),
        };
        let rows: Vec<_> = listed(&call, has).iter().map(detail).collect();
        let answer = put_list(asked.procArray, &mut asked.numProcArrayEntries, &rows, rows.len());
        put(list, asked)?;
        answer
    })
}
