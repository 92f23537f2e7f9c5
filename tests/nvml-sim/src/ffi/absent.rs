//! Calls that tools make and that nothing here has: a server's GPU has no fan and no display of its own, and links and
//! buses are not simulated. Arguments after the device are not looked at, so they are not declared.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::on_device;
use crate::sim::code;

fn absent(symbol: &'static str, device: nvmlDevice_t) -> u32 {
    on_device(symbol, device, |_| Err(code::NOT_SUPPORTED))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFanSpeed(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetFanSpeed", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDisplayActive(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetDisplayActive", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDisplayMode(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetDisplayMode", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDriverModel(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetDriverModel", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDriverModel_v2(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetDriverModel_v2", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPcieThroughput(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetPcieThroughput", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetNvLinkState(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetNvLinkState", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetRetiredPages_v2(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetRetiredPages_v2", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetViolationStatus(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetViolationStatus", device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetConfComputeMemSizeInfo(device: nvmlDevice_t) -> u32 {
    absent("nvmlDeviceGetConfComputeMemSizeInfo", device)
}
