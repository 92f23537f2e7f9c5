//! Slurm, looked at beside its controller with its own commands: `scontrol show job -d`, `squeue`, `scontrol show node` and
//! `sacct`, each once a look for the whole cluster, and nothing that changes anything.
//!
//! The controller says what waits and runs, and with what; accounting says what ended, how, and is asked since it was last
//! heard. A record of a job is believed where `squeue` agrees with it in fields that no user writes ([`check`]).

use std::collections::{HashMap, HashSet};

use gpuledger_scheduler::slurm::problem::Problem;
use gpuledger_scheduler::slurm::scontrol::job::{self, ScontrolJob};
use gpuledger_scheduler::slurm::scontrol::node;
use gpuledger_scheduler::slurm::witness::{self, Seen};
use gpuledger_schema::id::id63;
use gpuledger_schema::state::RunState;
use gpuledger_schema::table::QuarantineRow;

use super::{Before, LookError, Looker, Snapshot};

mod accounting;
mod check;
mod command;
pub mod config;
mod nodes;
mod rows;

use accounting::Accounted;
use check::Verdict;
use command::Commands;
use config::SlurmConfig;

/// What the commands say where there is nothing.
const NOTHING: &[&str] = &["No jobs in the system", "No nodes in the system"];
/// Characters of a refused record that are kept.
const RAW_CHARS_MAX: usize = 4_000;
const MINUTE_MS: i64 = 60_000;

/// Looks at a Slurm cluster.
#[derive(Debug)]
pub struct SlurmLooker {
    cluster: String,
    config: SlurmConfig,
    commands: Commands,
    /// Fields that this version's `sacct` has, once it was asked.
    fields: Option<Vec<String>>,
}

impl SlurmLooker {
    /// A looker at the cluster that `config` reaches. Nothing is run yet.
    pub fn new(cluster: &str, config: &SlurmConfig) -> Self {
        let commands = Commands::new(config.conf.clone(), config.deadline_s, config.output_max_bytes);
        Self { cluster: cluster.to_owned(), config: config.clone(), commands, fields: None }
    }

    /// Accounting since it was last heard, with the overlap; none where there is no accounting.
    async fn accounting(&mut self, now_ms: i64, before: &Before) -> Result<Option<Accounted>, LookError> {
        let Some(sacct) = self.config.accounting().map(std::borrow::ToOwned::to_owned) else {
            return Ok(None);
        };
        if self.fields.is_none() {
            self.fields = Some(accounting::fields(&mut self.commands, &sacct).await?);
        }
        let fields = self.fields.clone().unwrap_or_default();
        let minutes = |n: u64| i64::try_from(n).unwrap_or(0) * MINUTE_MS;
        let from_ms = match before.accounted_ms {
            Some(ms) => ms.min(now_ms) - minutes(self.config.accounting_overlap_min),
            None => now_ms - minutes(self.config.accounting_back_h * 60),
        };
        let text = accounting::ask(&mut self.commands, &sacct, &fields, from_ms).await?;
        accounting::read(&self.cluster, whole("sacct", &text)?).map(Some)
    }
}

impl Looker for SlurmLooker {
    fn kind(&self) -> &'static str {
        "slurm"
    }

    async fn look(&mut self, now_ms: i64, before: &Before) -> Result<Snapshot, LookError> {
        let (scontrol, squeue) = (self.config.scontrol.clone(), self.config.squeue.clone());
        let show_jobs = ["--all", "--details", "show", "job"];
        let jobs = self.commands.run("scontrol show job", &scontrol, &show_jobs).await?;
        let list = ["--noheader", "--all", "--states=all", "-O", witness::FORMAT];
        let seen = self.commands.run("squeue", &squeue, &list).await?;
        let nodes = self.commands.run("scontrol show node", &scontrol, &["--all", "show", "node"]).await?;
        let accounted = self.accounting(now_ms, before).await;

        let mut look = Look::new(&self.cluster, &self.config, now_ms);
        look.nodes(whole("scontrol show node", &nodes)?)?;
        drop(nodes);
        look.jobs(whole("scontrol show job", &jobs)?, whole("squeue", &seen)?)?;
        drop((jobs, seen));
        match accounted {
            Ok(None) => {}
            Ok(Some(accounted)) => {
                let shown = look.shown();
                look.keep_what_is_over(before);
                let is_known = |id| shown.contains(&id) || before.done.contains(&id);
                look.accounting(accounted.without_unfinished(is_known));
            }
            Err(e) => {
                look.keep_what_is_over(before);
                look.out.failed.push(("accounting", e));
                // a version that was exchanged may have other fields
                self.fields = None;
            }
        }
        Ok(look.out)
    }

    fn calls(&self) -> Vec<(&'static str, u64)> {
        self.commands.counts()
    }
}

