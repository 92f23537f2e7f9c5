//! Slurm's accounting: `sacct --parsable2` text or `sacct --json` becomes requests, runs and what the runs held.
//!
//! What identifies or bills a run refuses its record when it cannot be read; any other field is left out and noted.
//! A file whose columns cannot tell when a job ran, or how many GPUs it held, fails as a whole: 0 would be invented.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chrono_tz::Tz;
use gpuledger_scheduler::slurm::problem::Problem;
use gpuledger_scheduler::slurm::sacct_job::{self, Refused, SacctEntry, SacctJob};
use gpuledger_scheduler::slurm::sacct_json::{self, SacctJsonError};
use gpuledger_scheduler::slurm::sacct_record::{Columns, SacctRecord};
use gpuledger_scheduler::slurm::sacct_text::{self, SacctTextError};
use gpuledger_schema::id::id63;
use gpuledger_schema::table::ReadingRow;
use gpuledger_schema::window::show_ms;

use super::records::refuse_cut;
use super::{At, Imported};
use crate::input::Input;

pub(crate) mod rows;

/// Columns without which nothing can be billed, as `sacct --format` names them.
const NEEDED: &[&str] = &["JobID", "State", "Submit", "Start", "End"];

/// How to read accounting.
#[derive(Debug, Clone)]
pub struct SacctOptions {
    /// Cluster it is imported for.
    pub cluster: String,
    /// Zone of naive times; without it they are refused.
    pub zone: Option<Tz>,
    /// Fields of text without a header, in their order.
    pub fields: Option<Vec<String>>,
    /// When the accounting was read; absent: each file's greatest instant.
    pub as_of_ms: Option<i64>,
}

/// Why nothing in a file can be trusted. Every message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SacctError {
    /// Times without a zone.
    #[error(
        "line {line} of `{file}` has the naive local time `{time}` and no zone is given: \
         name the cluster's zone with --zone, or export with SLURM_TIME_FORMAT=%s"
    )]
    NoZone {
        /// The file.
        file: String,
        /// Line of the record.
        line: i64,
        /// The time.
        time: String,
    },
    /// A column is missing.
    #[error("`{file}` has no column {column}: export it with `sacct --format=...,{column}`, or name it in --fields")]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
    },
    /// Text that cannot be laid out.
    #[error("`{file}` cannot be read as sacct --parsable2: give its columns with --fields if it has no header")]
    Text {
        /// The file.
        file: String,
        /// Why.
        source: SacctTextError,
    },
    /// JSON of another dialect.
    #[error("`{file}` cannot be read as sacct --json: export it with sacct --parsable2 instead")]
    Json {
        /// The file.
        file: String,
        /// Why.
        source: SacctJsonError,
    },
}

/// A record that can be used, and what in it could not be read.
struct Good {
    record: SacctRecord,
    job: SacctJob,
    ignored: Vec<Problem>,
}

/// A record taken in: what it says, as a hash, and where it stands.
struct Seen {
    content: i64,
    file: usize,
    line: i64,
}

/// What no two different records of one as-of may share: a run by its start, or a request that never ran; and
/// whether it is over, because the end of a run may be told beside its beginning.
type Key = (String, i64, bool, i64, bool);

/// Start of the run a record tells of, and whether it is over: of two records of a request the greater is the newer.
type Newness = (Option<i64>, bool);

/// Reads accounting.
pub fn import(inputs: &[Input], options: &SacctOptions) -> Result<Imported, SacctError> {
    let (seen, jobs) = (HashMap::new(), HashMap::new());
    let mut importer = Importer { options, out: Imported::default(), inputs, seen, jobs };
    for file in 0..inputs.len() {
        importer.file(file)?;
    }
    Ok(importer.out)
}

