//! Per-process samples of hosts as sonar prints them: twelve fields a row, no header.
//!
//! Rows are read as they are. What time a sample stands for, and who held which GPU, are steps of the ledger.
//! An impossible reading is no reading: the value is left out and noted, the row goes in.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use chrono::DateTime;
use csv::StringRecord;
use gpuledger_schema::id::id63;
use gpuledger_schema::table::{ReadingRow, SampleRow};
use gpuledger_schema::unit::PPM;

use super::decimal::{Decimal, Rounding};
use super::records::{Record, Records, refuse_cut};
use super::{At, Imported};
use crate::input::Input;

/// The fields of a row, in order.
const FIELDS: [&str; 12] =
    ["time", "host", "threads", "user", "job", "command", "cpu%", "mem_kib", "gpus", "gpu%", "gpu_mem%", "gpu_mem_kib"];
const TIME: usize = 0;
const HOST: usize = 1;
const THREADS: usize = 2;
const USER: usize = 3;
const JOB: usize = 4;
const COMMAND: usize = 5;
const CPU: usize = 6;
const MEM: usize = 7;
const GPUS: usize = 8;
const GPU: usize = 9;
const GPU_MEM: usize = 10;
const GPU_MEM_BYTES: usize = 11;

/// Parts per million in one percent.
const PERCENT: i64 = PPM / 100;
/// Most threads a host can have: more is garbage.
const THREADS_MAX: i64 = 1_000_000;
/// Most memory a host or its GPUs can have: 1 PiB; more is garbage, such as a negative number read as unsigned.
const BYTES_MAX: i64 = 1 << 50;
/// GPUs that a mask has room for; bit 63 is the sign.
const MASK_DIGITS: usize = 63;

/// How to read samples.
#[derive(Debug, Clone)]
pub struct SonarOptions {
    /// Cluster that the hosts belong to.
    pub cluster: String,
}

/// Why nothing in a file of samples can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum SonarError {
    /// Not one row of it is a sample.
    #[error(
        "`{file}` holds no sample: none of its {rows} rows has the 12 fields of sonar's CSV, the first being a time"
    )]
    NoSample {
        /// The file.
        file: String,
        /// Rows it has.
        rows: u64,
    },
}

/// Why a row, or a value in it, cannot be used.
#[derive(Debug)]
struct Fault {
    field: Option<&'static str>,
    reason: String,
}

fn fault(field: usize, reason: impl Into<String>) -> Fault {
    Fault { field: Some(FIELDS[field]), reason: reason.into() }
}

/// What a host's rows in one file span.
#[derive(Debug, Clone, Copy)]
struct Span {
    from_ms: i64,
    to_ms: i64,
    rows: i64,
}

/// Reads files of samples.
pub fn import(inputs: &[Input], options: &SonarOptions) -> Result<Imported, SonarError> {
    let mut out = Imported::default();
    let mut taken = HashSet::new();
    for input in inputs {
        file(input, &options.cluster, &mut taken, &mut out)?;
    }
    Ok(out)
}

/// `taken` holds the samples that earlier files gave: files of one host may overlap.
fn file(input: &Input, cluster: &str, taken: &mut HashSet<i64>, out: &mut Imported) -> Result<(), SonarError> {
    let mut ordinals: HashMap<i64, i64> = HashMap::new();
    let mut hosts: Vec<(String, Span)> = Vec::new();
    let (mut rows, before) = (0, out.quarantine.len());
    for record in Records::new(input.trusted().0, b',', Some(FIELDS.len())) {
        rows += 1;
        let at = At { source: &input.name, line: Some(record.line), cluster: Some(cluster) };
        let mut rejected = Vec::new();
        match sample(&record, cluster, &mut ordinals, &mut rejected) {
            Ok(row) => {
                note_host(&mut hosts, &row);
                if taken.insert(row.sample_id) {
                    for Fault { field, reason } in rejected {
                        out.refuse(&at, field, format!("{reason} (left out; the row went in)"), &record.text());
                    }
                    out.samples.push(row);
                }
            }
            Err(Fault { field, reason }) => out.refuse(&at, field, reason, &record.text()),
        }
    }
    if hosts.is_empty() && input.problem.is_none() {
        out.quarantine.truncate(before);
        return Err(SonarError::NoSample { file: input.name.clone(), rows });
    }
    out.records += rows;
    refuse_cut(out, input, cluster);
    out.readings.extend(hosts.into_iter().map(|(host, span)| reading(input, cluster, host, span)));
    Ok(())
}

fn note_host(hosts: &mut Vec<(String, Span)>, row: &SampleRow) {
    let first = Span { from_ms: row.stamp_ms, to_ms: row.stamp_ms, rows: 0 };
    let at = hosts.iter().position(|(host, _)| *host == row.node).unwrap_or_else(|| {
        hosts.push((row.node.clone(), first));
        hosts.len() - 1
    });
    let span = &mut hosts[at].1;
    span.from_ms = span.from_ms.min(row.stamp_ms);
    span.to_ms = span.to_ms.max(row.stamp_ms);
    span.rows += 1;
}

