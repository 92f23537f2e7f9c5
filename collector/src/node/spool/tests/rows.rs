//! Ticks to put in, and what came out at the other end.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use gpuledger_schema::path::SegmentName;
use gpuledger_schema::table::{DeviceMinuteRow, DeviceRow, ProcessMinuteRow, ReadingRow};
use gpuledger_schema::window::day_of;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::memory_disk::MemoryDisk;
use crate::node::seen::{Moment, TICK_MS};
use crate::node::spool::{FolderInbox, Limits, Owner, Spool, Tick};
use crate::segment::hash_of;

/// The wall clock when the machine had been up for nothing.
pub(crate) const BOOTED_MS: i64 = 1_772_000_000_000;
pub(crate) const SPOOL: &str = "/spool";
pub(crate) const LAKE: &str = "/lake";
pub(crate) const BOOT: i64 = 77;

pub(crate) fn owner() -> Owner {
    Owner { node: "n1".into(), cluster: "alpha".into() }
}

/// The moment at which tick `seq` is over.
pub(crate) fn after(seq: i64) -> Moment {
    let boot_ms = (seq + 1) * TICK_MS;
    Moment { wall_ms: BOOTED_MS + boot_ms, boot_ms, awake_ms: boot_ms, synchronised: true }
}

/// Tick `seq`: two devices, a process on each.
pub(crate) fn tick(seq: i64) -> Tick {
    Tick {
        devices: vec![device_version()],
        minutes: vec![minute(1, seq), minute(2, seq)],
        processes: vec![process(1, seq), process(2, seq)],
        readings: vec![],
        claims: vec![],
    }
}

fn device_version() -> DeviceRow {
    DeviceRow {
        device_id: 1,
        first_seen_ms: BOOTED_MS,
        retired_ms: None,
        cluster: "alpha".into(),
        node: "n1".into(),
        uuid: "GPU-1".into(),
        parent_id: None,
        model: Some("H100".into()),
        memory_bytes: None,
        mig_profile: None,
        compute_slices: None,
        card_slices: None,
        interconnect: None,
        compute_capability: None,
        driver: None,
        minor: Some(0),
        pci: None,
        queue: None,
        scheduler: "none".into(),
    }
}

fn minute(device_id: i64, seq: i64) -> DeviceMinuteRow {
    let tick_ms = BOOTED_MS + seq * TICK_MS;
    DeviceMinuteRow {
        day: i32::try_from(day_of(tick_ms)).unwrap(),
        device_id,
        boot_id: BOOT,
        seq,
        collector_id: 1,
        tick_ms,
        mono_ms: seq * TICK_MS,
        dur_ms: TICK_MS,
        synchronised: true,
        state: "ok".into(),
        reason: None,
        process_count: 1,
        gpu_util_ppm: Some(500_000),
        mem_util_ppm: None,
        sm_ppm: None,
        dram_ppm: None,
        tensor_ppm: None,
        activity_source: None,
        mem_used_bytes: Some(1 << 30),
        mem_reserved_bytes: None,
        mem_total_bytes: None,
        power_mw: Some(300_000),
        power_limit_mw: None,
        energy_mj: None,
        temperature_c: None,
        limit_reasons: None,
        ecc_uncorrected: None,
        xid: None,
    }
}

fn process(device_id: i64, seq: i64) -> ProcessMinuteRow {
    let tick_ms = BOOTED_MS + seq * TICK_MS;
    ProcessMinuteRow {
        day: i32::try_from(day_of(tick_ms)).unwrap(),
        device_id,
        instance_id: None,
        boot_id: BOOT,
        seq,
        tick_ms,
        hint_id: 9,
        hint: "slurm:alpha:7".into(),
        evidence: "cgroup".into(),
        pid: 4711,
        start_ticks: 100,
        user: "u".into(),
        command: Some("python".into()),
        busy_ms: Some(seq % 60_000),
        covered_ms: 60_000,
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
    }
}

