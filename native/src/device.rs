//! One device: what it is, and what it reads at this moment.

use std::fmt;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t, nvmlSample_t, nvmlTemperature_v1_t, nvmlUtilization_t,
};

use crate::error::Error;
use crate::library::{Library, call, text, until_nul};

/// Versions of structures carry their size in the low 24 bits and the version above.
const fn version_of(bytes: usize, version: u32) -> u32 {
    bytes as u32 | version << 24
}

/// `NVML_TEMPERATURE_GPU`.
const SENSOR_GPU: u32 = 0;
/// `NVML_MEMORY_ERROR_TYPE_UNCORRECTED`.
const ECC_UNCORRECTED: u32 = 1;
/// `NVML_VOLATILE_ECC`: since the driver was loaded.
const ECC_VOLATILE: u32 = 0;
/// Most samples that any driver keeps of one kind, with room to spare.
const SAMPLES_MAX: usize = 512;

/// A physical GPU or a MIG instance. Its handle is dead after a restart of the library or a loss of the GPU, and every
/// call then says so; it is never followed as a pointer here.
#[derive(Clone, Copy)]
pub struct Device {
    pub(crate) library: Library,
    pub(crate) handle: nvmlDevice_t,
}

// SAFETY: a handle is a number of the library, which may be called from any thread; nothing here follows it.
unsafe impl Send for Device {}
// SAFETY: as above; calls with the same handle from two threads are the library's own business, which it allows.
unsafe impl Sync for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Device")
    }
}

/// Memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// In use by processes and contexts; what the driver keeps for itself is in it only where `reserved_bytes` is
    /// absent.
    pub used_bytes: u64,
    /// Kept by the driver for itself; drivers before 510 do not say.
    pub reserved_bytes: Option<u64>,
}

/// Utilization over the driver's own last window, which is 1/6 s to 1 s long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Percent of the window in which any kernel ran.
    pub gpu_percent: u32,
    /// Percent of the window in which memory was read or written.
    pub memory_percent: u32,
}

/// A kind of sample that the driver keeps by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Sampling {
    /// Percent of time in which any kernel ran.
    Gpu = 1,
    /// Percent of time in which memory was read or written.
    Memory = 2,
}

/// A value that the driver sampled by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When, in microseconds by the wall clock.
    pub at_us: u64,
    /// Percent, as the driver wrote it; impossible values occur.
    pub percent: u32,
}

/// Rows of memory that were replaced by spare ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemappedRows {
    /// After corrected errors.
    pub corrected: u32,
    /// After uncorrected errors.
    pub uncorrected: u32,
    /// A row waits for a reset to be replaced.
    pub pending: bool,
    /// There was no spare row left.
    pub failed: bool,
}

impl Device {
    pub(crate) fn new(library: Library, handle: nvmlDevice_t) -> Self {
        Self { library, handle }
    }

    /// The driver's UUID, `GPU-...` or `MIG-...`.
    pub fn uuid(self) -> Result<String, Error> {
        text(|buffer, length| call!(self.library, nvmlDeviceGetUUID(self.handle, buffer, length)))
    }

    /// The model, as the driver names it.
    pub fn name(self) -> Result<String, Error> {
        text(|buffer, length| call!(self.library, nvmlDeviceGetName(self.handle, buffer, length)))
    }

    /// Number of its device file, N of `/dev/nvidiaN`.
    pub fn minor(self) -> Result<u32, Error> {
        let mut minor = 0;
        call!(self.library, nvmlDeviceGetMinorNumber(self.handle, &mut minor))?;
        Ok(minor)
    }

    /// PCI bus id, e.g. `00000000:17:00.0`.
    pub fn pci_bus_id(self) -> Result<String, Error> {
        // SAFETY: a structure of numbers and bytes, for which zeroes are valid.
        let mut pci: nvmlPciInfo_t = unsafe { std::mem::zeroed() };
        call!(self.library, nvmlDeviceGetPciInfo_v3(self.handle, &mut pci))?;
        Ok(until_nul(&pci.busId.map(|c| c as u8)))
    }

    /// CUDA compute capability, major and minor.
    pub fn compute_capability(self) -> Result<(i32, i32), Error> {
        let (mut major, mut minor) = (0, 0);
        call!(self.library, nvmlDeviceGetCudaComputeCapability(self.handle, &mut major, &mut minor))?;
        Ok((major, minor))
    }

    /// Whether the driver keeps the device awake when nobody uses it.
    pub fn is_persistent(self) -> Result<bool, Error> {
        let mut mode = 0;
        call!(self.library, nvmlDeviceGetPersistenceMode(self.handle, &mut mode))?;
        Ok(mode == 1)
    }

    /// Memory; by the call that tells used from reserved, else by the old one that mixes them.
    pub fn memory(self) -> Result<Memory, Error> {
        let version = version_of(size_of::<nvmlMemory_v2_t>(), 2);
        let mut memory = nvmlMemory_v2_t { version, total: 0, reserved: 0, free: 0, used: 0 };
        match call!(self.library, nvmlDeviceGetMemoryInfo_v2(self.handle, &mut memory)) {
            Ok(()) => {
                Ok(Memory { total_bytes: memory.total, used_bytes: memory.used, reserved_bytes: Some(memory.reserved) })
            }
            Err(error) if error.has_sibling() => self.memory_v1(),
            Err(error) => Err(error),
        }
    }

