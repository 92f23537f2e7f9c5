//! Segments read back, and the same rows always give the same bytes.

use std::fs::File;

use gpuledger_schema::id::{boot_id, device_id, hint_of_job};
use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow, ReadingRow, batch};
use gpuledger_schema::window::day_of;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::*;

const START_MS: i64 = 1_772_000_000_000;

fn reading(rows: i64) -> ReadingRow {
    ReadingRow {
        source: "jobs.csv".into(),
        kind: "import".into(),
        cluster: "alpha".into(),
        node: None,
        read_at_ms: START_MS,
        from_ms: START_MS - 1,
        to_ms: START_MS,
        ok: true,
        rows,
        error: None,
    }
}

fn process(tick: i64, pid: i64) -> ProcessMinuteRow {
    let tick_ms = START_MS + tick * 60_000;
    ProcessMinuteRow {
        day: i32::try_from(day_of(tick_ms)).unwrap(),
        device_id: device_id("GPU-0"),
        instance_id: None,
        boot_id: boot_id("n1", "b"),
        seq: tick,
        tick_ms,
        hint_id: hint_of_job("alpha", "7"),
        hint: "slurm:alpha:7".into(),
        evidence: "cgroup".into(),
        pid,
        start_ticks: 100,
        user: "u".into(),
        command: Some("python".into()),
        busy_ms: Some(59_000 - (tick * 7_919) % 30_000),
        covered_ms: 60_000,
        peak_ppm: None,
        mem_peak_bytes: Some(1 << 30),
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

fn device(tick: i64) -> DeviceMinuteRow {
    let tick_ms = START_MS + tick * 60_000;
    DeviceMinuteRow {
        day: i32::try_from(day_of(tick_ms)).unwrap(),
        device_id: device_id("GPU-0"),
        boot_id: boot_id("n1", "b"),
        seq: tick,
        collector_id: 1,
        tick_ms,
        mono_ms: tick * 60_000,
        dur_ms: 60_000,
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
        mem_used_bytes: None,
        mem_reserved_bytes: None,
        mem_total_bytes: None,
        power_mw: None,
        power_limit_mw: None,
        energy_mj: None,
        temperature_c: None,
        limit_reasons: None,
        ecc_uncorrected: None,
        xid: None,
    }
}

fn note(segment: &Segment, key: &str) -> Option<String> {
    let file = SerializedFileReader::new(parquet_input(segment)).unwrap();
    let notes = file.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    notes.into_iter().find(|n| n.key == key).and_then(|n| n.value)
}

/// The bytes as Parquet's readers take them: an open file that is gone from its folder.
fn parquet_input(segment: &Segment) -> File {
    let path = std::env::temp_dir().join(format!("{}-{}", std::process::id(), segment.name.file_name()));
    std::fs::write(&path, &segment.bytes).unwrap();
    let file = File::open(&path).unwrap();
    let _ = std::fs::remove_file(&path);
    file
}

#[test]
fn rows_read_back_with_the_tables_schema() {
    let rows = vec![reading(1), reading(2)];
    let segment = segment("import", &rows).unwrap().unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(parquet_input(&segment)).unwrap();
    assert_eq!(reader.schema().fields(), ReadingRow::TABLE.schema().fields());
    let read: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].columns(), batch(&rows).unwrap().columns());
    assert_eq!(note(&segment, KEY_TABLE).as_deref(), Some("reading"));
    assert_eq!(note(&segment, KEY_FORMAT).as_deref(), Some("1"));
    assert_eq!(note(&segment, KEY_WRITER).as_deref(), Some("import"));
    assert_eq!(note(&segment, KEY_PAIR), None);
}

#[test]
fn no_rows_give_no_segment() {
    assert_eq!(segment::<ReadingRow>("import", &[]).unwrap(), None);
    assert!(pair("n1", &[], &[]).unwrap().is_empty());
}

#[test]
fn the_name_carries_table_writer_and_hash_of_the_bytes() {
    let one = segment("gpu node/1", &[reading(1)]).unwrap().unwrap();
    assert_eq!(one.name.table, "reading");
    assert_eq!(one.name.writer, "gpu-node-1");
    assert_eq!(one.name.hash, hash_of(&one.bytes));
    assert_eq!(SegmentName::parse(&one.name.file_name()), Some(one.name.clone()));
    assert_eq!(segment("gpu node/1", &[reading(1)]).unwrap().unwrap(), one);
    assert_ne!(segment("gpu node/1", &[reading(2)]).unwrap().unwrap().name.hash, one.name.hash);
}

#[test]
fn a_device_file_names_its_process_file() {
    let processes: Vec<_> = (0..50).map(|t| process(t, 42)).collect();
    let devices: Vec<_> = (0..50).map(device).collect();
    let made = pair("n1", &processes, &devices).unwrap();
    assert_eq!(made.iter().map(|s| s.name.table.as_str()).collect::<Vec<_>>(), ["process_minute", "device_minute"]);
    assert_eq!(note(&made[1], KEY_PAIR), Some(made[0].name.hash.clone()));
    assert_eq!(note(&made[0], KEY_PAIR), None);

    let lonely = pair("n1", &[], &devices).unwrap();
    assert_eq!(lonely.len(), 1);
    assert_eq!(note(&lonely[0], KEY_PAIR).as_deref(), Some(NO_PAIR));
}

#[test]
fn the_order_of_arrival_does_not_change_the_bytes_of_a_pair() {
    let mut processes: Vec<_> = (0..50).flat_map(|t| [process(t, 42), process(t, 43)]).collect();
    let mut devices: Vec<_> = (0..50).map(device).collect();
    let first = pair("n1", &processes, &devices).unwrap();
    processes.reverse();
    devices.reverse();
    assert_eq!(pair("n1", &processes, &devices).unwrap(), first);
}

#[test]
fn a_process_row_takes_at_most_fourteen_bytes() {
    let rows: Vec<_> = (0..20_000).map(|t| process(t, 42)).collect();
    let made = pair("n1", &rows, &[]).unwrap();
    assert!(made[0].bytes.len() <= rows.len() * 14, "{} bytes a row", made[0].bytes.len() / rows.len());
}
