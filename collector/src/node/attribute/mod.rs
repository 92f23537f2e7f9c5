//! Whom a process belongs to, with the evidence: cgroup, then kubelet or scheduler record, then environment, then session.
//!
//! Pure: what the sources saw goes in, [`Belongs`] comes out. Weaker evidence never overrules stronger; it only raises
//! the conflict flag.

use std::collections::BTreeMap;

use gpuledger_schema::id::{hint_of_job, hint_of_session};
use gpuledger_schema::state::SchedulerKind;

use crate::node::seen::{Belongs, Boot, Process};

pub mod cgroup;

use cgroup::Cgroup;

/// Most runs whose job is remembered; a node has far fewer at once. The smallest SLUIDs go first.
const RUNS_MAX: usize = 4096;

/// Where a process is looked at.
#[derive(Debug, Clone)]
pub struct Site {
    /// Cluster that the node belongs to.
    pub cluster: String,
    /// What schedules work here, as the node's configuration says.
    pub scheduler: SchedulerKind,
    /// Node and boot.
    pub boot: Boot,
}

/// The leader of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leader {
    /// Its pid, which stays taken as long as its session has members.
    pub pid: u32,
    /// Its start in clock ticks since boot; none where it ended before anybody looked.
    pub start_ticks: Option<u64>,
}

/// The wanted keys of a process's environment. Users can write it: it is a hint, and it is never logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environ {
    /// `SLURM_JOB_ID`, or the old `SLURM_JOBID`.
    pub slurm_job: Option<String>,
    /// `SLURM_JOB_SLUID`.
    pub slurm_sluid: Option<String>,
}

/// What was seen of one process.
#[derive(Debug, Clone)]
pub struct Witness {
    /// Who it is.
    pub process: Process,
    /// The user's number; none where it was gone before it was read.
    pub uid: Option<u32>,
    /// What its cgroup names, the strongest first: see [`cgroup::findings`].
    pub cgroups: Vec<Cgroup>,
    /// Its environment's wanted keys.
    pub environ: Environ,
    /// Its session's leader; itself where it has none.
    pub leader: Leader,
}

/// An allocation as a record names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Allocation {
    /// A Slurm job by its raw id.
    Job(String),
    /// A pod by its UID.
    Pod(String),
}

/// Who holds a device, by a record of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The allocation.
    pub by: Allocation,
    /// The user it runs as, where the record says so.
    pub uid: Option<u32>,
}

/// The records of the node that speak of one process on one device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Records<'a> {
    /// Who holds the device, several where it is shared; empty where nobody holds it or no record could be read.
    pub device: &'a [Held],
    /// The job that Slurm's daemon on this node counts the process to.
    pub process: Option<&'a str>,
}

/// Which job a run (SLUID) is of, as learned from records and environments.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    jobs: BTreeMap<String, (String, bool)>,
}

impl Runs {
    /// Learns from a record of Slurm.
    pub fn record(&mut self, sluid: &str, job: &str) {
        self.learn(sluid, job, true);
    }

    /// Learns from a process in the run: its batch script has the keys, an adopted ssh session of the same run has not.
    ///
    /// What is known already stays: one process of a run cannot rename the whole run.
    pub fn witness(&mut self, seen: &Witness) {
        let inside = seen.cgroups.iter().find_map(|c| match c {
            Cgroup::SlurmRun { sluid, .. } => Some(sluid),
            _ => None,
        });
        let (Some(sluid), Some(job)) = (inside, &seen.environ.slurm_job) else { return };
        if seen.environ.slurm_sluid.as_ref() == Some(sluid) {
            self.learn(sluid, job, false);
        }
    }

    /// The job of a run.
    pub fn job(&self, sluid: &str) -> Option<&str> {
        self.jobs.get(sluid).map(|(job, _)| job.as_str())
    }

    fn learn(&mut self, sluid: &str, job: &str, recorded: bool) {
        if self.jobs.get(sluid).is_some_and(|(_, before)| *before || !recorded) {
            return;
        }
        self.jobs.insert(sluid.to_owned(), (job.to_owned(), recorded));
        while self.jobs.len() > RUNS_MAX {
            self.jobs.pop_first();
        }
    }
}

/// Whom a process on a device belongs to.
///
/// On a bare host the session is the allocation and nothing else is asked. Elsewhere a process without evidence gets its
/// session's hint, which no allocation of the scheduler has: the ledger makes it foreign.
pub fn belongs(site: &Site, seen: &Witness, records: &Records<'_>, runs: &Runs) -> Belongs {
    if site.scheduler != SchedulerKind::None {
        if let Some(found) = by_cgroup(site, seen, records, runs) {
            return found;
        }
        if let Some(found) = by_record(site, seen, records).or_else(|| by_environ(site, seen, records)) {
            return found;
        }
    }
    by_session(site, seen)
}

