//! GPM: activity between two samples, from Hopper on.

use std::fmt;

use nvml_wrapper_sys::bindings::{nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t};

use crate::device::Device;
use crate::error::{Code, Error};
use crate::library::{Library, call};

/// `NVML_GPM_SUPPORT_VERSION` and `NVML_GPM_METRICS_GET_VERSION`: plain numbers, without a size in them.
const VERSION: u32 = 1;

/// A metric, with the library's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Metric {
    /// Percent of time in which any kernel ran.
    Graphics = 1,
    /// Percent of time that the streaming multiprocessors had work.
    Sm = 2,
    /// Percent of time that any tensor core had work.
    Tensor = 5,
    /// Percent of the memory bandwidth.
    Dram = 10,
}

/// A sample of a device's counters. It is freed when dropped, unless it was [forgotten](GpmSample::forget).
pub struct GpmSample {
    library: Library,
    handle: nvmlGpmSample_t,
}

// SAFETY: the handle is the library's; it may be used from any thread, one at a time, and there is no `Sync`.
unsafe impl Send for GpmSample {}

impl fmt::Debug for GpmSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GpmSample")
    }
}

impl GpmSample {
    fn new(library: Library) -> Result<Self, Error> {
        let mut handle = std::ptr::null_mut();
        call!(library, nvmlGpmSampleAlloc(&mut handle))?;
        Ok(Self { library, handle })
    }

    /// Gives the sample up without telling the driver: after a loss or a restart its handle is dead.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for GpmSample {
    fn drop(&mut self) {
        // The library may be gone below us, and then there is nothing left to free.
        let _ = call!(self.library, nvmlGpmSampleFree(self.handle));
    }
}

impl Device {
    /// Whether the device has GPM. Drivers that know it in no form answer in several ways; all of them mean no.
    pub fn has_gpm(self) -> Result<bool, Error> {
        let mut support = nvmlGpmSupport_t { version: VERSION, isSupportedDevice: 0 };
        match call!(self.library, nvmlGpmQueryDeviceSupport(self.handle, &mut support)) {
            Ok(()) => Ok(support.isSupportedDevice != 0),
            Err(error) if error.is_unsupported() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A sample of the whole device.
    pub fn gpm_sample(self) -> Result<GpmSample, Error> {
        let sample = GpmSample::new(self.library)?;
        call!(self.library, nvmlGpmSampleGet(self.handle, sample.handle))?;
        Ok(sample)
    }

    /// A sample of one GPU instance of this card.
    pub fn gpm_mig_sample(self, gpu_instance: u32) -> Result<GpmSample, Error> {
        let sample = GpmSample::new(self.library)?;
        call!(self.library, nvmlGpmMigSampleGet(self.handle, gpu_instance, sample.handle))?;
        Ok(sample)
    }
}

/// What a percentage may reach by rounding.
const HIGHEST_PERCENT: f64 = 100.5;

/// A percentage as parts per million; none for what cannot be one: it is rejected, not bent.
fn ppm(percent: f64) -> Option<i64> {
    (0.0..=HIGHEST_PERCENT).contains(&percent).then(|| ((percent * 10_000.0).round() as i64).min(1_000_000))
}

/// Metrics between two samples of the same device, each with its own answer: parts per million, none where the driver gave
/// what cannot be a percentage (NaN occurs).
pub fn metrics<const N: usize>(
    from: &GpmSample,
    to: &GpmSample,
    wanted: [Metric; N],
) -> Result<[Result<Option<i64>, Error>; N], Error> {
    // SAFETY: numbers, pointers and unions of them, for which zeroes are valid.
    let mut request: Box<nvmlGpmMetricsGet_t> = Box::new(unsafe { std::mem::zeroed() });
    request.version = VERSION;
    request.sample1 = from.handle;
    request.sample2 = to.handle;
    // Newer drivers have a longer list under the same version; they write only the entries asked for.
    request.numMetrics = N.min(request.metrics.len()) as u32;
    for (entry, metric) in request.metrics.iter_mut().zip(wanted) {
        entry.metricId = metric as u32;
    }
    call!(to.library, nvmlGpmMetricsGet(&mut *request))?;
    Ok(std::array::from_fn(|at| match request.metrics.get(at) {
        Some(entry) if entry.nvmlReturn == 0 => Ok(ppm(entry.value)),
        Some(entry) => Err(Error::Refused { call: "nvmlGpmMetricsGet", code: Code(entry.nvmlReturn) }),
        None => Err(Error::Missing { call: "nvmlGpmMetricsGet" }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_a_percentage_is_one() {
        assert_eq!(ppm(0.0), Some(0));
        assert_eq!(ppm(61.337_8), Some(613_378));
        assert_eq!(ppm(100.4), Some(1_000_000));
        for impossible in [100.6, -0.1, 2_619.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ppm(impossible), None, "{impossible}");
        }
    }
}
