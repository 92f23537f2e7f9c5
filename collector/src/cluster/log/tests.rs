//! The state file: read back as it was written, cut off where it was torn, set aside where it is damaged.

use super::*;
use crate::cluster::told::{MINUTE, Told};
use crate::node::spool::RealDisk;

fn open(folder: &Path, now_ms: i64) -> (Log, Opened) {
    Log::open(&RealDisk, folder, ("slurm", "c"), now_ms, 0).unwrap()
}

fn look(log: &mut Log, minute: i64, told: Told) {
    let change = log.kept().memory.change(minute * MINUTE, Ok(told.snapshot(minute)));
    log.look(&RealDisk, change).unwrap();
}

#[test]
fn it_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, opened) = open(folder.path(), 7);
    assert_eq!((opened, log.kept().memory.source.as_str()), (Opened::New, "slurm:7"));
    look(&mut log, 1, Told::new().waiting("1").running("2", 1, 1).node("n1", "up"));
    log.sealed(&RealDisk, 1).unwrap();
    look(&mut log, 2, Told::new().running("1", 2, 1).running("2", 1, 1).node("n1", "drained"));
    let before = log.kept().clone();
    let (again, opened) = open(folder.path(), 9);
    assert_eq!(opened, Opened::Resumed);
    assert_eq!(*again.kept(), before);
    assert_eq!((again.kept().parcel, again.kept().unsealed.len()), (1, 1));
}

#[test]
fn a_line_in_flight_never_was_at_whatever_byte_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path(), 7);
    look(&mut log, 1, Told::new().waiting("1"));
    let whole = std::fs::read(folder.path().join(NAME)).unwrap();
    let before = log.kept().clone();
    look(&mut log, 2, Told::new().waiting("1").running("2", 1, 1));
    let more = std::fs::read(folder.path().join(NAME)).unwrap();
    for cut in (whole.len()..more.len()).step_by(7) {
        std::fs::write(folder.path().join(NAME), &more[..cut]).unwrap();
        let (again, opened) = open(folder.path(), 9);
        assert_eq!((opened, again.kept()), (Opened::Resumed, &before), "cut at {cut}");
    }
}

#[test]
fn a_damaged_or_foreign_file_is_set_aside_and_a_new_epoch_begins() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path(), 7);
    look(&mut log, 1, Told::new().waiting("1"));
    look(&mut log, 2, Told::new().waiting("1"));
    let mut bytes = std::fs::read(folder.path().join(NAME)).unwrap();
    let middle = bytes.iter().position(|b| *b == b'\n').unwrap() + 30;
    bytes[middle] ^= 1;
    std::fs::write(folder.path().join(NAME), &bytes).unwrap();
    let (again, opened) = open(folder.path(), 9);
    assert_eq!(opened, Opened::Damaged("its line 2 does not read as it was written".to_owned()));
    assert_eq!((again.kept().memory.source.as_str(), again.kept().memory.counts()), ("slurm:9", (0, 0)));
    assert_eq!(std::fs::read(folder.path().join(ASIDE)).unwrap(), bytes);
    let other = Log::open(&RealDisk, folder.path(), ("slurm", "other"), 11, 4).unwrap();
    assert_eq!(other.1, Opened::Damaged("it is of slurm:9 of cluster c".to_owned()));
    assert_eq!(other.0.kept().parcel, 4, "numbers of parcels that wait are not given again");
}

#[test]
fn lines_are_folded_when_they_outgrow_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path(), 7);
    let many = |round: i64| (0..2_000).fold(Told::new(), |told, n| told.running(&n.to_string(), round, 0));
    for round in 1..6 {
        look(&mut log, round, many(round));
        log.sealed(&RealDisk, u64::try_from(round).unwrap()).unwrap();
    }
    assert!(log.more_bytes <= log.first_bytes.max(FOLD_BYTES));
    assert!(log.first_bytes > 1_000_000, "it was folded");
    let before = log.kept().clone();
    assert_eq!(*open(folder.path(), 9).0.kept(), before);
}
