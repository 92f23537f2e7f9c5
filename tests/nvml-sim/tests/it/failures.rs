//! Lost, hung and reloaded devices, resets, events, and copies of the library.

use std::sync::mpsc;
use std::time::Duration;

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::event::EventData;

use crate::machine::{Control, Machine, START_US, shipped};

#[test]
fn one_lost_gpu_leaves_seven() {
    let machine = Machine::shipped("09a_lost.toml");
    let lost = machine.gpu(6);
    machine.pass_s(420.0);
    assert!(matches!(lost.memory_info(), Err(NvmlError::GpuLost)));
    assert!(matches!(machine.nvml.device_by_index(6), Err(NvmlError::GpuLost)));
    let well = (0..8).filter(|gpu| machine.nvml.device_by_index(*gpu).is_ok()).count();
    assert_eq!((machine.nvml.device_count().unwrap(), well), (8, 7));
}

#[test]
fn codes_come_when_and_as_often_as_scripted() {
    let machine = Machine::shipped("09a_lost.toml");
    machine.pass_s(61.0);
    assert!(matches!(machine.gpu(1).process_utilization_stats(None), Err(NvmlError::Unknown)));
    assert!(machine.gpu(1).process_utilization_stats(None).is_ok());
    assert!(matches!(machine.gpu(3).power_usage(), Err(NvmlError::UnexpectedVariant(27))));
    machine.pass_s(60.0);
    assert!(machine.gpu(3).power_usage().is_ok());
}

#[test]
fn a_call_that_hangs_holds_up_nobody_else_and_ends_in_the_scenarios_time() {
    let machine = Machine::shipped("09b_hang.toml");
    machine.pass_s(60.0);
    let (send, answer) = mpsc::channel();
    std::thread::scope(|threads| {
        let machine = &machine;
        threads.spawn(move || send.send(machine.gpu(0).memory_info().is_ok()));
        while machine.sim.calls("nvmlDeviceGetMemoryInfo_v2") == 0 {
            std::thread::yield_now();
        }
        assert!(machine.gpu(2).memory_info().is_ok());
        assert_eq!(answer.recv_timeout(Duration::from_millis(20)), Err(mpsc::RecvTimeoutError::Timeout));
        machine.pass_s(20.0);
        assert_eq!(answer.recv_timeout(Duration::from_secs(60)), Ok(true));
    });
}

#[test]
fn a_hang_for_ever_ends_when_it_is_released() {
    let machine = Machine::shipped("09b_hang.toml");
    machine.pass_s(120.0);
    let (send, answer) = mpsc::channel();
    std::thread::scope(|threads| {
        let machine = &machine;
        threads.spawn(move || send.send(machine.gpu(1).process_utilization_stats(None).is_ok()));
        while machine.sim.calls("nvmlDeviceGetProcessUtilization") == 0 {
            std::thread::yield_now();
        }
        machine.pass_s(3600.0);
        assert_eq!(answer.recv_timeout(Duration::from_millis(20)), Err(mpsc::RecvTimeoutError::Timeout));
        // The wrapper calls twice, and both hang.
        let release = machine.sim.symbol::<extern "C" fn() -> i32>("nvml_sim_release");
        let mut released = || {
            release();
            answer.recv_timeout(Duration::from_millis(20)).ok()
        };
        assert_eq!(std::iter::repeat_with(&mut released).find_map(|answered| answered), Some(true));
    });
}

#[test]
fn an_upgraded_driver_answers_18_even_to_init() {
    let machine = Machine::shipped("09c_upgrade.toml");
    machine.pass_s(120.0);
    assert!(matches!(machine.nvml.device_count(), Err(NvmlError::LibRmVersionMismatch)));
    assert!(matches!(machine.sim.init(), Err(NvmlError::LibRmVersionMismatch)));
}

#[test]
fn energy_is_the_integral_of_power_and_begins_again_at_a_reset() {
    let machine = Machine::shipped("10_resets.toml");
    machine.pass_s(61.0);
    // From 1 s on half of 70..700 W: 385 W; before that 70 W.
    assert_eq!(machine.gpu(0).total_energy_consumption().unwrap(), 70_000 + 60 * 385_000);
    assert_eq!(machine.gpu(0).power_usage().unwrap(), 385_000);
    machine.pass_s(39.0);
    assert_eq!(machine.gpu(0).total_energy_consumption().unwrap(), 10 * 385_000);
    assert_eq!(machine.gpu(1).total_energy_consumption().unwrap(), 70_000 + 99 * 385_000);
}

