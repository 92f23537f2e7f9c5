//! Event sets.

use std::ffi::{c_uint, c_ulonglong};
use std::time::Duration;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t};

use super::out::put;
use super::{on_device, on_library};
use crate::scenario::EventKind;
use crate::sim::{Device, Waited, code};

/// How often a wait looks, in milliseconds.
const LOOK_MS: u64 = 10;

/// Every kind of event there is.
const ALL: [EventKind; 6] = [
    EventKind::SingleBit,
    EventKind::DoubleBit,
    EventKind::Xid,
    EventKind::MigConfig,
    EventKind::Unavailable,
    EventKind::Recovery,
];

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlEventSetCreate(set: *mut nvmlEventSet_t) -> u32 {
    on_library("nvmlEventSetCreate", |call| {
        let id = call.sim.new_id();
        put(set, std::ptr::without_provenance_mut(id))?;
        call.sim.event_sets.entry(id).or_default();
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> u32 {
    on_library("nvmlEventSetFree", |call| {
        call.sim.event_sets.remove(&set.addr()).map(|_| ()).ok_or(code::INVALID_ARGUMENT)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetSupportedEventTypes(device: nvmlDevice_t, types: *mut c_ulonglong) -> u32 {
    on_device("nvmlDeviceGetSupportedEventTypes", device, |_| {
        put(types, ALL.iter().fold(0, |bits, kind| bits | kind.bit()))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceRegisterEvents(device: nvmlDevice_t, types: c_ulonglong, set: nvmlEventSet_t) -> u32 {
    on_device("nvmlDeviceRegisterEvents", device, |call| {
        let known = ALL.iter().fold(0, |bits, kind| bits | kind.bit());
        if types & !known != 0 {
            return Err(code::NOT_SUPPORTED);
        }
        let gpu = call.device.gpu;
        let set = call.sim.event_sets.get_mut(&set.addr()).ok_or(code::INVALID_ARGUMENT)?;
        set.register(gpu, types, call.now);
        Ok(())
    })
}

/// Waits outside the lock; the timeout is of the machine's time, whatever the scenario's clock does.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlEventSetWait_v2(set: nvmlEventSet_t, data: *mut nvmlEventData_t, timeout_ms: c_uint) -> u32 {
    let mut waited_ms = 0;
    loop {
        let mut found = false;
        let look = |call: super::Call<'_>| match call.sim.next_event(set.addr(), call.now) {
            Waited::Failed(code) => Err(code),
            Waited::Nothing => Ok(()),
            Waited::Event(event) => {
                found = true;
                let handle = call.sim.handle_of(Device { gpu: event.gpu, mig: None });
                put(
                    data,
                    nvmlEventData_t {
                        device: std::ptr::without_provenance_mut(handle),
                        eventType: event.kind.bit(),
                        eventData: event.data,
                        gpuInstanceId: event.gi.unwrap_or(u32::MAX),
                        computeInstanceId: event.ci.unwrap_or(u32::MAX),
                    },
                )
            }
        };
        let answer = if waited_ms == 0 {
            on_library("nvmlEventSetWait_v2", look)
        } else {
            on_library("nvmlEventSetWait_v2 (looks again)", look)
        };
        if answer != 0 || found {
            return answer;
        }
        if waited_ms >= u64::from(timeout_ms) {
            return code::TIMEOUT;
        }
        let nap = LOOK_MS.min(u64::from(timeout_ms) - waited_ms);
        std::thread::sleep(Duration::from_millis(nap));
        waited_ms += nap;
    }
}
