//! Job tables of any system, by a column [`Map`]: a record becomes a request, a run and what the run held.
//!
//! A record that cannot be used is refused alone. A fact beside the run itself (memory asked for, an average) that
//! cannot be read is left out and noted, and the run goes in: held GPUs must not go missing for want of a memory size.
//!
//! Where the table has no job id, a record is known by its content and its number among equal ones *in its file*:
//! two files of one source are the same record set, so of equal records the larger number counts, not the sum.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use chrono_tz::Tz;
use csv::StringRecord;
use gpuledger_schema::id::id63;
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobAverageRow, JobRow, ReadingRow};
use gpuledger_schema::window::show_ms;

use super::map::Map;
use super::records::{Record, Records, refuse_cut};
use super::{At, Imported};
use crate::input::Input;

mod fields;
mod record;

use fields::Fields;
pub(super) use fields::Values;

/// How to read job tables.
#[derive(Debug, Clone)]
pub struct JobsOptions {
    /// Cluster they are imported for.
    pub cluster: String,
    /// What their columns mean.
    pub map: Map,
    /// Zone of local times, where the map names none.
    pub zone: Option<Tz>,
    /// When the tables were exported; absent: each file's greatest instant.
    pub as_of_ms: Option<i64>,
}

/// Why nothing in a job table can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    /// No header line.
    #[error("`{file}` holds no header line: list the names as `file.columns` in the map if it never has one")]
    NoHeader {
        /// The file.
        file: String,
    },
    /// The map names a column that is not there.
    #[error("the map's `{key}` names the column `{column}`, which `{file}` does not have; it has: {header}")]
    UnknownColumn {
        /// Key of the map.
        key: String,
        /// Column it names.
        column: String,
        /// The file.
        file: String,
        /// Columns of the file.
        header: String,
    },
    /// The map names a column that is there twice.
    #[error("the map's `{key}` names the column `{column}`, which `{file}` has twice")]
    DoubledColumn {
        /// Key of the map.
        key: String,
        /// Column it names.
        column: String,
        /// The file.
        file: String,
    },
    /// Local times, and no zone.
    #[error("`{key}` is a local time and no zone is given: set `time.zone` in the map, or give one for this import")]
    NoZone {
        /// Key of the map.
        key: &'static str,
    },
    /// Two zones.
    #[error("the map says that local times are in {map}, this import that they are in {given}: take one out")]
    TwoZones {
        /// Zone of the map.
        map: Tz,
        /// Zone given for the import.
        given: Tz,
    },
}

/// Why a record, or a value in it, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) field: Option<String>,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn new(column: &str, reason: impl Into<String>) -> Self {
        Self { field: (!column.is_empty()).then(|| column.to_owned()), reason: reason.into() }
    }
}

/// A run and what belongs to it.
#[derive(Debug, PartialEq)]
struct Run {
    allocation: AllocationRow,
    device: Option<AllocationDeviceRow>,
    averages: Vec<JobAverageRow>,
}

/// What a record says, the as-of left to be filled in.
#[derive(Debug)]
struct Found {
    job: JobRow,
    run: Option<Run>,
    from_ms: i64,
    to_ms: i64,
    beside: Vec<Fault>,
}

impl Found {
    fn set_as_of(&mut self, as_of_ms: i64) {
        self.job.as_of_ms = as_of_ms;
        if let Some(run) = &mut self.run {
            run.allocation.as_of_ms = as_of_ms;
            run.device.iter_mut().for_each(|d| d.as_of_ms = as_of_ms);
            run.averages.iter_mut().for_each(|a| a.as_of_ms = as_of_ms);
        }
    }

    /// What no two different records of one as-of may share: the run, or the request that never ran.
    fn key(&self) -> Key {
        let id = self.run.as_ref().map_or(self.job.job_id, |r| r.allocation.allocation_id);
        (id, self.run.as_ref().map(|r| r.allocation.start_ms), self.job.as_of_ms)
    }
}

/// Run or request, start of the run, as-of.
type Key = (i64, Option<i64>, i64);

