//! The bounds of disk and memory hold, the oldest go first, and what went is a gap.

use std::path::Path;

use super::memory_disk::MemoryDisk;
use super::rows::{BOOTED_MS, LAKE, SPOOL, after, delivered, disk, expected, inbox, inbox_folder, limits, open, tick};
use crate::node::seen::TICK_MS;
use crate::node::spool::{Appended, Limits, Spool, Trouble};

fn start_of(seq: i64) -> i64 {
    BOOTED_MS + seq * TICK_MS
}

/// A gap as `delivered` shows it: from the start of one tick to the end of another.
fn gap(first: i64, last: i64) -> String {
    format!("reading {} {}", start_of(first), start_of(last + 1))
}

/// Ticks `seqs`, a round of upkeep after each.
fn live(spool: &mut Spool, disk: &MemoryDisk, seqs: std::ops::Range<i64>) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    for seq in seqs {
        assert_eq!(spool.append(&tick(seq)), Appended::Written, "tick {seq}");
        troubles.extend(spool.maintain(after(seq), None, &inbox(disk)).troubles);
    }
    troubles
}

/// Delivers all that is there, and the gaps after it.
fn finish(spool: &mut Spool, disk: &MemoryDisk, seq: i64) {
    for later in 0..8 {
        _ = spool.flush(after(seq + 10 * later));
        _ = spool.maintain(after(seq + 10 * later), None, &inbox(disk));
    }
}

#[test]
fn a_lake_away_for_a_day_costs_nothing_within_the_bound() {
    let disk = disk();
    disk.mount(&inbox_folder(), false);
    // 288 intervals of about 16 KiB
    let mut spool = open(&disk, Limits { spool_max_bytes: 8 << 20, ..Limits::default() }, -1);
    live(&mut spool, &disk, 0..1_440);
    assert_eq!(spool.state().waiting_ticks, 1_440);
    assert_eq!(spool.state().oldest_ms, Some(BOOTED_MS));
    assert!(disk.files(Path::new(LAKE)).is_empty(), "nothing is written below a lake that is not mounted");

    disk.mount(&inbox_folder(), true);
    let mut rounds = 0;
    while spool.state().waiting_ticks > 0 && rounds < 100 {
        rounds += 1;
        _ = spool.flush(after(1_440 + rounds));
        let sent = spool.maintain(after(1_450 + 10 * rounds), None, &inbox(&disk)).delivered;
        assert!(sent <= 64, "a round sends at most 64 files");
    }
    assert_eq!(delivered(&disk), expected(0..1_440));
    assert_eq!(spool.state().counts.dropped_bound_ticks, 0);
}

#[test]
fn at_the_bound_the_oldest_intervals_go_and_a_gap_says_which() {
    let disk = disk();
    disk.mount(&inbox_folder(), false);
    disk.watch(Path::new(SPOOL));
    let bound = 200_000;
    let mut spool = open(&disk, Limits { spool_max_bytes: bound, ..Limits::default() }, -1);
    live(&mut spool, &disk, 0..300);
    let dropped = i64::try_from(spool.state().counts.dropped_bound_ticks).unwrap();
    assert!(dropped > 200 && dropped % 5 == 0, "whole intervals: {dropped}");
    assert!(spool.state().used_bytes <= bound);
    assert!(disk.most_bytes(Path::new(SPOOL)) <= bound, "{}", disk.most_bytes(Path::new(SPOOL)));

    disk.mount(&inbox_folder(), true);
    finish(&mut spool, &disk, 300);
    let mut right = expected(dropped..300);
    right.push(gap(0, dropped - 1));
    assert_eq!(delivered(&disk), right);
}

#[test]
fn a_gap_survives_restarts_until_it_is_delivered() {
    let disk = disk();
    disk.mount(&inbox_folder(), false);
    let small = Limits { spool_max_bytes: 100_000, ..Limits::default() };
    let mut dropped = 0;
    for life in 0..6 {
        let mut spool = open(&disk, small, life * 30 - 1);
        live(&mut spool, &disk, life * 30..life * 30 + 30);
        dropped += i64::try_from(spool.state().counts.dropped_bound_ticks).unwrap();
    }
    disk.mount(&inbox_folder(), true);
    let mut spool = open(&disk, small, 180);
    finish(&mut spool, &disk, 180);
    let rows = delivered(&disk);
    let (gaps, minutes): (Vec<_>, Vec<_>) = rows.into_iter().partition(|r| r.starts_with("reading"));
    assert!(dropped > 100);
    assert_eq!(minutes, expected(dropped..180));
    // a gap that was sealed and dropped on its way is covered by a later one; the last reaches to what was dropped last
    let last = gaps.iter().map(|g| g.split(' ').nth(2).unwrap().parse::<i64>().unwrap()).max();
    let first = gaps.iter().map(|g| g.split(' ').nth(1).unwrap().parse::<i64>().unwrap()).min();
    assert_eq!((first, last), (Some(start_of(0)), Some(start_of(dropped))), "{gaps:?}");
}

