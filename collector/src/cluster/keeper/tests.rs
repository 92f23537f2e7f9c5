//! Whatever the looks, and wherever it is killed: the rows in the inbox are those of a run without kills.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::cluster::deliver::ClusterInbox;
use crate::cluster::told::{MINUTE, Told};
use crate::node::spool::{Entry, RealDisk};

const BOUNDS: Bounds = Bounds { seal_looks: 3, spool_max_bytes: 1 << 30 };

/// A disk that stops after some steps, as a kill does: half of what it writes in the last one is there, nothing later.
#[derive(Debug, Clone)]
struct Killed {
    left: Arc<AtomicU64>,
}

impl Killed {
    fn after(steps: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(steps)) }
    }

    /// Whether the step is done; the last one is done by half.
    fn step(
        &self,
        file: &Path,
        half: impl FnOnce(),
        whole: impl FnOnce() -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        match left {
            0 => {}
            1 => half(),
            _ => return whole(),
        }
        Err(DiskError { what: "reach", path: file.to_owned(), source: io::Error::other("killed") })
    }
}

impl Disk for Killed {
    fn make_folder(&self, folder: &Path) -> Result<(), DiskError> {
        self.step(folder, || (), || RealDisk.make_folder(folder))
    }
    fn has_folder(&self, folder: &Path) -> bool {
        RealDisk.has_folder(folder)
    }
    fn list(&self, folder: &Path) -> Result<Vec<Entry>, DiskError> {
        RealDisk.list(folder)
    }
    fn read(&self, file: &Path) -> Result<Option<Vec<u8>>, DiskError> {
        RealDisk.read(file)
    }
    fn append(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.step(file, || RealDisk.append(file, &bytes[..bytes.len() / 2]).unwrap(), || RealDisk.append(file, bytes))
    }
    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.step(file, || RealDisk.write(file, &bytes[..bytes.len() / 2]).unwrap(), || RealDisk.write(file, bytes))
    }
    fn cut(&self, file: &Path, bytes: u64) -> Result<(), DiskError> {
        self.step(file, || (), || RealDisk.cut(file, bytes))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.step(from, || (), || RealDisk.rename(from, to))
    }
    fn remove(&self, file: &Path) -> Result<(), DiskError> {
        self.step(file, || (), || RealDisk.remove(file))
    }
    fn sync(&self, folder: &Path) -> Result<(), DiskError> {
        self.step(folder, || (), || Ok(()))
    }
}

/// A place to run in: a spool and a lake with an inbox.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("lake/inbox")).unwrap();
        Self { root }
    }

    fn spool(&self) -> PathBuf {
        self.root.path().join("spool")
    }

    fn open(&self, disk: &Killed, now_ms: i64) -> Result<Keeper, KeepError> {
        Keeper::open(Box::new(disk.clone()), &self.spool(), "slurm", "c", BOUNDS, now_ms).map(|(keeper, _)| keeper)
    }

    /// Segments of the inbox: bytes by name.
    fn inbox(&self) -> BTreeMap<String, Vec<u8>> {
        let list = std::fs::read_dir(self.root.path().join("lake/inbox")).unwrap();
        let files = list.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "parquet"));
        files.map(|p| (p.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&p).unwrap())).collect()
    }
}

/// Numbers without a source of randomness: the same seed tells the same story.
struct Story(u64);

impl Story {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// What looks of a few jobs and nodes show: each waits, runs, ends, vanishes or is put back.
    fn looks(&mut self, count: i64) -> Vec<Result<Told, LookError>> {
        let mut life = [0u64; 5];
        let mut out = Vec::new();
        for minute in 1..=count {
            let mut told = Told::new().running("keeps", 1, 1);
            for (place, stage) in life.iter_mut().enumerate() {
                *stage = (*stage + self.next(2)).min(5);
                let raw = place.to_string();
                told = match *stage {
                    1 => told.waiting(&raw),
                    2 => told.running(&raw, 3, 1 + i64::try_from(self.next(2)).unwrap()),
                    3 if place % 2 == 0 => told.ended(&raw, 3, 4, "COMPLETED"),
                    4 if place == 1 => told.resubmitted(&raw, 5),
                    _ => told,
                };
            }
            let state = ["up", "up", "drained", "down"][usize::try_from(self.next(4)).unwrap()];
            let told = told.node("n1", state).node("n2", "up");
            out.push(match self.next(6) {
                0 => Err(LookError::new(format!("away at {minute}"))),
                _ => Ok(told),
            });
        }
        out
    }
}

