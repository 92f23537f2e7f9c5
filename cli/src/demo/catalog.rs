//! Who works here, and what a kind of job is: how its people ask and how they use what they get.

use gpuledger_schema::state::TaskType;

use super::hardware::Part;
use super::load::Load;

/// An account with the people who charge to it.
#[derive(Debug)]
pub(super) struct Account {
    /// Account in Slurm, namespace in Kubernetes.
    pub(super) name: &'static str,
    /// Team label that its pods carry.
    pub(super) team: &'static str,
    /// Its users.
    pub(super) users: &'static [&'static str],
}

/// Every account. `shared-ml` is paid by two teams, `guest` by nobody yet.
pub(super) static ACCOUNTS: [Account; 8] = [
    Account { name: "vision", team: "vision", users: &["amara", "lukas", "mei"] },
    Account { name: "nlp", team: "nlp", users: &["ines", "jonas", "priya", "wei"] },
    Account { name: "speech", team: "speech", users: &["carla", "tomasz"] },
    Account { name: "robotics", team: "robotics", users: &["dario", "freya", "oluwa"] },
    Account { name: "infra", team: "infra", users: &["svc-ci", "nadia"] },
    Account { name: "research", team: "research", users: &["hana", "bjorn", "sofia"] },
    Account { name: "shared-ml", team: "research", users: &["hana", "priya"] },
    Account { name: "guest", team: "", users: &["visitor1"] },
];

/// A stream of work: what arrives for one kind of part of one cluster.
#[derive(Debug)]
pub(super) struct Stream {
    /// Cluster.
    pub(super) cluster: usize,
    /// What its jobs ask for.
    pub(super) part: Part,
    /// Percent of those parts that it would keep held if nothing had to wait.
    pub(super) percent: i64,
    /// Kinds of jobs.
    pub(super) kinds: &'static [Kind],
}

/// A kind of job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// What the demo's rules make of it: nothing is made from it, tests hold the rules against it.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(super) task: TaskType,
    /// Names it is given; a number follows.
    pub(super) names: &'static [&'static str],
    /// Accounts it is charged to, by index into [`ACCOUNTS`].
    pub(super) accounts: &'static [usize],
    /// Queue (empty on Kubernetes).
    pub(super) queue: &'static str,
    /// QoS, or kind of workload on Kubernetes.
    pub(super) qos: &'static str,
    /// Parts asked for on each node.
    pub(super) gpus: &'static [u32],
    /// Nodes asked for.
    pub(super) nodes: usize,
    /// Shortest and longest run in minutes.
    pub(super) minutes: (i64, i64),
    /// How often it comes, against the others of the stream.
    pub(super) weight: i64,
    /// Fewest and most tasks, where it comes as an array.
    pub(super) array: Option<(i64, i64)>,
    /// Percent of runs that are put back into the queue.
    pub(super) requeued: i64,
    /// Its time limit is at least so many times what it needs.
    pub(super) limit: i64,
    /// Host memory asked for per part, in GiB.
    pub(super) ask_gib: i64,
    /// GPU memory granted in MiB, where the scheduler grants it; 0: it does not.
    pub(super) grant_mib: i64,
    /// Model asked for, where the kind asks for one.
    pub(super) model: Option<&'static str>,
    /// Minutes that pulling its images takes, where that is long.
    pub(super) pull_minutes: i64,
    /// Whether other work may push it out.
    pub(super) preemptible: bool,
    /// What it does with a card.
    pub(super) load: Load,
}

impl Kind {
    /// A kind of job with the habits of most: one card of one node, a limit twice what it needs.
    pub(super) const fn new(
        task: TaskType,
        names: &'static [&'static str],
        accounts: &'static [usize],
        load: Load,
    ) -> Self {
        Self {
            task,
            names,
            accounts,
            queue: "train",
            qos: "normal",
            gpus: &[1],
            nodes: 1,
            minutes: (60, 120),
            weight: 1,
            array: None,
            requeued: 0,
            limit: 2,
            ask_gib: 120,
            grant_mib: 0,
            model: None,
            pull_minutes: 0,
            preemptible: false,
            load,
        }
    }

    /// Where it is submitted.
    pub(super) const fn to(self, queue: &'static str, qos: &'static str) -> Self {
        Self { queue, qos, ..self }
    }

    /// How many cards it asks for, one of `gpus`.
    pub(super) const fn gpus(self, gpus: &'static [u32]) -> Self {
        Self { gpus, ..self }
    }

    /// How long it runs, and how often it comes.
    pub(super) const fn runs(self, from_minutes: i64, to_minutes: i64, weight: i64) -> Self {
        Self { minutes: (from_minutes, to_minutes), weight, ..self }
    }

    /// How much more time and host memory it asks for than it needs.
    pub(super) const fn asks(self, limit: i64, ask_gib: i64) -> Self {
        Self { limit, ask_gib, ..self }
    }

    /// It comes as an array, and so many percent of its runs are put back into the queue.
    pub(super) const fn array(self, fewest: i64, most: i64, requeued: i64) -> Self {
        Self { array: Some((fewest, most)), requeued, ..self }
    }
}