/// An answer that ends with a whole line; nothing where a command says that there is nothing.
fn whole<'a>(kind: &str, text: &'a str) -> Result<&'a str, LookError> {
    if NOTHING.contains(&text.trim()) {
        return Ok("");
    }
    match text.is_empty() || text.ends_with('\n') {
        true => Ok(text),
        false => Err(LookError::new(format!("{kind}: the answer is cut: its last line does not end"))),
    }
}

/// A look while it is read.
struct Look<'a> {
    cluster: &'a str,
    config: &'a SlurmConfig,
    out: Snapshot,
}

impl<'a> Look<'a> {
    fn new(cluster: &'a str, config: &'a SlurmConfig, as_of_ms: i64) -> Self {
        Self { cluster, config, out: Snapshot { as_of_ms, complete: true, ..Snapshot::default() } }
    }

    fn nodes(&mut self, text: &str) -> Result<(), LookError> {
        let read = node::read(text);
        if let (true, Some(first)) = (read.facts.is_empty(), read.problems.first()) {
            return Err(LookError::new(format!("scontrol show node: no record can be read: {}", said(first))));
        }
        // what cannot be read is not gone
        self.out.complete &= read.problems.is_empty();
        read.problems.iter().for_each(|p| self.refuse("scontrol show node", p, &[]));
        for node in &read.facts {
            self.out.nodes.push(nodes::state(self.cluster, node, self.out.as_of_ms));
            self.out.offers.extend(nodes::offers(self.cluster, node, self.out.as_of_ms));
        }
        Ok(())
    }

    fn jobs(&mut self, text: &str, seen: &str) -> Result<(), LookError> {
        let (seen, problems) = witness::read(seen);
        if let (true, Some(first)) = (seen.is_empty(), problems.first()) {
            return Err(LookError::new(format!("squeue: no line can be read: {}", said(first))));
        }
        self.out.complete &= problems.is_empty();
        problems.iter().for_each(|p| self.refuse("squeue", p, &[]));
        let mut taken: HashSet<String> = HashSet::new();
        let mut first: Option<Problem> = None;
        let outside = job::each(text, Some(chrono_tz::UTC), |read| {
            let refused = match read {
                Ok(job) => self.job(&job, &seen, &mut taken).err(),
                Err(problem) => Some(problem),
            };
            if let Some(problem) = refused {
                self.refuse("scontrol show job", &problem, &[]);
                first.get_or_insert(problem);
            }
        });
        outside.iter().for_each(|p| self.refuse("scontrol show job", p, &[]));
        let is_there = |seen: &Seen| !seen.state.is_terminal();
        self.out.unread =
            seen.iter().filter(|(id, s)| is_there(s) && !taken.contains(*id)).map(|(id, _)| id.clone()).collect();
        match first.or(outside.into_iter().next()) {
            Some(problem) if taken.is_empty() => {
                Err(LookError::new(format!("scontrol show job: no record can be read: {}", said(&problem))))
            }
            _ => Ok(()),
        }
    }

