//! What is found at the start: frames, torn ends, damage, ticks that come again, another collector.

use std::path::{Path, PathBuf};

use super::memory_disk::MemoryDisk;
use super::rows::{BOOTED_MS, after, delivered, disk, expected, inbox, limits, open, owner, reading, tick};
use crate::node::seen::TICK_MS;
use crate::node::spool::disk::Disk;
use crate::node::spool::{Appended, LockError, Spool, SpoolLock, Tick};

fn journal_file(disk: &MemoryDisk) -> PathBuf {
    disk.files(Path::new("/spool/journal")).into_keys().next().unwrap()
}

/// A disk whose spool has three ticks in one journal file, and the lengths at which its frames end.
fn three_ticks() -> (MemoryDisk, Vec<usize>) {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    let mut ends = Vec::new();
    for seq in 100..103 {
        _ = spool.append(&tick(seq));
        ends.push(disk.files(Path::new("/spool/journal")).into_values().next().unwrap().len());
    }
    (disk, ends)
}

fn finish(disk: &MemoryDisk, spool: &mut Spool, seq: i64) {
    for later in 0..3 {
        _ = spool.flush(after(seq + later));
        _ = spool.maintain(after(seq + later), None, &inbox(disk));
    }
}

#[test]
fn frames_and_sealed_files_go_on_where_they_were() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    _ = spool.append(&tick(100));
    _ = spool.flush(after(100));
    _ = spool.append(&tick(101));
    drop(spool);
    let mut spool = open(&disk, limits(), 101);
    assert_eq!((spool.state().waiting_ticks, spool.state().waiting_files), (2, 3));
    finish(&disk, &mut spool, 102);
    assert_eq!(delivered(&disk), expected(100..102));
}

#[test]
fn a_journal_torn_at_any_byte_loses_that_frame_only_and_keeps_its_bytes_aside() {
    let (_, ends) = three_ticks();
    // every byte of the header and of the payload's first and last bytes; the rest of the payload in steps
    let cuts = (ends[1] + 1..ends[2]).filter(|at| at - ends[1] < 24 || ends[2] - at < 8 || at % 97 == 0);
    for cut in cuts {
        let (disk, ends) = three_ticks();
        disk.meddle(&journal_file(&disk), |bytes| bytes.truncate(cut));
        let mut spool = open(&disk, limits(), 103);
        assert_eq!(spool.state().counts.torn_frames, 1);
        assert_eq!(spool.state().aside_bytes, (cut - ends[1]) as u64);
        finish(&disk, &mut spool, 103);
        assert_eq!(delivered(&disk), expected(100..102), "cut at {cut}");
    }
}

#[test]
fn damage_in_the_middle_is_set_aside_and_is_a_gap() {
    let (disk, ends) = three_ticks();
    disk.meddle(&journal_file(&disk), |bytes| bytes[ends[0] + 50] ^= 1);
    let mut spool = open(&disk, limits(), 109);
    assert_eq!((spool.state().counts.damaged, spool.state().counts.torn_frames), (1, 0));
    assert_eq!(spool.state().aside_bytes, (ends[2] - ends[0]) as u64);
    finish(&disk, &mut spool, 110);
    // from the end of the last good tick to the restart, ten ticks after the first
    let mut right = expected(100..101);
    right.push(format!("reading {} {}", BOOTED_MS + 101 * TICK_MS, BOOTED_MS + 110 * TICK_MS));
    assert_eq!(delivered(&disk), right);
}

#[test]
fn damage_while_running_is_set_aside_and_is_a_gap() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    for seq in 100..103 {
        _ = spool.append(&tick(seq));
    }
    // the last frame rots: at the start it would pass for one in flight, but this process knows that it was whole
    disk.meddle(&journal_file(&disk), |bytes| *bytes.last_mut().unwrap() ^= 1);
    finish(&disk, &mut spool, 103);
    let mut right = expected(100..102);
    right.push(format!("reading {} {}", BOOTED_MS + 102 * TICK_MS, BOOTED_MS + 103 * TICK_MS));
    assert_eq!(delivered(&disk), right);
}

#[test]
fn a_tick_that_comes_again_is_written_once() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    assert_eq!(spool.append(&tick(100)), Appended::Written);
    assert_eq!(spool.append(&tick(100)), Appended::Twice);
    drop(spool);
    // after a restart, with the frame still in the journal
    let mut spool = open(&disk, limits(), 100);
    assert_eq!(spool.append(&tick(100)), Appended::Twice);
    // sealed and delivered
    finish(&disk, &mut spool, 101);
    assert_eq!(spool.append(&tick(100)), Appended::Twice);
    drop(spool);
    // sealed, delivered and restarted: a collector that is restarted within a minute sees the same tick again
    let mut spool = open(&disk, limits(), 101);
    assert_eq!(spool.append(&tick(100)), Appended::Twice);
    assert_eq!(spool.append(&tick(101)), Appended::Written);
    finish(&disk, &mut spool, 102);
    assert_eq!(delivered(&disk), expected(100..102));
}

#[test]
fn a_tick_of_another_boot_is_another_tick() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    assert_eq!(spool.append(&tick(100)), Appended::Written);
    let mut rebooted = tick(100);
    rebooted.minutes.iter_mut().for_each(|r| r.boot_id += 1);
    rebooted.processes.iter_mut().for_each(|r| r.boot_id += 1);
    assert_eq!(spool.append(&rebooted), Appended::Written);
    finish(&disk, &mut spool, 101);
    assert_eq!(delivered(&disk).len(), 8);
}

#[test]
fn a_frame_that_was_written_twice_is_sealed_once() {
    let (disk, _) = three_ticks();
    let twice = disk.files(Path::new("/spool/journal")).into_values().next().unwrap();
    disk.meddle(&journal_file(&disk), |bytes| bytes.extend(twice.clone()));
    disk.append(Path::new("/spool/journal/000000000009.frames"), &twice).unwrap();
    let mut spool = open(&disk, limits(), 103);
    finish(&disk, &mut spool, 103);
    assert_eq!(delivered(&disk), expected(100..103));
}

#[test]
fn a_tick_without_devices_keeps_its_looks() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    assert_eq!(spool.append(&Tick::default()), Appended::Empty);
    let looks = Tick { readings: vec![reading(10, 20)], ..Tick::default() };
    assert_eq!(spool.append(&looks), Appended::Written);
    finish(&disk, &mut spool, 101);
    assert_eq!(delivered(&disk), ["reading 10 20"]);
}

#[test]
fn temporary_files_of_a_dead_process_are_removed() {
    let disk = disk();
    for folder in ["journal", "out", "aside"] {
        disk.write(&Path::new("/spool").join(folder).join(".x.parquet.tmp"), b"half").unwrap();
    }
    open(&disk, limits(), 99);
    assert!(disk.files(Path::new("/spool")).is_empty());
}

#[test]
fn a_second_collector_is_told_who_is_there() {
    let folder = std::env::temp_dir().join(format!("gpuledger-lock-{}", std::process::id()));
    let lock = SpoolLock::take(&folder, "process 4711 of node n1").unwrap();
    let spool = Spool::open(lock, owner(), limits(), after(0)).unwrap();
    match SpoolLock::take(&folder, "process 4712 of node n1") {
        Err(LockError::Held { holder, .. }) => assert_eq!(holder, "process 4711 of node n1"),
        other => panic!("{other:?}"),
    }
    drop(spool);
    SpoolLock::take(&folder, "process 4713 of node n1").unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