/// What a cgroup names, the kind of the node's scheduler first: Slurm run by Kubernetes shows both.
fn by_cgroup(site: &Site, seen: &Witness, records: &Records<'_>, runs: &Runs) -> Option<Belongs> {
    let named = |c: &Cgroup| match c {
        Cgroup::Pod { uid, .. } => Some((SchedulerKind::Kubernetes, Allocation::Pod(uid.clone()))),
        Cgroup::SlurmJob { job, .. } => Some((SchedulerKind::Slurm, Allocation::Job(job.clone()))),
        Cgroup::SlurmRun { sluid, .. } => {
            let job = runs.job(sluid).unwrap_or(sluid).to_owned();
            Some((SchedulerKind::Slurm, Allocation::Job(job)))
        }
        _ => None,
    };
    let all: Vec<(SchedulerKind, Allocation)> = seen.cgroups.iter().filter_map(named).collect();
    let (_, by) = all.iter().find(|(kind, _)| *kind == site.scheduler).or(all.first())?;
    Some(Belongs { conflict: records.contradict(by), ..belonging(site, by, "cgroup") })
}

impl Records<'_> {
    /// Whether the records name allocations of this kind and this one is not among them.
    ///
    /// A run that is known by its SLUID alone cannot be compared with job ids, and contradicts nothing.
    fn contradict(&self, by: &Allocation) -> bool {
        let comparable = |held: &&Held| match (&held.by, by) {
            (Allocation::Job(_), Allocation::Job(job)) => !cgroup::is_sluid(job),
            (Allocation::Pod(_), Allocation::Pod(_)) => true,
            _ => false,
        };
        let mut named = self.device.iter().filter(comparable).peekable();
        let device = named.peek().is_some() && named.all(|held| held.by != *by);
        let process = match (self.process, by) {
            (Some(listed), Allocation::Job(job)) => !cgroup::is_sluid(job) && listed != job,
            _ => false,
        };
        device || process
    }
}

/// A record of the process itself, else of its device where one holder, and no other, may have the process.
///
/// A device's holder is believed only of a process that may be in it. A cgroup that is somewhere else is evidence
/// against a pod. A job's own container lies outside its cgroup when a daemon started it, so there the user must agree.
fn by_record(site: &Site, seen: &Witness, records: &Records<'_>) -> Option<Belongs> {
    if let Some(job) = records.process.filter(|_| site.scheduler == SchedulerKind::Slurm) {
        return Some(belonging(site, &Allocation::Job(job.to_owned()), "slurm"));
    }
    let nowhere = seen.cgroups.is_empty();
    let may_be_of = |held: &&Held| match (&held.by, site.scheduler) {
        (Allocation::Pod(_), SchedulerKind::Kubernetes) => nowhere,
        (Allocation::Job(_), SchedulerKind::Slurm) => held.uid.map_or(nowhere, |uid| seen.uid == Some(uid)),
        _ => false,
    };
    let mut holders = records.device.iter().filter(may_be_of);
    let (held, None) = (holders.next()?, holders.next()) else { return None };
    let source = if site.scheduler == SchedulerKind::Kubernetes { "kubelet" } else { "slurm" };
    Some(belonging(site, &held.by, source))
}

/// The job that a process's environment names, unless a record says that the job is another user's.
fn by_environ(site: &Site, seen: &Witness, records: &Records<'_>) -> Option<Belongs> {
    let job = seen.environ.slurm_job.as_ref().filter(|_| site.scheduler == SchedulerKind::Slurm)?;
    let by = Allocation::Job(job.clone());
    let of_another = |held: &Held| held.by == by && held.uid.is_some() && held.uid != seen.uid;
    (!records.device.iter().any(of_another)).then(|| belonging(site, &by, "environ"))
}

/// How rows name an allocation: by an id, and in words.
pub fn hint(site: &Site, by: &Allocation) -> (i64, String) {
    let (kind, id) = match by {
        Allocation::Job(job) => ("slurm", job),
        Allocation::Pod(uid) => ("pod", uid),
    };
    (hint_of_job(&site.cluster, id), format!("{kind}:{}:{id}", site.cluster))
}

fn belonging(site: &Site, by: &Allocation, evidence: &'static str) -> Belongs {
    let (hint_id, hint) = hint(site, by);
    Belongs { hint_id, hint, evidence, conflict: false }
}

fn by_session(site: &Site, seen: &Witness) -> Belongs {
    let leader = seen.leader.pid.to_string();
    // A leader that ended unseen has no start that could be known; the word keeps its hint the same in every minute.
    let start = seen.leader.start_ticks.map_or_else(|| "unknown".to_owned(), |ticks| ticks.to_string());
    Belongs {
        hint_id: hint_of_session(&site.boot.node, &site.boot.boot, &leader, &start),
        hint: format!("session:{leader}"),
        evidence: "session",
        conflict: false,
    }
}

#[cfg(test)]
mod tests;
