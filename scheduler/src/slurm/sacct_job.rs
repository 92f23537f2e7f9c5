//! A record of accounting as typed facts: who asked, when it ran, what it was granted.
//!
//! What identifies or bills a run (ids, state, times, GPUs) refuses the record when it cannot be read. Any other field
//! that cannot be read is left absent and reported beside the record, which goes in.

use chrono_tz::Tz;
use gpuledger_schema::state::RunState;

use super::duration::{seconds, span};
use super::gres::{self, Form};
use super::hostlist::hosts;
use super::job_id::{ArrayPart, JobId, job_id};
use super::memory::{Per, memory};
use super::problem::Problem;
use super::sacct_record::SacctRecord;
use super::state::state;
use super::tres::{Tres, tres};
use super::{is_blank, number};

mod times;

/// The nodes of a run, as its record says them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    /// The record has no list of nodes.
    Unsaid,
    /// It never got nodes.
    None,
    /// It got these: the text, and the hosts where the text can be read.
    Listed(String, Vec<String>),
}

/// A job of accounting (not a step).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SacctJob {
    /// The id as shown.
    pub id: JobId,
    /// The raw id.
    pub job_raw: String,
    /// State.
    pub state: RunState,
    /// Submit instant.
    pub submit_ms: i64,
    /// When it could have started.
    pub eligible_ms: Option<i64>,
    /// Start of the run.
    pub start_ms: Option<i64>,
    /// End of the run, where one is recorded.
    pub end_ms: Option<i64>,
    /// Time suspended.
    pub suspended_ms: Option<i64>,
    /// Time limit.
    pub time_limit_ms: Option<i64>,
    /// Nodes it got.
    pub nodes: Nodes,
    /// Number of nodes.
    pub node_count: Option<i64>,
    /// What it was granted; empty where it was granted nothing.
    pub granted: Tres,
    /// Whether the record says what was granted (an empty column says nothing).
    pub has_granted: bool,
    /// What was asked for, where the record says it.
    pub asked: Option<Tres>,
    /// Host memory asked for.
    pub asked_mem_bytes: Option<i64>,
    /// CPUs asked for.
    pub asked_cpus: Option<i64>,
    /// Nodes asked for.
    pub asked_nodes: Option<i64>,
    /// CPUs granted.
    pub cpus: Option<i64>,
    /// User name, or `uid:<number>`.
    pub user: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Partition.
    pub partition: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Job name.
    pub name: Option<String>,
    /// Priority.
    pub priority: Option<i64>,
    /// Reservation.
    pub reservation: Option<String>,
    /// Comment.
    pub comment: Option<String>,
    /// Exit code as printed.
    pub exit_code: Option<String>,
    /// Slurm's id of the run.
    pub sluid: Option<String>,
    /// Slurm's id of the first run of the job.
    pub original_sluid: Option<String>,
}

impl SacctJob {
    /// Whether the job got nodes and ran, be it for no time at all.
    pub fn started(&self) -> bool {
        if self.state == RunState::Pending || self.start_ms.is_none() {
            return false;
        }
        match self.nodes {
            Nodes::Listed(..) => true,
            Nodes::None => false,
            Nodes::Unsaid => self.node_count != Some(0),
        }
    }
}

/// What a record is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SacctEntry {
    /// A step of a job: no run of its own.
    Step,
    /// A job, and the fields of it that could not be read.
    Job(Box<SacctJob>, Vec<Problem>),
}

/// Why a record is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It has this naive time and no zone is given; so will have every other.
    NoZone(String),
    /// This record only.
    Record(Problem),
}

/// Reads a record; naive times are of `zone`.
pub fn read(record: &SacctRecord, zone: Option<Tz>) -> Result<SacctEntry, Refused> {
    let reader = Reader { record, ignored: Vec::new() };
    reader.entry(zone)
}

struct Reader<'a> {
    record: &'a SacctRecord,
    ignored: Vec<Problem>,
}