    fn job(
        &mut self,
        job: &ScontrolJob,
        seen: &HashMap<String, Seen>,
        taken: &mut HashSet<String>,
    ) -> Result<(), Problem> {
        let problem =
            |field: &str, reason: &str| Problem::of_field(job.line, field, reason, &format!("JobId={}", job.job_raw));
        let submit_ms = job.submit_ms.ok_or_else(|| problem("SubmitTime", "it is needed and absent"))?;
        match check::verdict(job, submit_ms, seen.get(&job.job_raw)) {
            Verdict::Believed => {}
            Verdict::Passing => return Ok(()),
            Verdict::Refused(reason) => return Err(problem("JobId", &reason)),
        }
        if !taken.insert(job.job_raw.clone()) {
            return Err(problem("JobId", "a record of this job was read before"));
        }
        let row = rows::job(self.cluster, job, submit_ms);
        if let Some(run) = rows::allocation(job, &row) {
            self.out.holdings.extend(rows::holdings(job, &run, self.config));
            self.out.allocations.push(run);
        } else if job.started() {
            taken.remove(&job.job_raw);
            return Err(problem("AllocTRES", "its GPUs cannot be counted in parts of a card"));
        }
        self.out.jobs.push(row);
        Ok(())
    }

    /// Ids of the requests and runs that the controller shows.
    fn shown(&self) -> HashSet<i64> {
        let jobs = self.out.jobs.iter().map(|j| j.job_id);
        jobs.chain(self.out.allocations.iter().map(|a| a.allocation_id)).collect()
    }

    /// Where there is accounting, what was written of something that is over stays, unless accounting says otherwise.
    fn keep_what_is_over(&mut self, before: &Before) {
        let is_over = |state: &str| state.parse().is_ok_and(RunState::is_terminal);
        self.out.allocations.retain(|run| !run.terminal || !before.done.contains(&run.allocation_id));
        self.out.jobs.retain(|job| !is_over(&job.state) || !before.done.contains(&job.job_id));
    }

    /// Accounting is believed in what is over: its rows take the place of the controller's.
    fn accounting(&mut self, accounted: Accounted) {
        self.out.accounted_ms = Some(self.out.as_of_ms);
        let out = &mut self.out;
        let held: HashSet<i64> = out.holdings.iter().map(|h| h.allocation_id).collect();
        out.holdings.extend(accounted.holdings.into_iter().filter(|h| !held.contains(&h.allocation_id)));
        let ended: HashSet<i64> = accounted.allocations.iter().map(|run| run.allocation_id).collect();
        out.allocations.retain(|run| !ended.contains(&run.allocation_id));
        out.allocations.extend(accounted.allocations);
        let over: HashSet<i64> = accounted.jobs.iter().map(|job| job.job_id).collect();
        out.jobs.retain(|job| !over.contains(&job.job_id));
        out.jobs.extend(accounted.jobs);
        for problem in &accounted.problems {
            self.refuse("sacct", problem, &[&problem.raw]);
        }
    }

    /// Keeps a refused record. It is the same record as long as it is refused for the same reason: what of it moves from
    /// look to look (its run time) does not make it another.
    fn refuse(&mut self, command: &str, problem: &Problem, more: &[&str]) {
        let source = format!("slurm {command}");
        let head: String = problem.raw.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let field = problem.field.clone().unwrap_or_default();
        let mut parts = vec![self.cluster, source.as_str(), head.as_str(), field.as_str(), problem.reason.as_str()];
        parts.extend(more);
        self.out.refused.push(QuarantineRow {
            refusal_id: id63("refusal", &parts),
            source: source.clone(),
            line: problem.line,
            field: problem.field.clone(),
            reason: problem.reason.clone(),
            raw: problem.raw.chars().take(RAW_CHARS_MAX).collect(),
            cluster: Some(self.cluster.to_owned()),
        });
    }
}

fn said(problem: &Problem) -> String {
    match &problem.field {
        Some(field) => format!("{field}: {}", problem.reason),
        None => problem.reason.clone(),
    }
}

#[cfg(test)]
mod tests;
