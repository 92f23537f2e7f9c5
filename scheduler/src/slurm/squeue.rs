//! `squeue -O` with the delimiter `|#` and no header: what waits and runs. The list of fields is part of the input.

use std::collections::HashMap;

use chrono_tz::Tz;
use gpuledger_schema::state::RunState;

use super::duration::span;
use super::gres::{self, Form};
use super::hostlist::hosts;
use super::job_id::{JobId, job_id};
use super::problem::{Problem, Read};
use super::state::state;
use super::time::{Moment, moment};
use super::tres::{Tres, tres};
use super::{gpu::Gpus, is_blank, number};

/// The order of the fields that Facebook's gcm asks `squeue` for; every line ends with one more delimiter.
pub const GCM_FIELDS: &[&str] = &[
    "tres-per-node",
    "mincpus",
    "jobarrayid",
    "jobid",
    "name",
    "timelimit",
    "minmemory",
    "command",
    "priority",
    "state",
    "username",
    "numcpus",
    "numnodes",
    "timeleft",
    "timeused",
    "nodelist",
    "dependency",
    "excnodes",
    "starttime",
    "submittime",
    "eligibletime",
    "accruetime",
    "pendingtime",
    "comment",
    "partition",
    "account",
    "qos",
    "reason",
    "tres-alloc",
    "reservation",
    "requeue",
    "feature",
    "restartcnt",
    "schednodes",
];

const DELIMITER: &str = "|#";

/// A job in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedJob {
    /// Line it stands on, from 1.
    pub line: i64,
    /// The id as shown.
    pub id: JobId,
    /// The raw id.
    pub job_raw: String,
    /// State.
    pub state: RunState,
    /// Job name.
    pub name: Option<String>,
    /// User.
    pub user: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Partition.
    pub partition: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Why it waits.
    pub reason: Option<String>,
    /// Submit instant.
    pub submit_ms: Option<i64>,
    /// When it could start.
    pub eligible_ms: Option<i64>,
    /// When it started; absent while it waits.
    pub start_ms: Option<i64>,
    /// Time limit.
    pub time_limit_ms: Option<i64>,
    /// Nodes it runs on.
    pub nodes: Vec<String>,
    /// Number of nodes.
    pub node_count: Option<i64>,
    /// `tres-alloc`: granted to a job that runs, but what a job asks for while it waits.
    pub tres: Tres,
    /// GPUs asked for on each node; absent where it asked otherwise (`--gpus`).
    pub asked_per_node: Option<Gpus>,
}

/// Reads a text; `fields` are its columns, naive times are of `zone`.
pub fn read<S: AsRef<str>>(text: &str, fields: &[S], zone: Option<Tz>) -> Read<QueuedJob> {
    let mut out = Read::default();
    let names: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
    for (number, line) in (1i64..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
        let mut values: Vec<&str> = line.split(DELIMITER).map(str::trim).collect();
        if values.len() == names.len() + 1 && values.last() == Some(&"") {
            values.pop();
        }
        let read = if values.len() == names.len() {
            Row { line: number, raw: line, values: names.iter().copied().zip(values).collect() }.job(zone)
        } else {
            let reason = format!("{} fields where {} are expected", values.len(), names.len());
            Err(Problem::of_record(number, reason, line))
        };
        match read {
            Ok(job) => out.facts.push(job),
            Err(problem) => out.problems.push(problem),
        }
    }
    out
}

struct Row<'a> {
    line: i64,
    raw: &'a str,
    values: HashMap<&'a str, &'a str>,
}

impl Row<'_> {
    fn problem(&self, field: &str, reason: impl ToString) -> Problem {
        Problem::of_field(self.line, field, reason, self.raw)
    }

    fn get(&self, field: &str) -> Option<&str> {
        self.values.get(field).copied().filter(|v| !is_blank(v))
    }

    fn word(&self, field: &str) -> Option<String> {
        self.get(field).map(str::to_owned)
    }

    fn instant(&self, field: &str, zone: Option<Tz>) -> Result<Option<i64>, Problem> {
        match moment(self.get(field).unwrap_or_default(), zone).map_err(|e| self.problem(field, e))? {
            Moment::Absent => Ok(None),
            Moment::At(ms) => Ok(Some(ms)),
            Moment::Twice(..) => Err(self.problem(field, "the local time is ambiguous (clocks were put back)")),
        }
    }

    fn job(&self, zone: Option<Tz>) -> Result<QueuedJob, Problem> {
        let shown = self.get("jobarrayid").or_else(|| self.get("jobid")).unwrap_or_default();
        let id = job_id(shown).map_err(|e| self.problem("jobarrayid", e))?;
        let state = state(self.get("state").unwrap_or_default()).map_err(|e| self.problem("state", e))?;
        let waits = state == RunState::Pending;
        let per_node = match self.get("tres-per-node") {
            None => None,
            Some(text) => {
                let list = gres::gres(text, Form::Asked).map_err(|e| self.problem("tres-per-node", e))?;
                Some(gres::gpus(&list).map_err(|e| self.problem("tres-per-node", e))?)
            }
        };
        let limit = span(self.get("timelimit").unwrap_or_default()).map_err(|e| self.problem("timelimit", e))?;
        let nodes = self.get("nodelist").map(hosts).transpose().map_err(|e| self.problem("nodelist", e))?;
        let tres = tres(self.get("tres-alloc").unwrap_or_default()).map_err(|e| self.problem("tres-alloc", e))?;
        Ok(QueuedJob {
            line: self.line,
            job_raw: self.word("jobid").unwrap_or_else(|| id.raw()),
            id,
            state,
            name: self.word("name"),
            user: self.word("username"),
            account: self.word("account"),
            partition: self.word("partition"),
            qos: self.word("qos"),
            reason: self.word("reason"),
            submit_ms: self.instant("submittime", zone)?,
            eligible_ms: self.instant("eligibletime", zone)?,
            start_ms: self.instant("starttime", zone)?.filter(|_| !waits),
            time_limit_ms: limit.ms(),
            nodes: nodes.unwrap_or_default(),
            node_count: self.get("numnodes").and_then(number::count),
            tres,
            asked_per_node: per_node,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_costs_itself_only() {
        let fields = ["jobarrayid", "state", "tres-alloc", "starttime"];
        let text = "1|#RUNNING|#gres/gpu=2|#2026-01-01T00:00:00|#\n2|#RUNNING|#gres/gp|#N/A|#\n3|#RUNNING|#x\n4_[1-3]|#PD|#cpu=1|#2030-01-01T00:00:00\n";
        let read = read(text, &fields, Some(chrono_tz::UTC));
        let good: Vec<_> = read.facts.iter().map(|j| (j.line, j.tres.gpus.count, j.start_ms.is_some())).collect();
        assert_eq!(good, [(1, 2, true), (4, 0, false)]);
        let bad: Vec<_> = read.problems.iter().map(|p| (p.line.unwrap(), p.field.as_deref())).collect();
        assert_eq!(bad, [(2, Some("tres-alloc")), (3, None)]);
    }
}
