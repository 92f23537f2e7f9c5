//! Sent until acknowledged, in order, under one name.

use std::cell::{Cell, RefCell};
use std::path::Path;

use super::memory_disk::MemoryDisk;
use super::rows::{BOOTED_MS, LAKE, after, delivered, disk, expected, inbox, inbox_folder, limits, open, tick};
use crate::node::spool::disk::Disk;
use crate::node::spool::{Ask, Delivered, FolderInbox, Inbox, InboxError, Spool, pause_ms};

/// An inbox that notes what it is asked and loses its first answers.
struct Lossy {
    inner: FolderInbox<MemoryDisk>,
    lost: Cell<u32>,
    asked: RefCell<Vec<String>>,
}

impl Lossy {
    fn new(disk: &MemoryDisk, lost: u32) -> Self {
        Self { inner: inbox(disk), lost: Cell::new(lost), asked: RefCell::new(Vec::new()) }
    }
}

impl Inbox for Lossy {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Delivered, InboxError> {
        self.asked.borrow_mut().push(name.to_owned());
        let done = self.inner.put(name, bytes)?;
        if self.lost.get() > 0 {
            self.lost.set(self.lost.get() - 1);
            return Err(InboxError::Away { at: "the answer".into() });
        }
        Ok(done)
    }
}

fn sealed(disk: &MemoryDisk, seqs: std::ops::Range<i64>) -> Spool {
    let mut spool = open(disk, limits(), seqs.start - 1);
    for seq in seqs.clone() {
        _ = spool.append(&tick(seq));
    }
    _ = spool.flush(after(seqs.end));
    spool
}

#[test]
fn an_hour_sent_three_times_is_one_hour_under_the_same_names() {
    // Case C10: the acknowledgement is lost, the agent restarts, and the same hour goes out again.
    let disk = disk();
    drop(sealed(&disk, 0..60));
    let mut names = Vec::new();
    for restart in 1..=3 {
        let lossy = Lossy::new(&disk, if restart < 3 { 1 } else { 0 });
        let mut spool = open(&disk, limits(), 60 + restart);
        _ = spool.maintain(after(60 + restart), None, &lossy);
        names.push(lossy.asked.borrow()[0].clone());
    }
    assert!(names.iter().all(|n| *n == names[0]), "{names:?}");
    assert_eq!(delivered(&disk), expected(0..60));
}

#[test]
fn an_acknowledged_repeat_says_so() {
    let disk = disk();
    let inbox = inbox(&disk);
    let made = crate::segment::segment("n1", &tick(1).minutes).unwrap().unwrap();
    let name = made.name.file_name();
    assert_eq!(inbox.put(&name, &made.bytes).unwrap(), Delivered::Now);
    assert_eq!(inbox.put(&name, &made.bytes).unwrap(), Delivered::Before);
}

#[test]
fn a_pair_arrives_process_file_first_and_all_in_the_nodes_own_folder() {
    let disk = disk();
    let lossy = Lossy::new(&disk, 0);
    let mut spool = sealed(&disk, 0..10);
    _ = spool.maintain(after(10), None, &lossy);
    let asked = lossy.asked.borrow();
    let tables: Vec<&str> = asked.iter().filter_map(|n| n.split('~').next()).collect();
    let interval = ["device", "process_minute", "device_minute"];
    assert_eq!(tables, [interval, interval].concat());
    let own = Path::new(LAKE).join("inbox/n1");
    assert!(disk.files(Path::new(LAKE)).keys().all(|f| f.parent() == Some(&own)));
}

