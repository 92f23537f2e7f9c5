//! Accounting: what ended since it was last asked, with an overlap.

use std::collections::HashSet;
use std::path::Path;

use gpuledger_scheduler::slurm::problem::Problem;
use gpuledger_scheduler::slurm::sacct_job::{self, Refused, SacctEntry, SacctJob};
use gpuledger_scheduler::slurm::sacct_text;
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow};

use super::command::Commands;
use crate::cluster::LookError;
use crate::import::sacct::rows::{self, Stamp};

/// Fields without which a run cannot be told or billed.
const NEEDED: &[&str] =
    &["JobID", "JobIDRaw", "State", "Submit", "Eligible", "Start", "End", "AllocTRES", "ReqTRES", "NodeList"];
/// Fields that are asked for where this version has them. What users write stands last.
const WANTED: &[&str] = &[
    "NNodes",
    "User",
    "UID",
    "Account",
    "Partition",
    "QOS",
    "Priority",
    "Suspended",
    "Timelimit",
    "ExitCode",
    "ReqCPUS",
    "ReqMem",
    "ReqNodes",
    "AllocCPUS",
    "SLUID",
    "OriginalSLUID",
    "Reservation",
    "Comment",
    "JobName",
];
/// States in which a run, or a request, is over.
const OVER: &str = "BF,CA,CD,DL,F,NF,OOM,PR,RQ,RV,TO";

/// What accounting says.
#[derive(Debug, Default)]
pub(super) struct Accounted {
    pub(super) jobs: Vec<JobRow>,
    pub(super) allocations: Vec<AllocationRow>,
    pub(super) holdings: Vec<AllocationDeviceRow>,
    pub(super) problems: Vec<Problem>,
    /// Ids of requests and runs whose records are not written to their end yet: the daemon of accounting got the end of a
    /// job before its start.
    pub(super) unfinished: HashSet<i64>,
}

impl Accounted {
    /// Leaves out records that are not written to their end, where something better is known.
    pub(super) fn without_unfinished(mut self, is_known: impl Fn(i64) -> bool) -> Self {
        let left_out = |id: i64| self.unfinished.contains(&id) && is_known(id);
        self.jobs.retain(|j| !left_out(j.job_id));
        self.allocations.retain(|a| !left_out(a.allocation_id));
        self.holdings.retain(|h| !left_out(h.allocation_id));
        self
    }
}

/// The fields that this version's `sacct` has, of those that are used. A version that lacks a needed one is refused by its
/// name.
pub(super) async fn fields(commands: &mut Commands, sacct: &Path) -> Result<Vec<String>, LookError> {
    let help = commands.run("sacct fields", sacct, &["--helpformat"]).await?;
    let has = |name: &&str| help.split_whitespace().any(|w| w.eq_ignore_ascii_case(name));
    if let Some(absent) = NEEDED.iter().find(|name| !has(name)) {
        return Err(LookError::new(format!("sacct: this version has no field {absent}, which is needed")));
    }
    Ok(NEEDED.iter().chain(WANTED.iter().filter(|name| has(name))).map(|&name| name.to_owned()).collect())
}

/// Everything that was over at some time since `from_ms`.
pub(super) async fn ask(
    commands: &mut Commands,
    sacct: &Path,
    fields: &[String],
    from_ms: i64,
) -> Result<String, LookError> {
    let from = chrono::DateTime::from_timestamp_millis(from_ms)
        .ok_or_else(|| LookError::new("sacct: the clock is beyond all calendars"))?;
    let since = format!("--starttime={}", from.format("%Y-%m-%dT%H:%M:%S"));
    let format = format!("--format={}", fields.join(","));
    let state = format!("--state={OVER}");
    let arguments =
        ["--allusers", "--parsable2", "--allocations", "--duplicates", &since, "--endtime=now", &state, &format];
    commands.run("sacct", sacct, &arguments).await
}

/// Reads what `sacct` printed.
pub(super) fn read(cluster: &str, text: &str) -> Result<Accounted, LookError> {
    let read = sacct_text::read(text.as_bytes(), None).map_err(|e| LookError::new(format!("sacct: {e}")))?.read;
    let mut out = Accounted { problems: read.problems, ..Accounted::default() };
    for record in &read.facts {
        match sacct_job::read(record, Some(chrono_tz::UTC)) {
            Ok(SacctEntry::Step) => {}
            Ok(SacctEntry::Job(job, ignored)) => {
                if !is_unfinished(&job) {
                    out.problems.extend(ignored);
                }
                take(&mut out, cluster, &job, record.raw(), record.line);
            }
            Err(Refused::Record(problem)) => out.problems.push(problem),
            Err(Refused::NoZone(time)) => return Err(LookError::new(format!("sacct: `{time}` has no zone"))),
        }
    }
    let is_read = !out.jobs.is_empty() || read.facts.is_empty();
    match out.problems.first() {
        Some(first) if !is_read => Err(LookError::new(format!("sacct: no record can be read: {}", first.reason))),
        _ => Ok(out),
    }
}

