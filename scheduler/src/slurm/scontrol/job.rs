//! `scontrol show job [-d] [-o]`: the jobs that the controller knows, and with `-d` which GPUs they hold where.

use chrono_tz::Tz;
use gpuledger_schema::state::RunState;

use super::{Record, pairs, records};
use crate::slurm::duration::span;
use crate::slurm::gpu::Gpus;
use crate::slurm::gres::{self, Form};
use crate::slurm::hostlist::hosts;
use crate::slurm::job_id::{ArrayPart, waiting_tasks};
use crate::slurm::number;
use crate::slurm::problem::{Problem, Read};
use crate::slurm::state::state;
use crate::slurm::time::{Moment, moment};
use crate::slurm::tres::{Tres, tres};

/// GPUs held on some nodes, the same on each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The nodes.
    pub nodes: Vec<String>,
    /// GPUs on each.
    pub gpus: Gpus,
    /// Their indices on each node; absent where Slurm lists none.
    pub index: Option<Vec<i64>>,
}

/// A job as the controller shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScontrolJob {
    /// Line it starts on, from 1.
    pub line: i64,
    /// Raw job id.
    pub job_raw: String,
    /// Array it belongs to.
    pub array_job: Option<String>,
    /// Its part of that array.
    pub array: Option<ArrayPart>,
    /// Raw id of its het job's leader.
    pub het_leader: Option<String>,
    /// Offset in that het job.
    pub het_offset: Option<i64>,
    /// Job name.
    pub name: Option<String>,
    /// User name.
    pub user: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Partition.
    pub partition: Option<String>,
    /// State.
    pub state: RunState,
    /// Why it waits, or why it ended.
    pub reason: Option<String>,
    /// Submit instant.
    pub submit_ms: Option<i64>,
    /// When it could start.
    pub eligible_ms: Option<i64>,
    /// When it started; absent while it waits (the start shown then is the scheduler's plan).
    pub start_ms: Option<i64>,
    /// When it ended; absent while it runs (the end shown then is its time limit).
    pub end_ms: Option<i64>,
    /// Time limit.
    pub time_limit_ms: Option<i64>,
    /// Node list as written.
    pub nodes: Option<String>,
    /// Number of nodes; absent while it is a range.
    pub node_count: Option<i64>,
    /// What it asked for.
    pub asked: Tres,
    /// What it was granted; absent while it waits.
    pub granted: Option<Tres>,
    /// GPUs by node (`-d` only).
    pub holdings: Vec<Holding>,
    /// Times it was put back into the queue.
    pub restarts: Option<i64>,
    /// Exit code as printed.
    pub exit_code: Option<String>,
    /// Slurm's id of the run.
    pub sluid: Option<String>,
    /// Where the record contradicts itself; both facts stand in it as written.
    pub mismatches: Vec<String>,
}

/// Reads the records of a text; naive times are of `zone`.
pub fn read(text: &str, zone: Option<Tz>) -> Read<ScontrolJob> {
    let (records, problems) = records(text, "JobId");
    let mut out = Read { facts: Vec::new(), problems };
    for record in records {
        match job(&record, zone) {
            Ok(job) => out.facts.push(job),
            Err(problem) => out.problems.push(problem),
        }
    }
    out
}

/// Reads one `Nodes=... CPU_IDs=... Mem=... GRES=...` line, or `GRES_IDX=` as versions before 19.05 had it.
pub fn holding_line(line: &str) -> Result<Option<Holding>, Problem> {
    let record = Record { line: 1, raw: line, pairs: pairs(line.trim(), true) };
    holdings(&record).map(|mut list| list.pop())
}