pub(crate) fn reading(from_ms: i64, to_ms: i64) -> ReadingRow {
    ReadingRow {
        source: "n1".into(),
        kind: "node".into(),
        cluster: "alpha".into(),
        node: Some("n1".into()),
        read_at_ms: to_ms,
        from_ms,
        to_ms,
        ok: true,
        rows: 2,
        error: None,
    }
}

/// A disk with a lake that is there.
pub(crate) fn disk() -> MemoryDisk {
    let disk = MemoryDisk::default();
    disk.mount(&inbox_folder(), true);
    disk
}

pub(crate) fn inbox_folder() -> PathBuf {
    Path::new(LAKE).join("inbox")
}

pub(crate) fn inbox(disk: &MemoryDisk) -> FolderInbox<MemoryDisk> {
    FolderInbox::new(disk.clone(), Path::new(LAKE), "n1")
}

/// Small enough that tests reach the bounds, large enough that they need not think of them.
pub(crate) fn limits() -> Limits {
    Limits { spool_max_bytes: 1 << 20, ..Limits::default() }
}

pub(crate) fn open(disk: &MemoryDisk, limits: Limits, seq: i64) -> Spool {
    Spool::open_on(Box::new(disk.clone()), Path::new(SPOOL), owner(), limits, after(seq)).unwrap()
}

/// What lies in the inbox, as `table device seq` a minute row and `reading from to` a failed look, sorted. Every file
/// must be whole and named by its bytes.
pub(crate) fn delivered(disk: &MemoryDisk) -> Vec<String> {
    let files = disk.files(&inbox_folder());
    let mut rows: Vec<String> = Vec::new();
    for (path, bytes) in files {
        let file = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = SegmentName::parse(file) else {
            assert!(file.starts_with('.') && file.ends_with(".tmp"), "{file} would be read by ingest");
            continue;
        };
        assert_eq!(name.hash, hash_of(&bytes), "{file} is not whole");
        rows.extend(rows_of(&name.table, &name.hash, bytes));
    }
    rows.sort();
    rows
}

/// The rows of a file. The same hash has the same rows, and most runs of a test end with the same files.
fn rows_of(table: &str, hash: &str, bytes: Vec<u8>) -> Vec<String> {
    static READ: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());
    let mut read_before = READ.lock().unwrap();
    read_before.entry(hash.to_owned()).or_insert_with(|| read(table, bytes)).clone()
}

/// A file with some bytes and no name any more.
fn unnamed_file(bytes: &[u8]) -> File {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("gpuledger-spool-{}-{number}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file
}

fn read(table: &str, bytes: Vec<u8>) -> Vec<String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(unnamed_file(&bytes)).unwrap().build().unwrap();
    let mut rows = Vec::new();
    for batch in reader.map(Result::unwrap) {
        let number =
            |column: &str, row: usize| batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().value(row);
        for row in 0..batch.num_rows() {
            rows.push(match table {
                "device" => continue,
                "reading" => format!("reading {} {}", number("from_ms", row), number("to_ms", row)),
                _ => format!("{table} {} {}", number("device_id", row), number("seq", row)),
            });
        }
    }
    rows
}

/// The rows of some ticks, as [`delivered`] shows them.
pub(crate) fn expected(seqs: impl IntoIterator<Item = i64>) -> Vec<String> {
    let mut rows: Vec<String> = seqs
        .into_iter()
        .flat_map(|seq| {
            ["device_minute", "process_minute"]
                .into_iter()
                .flat_map(move |t| (1..=2).map(move |d| format!("{t} {d} {seq}")))
        })
        .collect();
    rows.sort();
    rows
}

/// One of many processes of tick `seq`.
pub(crate) fn process_of(pid: i64, seq: i64) -> ProcessMinuteRow {
    ProcessMinuteRow { pid, ..process(1, seq) }
}
