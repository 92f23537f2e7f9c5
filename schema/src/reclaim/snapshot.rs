//! The snapshot: all that a plan reads, as tables had it at one instant.

use serde::{Deserialize, Serialize};

use super::{AlertKind, Case, Class, Mode, Reason, Verdict};

/// What was known at one instant. Equal snapshots give equal plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// When it was made, epoch ms.
    pub at_ms: i64,
    /// Of now, or of the past.
    pub mode: Mode,
    /// SHA-256 of the policy that its verdicts went by.
    pub policy_hash: String,
    /// What is switched on.
    pub switches: Switches,
    /// The schedulers, and how fresh what is known of them is.
    pub sources: Vec<Source>,
    /// How much of the fleet is seen.
    pub seen: Use,
    /// What holds GPUs now, each with its judgement.
    pub allocations: Vec<Allocation>,
    /// Every card.
    pub cards: Vec<Card>,
    /// Cases that are not over.
    pub cases: Vec<Case>,
    /// What was asked of schedulers in the hour before.
    pub past: Vec<Past>,
}

/// What people and files have switched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    /// Whether owners are told.
    pub notify: bool,
    /// Whether anything is acted upon.
    pub act: bool,
    /// Why the kill switch is thrown, where it is.
    pub killed: Option<String>,
    /// Why the breaker is open, where it is.
    pub breaker: Option<String>,
}

/// A scheduler as a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its cluster.
    pub cluster: String,
    /// End of what its newest successful reading speaks of, epoch ms; absent: it was never read.
    pub read_ms: Option<i64>,
    /// When a reading failed that is newer than that, epoch ms.
    pub failed_ms: Option<i64>,
    /// Why that failed.
    pub error: Option<String>,
    /// Running jobs in the newest successful reading.
    pub jobs: Option<i64>,
    /// Running jobs in the successful reading before it.
    pub jobs_before: Option<i64>,
}

/// How much of the fleet is seen, now and in the round before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// Measured part of the held time of the last window, ppm; absent: nothing was held.
    pub coverage_ppm: Option<i64>,
    /// The same in the round before.
    pub coverage_before_ppm: Option<i64>,
    /// Cards whose witnesses disagree.
    pub disagreeing: i64,
}

/// Who an allocation is, so that nothing else is ever touched in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Identity {
    /// A run of a Slurm job.
    Slurm {
        /// Cluster.
        cluster: String,
        /// Raw job id.
        job_raw: String,
        /// Array it is a task of, with its index.
        array: Option<(String, i64)>,
        /// Leader of its het job, with its offset.
        het: Option<(String, i64)>,
        /// User that it runs as.
        user: String,
        /// Start of the run, epoch ms.
        start_ms: i64,
    },
    /// A pod.
    Kubernetes {
        /// Cluster.
        cluster: String,
        /// Namespace.
        namespace: String,
        /// Name of the pod: a label, never the key.
        pod: String,
        /// UID of the pod.
        uid: String,
        /// What owns it, followed to its top.
        owner: Option<Workload>,
        /// When it was assigned to its node, epoch ms.
        start_ms: i64,
    },
    /// A session on a bare host.
    Session {
        /// Node.
        node: String,
        /// Boot of the node.
        boot: String,
        /// Process id of the session's leader.
        leader: i64,
        /// Start of the leader in clock ticks since boot; absent: it could not be read.
        start_ticks: Option<i64>,
        /// When it was first seen, epoch ms.
        start_ms: i64,
    },
    /// A process that belongs to no allocation, or one that is gone and still holds memory.
    Process {
        /// Node.
        node: String,
        /// Boot of the node.
        boot: String,
        /// Process id; absent: memory is held and no process is listed.
        pid: Option<i64>,
        /// Start of the process in clock ticks since boot; absent: it could not be read.
        start_ticks: Option<i64>,
        /// When it was first seen, epoch ms.
        start_ms: i64,
    },
}

/// What owns a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Kind, e.g. Deployment or Job.
    pub kind: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Pods of the same owner that are not idle, this one not counted; absent: not every one is judged.
    pub busy_siblings: Option<i64>,
}

impl Identity {
    /// The cluster whose scheduler answers for it; absent on a bare host.
    pub fn cluster(&self) -> Option<&str> {
        match self {
            Self::Slurm { cluster, .. } | Self::Kubernetes { cluster, .. } => Some(cluster),
            Self::Session { .. } | Self::Process { .. } => None,
        }
    }

    /// Start of what is meant, epoch ms.
    pub fn start_ms(&self) -> i64 {
        match self {
            Self::Slurm { start_ms, .. }
            | Self::Kubernetes { start_ms, .. }
            | Self::Session { start_ms, .. }
            | Self::Process { start_ms, .. } => *start_ms,
        }
    }

