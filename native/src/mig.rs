//! MIG: a card cut into instances.

use nvml_wrapper_sys::bindings::nvmlDeviceAttributes_t;

use crate::device::Device;
use crate::error::{Code, Error};
use crate::library::call;

/// What an instance is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Slices of its GPU instance.
    pub gpu_instance_slices: u32,
    /// Slices of its compute instance.
    pub compute_instance_slices: u32,
    /// Memory, in MiB.
    pub memory_mib: u64,
}

impl Device {
    /// Whether the card is in MIG mode now.
    pub fn is_mig(self) -> Result<bool, Error> {
        let (mut current, mut pending) = (0, 0);
        match call!(self.library, nvmlDeviceGetMigMode(self.handle, &mut current, &mut pending)) {
            Ok(()) => Ok(current == 1),
            // a card that cannot be cut is not cut
            Err(error) if error.is_unsupported() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How many instances the card can have at most; numbers in between may be unused.
    pub fn mig_slots(self) -> Result<u32, Error> {
        let mut count = 0;
        call!(self.library, nvmlDeviceGetMaxMigDeviceCount(self.handle, &mut count))?;
        Ok(count)
    }

    /// The instance in a slot, or `None` for an unused one. The handle may come to mean another instance later.
    pub fn mig_device(self, slot: u32) -> Result<Option<Self>, Error> {
        let mut handle = std::ptr::null_mut();
        match call!(self.library, nvmlDeviceGetMigDeviceHandleByIndex(self.handle, slot, &mut handle)) {
            Ok(()) => Ok(Some(Self::new(self.library, handle))),
            Err(error) if error.code() == Some(Code::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// GPU instance of a MIG device.
    pub fn gpu_instance(self) -> Result<u32, Error> {
        let mut id = 0;
        call!(self.library, nvmlDeviceGetGpuInstanceId(self.handle, &mut id))?;
        Ok(id)
    }

    /// Compute instance of a MIG device, inside its GPU instance.
    pub fn compute_instance(self) -> Result<u32, Error> {
        let mut id = 0;
        call!(self.library, nvmlDeviceGetComputeInstanceId(self.handle, &mut id))?;
        Ok(id)
    }

    /// What an instance is made of.
    pub fn attributes(self) -> Result<Attributes, Error> {
        // SAFETY: a structure of numbers, for which zeroes are valid.
        let mut attributes: nvmlDeviceAttributes_t = unsafe { std::mem::zeroed() };
        call!(self.library, nvmlDeviceGetAttributes_v2(self.handle, &mut attributes))?;
        Ok(Attributes {
            multiprocessors: attributes.multiprocessorCount,
            gpu_instance_slices: attributes.gpuInstanceSliceCount,
            compute_instance_slices: attributes.computeInstanceSliceCount,
            memory_mib: attributes.memorySizeMB,
        })
    }
}