#[test]
fn stamps_follow_the_wall_clock_back_and_the_busy_time_does_not() {
    let machine = Machine::shipped("10_resets.toml");
    machine.pass_s(205.0);
    let rows = machine.gpu(0).process_utilization_stats(None).unwrap();
    assert_eq!(rows[0].sm_util, 50);
    assert_eq!(rows[0].timestamp, START_US + 205_000_000 - 1_200_000_000);
    // Who asks with the stamp from before the step finds only what the ring still has from then.
    let before = rows[0].timestamp + 1_200_000_000;
    assert!(matches!(machine.gpu(0).process_utilization_stats(before), Err(NvmlError::NotFound)));
}

#[test]
fn a_reloaded_driver_wants_init_and_has_forgotten() {
    let machine = Machine::shipped("10_resets.toml");
    let old = machine.gpu(0);
    assert!(old.is_accounting_enabled().unwrap());
    machine.pass_s(602.0);
    assert!(matches!(old.power_usage(), Err(NvmlError::DriverNotLoaded)));
    assert!(matches!(machine.sim.init(), Err(NvmlError::DriverNotLoaded)));
    machine.pass_s(13.0);
    assert!(matches!(old.power_usage(), Err(NvmlError::Uninitialized)));
    let again = machine.sim.init().unwrap();
    let gpu = again.device_by_index(0).unwrap();
    assert!(matches!(old.power_usage(), Err(NvmlError::InvalidArg)), "a handle of the driver before");
    assert!(!gpu.is_accounting_enabled().unwrap());
    assert_eq!(gpu.total_energy_consumption().unwrap(), 10 * 385_000);
}

fn xid(data: &EventData<'_>) -> Option<u64> {
    match data.event_data {
        Some(XidError::Value(xid)) => Some(xid),
        _ => None,
    }
}

#[test]
fn a_burst_of_xids_is_delivered_whole_to_who_registered() {
    let machine = Machine::shipped("11_events.toml");
    let types = EventTypes::CRITICAL_XID_ERROR;
    let set = machine.gpu(0).register_events(types, machine.nvml.create_event_set().unwrap()).unwrap();
    assert!(matches!(set.wait(1), Err(NvmlError::Timeout)));
    machine.pass_s(50.0);
    let burst = (0..50).filter(|_| set.wait(1).is_ok_and(|data| xid(&data) == Some(63))).count();
    assert_eq!(burst, 50);
    // The uncorrected error is an event too, but was not asked for.
    assert!(matches!(set.wait(1), Err(NvmlError::Timeout)));
}

#[test]
fn registering_can_be_refused_and_waiting_can_fail_at_once() {
    let machine = Machine::shipped("11_events.toml");
    let types = EventTypes::CRITICAL_XID_ERROR;
    let set = machine.nvml.create_event_set().unwrap();
    assert!(machine.gpu(2).register_events(types, set).is_err());
    let set = machine.gpu(3).register_events(types, machine.nvml.create_event_set().unwrap()).unwrap();
    machine.pass_s(60.0);
    assert!(matches!(set.wait(600_000), Err(NvmlError::Unknown)));
}

#[test]
fn two_copies_are_two_machines() {
    let (one, two) = (Machine::shipped("12_isolation.toml"), Machine::shipped("01_idle.toml"));
    one.pass_s(60.0);
    assert_eq!(one.gpu(0).process_utilization_stats(None).unwrap()[0].sm_util, 50);
    assert_eq!(two.nvml.device_count().unwrap(), 2);
    assert!(two.gpu(0).process_utilization_stats(None).is_err());
    assert_eq!(two.sim.calls("nvmlDeviceGetProcessUtilization"), 2);
}

#[test]
fn a_copy_of_a_file_is_found_under_the_drivers_name() {
    let control = Control::new(&shipped("12_isolation.toml"));
    assert_eq!(control.path().file_name().unwrap(), "libnvidia-ml.so.1");
    assert!(control.init().is_ok());
}

#[test]
fn devices_that_are_not_there_are_refused() {
    let machine = Machine::shipped("12_isolation.toml");
    assert!(matches!(machine.nvml.device_by_index(1), Err(NvmlError::InvalidArg)));
    assert!(matches!(machine.nvml.device_by_uuid("GPU-nothing"), Err(NvmlError::NotFound)));
    let found = machine.nvml.device_by_uuid("GPU-12121212-0000-4000-8000-000000000001").unwrap();
    assert_eq!(found.index().unwrap(), 0);
    // A century is the end of time.
    machine.pass_s(1e18);
    assert!(machine.gpu(0).process_utilization_stats(None).is_ok());
}
