//! A process that dies, or a disk that fails, at every single step.

use std::ops::Range;

use super::memory_disk::{Fault, MemoryDisk};
use super::rows::{SPOOL, after, delivered, disk, expected, inbox, limits, owner};
use crate::node::spool::{Appended, Limits, Spool, Tick};

const SEQS: Range<i64> = 100..105;

/// Five ticks are two intervals: 100-101 and 102-104.
fn small() -> Limits {
    Limits { seal_ticks: 3, ..limits() }
}

/// A tick without device versions: a pair of files an interval has every step that can go wrong.
fn tick(seq: i64) -> Tick {
    Tick { devices: vec![], ..super::rows::tick(seq) }
}

/// A collector is started, by its supervisor again and again, until it runs; `None` where it dies.
fn start(disk: &MemoryDisk, seq: i64) -> Option<Spool> {
    loop {
        match Spool::open_on(Box::new(disk.clone()), SPOOL.as_ref(), owner(), small(), after(seq)) {
            Ok(spool) => return Some(spool),
            Err(_) if disk.dead() => return None,
            Err(_) => {}
        }
    }
}

/// A life of the collector, until the ticks are over or it dies. The tick that was in flight then, if one was, and the
/// one to go on with.
fn live(disk: &MemoryDisk, seqs: Range<i64>) -> (Option<i64>, i64) {
    let Some(mut spool) = start(disk, seqs.start - 1) else { return (None, seqs.start) };
    let inbox = inbox(disk);
    for seq in seqs.clone() {
        let appended = spool.append(&tick(seq));
        if disk.dead() {
            return ((appended != Appended::Written).then_some(seq), seq + 1);
        }
        _ = spool.maintain(after(seq), None, &inbox);
        if disk.dead() {
            return (None, seq + 1);
        }
    }
    _ = spool.flush(after(seqs.end));
    // a failed delivery waits at most five minutes
    _ = spool.maintain(after(seqs.end + 10), None, &inbox);
    _ = spool.maintain(after(seqs.end + 20), None, &inbox);
    (None, seqs.end)
}

/// Steps of a life that nothing disturbs.
fn steps() -> u64 {
    let disk = disk();
    live(&disk, SEQS);
    assert_eq!(delivered(&disk), expected(SEQS));
    assert!(disk.files("/spool/out".as_ref()).is_empty(), "all was acknowledged");
    disk.steps()
}

#[track_caller]
fn assert_all_but(disk: &MemoryDisk, in_flight: &[i64], what: &str) {
    let rows = delivered(disk);
    let lost: Vec<i64> = SEQS.filter(|seq| !rows.contains(&format!("device_minute 1 {seq}"))).collect();
    assert!(lost.iter().all(|seq| in_flight.contains(seq)), "{what}: lost {lost:?}, in flight {in_flight:?}");
    assert_eq!(rows, expected(SEQS.filter(|seq| !lost.contains(seq))), "{what}");
}

#[test]
fn a_death_at_any_step_loses_at_most_the_tick_in_flight() {
    for step in 0..steps() {
        for fault in [Fault::DieBefore, Fault::DieWithin, Fault::DieAfter] {
            for power_lost in [false, true] {
                let disk = disk();
                disk.fault_at(step, fault);
                let (in_flight, next) = live(&disk, SEQS);
                disk.restart(power_lost);
                live(&disk, next..SEQS.end);
                let what = format!("step {step}, {fault:?}, power lost {power_lost}");
                assert_all_but(&disk, in_flight.as_slice(), &what);
            }
        }
    }
}

#[test]
fn a_second_death_during_recovery_loses_nothing_more() {
    // every fourth step of the first life, every step of opening and of the first sealing after it
    for first in (0..steps()).step_by(4) {
        for second in 0..16 {
            let disk = disk();
            disk.fault_at(first, Fault::DieWithin);
            let (in_flight, next) = live(&disk, SEQS);
            disk.restart(true);
            disk.fault_at(disk.steps() + second, Fault::DieWithin);
            let (in_flight_too, next) = live(&disk, next..SEQS.end);
            disk.restart(false);
            live(&disk, next..SEQS.end);
            let in_flight: Vec<i64> = in_flight.into_iter().chain(in_flight_too).collect();
            assert_all_but(&disk, &in_flight, &format!("steps {first} and {second}"));
        }
    }
}

#[test]
fn a_disk_that_fails_at_any_step_and_works_again_loses_nothing() {
    for step in 0..steps() {
        for fault in [Fault::FailOnce, Fault::FailTwice, Fault::LieOnce, Fault::LieThenFail] {
            let disk = disk();
            disk.fault_at(step, fault);
            live(&disk, SEQS);
            let what = format!("step {step}, {fault:?}");
            assert_all_but(&disk, &[], &what);
            assert!(disk.files("/spool/out".as_ref()).is_empty(), "{what}: all was acknowledged");
        }
    }
}

#[test]
fn a_failing_step_and_a_death_after_it_double_nothing() {
    for step in 0..steps() {
        for fault in [Fault::FailTwice, Fault::LieOnce, Fault::LieThenFail] {
            let disk = disk();
            disk.fault_at(step, fault);
            let mut spool = start(&disk, 99).unwrap();
            let mut written = Vec::new();
            for seq in SEQS {
                if spool.append(&tick(seq)) == Appended::Written {
                    written.push(seq);
                }
                _ = spool.maintain(after(seq), None, &inbox(&disk));
            }
            // killed without a word; what was only in memory is gone
            drop(spool);
            disk.restart(false);
            live(&disk, SEQS.end..SEQS.end);
            let in_flight: Vec<i64> = SEQS.filter(|s| !written.contains(s)).collect();
            assert_all_but(&disk, &in_flight, &format!("step {step}, {fault:?}"));
        }
    }
}

#[test]
fn no_death_leaves_half_a_file_under_a_final_name() {
    // Case C09: what ingest would read is whole, in the inbox and in what waits for it, at every step.
    for step in 0..steps() {
        let disk = disk();
        disk.fault_at(step, Fault::DieWithin);
        live(&disk, SEQS);
        disk.restart(true);
        delivered(&disk);
        for (path, bytes) in disk.files("/spool/out".as_ref()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let hash = crate::segment::hash_of(&bytes);
            assert!(name.starts_with('.') || name.contains(&hash), "{name} is not whole at step {step}");
        }
    }
}