fn job(record: &Record<'_>, zone: Option<Tz>) -> Result<ScontrolJob, Problem> {
    if let Some(key) = record.twice() {
        return Err(record.problem(key, "the key stands twice with different values"));
    }
    let state = state(record.get("JobState").unwrap_or_default()).map_err(|e| record.problem("JobState", e))?;
    let waits = state == RunState::Pending;
    let granted = match record.get("AllocTRES") {
        Some(text) => Some(tres(text).map_err(|e| record.problem("AllocTRES", e))?),
        None => None,
    };
    let asked = tres(record.get("ReqTRES").unwrap_or_default()).map_err(|e| record.problem("ReqTRES", e))?;
    let holdings = holdings(record)?;
    let limit = span(record.get("TimeLimit").unwrap_or_default()).map_err(|e| record.problem("TimeLimit", e))?;
    let start_ms = instant(record, "StartTime", zone)?;
    let end_ms = instant(record, "EndTime", zone)?;
    let text = |key: &str| record.get(key).map(str::to_owned);
    let id = text("JobId").filter(|id| number::count(id).is_some());
    let mut job = ScontrolJob {
        line: record.line,
        job_raw: id.ok_or_else(|| record.problem("JobId", "the record has no job id that is a number"))?,
        array_job: text("ArrayJobId"),
        array: array(record)?,
        het_leader: text("HetJobId").or_else(|| text("PackJobId")),
        het_offset: count(record, "HetJobOffset")?,
        name: text("JobName"),
        // `ann(1000)`: the number tells people of the same name apart, the name is what accounting has.
        user: record.get("UserId").map(|u| u.split('(').next().unwrap_or_default().to_owned()),
        account: text("Account"),
        qos: text("QOS"),
        partition: text("Partition"),
        state,
        reason: text("Reason"),
        submit_ms: instant(record, "SubmitTime", zone)?,
        eligible_ms: instant(record, "EligibleTime", zone)?,
        start_ms: start_ms.filter(|_| !waits),
        end_ms: end_ms.filter(|_| state.is_terminal()),
        time_limit_ms: limit.ms(),
        nodes: text("NodeList"),
        node_count: record.get("NumNodes").and_then(number::count),
        asked,
        granted,
        holdings,
        restarts: count(record, "Restarts")?,
        exit_code: text("ExitCode"),
        sluid: text("SLUID"),
        mismatches: Vec::new(),
    };
    job.mismatches = mismatches(&job);
    Ok(job)
}

fn instant(record: &Record<'_>, key: &str, zone: Option<Tz>) -> Result<Option<i64>, Problem> {
    match moment(record.get(key).unwrap_or_default(), zone).map_err(|e| record.problem(key, e))? {
        Moment::Absent => Ok(None),
        Moment::At(ms) => Ok(Some(ms)),
        Moment::Twice(..) => Err(record.problem(key, "the local time is ambiguous (clocks were put back)")),
    }
}

fn count(record: &Record<'_>, key: &str) -> Result<Option<i64>, Problem> {
    let read = |text| number::count(text).ok_or_else(|| record.problem(key, format!("`{text}` is no number")));
    record.get(key).map(read).transpose()
}

fn array(record: &Record<'_>) -> Result<Option<ArrayPart>, Problem> {
    let Some(text) = record.get("ArrayTaskId") else { return Ok(None) };
    let part = match number::count(text) {
        Some(task) => Some(ArrayPart::Task(task)),
        None => waiting_tasks(text).map(ArrayPart::Waiting),
    };
    part.map(Some).ok_or_else(|| record.problem("ArrayTaskId", format!("`{text}` is no list of tasks")))
}

/// Each `Nodes=` starts a group; the GRES that follows is what is held on each of its nodes.
fn holdings(record: &Record<'_>) -> Result<Vec<Holding>, Problem> {
    let mut out: Vec<Holding> = Vec::new();
    for (key, value) in &record.pairs {
        match *key {
            "Nodes" => {
                let nodes = hosts(value).map_err(|e| record.problem("Nodes", e))?;
                out.push(Holding { nodes, gpus: Gpus::default(), index: None });
            }
            "GRES" | "GRES_IDX" => {
                let list = gres::gres(value, Form::Granted).map_err(|e| record.problem(key, e))?;
                let gpus = gres::gpus(&list).map_err(|e| record.problem(key, e))?;
                let Some(group) = out.last_mut() else {
                    return Err(record.problem(key, "GRES without the nodes it is on"));
                };
                let is_gpu = |g: &&gres::Gres| g.name == "gpu";
                let listed = list.iter().filter(is_gpu).filter_map(|g| g.index.as_ref());
                let index: Vec<i64> = listed.flatten().copied().collect();
                group.index = list.iter().filter(is_gpu).any(|g| g.index.is_some()).then_some(index);
                group.gpus = gpus;
            }
            _ => {}
        }
    }
    Ok(out)
}

