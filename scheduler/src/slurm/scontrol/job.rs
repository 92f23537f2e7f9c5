//! `scontrol show job [-d] [-o]`: the jobs that the controller knows, and with `-d` which GPUs they hold where.

use chrono_tz::Tz;
use gpuledger_schema::state::RunState;

use super::{Record, each_record, pairs};
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
    /// The resources as listed: GPUs by type, each with its indices, and shards.
    pub list: Vec<gres::Gres>,
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
    /// Number of the user.
    pub uid: Option<i64>,
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
    /// What it asked for; absent where the record does not say: versions before 23.02 say of a job that got nodes only
    /// what it was granted.
    pub asked: Option<Tres>,
    /// What it was granted; absent while it waits.
    pub granted: Option<Tres>,
    /// GPUs by node (`-d` only).
    pub holdings: Vec<Holding>,
    /// Times it was put back into the queue.
    pub restarts: Option<i64>,
    /// Exit code as printed.
    pub exit_code: Option<String>,
    /// Priority.
    pub priority: Option<i64>,
    /// Reservation.
    pub reservation: Option<String>,
    /// Comment.
    pub comment: Option<String>,
    /// Features asked for.
    pub features: Option<String>,
    /// CPUs.
    pub cpus: Option<i64>,
    /// When it was suspended, while it is.
    pub suspended_at_ms: Option<i64>,
    /// When it was preempted.
    pub preempted_ms: Option<i64>,
    /// Slurm's id of the run.
    pub sluid: Option<String>,
    /// Slurm's id of the first run of the job.
    pub original_sluid: Option<String>,
    /// Where the record contradicts itself; both facts stand in it as written.
    pub mismatches: Vec<String>,
}

/// Reads the records of a text; naive times are of `zone`.
pub fn read(text: &str, zone: Option<Tz>) -> Read<ScontrolJob> {
    let mut out = Read::default();
    let mut problems = Vec::new();
    let outside = each(text, zone, |read| match read {
        Ok(job) => out.facts.push(job),
        Err(problem) => problems.push(problem),
    });
    out.problems = outside.into_iter().chain(problems).collect();
    out
}

/// As [`read`], one job at a time; gives what stands before the first record.
pub fn each(text: &str, zone: Option<Tz>, mut take: impl FnMut(Result<ScontrolJob, Problem>)) -> Vec<Problem> {
    each_record(text, "JobId", |record| take(job(&record, zone)))
}

impl ScontrolJob {
    /// Whether the job got nodes: one that is cancelled while it waits has a start, too.
    pub fn started(&self) -> bool {
        self.state != RunState::Pending && self.start_ms.is_some() && self.nodes.is_some()
    }
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
    let has_nodes = !waits && record.get("NodeList").is_some();
    let (asked, granted) = resources(record, has_nodes)?;
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
        user: record.get("UserId").and_then(|u| u.split('(').next()).filter(|u| !u.is_empty()).map(str::to_owned),
        uid: record.get("UserId").and_then(|u| number::count(u.rsplit_once('(')?.1.strip_suffix(')')?)),
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
        priority: record.get("Priority").and_then(number::count),
        reservation: text("Reservation"),
        comment: text("Comment"),
        features: text("Features"),
        cpus: record.get("NumCPUs").and_then(number::count),
        suspended_at_ms: instant(record, "SuspendTime", zone)?.filter(|_| state == RunState::Suspended),
        preempted_ms: instant(record, "PreemptTime", zone)?,
        sluid: text("SLUID"),
        original_sluid: text("OriginalSLUID"),
        mismatches: Vec::new(),
    };
    job.mismatches = mismatches(&job);
    Ok(job)
}

/// What was asked for and what was granted: `ReqTRES` and `AllocTRES`, or `TRES` of versions before 23.02, which is what was
/// granted once there are nodes. A job that has nodes and says neither refuses its record: 0 GPUs would be invented.
fn resources(record: &Record<'_>, has_nodes: bool) -> Result<(Option<Tres>, Option<Tres>), Problem> {
    let read = |key: &str| match record.get(key) {
        Some(text) => tres(text).map(Some).map_err(|e| record.problem(key, e)),
        None => Ok(None),
    };
    let is_said = |key: &str| record.pairs.iter().any(|(k, _)| *k == key);
    let (asked, granted) = match is_said("TRES") && !is_said("AllocTRES") {
        true if has_nodes => (asked_by_part(record), read("TRES")?),
        true => (read("TRES")?, None),
        false => (read("ReqTRES")?, read("AllocTRES")?),
    };
    if has_nodes && granted.is_none() {
        return Err(record.problem("AllocTRES", "the job has nodes and the record says neither AllocTRES nor TRES"));
    }
    Ok((asked, granted))
}

/// What was asked for in parts, where GPUs were: by job, or by node or task of so many.
fn asked_by_part(record: &Record<'_>) -> Option<Tres> {
    let of = |key: &str, times: Option<i64>| {
        let list = gres::gres(record.get(key)?, Form::Asked).ok()?;
        let mut gpus = gres::gpus(&list).ok()?;
        gpus.count = gpus.count.checked_mul(times?)?;
        gpus.types.iter_mut().try_for_each(|t| t.count.checked_mul(times?).map(|n| t.count = n))?;
        Some(Tres { gpus, ..Tres::default() })
    };
    let number = |key: &str| record.get(key).and_then(number::count);
    of("TresPerJob", Some(1))
        .or_else(|| of("TresPerNode", number("NumNodes")))
        .or_else(|| of("TresPerTask", number("NumTasks")))
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
                out.push(Holding { nodes, gpus: Gpus::default(), index: None, list: Vec::new() });
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
                group.list = list;
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