/// An import under way.
struct Importer<'a> {
    options: &'a SacctOptions,
    out: Imported,
    inputs: &'a [Input],
    /// Records taken in.
    seen: HashMap<Key, Seen>,
    /// Requests taken in, by id and as-of: where they stand in `out`, and how new the record was.
    jobs: HashMap<(i64, i64), (usize, Newness)>,
}

impl Importer<'_> {
    fn file(&mut self, file: usize) -> Result<(), SacctError> {
        let input = &self.inputs[file];
        let before = (self.out.records, self.out.skipped);
        let records = self.records(input)?;
        let mut good = Vec::new();
        for record in records {
            match sacct_job::read(&record, self.options.zone) {
                Ok(SacctEntry::Step) => self.out.skipped += 1,
                Ok(SacctEntry::Job(job, ignored)) => match unknown_gpus(&job) {
                    Some((field, reason)) => {
                        let problem = Problem::of_field(record.line, field, reason, record.raw());
                        self.refuse(input, &problem);
                    }
                    None => good.push(Good { record, job: *job, ignored }),
                },
                Err(Refused::Record(problem)) => self.refuse(input, &problem),
                Err(Refused::NoZone(time)) => {
                    return Err(SacctError::NoZone { file: input.name.clone(), line: record.line, time });
                }
            }
        }
        if good.is_empty() {
            let (records, steps) = (self.out.records - before.0, self.out.skipped - before.1);
            self.refuse_whole(
                input,
                match records {
                    0 => "the file has no records",
                    n if n == steps => "the file has no jobs, only steps of jobs",
                    _ => "no record in it could be used",
                },
            );
        }
        let greatest = good.iter().flat_map(|g| instants(&g.job)).max();
        if let Some(as_of_ms) = self.options.as_of_ms.or(greatest) {
            self.take(file, good, as_of_ms);
        }
        Ok(())
    }

    /// The records of a file; what cannot be one is refused on the way.
    fn records(&mut self, input: &Input) -> Result<Vec<SacctRecord>, SacctError> {
        let file = || input.name.clone();
        let is_json = input.bytes.trim_ascii_start().starts_with(b"{");
        let trusted = if is_json { &input.bytes } else { input.trusted().0 };
        let read = if is_json {
            sacct_json::read(trusted).map_err(|source| SacctError::Json { file: file(), source })?
        } else {
            let fields = self.options.fields.as_deref();
            let text = sacct_text::read(trusted, fields).map_err(|source| SacctError::Text { file: file(), source })?;
            if let Some(column) = text.columns.as_deref().and_then(missing) {
                return Err(SacctError::NoColumn { file: file(), column });
            }
            text.read
        };
        self.out.records += (read.facts.len() + read.problems.len()) as u64;
        if is_json {
            input.problem.iter().for_each(|problem| self.refuse_whole(input, problem));
        } else {
            refuse_cut(&mut self.out, input, &self.options.cluster);
        }
        read.problems.iter().for_each(|problem| self.refuse(input, problem));
        Ok(read.facts)
    }

    /// Takes the good records of a file in under its as-of, and the look at the file itself.
    fn take(&mut self, file: usize, good: Vec<Good>, as_of_ms: i64) {
        let input = &self.inputs[file];
        let (mut from_ms, mut rows) = (as_of_ms, 0);
        for g in good {
            let (line, raw) = (g.record.line, g.record.raw());
            if let Some(late) = instants(&g.job).max().filter(|ms| *ms > as_of_ms) {
                let (late, as_of) = (show_ms(late, Tz::UTC), show_ms(as_of_ms, Tz::UTC));
                let reason = format!("{late} is after the as-of {as_of}, at which nothing of it could be known");
                self.refuse(input, &Problem::of_record(line, reason, raw));
                continue;
            }
            let content = id63("content", &[&format!("{:?}", g.job)]);
            let is_new = match self.seen.entry(key(&g.job, as_of_ms)) {
                Entry::Vacant(free) => {
                    free.insert(Seen { content, file, line });
                    true
                }
                Entry::Occupied(first) if first.get().content == content => false,
                Entry::Occupied(first) => {
                    let (first, name) = (first.get(), &self.inputs[first.get().file].name);
                    let reason =
                        format!("differs from line {} of {name}, which has the same job id and start", first.line);
                    self.refuse(input, &Problem::of_field(line, "JobID", reason, raw));
                    continue;
                }
            };
            rows += 1;
            from_ms = instants(&g.job).min().map_or(from_ms, |ms| ms.min(from_ms));
            if is_new {
                g.ignored.iter().for_each(|problem| self.refuse(input, problem));
                self.put(input, &g, as_of_ms);
            }
        }
        self.reading(input, from_ms, as_of_ms, rows);
    }

    fn put(&mut self, input: &Input, g: &Good, as_of_ms: i64) {
        let stamp = rows::Stamp { cluster: &self.options.cluster, source: &input.name, as_of_ms };
        let job = rows::job(&g.job, &stamp);
        if let Some(run) = rows::allocation(&g.job, &job, &stamp) {
            let (devices, note) = rows::holdings(&g.job, &run);
            self.out.allocation_devices.extend(devices);
            self.out.allocations.push(run);
            if let Some(note) = note {
                self.refuse(input, &Problem::of_field(g.record.line, "NodeList", note, g.record.raw()));
            }
        }
        // One request in several records of one as-of is in the state of its newest run.
        let newness: Newness = (g.job.start_ms, g.job.state.is_terminal());
        match self.jobs.entry((job.job_id, as_of_ms)) {
            Entry::Vacant(free) => {
                free.insert((self.out.jobs.len(), newness));
                self.out.jobs.push(job);
            }
            Entry::Occupied(mut held) => {
                let (at, newest) = *held.get();
                if newness > newest {
                    self.out.jobs[at] = job;
                    held.insert((at, newness));
                }
            }
        }
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

    fn refuse(&mut self, input: &Input, problem: &Problem) {
        let at = At { source: &input.name, line: problem.line, cluster: Some(&self.options.cluster) };
        self.out.refuse(&at, problem.field.as_deref(), problem.reason.as_str(), &problem.raw);
    }

    fn refuse_whole(&mut self, input: &Input, reason: &str) {
        let at = At { source: &input.name, line: None, cluster: Some(&self.options.cluster) };
        self.out.refuse(&at, None, reason, "");
    }
}

