//! Utilization of processes: the ring of 72 samples, and rows that cannot be.

use std::ffi::c_uint;

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessUtilizationSample_t as Row};

use crate::machine::{Machine, START_US};

type Call = unsafe extern "C" fn(nvmlDevice_t, *mut Row, *mut c_uint, u64) -> c_uint;

/// The raw call with a buffer of some rows; None: the count probe.
fn raw(machine: &Machine, gpu: u32, room: Option<usize>, last_seen: u64) -> (u32, u32, Vec<Row>) {
    let device = machine.gpu(gpu);
    let call = machine.sim.symbol::<Call>("nvmlDeviceGetProcessUtilization");
    let zero = Row { pid: 0, timeStamp: 0, smUtil: 0, memUtil: 0, encUtil: 0, decUtil: 0 };
    let mut rows = vec![zero; room.unwrap_or(0)];
    let mut count = rows.len() as c_uint;
    let to = if room.is_some() { rows.as_mut_ptr() } else { std::ptr::null_mut() };
    // SAFETY: `count` says how many rows there is room for.
    let code = unsafe { call(device.handle(), to, &mut count, last_seen) };
    rows.truncate(if code == 0 { count as usize } else { 0 });
    (code, count, rows)
}

fn last_stamp(device: &Device<'_>, seen: u64) -> Result<(u32, u64), NvmlError> {
    let rows = device.process_utilization_stats(seen)?;
    Ok((rows[0].sm_util, rows[0].timestamp))
}

#[test]
fn an_idle_device_has_a_capacity_and_no_rows() {
    let machine = Machine::shipped("01_idle.toml");
    machine.pass_s(60.0);
    assert_eq!(raw(&machine, 0, None, 0).0, 7);
    assert_eq!(raw(&machine, 0, None, 0).1, 100);
    assert_eq!(raw(&machine, 0, Some(128), 0).0, 6);
    let refused = machine.gpu(0).process_utilization_stats(None);
    assert!(matches!(refused, Err(NvmlError::NotFound)), "{refused:?}");
}

#[test]
fn an_idle_device_of_the_other_kind_of_driver_has_zero_rows() {
    let mut scenario = crate::machine::shipped("01_idle.toml");
    scenario.driver.idle_probe = gpuledger_nvml_sim::scenario::IdleProbe::Zero;
    let machine = Machine::new(&scenario);
    machine.pass_s(60.0);
    let (code, count, _) = raw(&machine, 0, None, 0);
    assert_eq!((code, count), (0, 0));
}

#[test]
fn polls_of_five_seconds_add_up_to_the_busy_time_and_one_a_minute_does_not() {
    let machine = Machine::shipped("02_ring.toml");
    let (mut seen, mut busy_ms) = (START_US, 0.0);
    for _ in 0..12 {
        machine.pass_s(5.0);
        if let Ok((percent, stamp)) = last_stamp(&machine.gpu(0), seen) {
            busy_ms += f64::from(percent) / 100.0 * (stamp - seen) as f64 / 1000.0;
            seen = stamp;
        }
    }
    // On for the first 30 s of the minute; a sample is 139 ms long.
    assert!((busy_ms - 30_000.0).abs() <= 140.0, "{busy_ms} ms");

    // The ring holds 50 s to 60 s, in which nothing ran.
    let late = raw(&machine, 0, Some(128), START_US);
    assert_eq!(late.0, 6);
}

#[test]
fn a_ring_is_ten_seconds_and_a_query_averages_over_all_of_it() {
    let machine = Machine::shipped("02_ring.toml");
    machine.pass_s(35.0);
    // 25 s to 35 s: busy until 30 s. 36 of 72 samples at 100 %.
    let (_, _, rows) = raw(&machine, 0, Some(128), 0);
    assert_eq!((rows[0].pid, rows[0].smUtil), (4201, 50));
    // The stamp is that of the last sample in which it was seen, not of the call.
    assert_eq!(rows[0].timeStamp, START_US + 30_000_000);
}

#[test]
fn processes_that_share_are_credited_sample_by_sample_and_sum_to_the_device() {
    let machine = Machine::shipped("02_ring.toml");
    let (mut sum, mut own, mut polls) = (0, 0, 0);
    for _ in 0..60 {
        machine.pass_s(10.0);
        let (_, _, rows) = raw(&machine, 1, Some(128), 0);
        sum += rows.iter().map(|row| row.smUtil).sum::<u32>();
        own += rows.iter().find(|row| row.pid == 4202).map_or(0, |row| row.smUtil);
        polls += 1;
    }
    // 60 % together (each of two rows is cut to whole percent), two thirds of it 4202's: 40 % by luck of the draw.
    assert!((58..=60).contains(&(sum / polls)), "{}", sum / polls);
    assert!((36..=44).contains(&(own / polls)), "{}", own / polls);
}

#[test]
fn impossible_rows_stand_among_the_true_ones() {
    let machine = Machine::shipped("03_rows.toml");
    machine.pass_s(65.0);
    let (_, _, rows) = raw(&machine, 0, Some(128), START_US + 60_000_000);
    let pids: Vec<(u32, u32)> = rows.iter().map(|row| (row.pid, row.smUtil)).collect();
    assert_eq!(pids, [(4301, 50), (0, 40), (4310, 101), (4311, 4_000_000_000), (4312, 30), (4313, 30)]);
    assert_eq!(rows[4].timeStamp, START_US + 65_000_000 - 3_600_000_000);
    assert_eq!(rows[5].timeStamp, START_US + 65_000_000 + 3_600_000_000);
}

#[test]
fn a_count_that_grew_after_the_probe_is_too_little_room() {
    let machine = Machine::shipped("03_rows.toml");
    machine.pass_s(65.0);
    let (code, count, _) = raw(&machine, 2, None, 0);
    assert_eq!((code, count), (7, 1));
    assert_eq!(raw(&machine, 2, Some(1), 0).0, 7);
    let refused = machine.gpu(2).process_utilization_stats(None);
    assert!(matches!(refused, Err(NvmlError::InsufficientSize(_))), "{refused:?}");
}

#[test]
fn noise_can_be_more_than_a_hundred_rows() {
    let machine = Machine::shipped("03_rows.toml");
    machine.pass_s(130.0);
    let (code, count, _) = raw(&machine, 2, Some(100), 0);
    assert_eq!(code, 7);
    let (code, _, rows) = raw(&machine, 2, Some(count as usize), 0);
    assert_eq!(code, 0);
    assert_eq!(rows.iter().filter(|row| row.pid == 0).count(), 150);
}