/// Reads job tables.
pub fn import(inputs: &[Input], options: &JobsOptions) -> Result<Imported, JobsError> {
    let zone = match (options.map.zone, options.zone) {
        (Some(map), Some(given)) if map != given => return Err(JobsError::TwoZones { map, given }),
        (map, given) => map.or(given),
    };
    if let (None, Some(key)) = (zone, options.map.local_key()) {
        return Err(JobsError::NoZone { key });
    }
    let out = Imported::default();
    let mut importer = Importer { options, zone, out, kept: Vec::new(), seen: HashMap::new() };
    for input in inputs {
        importer.file(input)?;
    }
    Ok(importer.finish())
}

/// An import under way.
struct Importer<'a> {
    options: &'a JobsOptions,
    zone: Option<Tz>,
    out: Imported,
    /// Records taken in.
    kept: Vec<Kept>,
    /// Where in `kept` the record of a key stands.
    seen: HashMap<Key, usize>,
}

/// A record taken in, and where it stands.
struct Kept {
    found: Found,
    line: i64,
    file: Rc<str>,
}

impl Importer<'_> {
    fn file(&mut self, input: &Input) -> Result<(), JobsError> {
        let map = &self.options.map;
        let mut records = Records::new(input.trusted().0, map.delimiter, map.columns.as_ref().map(Vec::len));
        let layout = layout(map.columns.as_deref(), map.named_columns(), input, &mut records)?;
        let mut good = Vec::new();
        let mut ordinals = HashMap::new();
        for record in records {
            self.out.records += 1;
            match self.record(&record, &layout, &mut ordinals) {
                Ok(found) => good.push((record.line, record.raw, found)),
                Err(fault) => self.refuse(input, record.line, record.raw, &fault),
            }
        }
        refuse_cut(&mut self.out, input, &self.options.cluster);
        let greatest = good.iter().map(|(_, _, found)| found.to_ms).max();
        match self.options.as_of_ms.or(greatest) {
            Some(as_of_ms) => self.take(input, good, as_of_ms),
            None => {
                let at = At { source: &input.name, line: None, cluster: Some(&self.options.cluster) };
                self.out.refuse(&at, None, "no record in it could be used", "");
            }
        }
        Ok(())
    }

    fn record(&self, record: &Record<'_>, layout: &Layout, ordinals: &mut HashMap<i64, i64>) -> Result<Found, Fault> {
        if let Some(problem) = &record.problem {
            return Err(Fault { field: None, reason: problem.clone() });
        }
        let map = &self.options.map;
        let text = StringRecord::from_byte_record(record.fields.clone()).map_err(|error| {
            let at = error.utf8_error().field();
            let name = layout.columns.iter().find(|(_, c)| **c == at).map(|(name, _)| name.clone());
            Fault { field: name, reason: "bytes that are no UTF-8".to_owned() }
        })?;
        let (absent, origin_ms, columns) = (map.absent.as_slice(), map.origin_ms, &layout.columns);
        let fields = Fields { map, values: Values { absent, origin_ms, columns, zone: self.zone, record: &text } };
        let job_raw = match &map.job.id {
            Some(column) => fields.value(column).ok_or_else(|| Fault::new(column, "no job id"))?.to_owned(),
            None => row_id(&fields, &layout.mapped, ordinals),
        };
        record::read(&fields, &self.options.cluster, &job_raw)
    }

    /// Takes the good records of a file in under its as-of, and the look at the file itself.
    fn take(&mut self, input: &Input, good: Vec<(i64, &[u8], Found)>, as_of_ms: i64) {
        let (mut from_ms, mut rows) = (as_of_ms, 0);
        let file: Rc<str> = Rc::from(input.name.as_str());
        for (line, raw, mut found) in good {
            if found.to_ms > as_of_ms {
                let (late, as_of) = (show_ms(found.to_ms, Tz::UTC), show_ms(as_of_ms, Tz::UTC));
                let reason = format!("{late} is after the as-of {as_of}, at which nothing of it could be known");
                self.refuse(input, line, raw, &Fault { field: None, reason });
                continue;
            }
            found.set_as_of(as_of_ms);
            let same = match self.seen.get(&found.key()).map(|at| &self.kept[*at]) {
                None => false,
                Some(first) if first.found.job == found.job && first.found.run == found.run => true,
                Some(first) => {
                    let place = format!("line {} of {}", first.line, first.file);
                    let reason = format!("differs from {place}, which has the same id and start");
                    self.refuse(input, line, raw, &Fault { field: self.options.map.job.id.clone(), reason });
                    continue;
                }
            };
            rows += 1;
            from_ms = from_ms.min(found.from_ms);
            if !same {
                for fault in std::mem::take(&mut found.beside) {
                    self.refuse(input, line, raw, &fault);
                }
                self.seen.insert(found.key(), self.kept.len());
                self.kept.push(Kept { found, line, file: Rc::clone(&file) });
            }
        }
        self.reading(input, from_ms, as_of_ms, rows);
    }

    /// Lays the records out as rows. A request with several runs is in the state of its newest run, and waits again
    /// where its newest record has none.
    fn finish(mut self) -> Imported {
        let mut jobs: HashMap<(i64, i64), (usize, Option<i64>)> = HashMap::new();
        for Kept { found: Found { job, run, .. }, .. } in self.kept {
            let start = run.as_ref().map(|r| r.allocation.start_ms);
            match jobs.entry((job.job_id, job.as_of_ms)) {
                Entry::Vacant(free) => {
                    free.insert((self.out.jobs.len(), start));
                    self.out.jobs.push(job);
                }
                Entry::Occupied(mut held) => {
                    let (at, newest) = *held.get();
                    if newest.is_some() && (start.is_none() || start > newest) {
                        self.out.jobs[at] = job;
                        held.insert((at, start));
                    }
                }
            }
            if let Some(run) = run {
                self.out.allocations.push(run.allocation);
                self.out.allocation_devices.extend(run.device);
                self.out.job_averages.extend(run.averages);
            }
        }
        self.out
    }

    fn reading(&mut self, input: &Input, from_ms: i64, as_of_ms: i64, rows: i64) {
        let row = ReadingRow {
            source: input.name.clone(),
            kind: "import".to_owned(),
            cluster: self.options.cluster.clone(),
            node: None,
            read_at_ms: as_of_ms,
            from_ms,
            to_ms: as_of_ms,
            ok: input.problem.is_none(),
            rows,
            error: input.problem.clone(),
        };
        if !self.out.readings.contains(&row) {
            self.out.readings.push(row);
        }
    }

    fn refuse(&mut self, input: &Input, line: i64, raw: &[u8], fault: &Fault) {
        let at = At { source: &input.name, line: Some(line), cluster: Some(&self.options.cluster) };
        self.out.refuse(&at, fault.field.as_deref(), &fault.reason, &String::from_utf8_lossy(raw));
    }
}