/// Runs all looks; where the disk is killed it starts again with the next number of steps, at the same look: a look whose
/// row was not on disk never was.
fn run(place: &Place, looks: &[Result<Told, LookError>], mut steps: impl FnMut() -> u64) -> u64 {
    let (mut at, mut kills) = (0usize, 0u64);
    let mut disk = Killed::after(steps());
    let mut keeper = None;
    loop {
        let minute = i64::try_from(at).unwrap() + 1;
        let mut go = || -> Result<bool, KeepError> {
            if keeper.is_none() {
                // the epoch is named when it is first on disk: the same instant in every run
                keeper = Some(place.open(&disk, 0)?);
            }
            let keeper = keeper.as_mut().unwrap();
            let inbox = ClusterInbox::new(disk.clone(), &place.root.path().join("lake"));
            if at == looks.len() {
                keeper.seal(true)?;
            } else {
                if keeper.memory().looked_ms().is_none_or(|ms| ms < minute * MINUTE) {
                    keeper.take(minute * MINUTE, looks[at].clone().map(|told| told.snapshot(minute)))?;
                }
                keeper.seal(false)?;
            }
            let sent = keeper.send(&inbox);
            assert!(sent.rotten.is_empty());
            match sent.failed {
                Some(super::super::deliver::SendError::Own(e)) => Err(KeepError::Disk(e)),
                Some(_) => Err(KeepError::Full { bytes: 0, bound: 0 }),
                None => Ok(at == looks.len()),
            }
        };
        match go() {
            Ok(true) => return kills,
            Ok(false) => at += 1,
            Err(_) => {
                kills += 1;
                keeper = None;
                disk = Killed::after(steps());
            }
        }
    }
}

#[test]
fn killed_at_any_step_the_same_files_arrive() {
    let mut all = 0;
    for seed in 1..=12 {
        let looks = Story(seed).looks(14);
        let whole = Place::new();
        assert_eq!(run(&whole, &looks, || u64::MAX), 0);
        let expected = whole.inbox();
        assert!(expected.keys().any(|n| n.starts_with("allocation~slurm-c~")), "{:?}", expected.keys());

        let mut story = Story(seed * 1_000);
        let place = Place::new();
        // Most runs end after a few steps; each gets a little farther than its place.
        let kills = run(&place, &looks, || 12 + story.next(60));
        all += kills;
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&place.inbox()), names(&expected), "seed {seed}");
        assert_eq!(place.inbox(), expected, "seed {seed}");
        let left: Vec<_> = std::fs::read_dir(place.spool().join("out")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
    assert!(all > 50, "{all} kills");
}

#[test]
fn killed_once_at_each_single_step_the_same_files_arrive() {
    let looks = Story(77).looks(5);
    let whole = Place::new();
    run(&whole, &looks, || u64::MAX);
    let expected = whole.inbox();
    for step in 1..400 {
        let place = Place::new();
        let mut first = Some(step);
        let kills = run(&place, &looks, || first.take().unwrap_or(u64::MAX));
        assert_eq!(place.inbox(), expected, "step {step}");
        if kills == 0 {
            assert!(step > 60, "{step} steps only");
            return;
        }
    }
    panic!("more than 400 steps");
}

#[test]
fn a_lost_state_begins_an_epoch_and_writes_what_runs_again() {
    let place = Place::new();
    let disk = Killed::after(u64::MAX);
    let inbox = ClusterInbox::new(RealDisk, &place.root.path().join("lake"));
    let told = || Told::new().running("2", 1, 1).waiting("3");
    let mut keeper = place.open(&disk, 5).unwrap();
    keeper.take(MINUTE, Ok(told().snapshot(1))).unwrap();
    keeper.seal(true).unwrap();
    drop(keeper);
    std::fs::remove_file(place.spool().join("state")).unwrap();
    let mut keeper = place.open(&disk, 9).unwrap();
    assert_eq!(keeper.memory().source, "slurm:9");
    let rows = keeper.take(2 * MINUTE, Ok(told().snapshot(2))).unwrap();
    assert_eq!(rows, 2 + 1 + 1 + 1, "jobs, run, holding, reading");
    keeper.seal(true).unwrap();
    let sent = keeper.send(&inbox);
    assert!(sent.failed.is_none());
    assert_eq!(sent.files, 8, "what the lost state had sealed is sent, too");
}

#[test]
fn an_inbox_that_is_away_stops_looks_at_the_bound_and_loses_nothing() {
    let place = Place::new();
    let disk = Killed::after(u64::MAX);
    let away = ClusterInbox::new(RealDisk, Path::new("/nowhere"));
    let bounds = Bounds { seal_looks: 1, spool_max_bytes: 20_000 };
    let (mut keeper, _) = Keeper::open(Box::new(disk), &place.spool(), "slurm", "c", bounds, 0).unwrap();
    let mut minute = 0;
    while keeper.room().is_ok() {
        minute += 1;
        assert!(minute < 100);
        keeper.take(minute * MINUTE, Ok(Told::new().running("2", 1, 1 + minute % 2).snapshot(minute))).unwrap();
        keeper.seal(false).unwrap();
        assert!(matches!(keeper.send(&away).failed, Some(super::super::deliver::SendError::Inbox(_))));
    }
    let (files, bytes) = keeper.waiting();
    assert!(files > 4 && bytes > 20_000);
    let inbox = ClusterInbox::new(RealDisk, &place.root.path().join("lake"));
    assert_eq!(keeper.send(&inbox).files, files);
    assert!(keeper.room().is_ok());
    assert_eq!(u64::try_from(place.inbox().len()).unwrap(), files);
}
