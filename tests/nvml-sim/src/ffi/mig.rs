//! MIG: mode, enumeration, instances.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t};

use super::device::put_handle;
use super::out::put;
use super::{Call, on_device};
use crate::scenario::Instance;
use crate::sim::{Device, code};
use crate::world::mig;

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigMode(device: nvmlDevice_t, current: *mut c_uint, pending: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetMigMode", device, |call| {
        let gpu = call.sim.gpu(call.gpu());
        if !gpu.model.product().mig {
            return Err(code::NOT_SUPPORTED);
        }
        let mode = u32::from(mig::is_on(gpu, call.now));
        put(current, mode)?;
        put(pending, mode)
    })
}

/// The most there can be, not how many there are.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: nvmlDevice_t, count: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetMaxMigDeviceCount", device, |call| {
        put(count, if call.sim.gpu(call.gpu()).model.product().mig { 7 } else { 0 })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: nvmlDevice_t,
    index: c_uint,
    mig_device: *mut nvmlDevice_t,
) -> u32 {
    on_device("nvmlDeviceGetMigDeviceHandleByIndex", device, |call| {
        let gpu = call.sim.gpu(call.gpu());
        if !gpu.model.product().mig {
            return Err(code::NOT_SUPPORTED);
        }
        if index > 6 {
            return Err(code::INVALID_ARGUMENT);
        }
        mig::device(gpu, call.now, index).ok_or(code::NOT_FOUND)?;
        put_handle(mig_device, &call, Device { gpu: call.gpu(), mig: Some(index) })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    mig_device: nvmlDevice_t,
    device: *mut nvmlDevice_t,
) -> u32 {
    on_device("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig_device, |call| {
        call.device.mig.ok_or(code::INVALID_ARGUMENT)?;
        put_handle(device, &call, Device { gpu: call.gpu(), mig: None })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceIsMigDeviceHandle(device: nvmlDevice_t, is_mig: *mut c_uint) -> u32 {
    on_device("nvmlDeviceIsMigDeviceHandle", device, |call| put(is_mig, u32::from(call.device.mig.is_some())))
}

/// The instance a MIG handle stands for now.
fn instance<'a>(call: &'a Call<'_>) -> Result<&'a Instance, u32> {
    let index = call.device.mig.ok_or(code::NOT_SUPPORTED)?;
    mig::device(call.sim.gpu(call.gpu()), call.now, index).ok_or(code::INVALID_ARGUMENT)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(device: nvmlDevice_t, id: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetGpuInstanceId", device, |call| put(id, instance(&call)?.gi))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeInstanceId(device: nvmlDevice_t, id: *mut c_uint) -> u32 {
    on_device("nvmlDeviceGetComputeInstanceId", device, |call| put(id, instance(&call)?.ci.unwrap_or(0)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAttributes_v2(device: nvmlDevice_t, attributes: *mut nvmlDeviceAttributes_t) -> u32 {
    on_device("nvmlDeviceGetAttributes_v2", device, |call| {
        let product = call.sim.gpu(call.gpu()).model.product();
        let (multiprocessors, slices, memory_mib) = match instance(&call) {
            Ok(instance) => (instance.multiprocessors, instance.slices, instance.memory_mib),
            Err(_) if product.mig => (product.multiprocessors, 0, product.memory_mib),
            Err(_) => return Err(code::NOT_SUPPORTED),
        };
        put(
            attributes,
            nvmlDeviceAttributes_t {
                multiprocessorCount: multiprocessors,
                sharedCopyEngineCount: slices,
                sharedDecoderCount: slices,
                sharedEncoderCount: 0,
                sharedJpegCount: 0,
                sharedOfaCount: 0,
                gpuInstanceSliceCount: slices,
                computeInstanceSliceCount: slices,
                memorySizeMB: memory_mib,
            },
        )
    })
}
