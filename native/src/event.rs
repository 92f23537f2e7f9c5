//! Events: Xid errors and their kin, queued by the driver from registration on.

use std::fmt;

use nvml_wrapper_sys::bindings::{nvmlEventData_t, nvmlEventSet_t};

use crate::device::Device;
use crate::error::{Code, Error};
use crate::library::{Library, call};

/// An Xid error.
pub const XID: u64 = 0x8;
/// An uncorrected ECC error.
pub const DOUBLE_BIT: u64 = 0x2;
/// The card was cut into other instances.
pub const MIG_CHANGED: u64 = 0x100;
/// The GPU went away.
pub const UNAVAILABLE: u64 = 0x4000;
/// "Not an instance".
const NO_INSTANCE: u32 = u32::MAX;

/// Something that happened to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// One of the bits above.
    pub kind: u64,
    /// The Xid, for [`XID`].
    pub data: u64,
    /// GPU instance that it speaks of, on a card that is cut.
    pub gpu_instance: Option<u32>,
    /// Compute instance inside it.
    pub compute_instance: Option<u32>,
}

/// Where events of one device wait. One set a device: a failed registration takes the whole set with it.
pub struct EventSet {
    library: Library,
    handle: nvmlEventSet_t,
}

// SAFETY: the handle is the library's; it may be used from any thread, one at a time, and there is no `Sync`.
unsafe impl Send for EventSet {}

impl fmt::Debug for EventSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventSet")
    }
}

impl EventSet {
    /// A set with the wanted kinds that the device has; one that has none of them is not supported.
    pub fn of(device: Device, wanted: u64) -> Result<Self, Error> {
        let library = device.library;
        let mut supported = 0;
        call!(library, nvmlDeviceGetSupportedEventTypes(device.handle, &mut supported))?;
        let kinds = supported & wanted;
        if kinds == 0 {
            return Err(Error::Refused { call: "nvmlDeviceGetSupportedEventTypes", code: Code::NOT_SUPPORTED });
        }
        let mut handle = std::ptr::null_mut();
        call!(library, nvmlEventSetCreate(&mut handle))?;
        let set = Self { library, handle };
        call!(library, nvmlDeviceRegisterEvents(device.handle, kinds, handle))?;
        Ok(set)
    }

    /// The next event, waiting at most so long; `None` if there was none.
    pub fn next(&mut self, wait_ms: u32) -> Result<Option<Event>, Error> {
        // SAFETY: a structure of numbers and a handle, for which zeroes are valid.
        let mut data: nvmlEventData_t = unsafe { std::mem::zeroed() };
        match call!(self.library, nvmlEventSetWait_v2(self.handle, &mut data, wait_ms)) {
            Ok(()) => Ok(Some(Event {
                kind: data.eventType,
                data: data.eventData,
                gpu_instance: Some(data.gpuInstanceId).filter(|i| *i != NO_INSTANCE),
                compute_instance: Some(data.computeInstanceId).filter(|i| *i != NO_INSTANCE),
            })),
            Err(error) if error.code() == Some(Code::TIMEOUT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives the set up without telling the driver: after a loss or a restart its handle is dead.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for EventSet {
    fn drop(&mut self) {
        // The library may be gone below us, and then there is nothing left to free.
        let _ = call!(self.library, nvmlEventSetFree(self.handle));
    }
}