/// The first column that is needed and not there.
fn missing(columns: &Columns) -> Option<&'static str> {
    let absent = NEEDED.iter().find(|name| !columns.has(&name.to_ascii_lowercase()));
    let has_gpus = columns.has("alloctres") || columns.has("allocgres");
    absent.copied().or((!has_gpus).then_some("AllocTRES"))
}

/// Why it cannot be known how many GPUs a run held, if so.
fn unknown_gpus(job: &SacctJob) -> Option<(&'static str, String)> {
    if job.started() && !job.has_granted {
        return Some(("AllocTRES", "it is empty although the job ran: how many GPUs it held is not known".to_owned()));
    }
    let fits = job.granted.gpus.share_units().is_some();
    (!fits).then(|| ("AllocTRES", format!("{} GPUs cannot be counted in parts of a card", job.granted.gpus.count)))
}

/// What proves at which time the file was read at the earliest. A waiting job's eligible time may lie in the future.
fn instants(job: &SacctJob) -> impl Iterator<Item = i64> {
    let eligible = job.eligible_ms.filter(|_| job.start_ms.is_some());
    [Some(job.submit_ms), eligible, job.start_ms, job.end_ms].into_iter().flatten()
}

fn key(job: &SacctJob, as_of_ms: i64) -> Key {
    let ran = job.start_ms.filter(|_| job.started());
    let is_over = if ran.is_some() { job.end_ms.is_some() } else { job.state.is_terminal() };
    (job.job_raw.clone(), ran.unwrap_or(job.submit_ms), ran.is_some(), as_of_ms, is_over)
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
