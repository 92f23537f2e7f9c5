//! A collector that is killed two hundred times loses at most the ticks in flight, and doubles none.
//!
//! The child is this test binary once more: it puts made-up ticks into a spool on a real disk, as fast as it can, until
//! it is killed. The parent kills it at points that a fixed seed chooses.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use gpuledger_collector::node::seen::{Moment, TICK_MS};
use gpuledger_collector::node::spool::{Appended, FolderInbox, Limits, Owner, RealDisk, Spool, SpoolLock, Tick};
use gpuledger_collector::segment::hash_of;
use gpuledger_schema::path::SegmentName;
use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow};
use gpuledger_schema::window::day_of;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

const KILLS: u64 = 200;
const FOLDER: &str = "GPULEDGER_TEST_SPOOL";
const FIRST: &str = "GPULEDGER_TEST_FIRST_TICK";
const BOOTED_MS: i64 = 1_772_000_000_000;

fn after(seq: i64) -> Moment {
    let boot_ms = (seq + 1) * TICK_MS;
    Moment { wall_ms: BOOTED_MS + boot_ms, boot_ms, awake_ms: boot_ms, synchronised: true }
}

fn tick(seq: i64) -> Tick {
    let tick_ms = BOOTED_MS + seq * TICK_MS;
    let day = i32::try_from(day_of(tick_ms)).unwrap();
    let minute = |device_id| DeviceMinuteRow {
        day,
        device_id,
        boot_id: 77,
        seq,
        collector_id: 1,
        tick_ms,
        mono_ms: seq * TICK_MS,
        dur_ms: TICK_MS,
        synchronised: true,
        state: "ok".into(),
        reason: None,
        process_count: 4,
        gpu_util_ppm: Some(500_000),
        mem_util_ppm: None,
        sm_ppm: None,
        dram_ppm: None,
        tensor_ppm: None,
        activity_source: None,
        mem_used_bytes: Some(1 << 30),
        mem_reserved_bytes: None,
        mem_total_bytes: None,
        power_mw: None,
        power_limit_mw: None,
        energy_mj: None,
        temperature_c: None,
        limit_reasons: None,
        ecc_uncorrected: None,
        xid: None,
    };
    let process = |(device_id, pid)| ProcessMinuteRow {
        day,
        device_id,
        instance_id: None,
        boot_id: 77,
        seq,
        tick_ms,
        hint_id: 9,
        hint: "slurm:alpha:7".into(),
        evidence: "cgroup".into(),
        pid,
        start_ticks: 100,
        user: "u".into(),
        command: None,
        busy_ms: Some(seq % 997),
        covered_ms: TICK_MS,
        peak_ppm: None,
        mem_peak_bytes: None,
        mem_peak_source: None,
        sm_ppm: None,
        dram_ppm: None,
        tensor_ppm: None,
        composite_ppm: None,
        weights_version: None,
        apportionment: "exclusive".into(),
        cpu_ms: None,
        host_rss_bytes: None,
        read_bytes: None,
        io_wait_ms: None,
        state: None,
        reason: None,
    };
    let pairs = (1..=2).flat_map(|device| (1..=4).map(move |pid| (device, pid)));
    Tick { minutes: (1..=2).map(minute).collect(), processes: pairs.map(process).collect(), ..Tick::default() }
}

fn open(folder: &Path, seq: i64) -> (Spool, FolderInbox<RealDisk>) {
    let lock = SpoolLock::take(&folder.join("spool"), "a test").unwrap();
    let owner = Owner { node: "n1".into(), cluster: "alpha".into() };
    let spool = Spool::open(lock, owner, Limits::default(), after(seq)).unwrap();
    (spool, FolderInbox::new(RealDisk, &folder.join("lake"), "n1"))
}

/// Not a test of its own: what the parent starts. Without a parent there is nothing to do.
#[test]
fn child() {
    let (Ok(folder), Ok(first)) = (std::env::var(FOLDER), std::env::var(FIRST)) else { return };
    let mut seq: i64 = first.parse().unwrap();
    let (mut spool, inbox) = open(Path::new(&folder), seq - 1);
    let say = |what: &str, seq: i64| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{what} {seq}").and_then(|()| out.flush()).unwrap();
    };
    loop {
        say("begun", seq);
        if spool.append(&tick(seq)) == Appended::Written {
            say("written", seq);
        }
        let round = spool.maintain(after(seq), None, &inbox);
        assert!(round.troubles.is_empty() || seq.to_string() == first, "{:?}", round.troubles);
        seq += 1;
    }
}