    fn memory_v1(self) -> Result<Memory, Error> {
        let mut memory = nvmlMemory_t { total: 0, free: 0, used: 0 };
        call!(self.library, nvmlDeviceGetMemoryInfo(self.handle, &mut memory))?;
        Ok(Memory { total_bytes: memory.total, used_bytes: memory.used, reserved_bytes: None })
    }

    /// Utilization at this moment: a spot reading.
    pub fn rates(self) -> Result<Rates, Error> {
        let mut rates = nvmlUtilization_t { gpu: 0, memory: 0 };
        call!(self.library, nvmlDeviceGetUtilizationRates(self.handle, &mut rates))?;
        Ok(Rates { gpu_percent: rates.gpu, memory_percent: rates.memory })
    }

    /// What the driver sampled by itself after `last_seen_us`; none is an empty list.
    pub fn samples(self, kind: Sampling, last_seen_us: u64) -> Result<Vec<Sample>, Error> {
        // SAFETY: structures of numbers, for which zeroes are valid.
        let mut samples: [nvmlSample_t; SAMPLES_MAX] = unsafe { std::mem::zeroed() };
        let (mut count, mut value_type) = (SAMPLES_MAX as u32, 0);
        let answer = call!(
            self.library,
            nvmlDeviceGetSamples(
                self.handle,
                kind as u32,
                last_seen_us,
                &mut value_type,
                &mut count,
                samples.as_mut_ptr()
            )
        );
        match answer {
            Ok(()) => {}
            Err(error) if error.code() == Some(crate::Code::NOT_FOUND) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        let samples = samples.iter().take(count as usize).map(|s| Sample {
            at_us: s.timeStamp,
            // SAFETY: utilization is an unsigned int of the union, and every bit pattern is one.
            percent: unsafe { s.sampleValue.uiVal },
        });
        Ok(samples.collect())
    }

    /// Power drawn, in milliwatts; how long the driver averages depends on the model.
    pub fn power_mw(self) -> Result<u32, Error> {
        let mut power_mw = 0;
        call!(self.library, nvmlDeviceGetPowerUsage(self.handle, &mut power_mw))?;
        Ok(power_mw)
    }

    /// The power limit that the driver keeps to now, in milliwatts: the least of all that were set.
    pub fn power_limit_mw(self) -> Result<u32, Error> {
        let mut limit_mw = 0;
        call!(self.library, nvmlDeviceGetEnforcedPowerLimit(self.handle, &mut limit_mw))?;
        Ok(limit_mw)
    }

    /// Energy used since the driver was loaded, in millijoules.
    pub fn energy_total_mj(self) -> Result<u64, Error> {
        let mut energy_mj = 0;
        call!(self.library, nvmlDeviceGetTotalEnergyConsumption(self.handle, &mut energy_mj))?;
        Ok(energy_mj)
    }

    /// Temperature of the GPU; by the newer call, else by the one that it replaces.
    pub fn temperature_c(self) -> Result<i32, Error> {
        let version = version_of(size_of::<nvmlTemperature_v1_t>(), 1);
        let mut reading = nvmlTemperature_v1_t { version, sensorType: SENSOR_GPU, temperature: 0 };
        match call!(self.library, nvmlDeviceGetTemperatureV(self.handle, &mut reading)) {
            Ok(()) => Ok(reading.temperature),
            Err(error) if error.has_sibling() => {
                let mut temperature_c = 0;
                call!(self.library, nvmlDeviceGetTemperature(self.handle, SENSOR_GPU, &mut temperature_c))?;
                Ok(i32::try_from(temperature_c).unwrap_or(i32::MAX))
            }
            Err(error) => Err(error),
        }
    }

    /// Why clocks are limited, a bit a reason; by the newer call, else by the one that it replaces.
    pub fn limit_reasons(self) -> Result<u64, Error> {
        let mut bits = 0;
        match call!(self.library, nvmlDeviceGetCurrentClocksEventReasons(self.handle, &mut bits)) {
            Ok(()) => Ok(bits),
            Err(error) if error.has_sibling() => {
                call!(self.library, nvmlDeviceGetCurrentClocksThrottleReasons(self.handle, &mut bits))?;
                Ok(bits)
            }
            Err(error) => Err(error),
        }
    }

    /// Uncorrected ECC errors since the driver was loaded.
    pub fn ecc_uncorrected(self) -> Result<u64, Error> {
        let mut count = 0;
        call!(self.library, nvmlDeviceGetTotalEccErrors(self.handle, ECC_UNCORRECTED, ECC_VOLATILE, &mut count))?;
        Ok(count)
    }

    /// Rows of memory that were replaced.
    pub fn remapped_rows(self) -> Result<RemappedRows, Error> {
        let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
        call!(
            self.library,
            nvmlDeviceGetRemappedRows(self.handle, &mut corrected, &mut uncorrected, &mut pending, &mut failed)
        )?;
        Ok(RemappedRows { corrected, uncorrected, pending: pending != 0, failed: failed != 0 })
    }
}
