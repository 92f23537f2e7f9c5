//! Drivers of several versions: the symbols they lack, the rows they changed.

use std::ffi::c_uint;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::machine::{Control, Machine, shipped};

#[test]
fn an_old_driver_lacks_symbols_and_the_library_loads_all_the_same() {
    let machine = Machine::shipped("05a_driver470.toml");
    for absent in ["nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMemoryInfo_v2", "nvmlGpmSampleGet"] {
        assert!(!machine.sim.has(absent), "{absent}");
    }
    assert!(machine.sim.has("nvmlDeviceGetComputeRunningProcesses_v2"));
    assert!(machine.sim.has("nvmlDeviceGetProcessUtilization"));
    assert!(matches!(machine.gpu(0).memory_info(), Err(NvmlError::FailedToLoadSymbol(_))));
}

#[test]
fn a_symbol_can_be_missing_that_the_version_should_have() {
    let control = Control::new(&shipped("09c_upgrade.toml"));
    assert!(!control.has("nvmlDeviceGetRunningProcessDetailList"));
    assert!(control.has("nvmlDeviceGetProcessesUtilizationInfo"));
}

#[test]
fn the_newest_accounting_call_comes_with_610() {
    assert!(!Control::new(&shipped("01_idle.toml")).has("nvmlDeviceGetAccountingStats_v2"));
    assert!(Control::new(&shipped("05c_driver610.toml")).has("nvmlDeviceGetAccountingStats_v2"));
}

#[test]
fn sums_of_accounting_have_a_difference_between_polls() {
    let machine = Machine::shipped("05c_driver610.toml");
    type Call = unsafe extern "C" fn(nvmlDevice_t, *mut u64) -> c_uint;
    let call = machine.sim.symbol::<Call>("nvmlDeviceGetAccountingStats_v2");
    let sum = || {
        // 64 bytes: pid in the first word, the sum of GPU utilization in the fifth.
        let mut stats = [4521_u64, 0, 0, 0, 0, 0, 0, 0];
        let device = machine.gpu(0);
        // SAFETY: the array has the size of the call's struct.
        assert_eq!(unsafe { call(device.handle(), stats.as_mut_ptr()) }, 0);
        stats[4]
    };
    machine.pass_s(11.0);
    assert_eq!(sum(), 25_500);
    machine.pass_s(5.0);
    assert_eq!(sum(), 25_500 + 12_750);
}

#[test]
fn rows_of_an_early_535_are_wider_than_they_should_be() {
    let machine = Machine::shipped("05b_driver535.toml");
    let list = machine.gpu(0).running_compute_processes().unwrap();
    // Read with the usual stride, the second row begins in the middle of the first's successor.
    assert_eq!(list[0].pid, 4511);
    assert_ne!(list[1].pid, 4512);

    type Call = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint, *mut u64) -> c_uint;
    let call = machine.sim.symbol::<Call>("nvmlDeviceGetComputeRunningProcesses_v3");
    let (mut count, mut rows) = (128_u32, [0_u64; 3 * 128]);
    let device = machine.gpu(0);
    // SAFETY: the array has room for 128 rows of 24 bytes, as `count` says.
    assert_eq!(unsafe { call(device.handle(), &mut count, rows.as_mut_ptr()) }, 0);
    let wide: Vec<(u64, u64)> =
        rows.chunks(4).take(count as usize).map(|row| (row[0] & 0xffff_ffff, row[1] >> 30)).collect();
    assert_eq!(wide, [(4511, 1), (4512, 2), (4513, 3)]);
}
