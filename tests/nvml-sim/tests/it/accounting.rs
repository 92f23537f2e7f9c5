//! Accounting mode: what it keeps, loses and mixes up.

use nvml_wrapper::error::NvmlError;

use crate::machine::{Machine, START_US};

#[test]
fn it_keeps_the_last_128_dead() {
    let machine = Machine::shipped("08a_accounting.toml");
    machine.pass_s(115.0);
    let pids = machine.gpu(0).accounting_pids().unwrap();
    // 200 ended by 102 s, and the first 4801: the newest 128 of these 201 stay. Living: 4801's successor and 4802.
    assert_eq!(pids.len(), 128 + 2);
    assert!(!pids.contains(&48_000) && pids.contains(&48_199) && pids.contains(&4802));
    let stats = machine.gpu(0).accounting_stats_for(48_199_u32).unwrap();
    // It asked for all, beside 10 % and 0.4 %: 100/110.4 of the engine.
    assert_eq!((stats.is_running, stats.time, stats.gpu_utilization), (false, 500, Some(90)));
    assert_eq!(machine.gpu(0).accounting_buffer_size().unwrap(), 4000);
}

#[test]
fn a_reused_pid_answers_for_the_dead_one() {
    let machine = Machine::shipped("08a_accounting.toml");
    machine.pass_s(30.0);
    let running = machine.gpu(0).accounting_stats_for(4801_u32).unwrap();
    assert_eq!((running.is_running, running.time), (true, 0));
    machine.pass_s(55.0);
    let dead = machine.gpu(0).accounting_stats_for(4801_u32).unwrap();
    assert_eq!((dead.is_running, dead.time, dead.start_time), (false, 60_000, START_US + 10_000_000));
    // 40 % of an engine that the short ones want whole for all its time: 40/140 of it, cut to whole percent.
    assert_eq!(dead.gpu_utilization, Some(28));
}

#[test]
fn less_than_a_percent_is_cut_to_zero() {
    let machine = Machine::shipped("08a_accounting.toml");
    machine.pass_s(200.0);
    assert_eq!(machine.gpu(0).accounting_stats_for(4802_u32).unwrap().gpu_utilization, Some(0));
}

#[test]
fn off_is_not_supported_and_needs_rights_to_switch_on() {
    let machine = Machine::shipped("08b_accounting_no_rights.toml");
    assert!(!machine.gpu(0).is_accounting_enabled().unwrap());
    assert!(matches!(machine.gpu(0).accounting_pids(), Err(NvmlError::NotSupported)));
    assert!(matches!(machine.gpu(0).set_accounting(true), Err(NvmlError::NoPermission)));
}

#[test]
fn switched_on_it_knows_who_comes_afterwards() {
    let machine = Machine::shipped("08a_accounting.toml");
    machine.pass_s(10.0);
    machine.gpu(1).set_accounting(true).unwrap();
    assert!(machine.gpu(1).is_accounting_enabled().unwrap());
    machine.pass_s(10.0);
    assert_eq!(machine.gpu(1).accounting_pids().unwrap(), [0_u32; 0]);
}

#[test]
fn all_ones_are_no_values_and_zeros_are_no_pids() {
    let machine = Machine::shipped("08a_accounting.toml");
    machine.pass_s(20.0);
    let stats = machine.gpu(2).accounting_stats_for(4803_u32).unwrap();
    assert_eq!((stats.gpu_utilization, stats.memory_utilization, stats.max_memory_usage), (None, None, None));
    assert_eq!(machine.gpu(3).accounting_pids().unwrap(), [4803, 0, 0, 0]);
}
