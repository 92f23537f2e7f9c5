//! Slurm: through the controller's own commands, each with a deadline. Before anything is asked the controller is asked who the
//! job is now: another start, user or state is another run, and nothing is done.
//!
//! A task of an array is named as `<array>_<task>` and a part of a het job as `<leader>+<offset>`: the bare number of the first task
//! is that of the whole array.

mod run;

use async_trait::async_trait;
use chrono_tz::Tz;
use gpuledger_scheduler::slurm::scontrol::job::{self, ScontrolJob};
use gpuledger_schema::reclaim::{ActKind, Allocation, Identity};
use gpuledger_schema::state::RunState;

pub use run::{Ran, RunError, Runner, SlurmCommands};

use crate::port::{ActError, Actuator, Said};

/// What a job that was put back says of why.
const COMMENT: &str = "put back by gpuledger: idle";

/// Slurm's commands as an actuator.
#[derive(Debug)]
pub struct Slurm<R> {
    /// Runs the commands.
    pub runner: R,
}

/// A run of a job, as the controller names it.
struct Target<'a> {
    /// Name of the task or part alone.
    id: String,
    /// Number of the record.
    raw: &'a str,
    user: &'a str,
    start_ms: i64,
}

fn target(whom: &Allocation) -> Result<Target<'_>, ActError> {
    let Identity::Slurm { job_raw, array, het, user, start_ms, .. } = &whom.identity else {
        return Err(ActError::NotDone("it is no job of Slurm".to_owned()));
    };
    let id = match (array, het) {
        (Some(_), Some(_)) => {
            return Err(ActError::NotDone("a part of a het job in an array is left alone".to_owned()));
        }
        (Some((array, task)), None) => format!("{array}_{task}"),
        (None, Some((leader, offset))) => format!("{leader}+{offset}"),
        (None, None) => job_raw.clone(),
    };
    let plain = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit() || b == b'_' || b == b'+');
    if plain(&id) && plain(job_raw) {
        Ok(Target { id, raw: job_raw, user, start_ms: *start_ms })
    } else {
        Err(ActError::NotDone(format!("`{id}` is no job id")))
    }
}

impl<R: Runner> Slurm<R> {
    async fn run(&mut self, program: &str, arguments: &[&str]) -> Result<Ran, ActError> {
        let shown = format!("{program} {}", arguments.join(" "));
        match self.runner.run(program, arguments).await {
            Ok(ran) if ran.code == Some(0) => Ok(ran),
            Ok(ran) => Err(ActError::NotDone(format!("{shown}: exit {}: {}", code(&ran), ran.said.trim()))),
            Err(RunError::NotStarted(why)) => Err(ActError::NotDone(format!("{shown}: {why}"))),
            Err(RunError::Deadline) => Err(ActError::Maybe(format!("{shown}: no answer within its deadline"))),
        }
    }

    /// The run as the controller knows it now; else why it is not the one that is meant.
    async fn is_the_same(&mut self, t: &Target<'_>) -> Result<Result<(), String>, ActError> {
        // asking harms nobody: an answer that does not come means that nothing was done
        let shown = self.run("scontrol", &["show", "job", "-d", "-o", &t.id]).await;
        let text = match shown {
            Ok(ran) => ran.output,
            Err(ActError::NotDone(why)) if why.contains("Invalid job id") => {
                return Ok(Err(format!("job {} is not known any more", t.id)));
            }
            Err(ActError::NotDone(why) | ActError::Maybe(why)) => return Err(ActError::NotDone(why)),
        };
        let read = job::read(&text, Some(Tz::UTC));
        let found: Vec<&ScontrolJob> = read.facts.iter().filter(|j| j.job_raw == t.raw).collect();
        let [job] = found.as_slice() else {
            return Err(ActError::NotDone(format!("the controller's record of job {} cannot be read", t.id)));
        };
        if read.facts.len() != 1 {
            return Err(ActError::NotDone(format!("job {} stands for {} records", t.id, read.facts.len())));
        }
        Ok(differs(job, t).map_or(Ok(()), Err))
    }
}

fn code(ran: &Ran) -> String {
    ran.code.map_or_else(|| "by a signal".to_owned(), |c| c.to_string())
}

/// What of a record is not as it was meant.
fn differs(job: &ScontrolJob, t: &Target<'_>) -> Option<String> {
    if job.start_ms != Some(t.start_ms) {
        return Some(format!("job {} is another run now", t.id));
    }
    if job.user.as_deref() != Some(t.user) {
        return Some(format!("job {} is of another user now", t.id));
    }
    if job.state != RunState::Running {
        return Some(format!("job {} is {}", t.id, job.state));
    }
    None
}

#[async_trait]
impl<R: Runner> Actuator for Slurm<R> {
    async fn signal(&mut self, whom: &Allocation, signal: &str, to_batch: bool) -> Result<Said, ActError> {
        let t = target(whom)?;
        if let Err(why) = self.is_the_same(&t).await? {
            return Ok(Said::Changed { why });
        }
        let name = format!("--signal={signal}");
        let mut arguments = vec![name.as_str()];
        arguments.extend(to_batch.then_some("--batch"));
        arguments.push(&t.id);
        let shown = format!("scancel {}", arguments.join(" "));
        self.run("scancel", &arguments).await.map(|ran| Said::Taken { proof: proof(&shown, &ran) })
    }

    async fn order(&mut self, whom: &Allocation, act: ActKind, resume_nice: Option<i64>) -> Result<Said, ActError> {
        let t = target(whom)?;
        if let Err(why) = self.is_the_same(&t).await? {
            return Ok(Said::Changed { why });
        }
        let (program, arguments) = match act {
            ActKind::Requeue => ("scontrol", vec!["requeue", t.id.as_str()]),
            ActKind::Cancel => ("scancel", vec![t.id.as_str()]),
            other => return Err(ActError::NotDone(format!("Slurm cannot be asked to `{other}`"))),
        };
        let shown = format!("{program} {}", arguments.join(" "));
        let ran = self.run(program, &arguments).await?;
        let mut told = proof(&shown, &ran);
        if act == ActKind::Requeue {
            told = format!("{told}; {}", self.mark(&t, resume_nice).await);
        }
        Ok(Said::Taken { proof: told })
    }
}

impl<R: Runner> Slurm<R> {
    /// Marks a job that was put back, so that people see why and it resumes early. It is free whether or not this works.
    async fn mark(&mut self, t: &Target<'_>, resume_nice: Option<i64>) -> String {
        let job = format!("JobId={}", t.id);
        let comment = format!("AdminComment={COMMENT}");
        let nice = resume_nice.map(|n| format!("Nice={n}"));
        let mut arguments = vec!["update", job.as_str(), comment.as_str()];
        arguments.extend(nice.as_deref());
        match self.run("scontrol", &arguments).await {
            Ok(_) if nice.is_some() => "marked to resume early".to_owned(),
            Ok(_) => "marked".to_owned(),
            Err(e) => format!("not marked: {e}"),
        }
    }
}

fn proof(shown: &str, ran: &Ran) -> String {
    let said = format!("{}{}", ran.output, ran.said);
    format!("{shown}: exit {} {}", code(ran), said.trim()).trim_end().to_owned()
}
