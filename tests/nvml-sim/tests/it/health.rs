//! Field values, memory errors, limits, raw samples, and the newer calls for processes.

use std::ffi::c_uint;

use gpuledger_nvml_sim::scenario::{Health, Kind, Limit, Process, Scenario};
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError, Sampling, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessDetail_v1_t, nvmlProcessDetailList_v1_t, nvmlProcessUtilizationInfo_v1_t,
    nvmlProcessesUtilizationInfo_v1_t,
};

use crate::machine::{Machine, START_US, shipped};

fn sick() -> Scenario {
    let mut scenario = shipped("12_isolation.toml");
    scenario.gpus[0].health = vec![
        Health { at_s: 10.0, limits: Some(vec![Limit::PowerCap, Limit::HardwareThermal]), ..Health::default() },
        Health {
            at_s: 20.0,
            temperature_c: Some(91),
            ecc_uncorrected: Some(3),
            remapped_pending: Some(true),
            ..Health::default()
        },
    ];
    scenario
}

#[test]
fn readings_hold_until_they_are_given_again() {
    let machine = Machine::new(&sick());
    let gpu = machine.gpu(0);
    machine.pass_s(5.0);
    assert_eq!(gpu.current_throttle_reasons().unwrap(), ThrottleReasons::empty());
    machine.pass_s(10.0);
    let limited = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN;
    assert_eq!(gpu.current_throttle_reasons().unwrap(), limited);
    assert_eq!(gpu.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).unwrap(), 0);
    machine.pass_s(10.0);
    assert_eq!(gpu.current_throttle_reasons().unwrap(), limited);
    assert_eq!(gpu.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).unwrap(), 3);
    assert_eq!(gpu.temperature(TemperatureSensor::Gpu).unwrap(), 91);
}

#[test]
fn nothing_running_is_a_reason_for_low_clocks() {
    let machine = Machine::shipped("01_idle.toml");
    machine.pass_s(5.0);
    assert_eq!(machine.gpu(0).current_throttle_reasons().unwrap(), ThrottleReasons::GPU_IDLE);
}

#[test]
fn each_field_answers_for_itself() {
    let machine = Machine::new(&sick());
    machine.pass_s(30.0);
    let fields = machine.gpu(0).field_values_for(&[FieldId(83), FieldId(144), FieldId(12_345), FieldId(4)]).unwrap();
    let values: Vec<_> = fields.into_iter().map(|field| field.unwrap().value).collect();
    // 30 s at half of 70..700 W.
    assert_eq!(values[0].as_ref().unwrap(), &SampleValue::U64(30 * 385_000));
    assert_eq!(values[1].as_ref().unwrap(), &SampleValue::U32(1));
    assert!(matches!(values[2], Err(NvmlError::NotSupported)));
    assert_eq!(values[3].as_ref().unwrap(), &SampleValue::U64(3));
}

#[test]
fn samples_are_fewer_than_their_capacity() {
    let machine = Machine::shipped("12_isolation.toml");
    machine.pass_s(30.0);
    let since = START_US + 25_000_000;
    let samples = machine.gpu(0).samples(Sampling::GpuUtilization, since).unwrap();
    let later = samples.iter().filter(|sample| sample.timestamp > since);
    assert_eq!(later.clone().count(), 36);
    assert!(later.clone().all(|sample| sample.value == SampleValue::U32(50)));
}

#[test]
fn the_newer_lists_say_what_the_older_ones_do() {
    let mut scenario = shipped("12_isolation.toml");
    scenario.processes.push(Process { kind: Kind::Mps, ..Process::constant(5202, 0, 10.0) });
    let machine = Machine::new(&scenario);
    machine.pass_s(30.0);
    assert_eq!(machine.gpu(0).mps_running_compute_processes().unwrap().len(), 1);

    let zero = nvmlProcessDetail_v1_t {
        pid: 0,
        usedGpuMemory: 0,
        gpuInstanceId: 0,
        computeInstanceId: 0,
        usedGpuCcProtectedMemory: 0,
    };
    let mut rows = [zero; 8];
    let mut list = nvmlProcessDetailList_v1_t {
        version: 24 | 1 << 24,
        mode: 2,
        numProcArrayEntries: 8,
        procArray: rows.as_mut_ptr(),
    };
    type List = unsafe extern "C" fn(nvmlDevice_t, *mut nvmlProcessDetailList_v1_t) -> c_uint;
    let call = machine.sim.symbol::<List>("nvmlDeviceGetRunningProcessDetailList");
    let device = machine.gpu(0);
    // SAFETY: the list says how many rows there is room for.
    assert_eq!(unsafe { call(device.handle(), &mut list) }, 0);
    assert_eq!((list.numProcArrayEntries, rows[0].pid), (1, 5202));
    list.version = 99;
    // SAFETY: as above.
    assert_eq!(unsafe { call(device.handle(), &mut list) }, 25);
}

#[test]
fn the_newer_utilization_call_negotiates_its_size() {
    let machine = Machine::shipped("12_isolation.toml");
    machine.pass_s(30.0);
    type Info = unsafe extern "C" fn(nvmlDevice_t, *mut nvmlProcessesUtilizationInfo_v1_t) -> c_uint;
    let call = machine.sim.symbol::<Info>("nvmlDeviceGetProcessesUtilizationInfo");
    let mut info = nvmlProcessesUtilizationInfo_v1_t {
        version: 24 | 1 << 24,
        processSamplesCount: 0,
        lastSeenTimeStamp: 0,
        procUtilArray: std::ptr::null_mut(),
    };
    let device = machine.gpu(0);
    // SAFETY: a null list with no room is a question for the count.
    assert_eq!(unsafe { call(device.handle(), &mut info) }, 7);
    assert_eq!(info.processSamplesCount, 1);
    let mut rows = [nvmlProcessUtilizationInfo_v1_t {
        timeStamp: 0,
        pid: 0,
        smUtil: 0,
        memUtil: 0,
        encUtil: 0,
        decUtil: 0,
        jpgUtil: 0,
        ofaUtil: 0,
    }];
    info.procUtilArray = rows.as_mut_ptr();
    // SAFETY: room for the one row it asked for.
    assert_eq!(unsafe { call(device.handle(), &mut info) }, 0);
    assert_eq!((rows[0].pid, rows[0].smUtil, rows[0].memUtil), (5201, 50, 25));
}