    /// What people call it.
    pub fn shown(&self) -> String {
        match self {
            Self::Slurm { array: Some((job, task)), .. } => format!("job {job}_{task}"),
            Self::Slurm { het: Some((leader, offset)), .. } => format!("job {leader}+{offset}"),
            Self::Slurm { job_raw, .. } => format!("job {job_raw}"),
            Self::Kubernetes { namespace, pod, .. } => format!("pod {namespace}/{pod}"),
            Self::Session { node, leader, .. } => format!("session {leader} on {node}"),
            Self::Process { node, pid: Some(pid), .. } => format!("process {pid} on {node}"),
            Self::Process { node, pid: None, .. } => format!("memory without a process on {node}"),
        }
    }

    /// Whether both are certainly the same: what cannot be told apart is not the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Slurm { cluster, job_raw, array, het, user, start_ms },
                Self::Slurm { cluster: c, job_raw: j, array: a, het: h, user: u, start_ms: s },
            ) => cluster == c && job_raw == j && array == a && het == h && user == u && start_ms == s,
            (Self::Kubernetes { cluster, uid, .. }, Self::Kubernetes { cluster: c, uid: u, .. }) => {
                cluster == c && uid == u
            }
            (
                Self::Session { node, boot, leader, start_ticks: Some(ticks), .. },
                Self::Session { node: n, boot: b, leader: l, start_ticks: Some(t), .. },
            ) => node == n && boot == b && leader == l && ticks == t,
            (
                Self::Process { node, boot, pid: Some(pid), start_ticks: Some(ticks), .. },
                Self::Process { node: n, boot: b, pid: Some(p), start_ticks: Some(t), .. },
            ) => node == n && boot == b && pid == p && ticks == t,
            _ => false,
        }
    }
}

/// Whose it is, at the time of use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// User.
    pub user: String,
    /// Account or namespace.
    pub account: Option<String>,
    /// Team.
    pub team: String,
    /// Where a warning goes; absent: nobody can be told.
    pub contact: Option<String>,
}

/// What a run is, as the scheduler and the rules say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Task type.
    pub task_type: String,
    /// Partition or queue.
    pub queue: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Name: a label.
    pub name: Option<String>,
    /// Pool of its cards.
    pub pool: String,
    /// GPU model.
    pub model: Option<String>,
    /// Scheduler's priority.
    pub priority: Option<i64>,
    /// Whether it may be preempted.
    pub preemptible: Option<bool>,
    /// Whether it stands above its team's quota.
    pub borrowed: bool,
    /// End of its time limit, epoch ms; absent: none.
    pub limit_ms: Option<i64>,
    /// How long its type may run, ms; absent: nobody says.
    pub max_ms: Option<i64>,
    /// Last known checkpoint, epoch ms.
    pub checkpoint_ms: Option<i64>,
}

/// What was judged of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Name of the policy that speaks of it; absent: none does.
    pub policy: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is unknown.
    pub reasons: Vec<Reason>,
    /// What it is a case of.
    pub classes: Vec<Class>,
    /// What people are told of it without a case.
    pub alerts: Vec<AlertKind>,
    /// Since when every card of it has been at rest without a hole, epoch ms; absent: it is not at rest now.
    pub rest_from_ms: Option<i64>,
    /// Since when it has worked without a long pause, epoch ms; absent: it does not work now.
    pub active_from_ms: Option<i64>,
    /// End of the newest tick of the card that was seen least recently, epoch ms.
    pub newest_ms: Option<i64>,
    /// Measured part of the window, ppm.
    pub coverage_ppm: Option<i64>,
    /// Highest poll of SM utilization while at rest, ppm.
    pub peak_ppm: Option<i64>,
    /// Highest power while at rest, mW.
    pub power_mw: Option<i64>,
    /// The floor of power of its model, mW.
    pub floor_mw: Option<i64>,
    /// Mean SM activity of a day, ppm.
    pub mean_ppm: Option<i64>,
}

/// Something that holds GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// Its id: of the run, the session, or minus the device for what belongs to nobody.
    pub allocation_id: i64,
    /// Who it is.
    pub identity: Identity,
    /// Whose it is.
    pub owner: Owner,
    /// What it is.
    pub work: Work,
    /// Its nodes, sorted.
    pub nodes: Vec<String>,
    /// Its cards, sorted.
    pub device_ids: Vec<i64>,
    /// What it was granted, in share units of a card.
    pub gpu_units: i64,
    /// What was judged.
    pub judgement: Judgement,
}

/// A card as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Device.
    pub device_id: i64,
    /// Its node.
    pub node: String,
    /// End of its newest healthy tick, epoch ms.
    pub newest_ms: Option<i64>,
    /// Memory in use at that tick; absent: not measured.
    pub mem_used_bytes: Option<i64>,
    /// Memory of the card.
    pub mem_total_bytes: Option<i64>,
    /// Allocations whose processes were on it in that tick.
    pub users: Vec<i64>,
    /// Allocations that hold it.
    pub holders: Vec<i64>,
}

/// Something that was asked of a scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Past {
    /// When, epoch ms.
    pub at_ms: i64,
    /// Case.
    pub case_id: i64,
    /// Team.
    pub team: String,
    /// Nodes.
    pub nodes: Vec<String>,
}