/// Starts a child at a tick and kills it after some lines and some time: the ticks begun, and those written.
fn kill_one(folder: &Path, first: i64, lines: u64, pause: Duration) -> (BTreeSet<i64>, BTreeSet<i64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "spool_crash::child", "--nocapture", "--test-threads", "1"])
        .env(FOLDER, folder)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (mut begun, mut written) = (BTreeSet::new(), BTreeSet::new());
    let mut note = |line: String| match line.split_once(' ') {
        Some(("begun", seq)) => begun.insert(seq.parse().unwrap()),
        Some(("written", seq)) => written.insert(seq.parse().unwrap()),
        _ => false,
    };
    let heard = said.by_ref().filter_map(|line| note(line).then_some(())).take(lines as usize).count();
    assert_eq!(heard as u64, lines, "the child ended by itself");
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    said.for_each(|line| _ = note(line));
    (begun, written)
}

/// The minute rows in an inbox, a line each; every file whole and named by its bytes.
fn delivered(folder: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in std::fs::read_dir(folder.join("lake/inbox/n1")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = SegmentName::parse(file) else {
            assert!(file.starts_with('.') && file.ends_with(".tmp"), "{file}");
            continue;
        };
        assert_eq!(name.hash, hash_of(&std::fs::read(&path).unwrap()), "{file}");
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
        for batch in reader.map(Result::unwrap) {
            for row in 0..batch.num_rows() {
                let row = batch.slice(row, 1);
                rows.push(format!("{} {:?}", name.table, row.columns()));
            }
        }
    }
    rows.sort();
    rows
}

fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("lake/inbox")).unwrap();
    folder
}

/// Seals and sends what is left.
fn finish(spool: &mut Spool, inbox: &FolderInbox<RealDisk>, seq: i64) {
    _ = spool.flush(after(seq));
    while spool.maintain(after(seq), None, inbox).delivered > 0 {}
    assert_eq!(spool.state().waiting_ticks, 0);
    assert_eq!(spool.state().counts.damaged, 0);
}

#[test]
fn two_hundred_kills_end_with_the_rows_of_an_undisturbed_run_but_for_ticks_in_flight() {
    let folder = fresh("spool-killed");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let (mut first, mut begun, mut written) = (0, BTreeSet::new(), BTreeSet::new());
    for _ in 0..KILLS {
        let (b, w) = kill_one(&folder, first, 1 + below(16), Duration::from_micros(below(4_000)));
        first = b.last().map_or(first, |last| last + 1);
        begun.extend(b);
        written.extend(w);
    }
    let (mut spool, inbox) = open(&folder, first);
    finish(&mut spool, &inbox, first);
    let killed = delivered(&folder);

    // what made it: all that were acknowledged, and of those in flight the ones that were whole on disk
    let undisturbed = |seqs: &BTreeSet<i64>| {
        let folder = fresh("spool-undisturbed");
        let (mut spool, inbox) = open(&folder, -1);
        for seq in seqs {
            assert_eq!(spool.append(&tick(*seq)), Appended::Written);
            _ = spool.maintain(after(*seq), None, &inbox);
        }
        finish(&mut spool, &inbox, first);
        delivered(&folder)
    };
    let in_flight: Vec<i64> = begun.difference(&written).copied().collect();
    assert!(in_flight.len() as u64 <= KILLS && written.len() as u64 > KILLS);
    let right = undisturbed(&written);
    let all = undisturbed(&begun);
    let extra: Vec<_> = killed.iter().filter(|row| right.binary_search(row).is_err()).collect();
    assert_eq!(killed.len(), right.len() + extra.len(), "a written tick is lost, or a row is doubled");
    assert!(extra.iter().all(|row| all.binary_search(row).is_ok()), "a row that no run wrote");
    println!("{} written, {} in flight, {} rows", written.len(), in_flight.len(), killed.len());
}