impl Reader<'_> {
    fn entry(mut self, zone: Option<Tz>) -> Result<SacctEntry, Refused> {
        let id = job_id(self.needed("JobID")?).map_err(|e| self.refuse("JobID", e))?;
        if id.step.is_some() {
            return Ok(SacctEntry::Step);
        }
        let raw = self.word("jobidraw");
        let job_raw = match raw.as_deref().map(job_id).transpose().map_err(|e| self.refuse("JobIDRaw", e))? {
            Some(raw) => raw.raw(),
            None => id.raw(),
        };
        let state = state(self.needed("State")?).map_err(|e| self.refuse("State", e))?;
        let times = times::read(self.record, state, zone)?;
        self.ignored.extend(times.ignored);
        let nodes = self.nodes();
        let (granted, has_granted) = self.granted()?;
        let asked = self.asked();
        let node_count = self.first_count(&["NNodes", "AllocNodes"]).or(granted.nodes);
        let cpus = self.first_count(&["AllocCPUS", "NCPUS"]).or(granted.cpus);
        let asked_cpus = self.first_count(&["ReqCPUS"]).or(asked.as_ref().and_then(|a| a.cpus));
        let asked_nodes = asked.as_ref().and_then(|a| a.nodes).or_else(|| self.first_count(&["ReqNodes"]));
        let asked_mem_bytes = match asked.as_ref().and_then(|a| a.mem_bytes) {
            Some(bytes) => Some(bytes),
            None => self.asked_mem(asked_cpus.or(cpus), asked_nodes.or(node_count)),
        };
        let job = SacctJob {
            job_raw,
            state,
            submit_ms: times.submit_ms,
            eligible_ms: times.eligible_ms,
            start_ms: times.start_ms,
            end_ms: times.end_ms,
            suspended_ms: self.span("Suspended"),
            time_limit_ms: self.span("Timelimit").or_else(|| self.span("TimelimitRaw")),
            nodes,
            node_count,
            granted,
            has_granted,
            asked,
            asked_mem_bytes,
            asked_cpus,
            asked_nodes,
            cpus,
            user: self.user(),
            account: self.word("account"),
            partition: self.word("partition"),
            qos: self.word("qos"),
            name: self.word("jobname"),
            priority: self.first_count(&["Priority"]),
            reservation: self.word("reservation"),
            comment: self.word("comment"),
            exit_code: self.word("exitcode"),
            sluid: self.word("sluid"),
            original_sluid: self.word("originalsluid"),
            id,
        };
        Ok(SacctEntry::Job(Box::new(job), self.ignored))
    }

    fn refuse(&self, field: &str, reason: impl ToString) -> Refused {
        Refused::Record(Problem::of_field(self.record.line, field, reason, self.record.raw()))
    }

    fn ignore(&mut self, field: &str, reason: impl ToString) {
        let reason = format!("field ignored: {}", reason.to_string());
        self.ignored.push(Problem::of_field(self.record.line, field, reason, self.record.raw()));
    }

    fn get(&self, field: &str) -> Option<&str> {
        self.record.get(&field.to_ascii_lowercase()).map(str::trim)
    }

    fn needed(&self, field: &str) -> Result<&str, Refused> {
        self.get(field).ok_or_else(|| self.refuse(field, "the record has no such field"))
    }

    /// A name or text; absent where Slurm says nothing.
    fn word(&self, column: &str) -> Option<String> {
        self.record.get(column).map(str::trim).filter(|w| !is_blank(w)).map(str::to_owned)
    }

    fn user(&self) -> Option<String> {
        self.word("user").or_else(|| self.word("uid").map(|uid| format!("uid:{uid}")))
    }

    fn first_count(&mut self, fields: &[&str]) -> Option<i64> {
        for field in fields {
            let text = self.get(field).filter(|w| !is_blank(w)).map(str::to_owned);
            match text.as_deref().map(|w| (w, number::count(w))) {
                None => {}
                Some((_, Some(n))) => return Some(n),
                Some((w, None)) => self.ignore(field, format!("`{w}` is no number")),
            }
        }
        None
    }

    fn span(&mut self, field: &str) -> Option<i64> {
        match span(self.get(field)?) {
            Ok(span) => span.ms(),
            Err(e) => {
                self.ignore(field, e);
                None
            }
        }
    }

    fn nodes(&mut self) -> Nodes {
        let Some(text) = self.get("NodeList").map(str::to_owned) else { return Nodes::Unsaid };
        if is_blank(&text) || text == "None assigned" {
            return Nodes::None;
        }
        let list = hosts(&text).unwrap_or_else(|e| {
            self.ignore("NodeList", e);
            Vec::new()
        });
        Nodes::Listed(text, list)
    }

    /// What was granted, and whether the record says it: AllocTRES, or AllocGRES of older versions. A site that does not
    /// account `gres/gpu` has its GPUs in AllocGRES only, beside an AllocTRES without any.
    fn granted(&mut self) -> Result<(Tres, bool), Refused> {
        let tres_text = self.get("AllocTRES").filter(|t| !is_blank(t));
        let gres_text = self.get("AllocGRES");
        let mut granted = match tres_text {
            Some(text) => tres(text).map_err(|e| self.refuse("AllocTRES", e))?,
            None => Tres::default(),
        };
        if let Some(text) = gres_text.filter(|_| granted.gpus.count == 0) {
            let read = of_gres(text, Form::Granted).map_err(|e| self.refuse("AllocGRES", e))?;
            (granted.gpus, granted.shards) = (read.gpus, granted.shards.or(read.shards));
        }
        let is_said = tres_text.is_some() || gres_text.is_some();
        if let Some(shards) = granted.shards.filter(|n| *n > 0 && granted.gpus.count == 0) {
            self.ignore("AllocTRES", format!("gres/shard={shards} does not say which part of a GPU is held"));
        }
        Ok((granted, is_said))
    }

    fn asked(&mut self) -> Option<Tres> {
        let text = |field| self.get(field).filter(|t| !is_blank(t));
        let (tres_text, gres_text) = (text("ReqTRES"), text("ReqGRES"));
        if tres_text.is_none() && gres_text.is_none() {
            return None;
        }
        let read = match tres_text.map_or_else(|| Ok(Tres::default()), tres) {
            Err(e) => Err(("ReqTRES", e.to_string())),
            Ok(asked) => match gres_text.filter(|_| asked.gpus.count == 0) {
                None => Ok(asked),
                Some(text) => {
                    of_gres(text, Form::Asked).map(|read| Tres { gpus: read.gpus, ..asked }).map_err(|e| ("ReqGRES", e))
                }
            },
        };
        match read {
            Ok(asked) => Some(asked),
            Err((field, e)) => {
                self.ignore(field, e);
                None
            }
        }
    }

    /// ReqMem: per node or per CPU in older versions, which say so by a letter.
    fn asked_mem(&mut self, cpus: Option<i64>, nodes: Option<i64>) -> Option<i64> {
        let read = memory(self.get("ReqMem")?);
        let asked = match read {
            Ok(asked) => asked?,
            Err(e) => {
                self.ignore("ReqMem", e);
                return None;
            }
        };
        match asked.per {
            Per::Unsaid => Some(asked.bytes),
            Per::Node => asked.bytes.checked_mul(nodes?),
            Per::Cpu => asked.bytes.checked_mul(cpus?),
        }
    }
}

/// GPUs and shards of a GRES list, the only kinds of it that count here.
fn of_gres(text: &str, form: Form) -> Result<Tres, String> {
    let list = gres::gres(text, form).map_err(|e| e.to_string())?;
    let gpus = gres::gpus(&list).map_err(|e| e.to_string())?;
    let shards = list.iter().find(|g| g.name == "shard").and_then(|g| g.count);
    Ok(Tres { gpus, shards, ..Tres::default() })
}

/// Elapsed time of a record, where it says it and it can be read.
fn elapsed_ms(record: &SacctRecord) -> Option<i64> {
    let raw = record.get("elapsedraw").and_then(|t| seconds(t).ok()?.ms());
    raw.or_else(|| span(record.get("elapsed")?).ok()?.ms())
}

/// How many tasks the record stands for.
pub fn tasks(id: &JobId) -> i64 {
    match id.array {
        Some(ArrayPart::Waiting(tasks)) => tasks,
        Some(ArrayPart::Task(_)) | None => 1,
    }
}

#[cfg(test)]
mod tests;