#[test]
fn an_interval_is_sealed_when_it_is_over_and_every_tick_when_asked() {
    let disk = disk();
    let mut spool = open(&disk, limits(), 99);
    let asked = Ask { seal_ticks: 1, until_ms: after(107).wall_ms };
    let mut sealed_after = Vec::new();
    for seq in 100..115 {
        _ = spool.append(&tick(seq));
        let ask = (seq >= 106).then_some(asked);
        if spool.maintain(after(seq), ask, &inbox(&disk)).sealed > 0 {
            sealed_after.push(seq);
        }
    }
    // 100-104; asked from 106 until 107 is over: 105-106; then by fives again
    assert_eq!(sealed_after, [104, 106, 109, 114]);
    assert_eq!(delivered(&disk), expected(100..115));
}

#[test]
fn a_failed_delivery_waits_twice_as_long_each_time_and_not_in_step_with_other_nodes() {
    let pauses: Vec<i64> = (1..=12).map(|n| pause_ms(&limits(), n, "n1")).collect();
    for (n, pause) in pauses.iter().enumerate() {
        let most = (1_000 << n).min(300_000);
        assert!((most / 2..=most).contains(pause), "{n}: {pause}");
    }
    assert_ne!(pause_ms(&limits(), 12, "n1"), pause_ms(&limits(), 12, "n2"));
    assert!((150_000..=300_000).contains(&pause_ms(&limits(), u32::MAX, "n1")));
}

#[test]
fn between_tries_the_inbox_is_left_alone() {
    let disk = disk();
    disk.mount(&inbox_folder(), false);
    let lossy = Lossy::new(&disk, 0);
    let mut spool = sealed(&disk, 0..5);
    let mut now = after(5);
    for _ in 0..60 {
        now.boot_ms += 1_000;
        _ = spool.maintain(now, None, &lossy);
    }
    // pauses of 0.5-1, 1-2, 2-4, 4-8, 8-16, 16-32 s fill a minute
    let tries = lossy.asked.borrow().len();
    assert!((6..=8).contains(&tries), "{tries} tries in a minute");
    assert_eq!(spool.state().failures as usize, tries);

    disk.mount(&inbox_folder(), true);
    now.boot_ms += 300_000;
    assert_eq!(spool.maintain(now, None, &lossy).delivered, 3);
    assert_eq!((spool.state().failures, spool.state().waiting_ticks), (0, 0));
    assert_eq!(spool.state().oldest_ms, None);
}

#[test]
fn other_bytes_under_a_segments_name_are_left_and_hold_up_nothing_else() {
    let disk = disk();
    let mut spool = sealed(&disk, 0..10);
    let name = disk.files(Path::new("/spool/out")).into_keys().find(|f| f.to_str().unwrap().contains("process_minute"));
    let name = name.unwrap();
    let name = name.file_name().unwrap().to_str().unwrap().splitn(6, '.').nth(5).unwrap().to_owned();
    let theirs = inbox_folder().join("n1").join(&name);
    disk.write(&theirs, b"half a fi").unwrap();

    let round = spool.maintain(after(10), None, &inbox(&disk));
    assert_eq!(round.delivered, 4, "the device file before it, and the other interval");
    assert_eq!(disk.files(&theirs).into_values().next().unwrap(), b"half a fi");
    disk.remove(&theirs).unwrap();
    _ = spool.maintain(after(20), None, &inbox(&disk));
    assert_eq!(delivered(&disk), expected(0..10));
}

#[test]
fn a_sealed_file_that_rots_is_set_aside_with_its_pair_and_is_a_gap() {
    let disk = disk();
    let mut spool = sealed(&disk, 0..5);
    let rotten =
        disk.files(Path::new("/spool/out")).into_keys().find(|f| f.to_str().unwrap().contains("process_minute"));
    disk.meddle(&rotten.unwrap(), |bytes| bytes[100] ^= 1);
    for later in [6, 7, 8] {
        _ = spool.maintain(after(later), None, &inbox(&disk));
    }
    assert_eq!(delivered(&disk), [format!("reading {BOOTED_MS} {}", BOOTED_MS + 300_000)]);
    assert_eq!(disk.files(Path::new("/spool/aside")).len(), 2, "process file and device file");
    assert_eq!(spool.state().counts.damaged, 1);
}
