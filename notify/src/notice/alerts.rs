//! Alerts: data that is late, missing or contradicts itself, and machines that need somebody.

use serde::Serialize;

use crate::value::At;

/// A node's segments do not come in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LateNode {
    /// Cluster.
    pub cluster: String,
    /// Node.
    pub node: String,
    /// GPUs of it.
    pub gpus: i64,
    /// The newest minute that is in; absent: none ever was.
    pub last_seen: Option<At>,
    /// How late it is, whole minutes; absent: none ever was.
    pub late_minutes: Option<i64>,
    /// The node.
    pub page: String,
}

/// Where and when something of the record is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenCell {
    /// Cluster.
    pub cluster: String,
    /// Node, or the source of the record.
    pub node: String,
    /// From.
    pub from: At,
    /// To; absent: it goes on.
    pub to: Option<At>,
    /// GPU-hours that it is about, one decimal.
    pub hours: String,
    /// The place.
    pub page: String,
}

/// Minutes that nobody measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Where and when.
    #[serde(flatten)]
    pub at: BrokenCell,
    /// What is missing and why, as the gap list says; absent: not known.
    pub reason: Option<String>,
}

/// More was granted of a card than there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Where and when.
    #[serde(flatten)]
    pub at: BrokenCell,
    /// The card.
    pub device: String,
    /// Jobs that hold it, as cluster/job.
    pub holders: Vec<String>,
}

/// A node whose busy time was never calibrated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Uncalibrated {
    /// Cluster.
    pub cluster: String,
    /// Node.
    pub node: String,
    /// GPUs of it.
    pub gpus: i64,
    /// Model.
    pub model: String,
    /// Since when it is seen.
    pub since: At,
    /// The node.
    pub page: String,
}

/// A GPU that no inventory names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnregisteredGpu {
    /// Cluster.
    pub cluster: String,
    /// Node.
    pub node: String,
    /// The card.
    pub uuid: String,
    /// Model.
    pub model: String,
    /// Since when it is seen.
    pub first_seen: At,
    /// The fleet.
    pub page: String,
}

/// A job uses more GPU memory than it may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryOverQuota {
    /// Cluster.
    pub cluster: String,
    /// Node.
    pub node: String,
    /// Job.
    pub job: String,
    /// Its name; absent: it has none.
    pub job_name: Option<String>,
    /// Whose it is; absent: not known.
    pub user: Option<String>,
    /// Team.
    pub team: String,
    /// Used, GiB, one decimal.
    pub used_gib: String,
    /// What it may use, GiB, one decimal.
    pub limit_gib: String,
    /// When.
    pub at: At,
    /// The job.
    pub page: String,
}

/// A job that computes nothing at full load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hung {
    /// Cluster.
    pub cluster: String,
    /// Node.
    pub node: String,
    /// Job.
    pub job: String,
    /// Its name; absent: it has none.
    pub job_name: Option<String>,
    /// Whose it is; absent: not known.
    pub user: Option<String>,
    /// Team.
    pub team: String,
    /// GPUs that it holds.
    pub gpus: i64,
    /// Since when.
    pub since: At,
    /// SM activity, percent, whole.
    pub sm_percent: String,
    /// Memory traffic, percent, whole.
    pub dram_percent: String,
    /// Power of a card, watts, whole.
    pub power_watts: String,
    /// The job.
    pub page: String,
}

/// A node that is gone with what ran on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeLost {
    /// Cluster.
    pub cluster: String,
    /// Node.
    pub node: String,
    /// GPUs of it.
    pub gpus: i64,
    /// Jobs that ran on it.
    pub jobs: i64,
    /// The newest reading of it; absent: none ever was.
    pub last_seen: Option<At>,
    /// What the scheduler says of it; absent: nothing.
    pub state: Option<String>,
    /// The node.
    pub page: String,
}

/// More of one kind began at once than anybody reads one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ManyAlerts {
    /// The kind: name of the notice that each would have been.
    pub notice: String,
    /// How many.
    pub count: i64,
    /// Some of them, by their subjects.
    pub named: Vec<String>,
    /// Whether one of that kind waits for nobody's working hours.
    pub urgent: bool,
    /// Since when they stand.
    pub since: At,
    /// Where all of them are.
    pub page: String,
}

/// Somebody who has to be told has no address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoContact {
    /// Whom, e.g. `user:alice`.
    pub person: String,
    /// What they were to be told: name of the notice.
    pub notice: String,
    /// What it is about.
    pub about: String,
    /// What stops until there is an address.
    pub page: String,
}

/// A message did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undelivered {
    /// Whom it was for, e.g. `lead:nlp`.
    pub person: String,
    /// Where it was sent.
    pub address: String,
    /// Title of the message.
    pub title: String,
    /// What was answered, or why.
    pub answer: String,
    /// When it was given up, or came back.
    pub at: At,
    /// The outbox.
    pub page: String,
}

/// Shows that the way is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Test {
    /// Where it is sent.
    pub address: String,
    /// When it was sent.
    pub at: At,
}
