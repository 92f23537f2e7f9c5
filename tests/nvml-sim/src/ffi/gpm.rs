//! GPM: two samples, and the mean between them.

use std::ffi::{CStr, c_uint};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetric_t, nvmlGpmMetric_t__bindgen_ty_1 as MetricInfo, nvmlGpmMetricsGet_t, nvmlGpmSample_t,
    nvmlGpmSupport_t,
};

use super::out::{put, take};
use super::{Call, on_device, on_library};
use crate::sim::{Answer, code};
use crate::world::mig;

/// Version of the metrics call and of the support call.
const VERSION: u32 = 1;

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmQueryDeviceSupport(device: nvmlDevice_t, support: *mut nvmlGpmSupport_t) -> u32 {
    on_device("nvmlGpmQueryDeviceSupport", device, |call| {
        let asked = take(support)?;
        if asked.version != VERSION {
            return Err(code::VERSION_MISMATCH);
        }
        let gpu = call.sim.gpu(call.gpu());
        let refused = gpu.not_supported.iter().any(|symbol| symbol == "nvmlGpmSampleGet");
        let supported = gpu.model.product().gpm && !refused;
        put(support, nvmlGpmSupport_t { version: VERSION, isSupportedDevice: u32::from(supported) })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSampleAlloc(sample: *mut nvmlGpmSample_t) -> u32 {
    on_library("nvmlGpmSampleAlloc", |call| {
        let id = call.sim.new_id();
        put(sample, std::ptr::without_provenance_mut(id))?;
        call.sim.gpm_samples.insert(id, None);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> u32 {
    on_library("nvmlGpmSampleFree", |call| {
        call.sim.gpm_samples.remove(&sample.addr()).map(|_| ()).ok_or(code::INVALID_ARGUMENT)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSampleGet(device: nvmlDevice_t, sample: nvmlGpmSample_t) -> u32 {
    on_device("nvmlGpmSampleGet", device, |call| {
        let instance = call.device.mig.and_then(|index| mig::device(call.sim.gpu(call.gpu()), call.now, index));
        let gi = instance.map(|instance| instance.gi);
        fill(call, sample, gi)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmMigSampleGet(device: nvmlDevice_t, gi: c_uint, sample: nvmlGpmSample_t) -> u32 {
    on_device("nvmlGpmMigSampleGet", device, |call| {
        let gpu = call.sim.gpu(call.gpu());
        if !mig::is_on(gpu, call.now) {
            return Err(code::NOT_SUPPORTED);
        }
        mig::instance(gpu, call.now, gi).ok_or(code::NOT_FOUND)?;
        fill(call, sample, Some(gi))
    })
}

fn fill(call: Call<'_>, sample: nvmlGpmSample_t, gi: Option<u32>) -> Answer {
    let taken = call.sim.gpm_sample(call.device.gpu, gi, call.now);
    let place = call.sim.gpm_samples.get_mut(&sample.addr()).ok_or(code::INVALID_ARGUMENT)?;
    *place = Some(taken);
    Ok(())
}

/// Only the first `numMetrics` entries are touched: callers of other header versions have arrays of other lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmMetricsGet(request: *mut nvmlGpmMetricsGet_t) -> u32 {
    on_library("nvmlGpmMetricsGet", |call| {
        if request.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: not null, so it is the caller's request; the addresses of its fields are inside it.
        let (version, count, first, second, metrics) = unsafe {
            (
                take(&raw const (*request).version)?,
                take(&raw const (*request).numMetrics)?,
                take(&raw const (*request).sample1)?,
                take(&raw const (*request).sample2)?,
                (&raw mut (*request).metrics).cast::<nvmlGpmMetric_t>(),
            )
        };
        if version != VERSION {
            return Err(code::VERSION_MISMATCH);
        }
        let sample = |at: nvmlGpmSample_t| call.sim.gpm_samples.get(&at.addr()).and_then(Option::as_ref);
        let (Some(first), Some(second)) = (sample(first), sample(second)) else { return Err(code::INVALID_ARGUMENT) };
        if (first.gpu, first.gi) != (second.gpu, second.gi) {
            return Err(code::INVALID_ARGUMENT);
        }
        for at in 0..count as usize {
            let metric = metrics.wrapping_add(at);
            let asked = take(metric)?;
            let (answer, value) = call.sim.gpm_metric(first, second, asked.metricId);
            put(metric, nvmlGpmMetric_t { metricId: asked.metricId, nvmlReturn: answer, value, metricInfo: info() })?;
        }
        Ok(())
    })
}

/// Names of a metric: callers read them as strings, whatever they say.
fn info() -> MetricInfo {
    let name = |text: &'static CStr| text.as_ptr().cast_mut();
    MetricInfo { shortName: name(c"metric"), longName: name(c"simulated metric"), unit: name(c"%") }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmQueryIfStreamingEnabled(device: nvmlDevice_t, state: *mut c_uint) -> u32 {
    on_device("nvmlGpmQueryIfStreamingEnabled", device, |call| {
        put(state, u32::from(call.sim.gpus[call.gpu()].streaming))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSetStreamingEnabled(device: nvmlDevice_t, state: c_uint) -> u32 {
    on_device("nvmlGpmSetStreamingEnabled", device, |call| {
        if !call.sim.world.scenario.driver.privileged {
            return Err(code::NO_PERMISSION);
        }
        call.sim.gpus[call.device.gpu].streaming = state == 1;
        Ok(())
    })
}
