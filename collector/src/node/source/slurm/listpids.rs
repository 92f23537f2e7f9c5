//! The process list of Slurm's daemons on this node: `scontrol listpids`, which asks them and not the controller.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::SlurmError;
use crate::node::seen::{Moment, Process};
use crate::node::source::number;

/// At most one call of `scontrol` in this time, whether it succeeded or not.
const LISTPIDS_EVERY_MS: i64 = 60_000;
/// Column heads by which the process list is known.
const LISTPIDS_HEAD: [&str; 3] = ["PID", "JOBID", "STEPID"];
/// What `scontrol listpids` says where nothing runs.
const LISTPIDS_NONE: &str = "No job steps exist";

/// A process that Slurm's daemons count to a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Process id on the host.
    pub pid: u32,
    /// Raw job id.
    pub job: String,
    /// `0`, `batch`, `extern`, `interactive`.
    pub step: String,
}

/// The output of `scontrol listpids`. Steps without a process there (pid -1) are passed over.
pub fn parse(text: &str) -> Result<Vec<Listed>, SlurmError> {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty());
    let head = lines.next().unwrap_or_default();
    if head.starts_with(LISTPIDS_NONE) {
        return Ok(Vec::new());
    }
    let heads: Vec<&str> = head.split_whitespace().collect();
    let column = |name: &str| heads.iter().position(|h| *h == name).ok_or(SlurmError::NoProcessList);
    let [pid, job, step] = LISTPIDS_HEAD.map(column);
    let (pid, job, step) = (pid?, job?, step?);
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let pid = number(words.get(pid)?).filter(|pid| *pid > 0)?;
        let job = words.get(job).filter(|job| number(job).is_some())?;
        Some(Listed { pid, job: (*job).to_owned(), step: (*words.get(step)?).to_owned() })
    };
    Ok(lines.filter_map(row).collect())
}

/// The process list of Slurm's daemons, asked for at most once a minute.
#[derive(Debug, Clone)]
pub struct ProcessList {
    program: PathBuf,
    deadline_ms: u64,
    tried_boot_ms: Option<i64>,
    read_boot_ms: i64,
    jobs: HashMap<u32, String>,
}

impl ProcessList {
    /// A list that has not been asked for.
    pub fn new(program: PathBuf, deadline_ms: u64) -> Self {
        Self { program, deadline_ms, tried_boot_ms: None, read_boot_ms: 0, jobs: HashMap::new() }
    }

    /// Asks again if the last call is a minute ago. After a failure nothing is known: an old list is no evidence.
    pub async fn refresh(&mut self, now: Moment) -> Result<(), SlurmError> {
        if self.tried_boot_ms.is_some_and(|at| now.boot_ms - at < LISTPIDS_EVERY_MS) {
            return Ok(());
        }
        self.tried_boot_ms = Some(now.boot_ms);
        self.jobs.clear();
        let listed = run(&self.program, self.deadline_ms).await?;
        self.read_boot_ms = now.boot_ms;
        self.jobs = listed.into_iter().map(|l| (l.pid, l.job)).collect();
        Ok(())
    }

    /// The job of a process. One that started after the list was asked for has another's pid.
    pub fn job(&self, process: Process, ticks_per_second: u64) -> Option<&str> {
        let started_ms = i64::try_from(process.start_ticks.checked_mul(1000)?.checked_div(ticks_per_second)?).ok()?;
        self.jobs.get(&process.pid).filter(|_| started_ms <= self.read_boot_ms).map(String::as_str)
    }
}

/// Runs `scontrol listpids`, and ends it at the deadline.
async fn run(program: &Path, deadline_ms: u64) -> Result<Vec<Listed>, SlurmError> {
    let failed = |source| SlurmError::Run { program: program.to_owned(), source };
    let mut command = Command::new(program);
    command.arg("listpids").stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_millis(deadline_ms), command.output())
        .await
        .map_err(|_| SlurmError::Late { program: program.to_owned(), deadline_ms })?
        .map_err(failed)?;
    // Where nothing runs it says so on standard error, and may call that a failure.
    if output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).starts_with(LISTPIDS_NONE) {
        return Ok(Vec::new());
    }
    if !output.status.success() {
        return Err(SlurmError::Status { program: program.to_owned(), status: output.status });
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests;
