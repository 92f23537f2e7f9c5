//! Devices: how they are found, and what they are.

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t};

use super::out::{fixed, put, put_text, take};
use super::system::{expect_version, text_argument};
use super::{Call, enter, on_device, on_library};
use crate::sim::{Answer, Device, Sim, Target, code};
use crate::world::mig;

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> u32 {
    on_library("nvmlDeviceGetCount_v2", |call| put(count, call.sim.gpus.len() as c_uint))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut nvmlDevice_t) -> u32 {
    let symbol = "nvmlDeviceGetHandleByIndex_v2";
    enter(symbol, Target::Gpu(index as usize), |call| {
        put_handle(device, &call, Device { gpu: index as usize, mig: None })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut nvmlDevice_t) -> u32 {
    on_library("nvmlDeviceGetHandleByUUID", |call| {
        let wanted = text_argument(uuid)?;
        let found = devices(&call).find(|at| uuid_of(call.sim, *at, call.now) == wanted).ok_or(code::NOT_FOUND)?;
        put_handle(device, &call, found)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(pci: *const c_char, device: *mut nvmlDevice_t) -> u32 {
    on_library("nvmlDeviceGetHandleByPciBusId_v2", |call| {
        let wanted = text_argument(pci)?.to_ascii_uppercase();
        let gpu = (0..call.sim.gpus.len()).find(|gpu| pci_of(call.sim, *gpu) == wanted).ok_or(code::NOT_FOUND)?;
        put_handle(device, &call, Device { gpu, mig: None })
    })
}

/// Every GPU, and every MIG device there is now.
fn devices(call: &Call<'_>) -> impl Iterator<Item = Device> {
    let gpus = 0..call.sim.gpus.len();
    let there = |gpu: usize, index: u32| mig::device(call.sim.gpu(gpu), call.now, index).is_some();
    let all = gpus.flat_map(|gpu| {
        let cut = (0..7).filter(move |index| there(gpu, *index)).map(move |index| Device { gpu, mig: Some(index) });
        std::iter::once(Device { gpu, mig: None }).chain(cut)
    });
    all.collect::<Vec<_>>().into_iter()
}

/// Gives a handle; that of a lost GPU cannot be had.
pub(super) fn put_handle(to: *mut nvmlDevice_t, call: &Call<'_>, device: Device) -> Answer {
    if call.sim.is_lost(device.gpu, call.now) {
        return Err(code::GPU_IS_LOST);
    }
    put(to, std::ptr::without_provenance_mut(call.sim.handle_of(device)))
}

pub(super) fn uuid_of(sim: &Sim, device: Device, now: i64) -> String {
    let gpu = sim.gpu(device.gpu);
    match device.mig.and_then(|index| mig::device(gpu, now, index)) {
        Some(instance) => mig::uuid(gpu, device.gpu, now, instance),
        None => gpu.uuid.clone().unwrap_or_else(|| format!("GPU-{:08x}-0000-4000-8000-000000000001", device.gpu)),
    }
}

fn pci_of(sim: &Sim, gpu: usize) -> String {
    let pci = sim.gpu(gpu).pci.clone().unwrap_or_else(|| format!("00000000:{:02X}:00.0", 0x10 + gpu));
    pci.to_ascii_uppercase()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetName(device: nvmlDevice_t, name: *mut c_char, length: c_uint) -> u32 {
    on_device("nvmlDeviceGetName", device, |call| {
        let gpu = call.sim.gpu(call.gpu());
        let whole = gpu.name.clone().unwrap_or_else(|| gpu.model.product().name.to_owned());
        match call.device.mig.and_then(|index| mig::device(gpu, call.now, index)) {
            Some(instance) => put_text(name, length, &format!("{whole} MIG {}", instance.profile)),
            None => put_text(name, length, &whole),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUUID(device: nvmlDevice_t, uuid: *mut c_char, length: c_uint) -> u32 {
    on_device("nvmlDeviceGetUUID", device, |call| put_text(uuid, length, &uuid_of(call.sim, call.device, call.now)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetIndex(device: nvmlDevice_t, index: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetIndex", device, |call| put(index, call.gpu() as c_uint))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMinorNumber(device: nvmlDevice_t, minor: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetMinorNumber", device, |call| {
        put(minor, call.sim.gpu(call.gpu()).minor.unwrap_or(call.gpu() as c_uint))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetSerial(device: nvmlDevice_t, serial: *mut c_char, length: c_uint) -> u32 {
    on_device("nvmlDeviceGetSerial", device, |call| {
        let text = call.sim.gpu(call.gpu()).serial.as_deref().ok_or(code::NOT_SUPPORTED)?;
        put_text(serial, length, text)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> u32 {
    on_device("nvmlDeviceGetPciInfo_v3", device, |call| {
        let address = pci_of(call.sim, call.gpu());
        let mut parts = address.split([':', '.']).map(|part| u32::from_str_radix(part, 16).unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        let info = nvmlPciInfo_t {
            // The old field has room for four digits of the domain only.
            busIdLegacy: fixed(address.get(4..).unwrap_or(&address)),
            domain: next(),
            bus: next(),
            device: next(),
            pciDeviceId: 0x2330_10de,
            pciSubSystemId: 0x16c1_10de,
            busId: fixed(&address),
        };
        put(pci, info)
    })
}

/// Total, reserved and used bytes; used is what processes and hidden contexts hold.
fn memory(call: &Call<'_>) -> (u64, u64, u64) {
    let gpu = call.sim.gpu(call.gpu());
    let held = |gi: Option<u32>| -> u64 {
        let tasks = call.sim.tasks(call.gpu()).iter().filter(|task| gi.is_none() || task.gi == gi);
        tasks.map(|task| task.memory_at(call.now)).fold(0, u64::saturating_add)
    };
    match call.device.mig.and_then(|index| mig::device(gpu, call.now, index)) {
        Some(instance) => (instance.memory_mib << 20, 16 << 20, held(Some(instance.gi))),
        None => {
            let total = gpu.memory_bytes.unwrap_or(gpu.model.product().memory_mib << 20);
            let reserved = gpu.reserved_bytes.unwrap_or(total / 100);
            (total, reserved, gpu.hidden_bytes.saturating_add(held(None)))
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: nvmlDevice_t, memory_info: *mut nvmlMemory_v2_t) -> u32 {
    on_device("nvmlDeviceGetMemoryInfo_v2", device, |call| {
        let version = take(memory_info.cast::<c_uint>())?;
        expect_version::<nvmlMemory_v2_t>(version, 2)?;
        let (total, reserved, used) = memory(&call);
        let free = total.saturating_sub(reserved.saturating_add(used));
        put(memory_info, nvmlMemory_v2_t { version, total, reserved, free, used })
    })
}

/// The first version: what is reserved counts as used from driver 510 on.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, memory_info: *mut nvmlMemory_t) -> u32 {
    on_device("nvmlDeviceGetMemoryInfo", device, |call| {
        let (total, reserved, used) = memory(&call);
        let used = used.saturating_add(reserved);
        put(memory_info, nvmlMemory_t { total, free: total.saturating_sub(used), used })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetArchitecture(device: nvmlDevice_t, architecture: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetArchitecture", device, |call| {
        put(architecture, call.sim.gpu(call.gpu()).model.product().architecture)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: nvmlDevice_t,
    major: *mut c_int,
    minor: *mut c_int,
) -> u32 {
    on_device("nvmlDeviceGetCudaComputeCapability", device, |call| {
        let (first, second) = call.sim.gpu(call.gpu()).model.product().compute;
        put(major, first)?;
        put(minor, second)
    })
}

/// None: a machine of its own.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetVirtualizationMode(device: nvmlDevice_t, mode: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetVirtualizationMode", device, |_| put(mode, 0))
}

/// Default: any number of processes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeMode(device: nvmlDevice_t, mode: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetComputeMode", device, |_| put(mode, 0))
}

/// On, as a metered node has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPersistenceMode(device: nvmlDevice_t, mode: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetPersistenceMode", device, |_| put(mode, 1))
}