/// One look a host: the name carries the host, because hosts of one file may be sampled last at the same instant.
fn reading(input: &Input, cluster: &str, host: String, span: Span) -> ReadingRow {
    ReadingRow {
        source: format!("{}#{host}", input.name),
        kind: "node".to_owned(),
        cluster: cluster.to_owned(),
        node: Some(host),
        read_at_ms: span.to_ms,
        from_ms: span.from_ms,
        to_ms: span.to_ms,
        ok: input.problem.is_none(),
        rows: span.rows,
        error: input.problem.clone(),
    }
}

fn sample(
    record: &Record<'_>,
    cluster: &str,
    ordinals: &mut HashMap<i64, i64>,
    rejected: &mut Vec<Fault>,
) -> Result<SampleRow, Fault> {
    if let Some(problem) = &record.problem {
        return Err(Fault { field: None, reason: problem.clone() });
    }
    let text = StringRecord::from_byte_record(record.fields.clone())
        .map_err(|error| fault(error.utf8_error().field(), "bytes that are no UTF-8"))?;
    let field = |at: usize| text.get(at).unwrap_or_default().trim();
    let named = |at: usize| match field(at) {
        "" => Err(fault(at, "empty")),
        name => Ok(name.to_owned()),
    };
    let stamp_ms = DateTime::parse_from_rfc3339(field(TIME))
        .map_err(|error| fault(TIME, format!("`{}` is no RFC 3339 time: {error}", field(TIME))))?
        .timestamp_millis();
    let (node, user, job) = (named(HOST)?, named(USER)?, named(JOB)?);
    let gpu_mask = mask(field(GPUS)).ok_or_else(|| fault(GPUS, format!("`{}` is no mask of GPUs", field(GPUS))))?;

    let mut measure = |at: usize, unit: i64, within: RangeInclusive<i64>, limit: &str| {
        quantity(field(at), unit, &within)
            .map_err(|why| rejected.push(fault(at, format!("`{}` {why}{limit}", field(at)))))
            .ok()
    };
    let hw_threads = measure(THREADS, 1, 1..=THREADS_MAX, "");
    let cores = hw_threads.unwrap_or(THREADS_MAX);
    let gpus = i64::from(gpu_mask.count_ones());
    let row = SampleRow {
        sample_id: sample_id(cluster, &text, stamp_ms, ordinals),
        cluster: cluster.to_owned(),
        node,
        stamp_ms,
        hw_threads,
        user,
        job,
        command: field(COMMAND).to_owned(),
        cpu_ppm: measure(CPU, PERCENT, 0..=cores * PPM, ": 100 for each hardware thread"),
        mem_bytes: measure(MEM, 1_024, 0..=BYTES_MAX, ""),
        gpu_mask,
        gpu_ppm: measure(GPU, PERCENT, 0..=gpus * PPM, ": 100 for each GPU in use"),
        gpu_mem_ppm: measure(GPU_MEM, PERCENT, 0..=gpus * PPM, ": 100 for each GPU in use"),
        gpu_mem_bytes: measure(GPU_MEM_BYTES, 1_024, 0..=BYTES_MAX, ""),
    };
    Ok(row)
}

/// A measured number in a unit, or what is wrong with it.
fn quantity(text: &str, unit: i64, within: &RangeInclusive<i64>) -> Result<i64, &'static str> {
    let number = Decimal::parse(text).ok_or("is no number")?;
    match number.scaled(unit, 1, Rounding::Nearest) {
        _ if number.is_negative() => Err("is below zero"),
        Some(value) if within.contains(&value) => Ok(value),
        Some(value) if value < *within.start() => Err("is less than can be"),
        _ => Err("is more than can be"),
    }
}

/// `1000` is GPU 3: one digit a GPU, from the right.
fn mask(text: &str) -> Option<i64> {
    let digits = text.trim_start_matches('0');
    let fits = !text.is_empty() && digits.len() <= MASK_DIGITS && digits.bytes().all(|b| b == b'0' || b == b'1');
    fits.then(|| digits.bytes().fold(0, |mask, b| mask << 1 | i64::from(b == b'1')))
}

fn sample_id(cluster: &str, text: &StringRecord, stamp_ms: i64, ordinals: &mut HashMap<i64, i64>) -> i64 {
    let stamp = stamp_ms.to_string();
    let mut parts = vec![cluster, &stamp];
    parts.extend(text.iter().skip(1).map(str::trim));
    let ordinal = ordinals.entry(id63("sample", &parts)).or_default();
    *ordinal += 1;
    let number = ordinal.to_string();
    parts.push(&number);
    id63("sample", &parts)
}

#[cfg(test)]
mod tests;