/// A record that has an end and says neither what was asked for nor in which partition: every job has both.
fn is_unfinished(job: &SacctJob) -> bool {
    job.partition.is_none() && job.asked.is_none()
}

fn take(out: &mut Accounted, cluster: &str, job: &SacctJob, raw: &str, line: i64) {
    if !job.state.is_terminal() {
        return;
    }
    if job.started() && !job.has_granted {
        let reason = "it is empty although the job ran: how many GPUs it held is not known";
        return out.problems.push(Problem::of_field(line, "AllocTRES", reason, raw));
    }
    let stamp = Stamp { cluster, source: "", as_of_ms: 0 };
    let row = rows::job(job, &stamp);
    if is_unfinished(job) {
        out.unfinished.insert(row.job_id);
    }
    if let Some(run) = rows::allocation(job, &row, &stamp) {
        if !run.terminal {
            return out.problems.push(Problem::of_field(line, "End", "the run is over and has no end", raw));
        }
        if is_unfinished(job) {
            out.unfinished.insert(run.allocation_id);
        }
        out.holdings.extend(rows::holdings(job, &run).0);
        out.allocations.push(run);
    }
    // a job that was put back has several records of one submit only where a second did not pass between
    match out.jobs.iter_mut().rev().take(64).find(|j| j.job_id == row.job_id) {
        Some(before) => *before = row,
        None => out.jobs.push(row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "JobID|JobIDRaw|State|Submit|Eligible|Start|End|AllocTRES|ReqTRES|NodeList|NNodes|User\n";

    #[test]
    fn what_is_over_is_taken_and_the_rest_told() {
        let text = format!(
            "{HEAD}1|1|CANCELLED by 0|1795998468|1795998468|1795998471|1795998569|cpu=1,gres/gpu:h100=2,gres/gpu=2,node=1|cpu=1,gres/gpu=2,node=1|gpu1|1|ann\n\
             5|5|CANCELLED by 0|1795998468|Unknown|None|1795998569||cpu=1,gres/gpu=3,node=1|None assigned|1|ann\n\
             2_1|6|REQUEUED|1795998468|1795998468|1795998471|1795998569|cpu=1,gres/gpu=1,node=1|cpu=1,gres/gpu=1,node=1|gpu1|1|ann\n\
             7|7|RUNNING|1795998468|1795998468|1795998471|Unknown|cpu=1,gres/gpu=1,node=1|cpu=1,gres/gpu=1,node=1|gpu1|1|ann\n\
             9|9|FAILED|1795998468|1795998468|1795998471|1795998569||cpu=1,gres/gpu=1,node=1|gpu1|1|ann\n"
        );
        let read = read("c", &text).unwrap();
        let jobs: Vec<_> = read.jobs.iter().map(|j| (j.job_raw.as_str(), j.state.as_str(), j.array_task)).collect();
        assert_eq!(jobs, [("1", "CANCELLED", None), ("5", "CANCELLED", None), ("6", "REQUEUED", Some(1))]);
        let runs: Vec<_> = read.allocations.iter().map(|a| (a.job_raw.as_str(), a.terminal, a.gpu_count)).collect();
        assert_eq!(runs, [("1", true, 2), ("6", true, 1)]);
        assert_eq!(read.holdings.len(), 2);
        assert_eq!(read.problems.len(), 1);
        assert_eq!(read.problems[0].field.as_deref(), Some("AllocTRES"));
    }

    #[test]
    fn a_record_that_is_not_written_to_its_end_gives_way_to_what_is_known() {
        let head = HEAD.replace("|User", "|User|Account|Partition|ReqMem");
        let text = format!(
            "{head}7|7|FAILED|1796001814|Unknown|1796001814|1796001815|cpu=1,gres/gpu=1,node=1||gpu2|1|root|root|Unknown|16?\n"
        );
        let read = || read("c", &text).unwrap();
        assert_eq!(read().problems, []);
        assert_eq!((read().jobs.len(), read().allocations.len(), read().unfinished.len()), (1, 1, 2));
        let left = read().without_unfinished(|_| true);
        assert_eq!((left.jobs.len(), left.allocations.len(), left.holdings.len()), (0, 0, 0));
        assert_eq!(read().without_unfinished(|_| false).allocations.len(), 1, "it is all that is known");
    }

    #[test]
    fn nothing_over_is_no_error_and_nothing_readable_is_one() {
        assert!(read("c", HEAD).unwrap().jobs.is_empty());
        assert!(read("c", "").is_ok());
        let said = read("c", &format!("{HEAD}x|1|DREAMING|1|1|1|1||||1|ann\n")).unwrap_err().what;
        assert!(said.starts_with("sacct: no record can be read"), "{said}");
        assert!(read("c", "State|Submit\nFAILED|1\n").is_err());
    }
}