/// Where granted, counted and indexed GPUs, or counted and listed nodes, differ.
fn mismatches(job: &ScontrolJob) -> Vec<String> {
    let mut out = Vec::new();
    for group in &job.holdings {
        let indexed = group.index.as_ref().map(|list| list.len() as i64);
        if let Some(indexed) = indexed.filter(|n| *n != group.gpus.count) {
            out.push(format!(
                "GRES counts {} GPUs on {} and lists {indexed} indices",
                group.gpus.count,
                group.nodes.join(",")
            ));
        }
    }
    let on_nodes: i64 = job.holdings.iter().map(|g| g.gpus.count.saturating_mul(g.nodes.len() as i64)).sum();
    if let Some(granted) = job.granted.as_ref().map(|g| g.gpus.count).filter(|g| *g != on_nodes)
        && !job.holdings.is_empty()
    {
        out.push(format!("AllocTRES counts {granted} GPUs and the nodes {on_nodes}"));
    }
    let listed = job.nodes.as_ref().and_then(|n| hosts(n).ok()).map(|n| n.len() as i64);
    if let Some((counted, listed)) = job.node_count.zip(listed).filter(|(c, l)| c != l) {
        out.push(format!("NumNodes is {counted} and NodeList names {listed}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "JobId=7 JobName=x\n   UserId=ann(1000) JobState=RUNNING\n   SubmitTime=2026-03-01T10:00:00 StartTime=2026-03-01T10:01:00 EndTime=2026-03-02T10:01:00\n   NodeList=n[1-3] NumNodes=3\n   ReqTRES=cpu=6,node=3,gres/gpu=5 AllocTRES=cpu=6,node=3,gres/gpu=5\n     Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=gpu:a100:2(IDX:0,2)\n     Nodes=n3 CPU_IDs=0-1 Mem=0 GRES=gpu:a100:1(IDX:3)\n";

    fn with(from: &str, to: &str) -> Read<ScontrolJob> {
        assert!(JOB.contains(from), "{from}");
        read(&JOB.replacen(from, to, 1), Some(chrono_tz::UTC))
    }

    #[test]
    fn a_job_on_nodes_with_different_gpus() {
        let job = with("x", "x").facts.remove(0);
        let held: Vec<_> = job.holdings.iter().map(|h| (h.nodes.join(","), h.index.clone().unwrap())).collect();
        assert_eq!(held, [("n1,n2".to_owned(), vec![0, 2]), ("n3".to_owned(), vec![3])]);
        assert_eq!(job.mismatches, Vec::<String>::new());
        assert_eq!((job.user.as_deref(), job.end_ms), (Some("ann"), None));
        assert!(job.start_ms.is_some());
    }

    #[test]
    fn contradictions_are_told_and_bad_values_refuse_the_record() {
        let told = with("IDX:0,2", "IDX:0").facts.remove(0).mismatches;
        assert_eq!(told, ["GRES counts 2 GPUs on n1,n2 and lists 1 indices"]);
        let told = with("AllocTRES=cpu=6,node=3,gres/gpu=5", "AllocTRES=cpu=6,node=3,gres/gpu=8").facts.remove(0);
        assert_eq!(told.mismatches, ["AllocTRES counts 8 GPUs and the nodes 5"]);
        for (from, to, field) in [
            ("JobId=7", "JobId=x", "JobId"),
            ("RUNNING", "DREAMING", "JobState"),
            ("2026-03-01T10:01:00", "2026-13-01T10:01:00", "StartTime"),
            ("IDX:0,2)", "IDX:0,", "GRES"),
            ("Nodes=n[1-2]", "Nodes=n[1-", "Nodes"),
            ("JobState=RUNNING", "JobState=RUNNING UserId=bob(1001)", "UserId"),
        ] {
            let read = with(from, to);
            assert_eq!((read.facts.len(), read.problems[0].field.as_deref()), (0, Some(field)), "{to}");
        }
    }
}