/// The columns of a file.
pub(super) struct Layout {
    /// Where each stands.
    pub(super) columns: HashMap<String, usize>,
    /// Those that the map names, each once, sorted.
    mapped: Vec<String>,
}

/// The layout of a file, once every column that the map names is known to be there, once.
pub(super) fn layout(
    columns: Option<&[String]>,
    named: Vec<(String, &str)>,
    input: &Input,
    records: &mut Records<'_>,
) -> Result<Layout, JobsError> {
    let names: Vec<String> = match columns {
        Some(names) => names.to_vec(),
        None => {
            let header = records.header().ok_or_else(|| JobsError::NoHeader { file: input.name.clone() })?;
            header.fields.iter().map(|f| String::from_utf8_lossy(f).trim().to_owned()).collect()
        }
    };
    let mut mapped = Vec::new();
    for (key, column) in named {
        let (column, file) = (column.to_owned(), input.name.clone());
        match names.iter().filter(|n| **n == column).count() {
            0 => return Err(JobsError::UnknownColumn { key, column, file, header: names.join(", ") }),
            1 => mapped.push(column),
            _ => return Err(JobsError::DoubledColumn { key, column, file }),
        }
    }
    mapped.sort_unstable();
    mapped.dedup();
    Ok(Layout { columns: names.into_iter().enumerate().map(|(at, name)| (name, at)).collect(), mapped })
}

/// The id of a record that has none: its mapped fields, and its number among equal records of the file.
fn row_id(fields: &Fields<'_>, mapped: &[String], ordinals: &mut HashMap<i64, i64>) -> String {
    let mut parts = vec![fields.map.source()];
    parts.extend(mapped.iter().map(|column| fields.raw(column)));
    let ordinal = ordinals.entry(id63("row", &parts)).or_default();
    *ordinal += 1;
    let number = ordinal.to_string();
    parts.push(&number);
    format!("row:{:016x}", id63("row", &parts))
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