#[test]
fn a_full_disk_costs_nothing_that_fits_into_memory() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    live(&mut spool, &disk, 100..103);
    disk.capacity(Some(0));
    for seq in 103..133 {
        assert_eq!(spool.append(&tick(seq)), Appended::Kept);
        _ = spool.maintain(after(seq), None, &inbox(&disk));
    }
    assert_eq!(spool.state().kept_ticks, 30);
    disk.capacity(None);
    finish(&mut spool, &disk, 133);
    assert_eq!(spool.state().kept_ticks, 0);
    assert_eq!(delivered(&disk), expected(100..133));
}

#[test]
fn beyond_the_bound_of_memory_the_oldest_go_and_a_gap_says_which() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    disk.capacity(Some(0));
    for seq in 100..140 {
        assert_eq!(spool.append(&tick(seq)), Appended::Kept);
        _ = spool.maintain(after(seq), None, &inbox(&disk));
    }
    assert_eq!((spool.state().kept_ticks, spool.state().counts.dropped_full_ticks), (30, 10));
    disk.capacity(None);
    finish(&mut spool, &disk, 140);
    let mut right = expected(110..140);
    right.push(gap(100, 109));
    assert_eq!(delivered(&disk), right);
}

#[test]
fn a_disk_that_fills_and_empties_again_and_again_loses_nothing() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    let mut used = 0;
    for seq in 100_i64..160 {
        // full for 7 ticks of 10, with some bytes left, so that writes are cut in different places
        disk.capacity((seq % 10 >= 3).then(|| used + 700 * (seq.unsigned_abs() % 4)));
        let appended = spool.append(&tick(seq));
        assert!(matches!(appended, Appended::Written | Appended::Kept), "{appended:?}");
        _ = spool.maintain(after(seq), None, &inbox(&disk));
        used = disk.files(Path::new("/")).values().map(|b| b.len() as u64).sum();
    }
    disk.capacity(None);
    finish(&mut spool, &disk, 160);
    assert_eq!(delivered(&disk), expected(100..160));
}

#[test]
fn a_tick_larger_than_the_bound_is_a_gap_and_takes_nothing_else_with_it() {
    let disk = disk();
    disk.mount(&inbox_folder(), false);
    let mut spool = open(&disk, Limits { spool_max_bytes: 65_536, ..limits() }, 99);
    live(&mut spool, &disk, 100..105);
    let mut large = tick(105);
    large.processes = (0..500).map(|pid| super::rows::process_of(pid, 105)).collect();
    assert_eq!(spool.append(&large), Appended::Dropped);
    assert_eq!(spool.state().counts.dropped_large_ticks, 1);
    disk.mount(&inbox_folder(), true);
    finish(&mut spool, &disk, 106);
    let mut right = expected(100..105);
    right.push(gap(105, 105));
    assert_eq!(delivered(&disk), right);
}

#[test]
fn the_bound_of_memory_is_for_what_the_disk_does_not_take() {
    let disk = disk();
    let mut spool = open(&disk, Limits { kept_max_ticks: 1, kept_max_bytes: 65_536, ..limits() }, 99);
    let mut large = tick(100);
    large.processes = (0..500).map(|pid| super::rows::process_of(pid, 100)).collect();
    assert_eq!(spool.append(&large), Appended::Written, "more than may be kept, and a disk that takes it");
    disk.capacity(Some(0));
    assert_eq!(spool.append(&tick(101)), Appended::Kept);
    disk.capacity(None);
    assert_eq!(spool.append(&tick(102)), Appended::Written, "with the one that was kept");
    assert_eq!(spool.state().counts.dropped_full_ticks, 0);
}

#[test]
fn bounds_that_make_no_sense_stop_the_program() {
    for (wrong, key) in [
        (Limits { seal_ticks: 0, ..limits() }, "seal_ticks must be at least 1"),
        (Limits { spool_max_bytes: 1, ..limits() }, "spool_max_bytes must be at least 65536"),
        (Limits { retry_max_ms: 1, ..limits() }, "retry_max_ms must be at least 1000"),
    ] {
        assert_eq!(wrong.checked().unwrap_err().to_string(), key);
    }
    assert!(toml::from_str::<Limits>("spool_max = 1").is_err(), "a key that is not known");
    assert_eq!(toml::from_str::<Limits>("seal_ticks = 2").unwrap().seal_ticks, 2);
}
