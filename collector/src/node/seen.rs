//! What sources saw: the plain values that lie between the sources and the rows.

use std::fmt;

/// Nominal length of a tick.
pub const TICK_MS: i64 = 60_000;

/// An instant of this node, all clocks read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Epoch ms by the wall clock; it can step.
    pub wall_ms: i64,
    /// Ms since boot, suspended time included (`CLOCK_BOOTTIME`); it never steps.
    pub boot_ms: i64,
    /// Ms since boot, suspended time left out (`CLOCK_MONOTONIC`); `boot_ms - awake_ms` grows only in suspension.
    pub awake_ms: i64,
    /// Whether the kernel says that the wall clock is synchronised.
    pub synchronised: bool,
}

/// "Now" as everything in the node collector is given it.
pub trait Clock: Send + Sync {
    /// Reads all clocks.
    fn now(&self) -> Moment;
}

/// Which boot of which machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// Node name from the configuration (else the host name), never from a container's.
    pub node: String,
    /// The kernel's boot id, `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
}

impl Boot {
    /// The id under which rows name this boot.
    pub fn id(&self) -> i64 {
        gpuledger_schema::id::boot_id(&self.node, &self.boot)
    }
}

/// A process for all time: a pid can come again, a pid with its start cannot (inside a boot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Process {
    /// Process id on the host.
    pub pid: u32,
    /// Start in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

/// Why a value is absent. Zero is never used for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Absent {
    /// The device or driver does not have it.
    NotSupported,
    /// The device is cut into MIG instances, and the driver gives it for none of them.
    Mig,
    /// The collector may not read it.
    NotPermitted,
    /// The GPU is lost.
    Lost,
    /// A call did not come back before its deadline.
    Hung,
    /// The readings were impossible and were rejected.
    Rejected,
    /// It is a difference and there is no earlier reading, or the counter was reset.
    NoEarlier,
    /// The process was gone before it could be read.
    Gone,
    /// The call failed otherwise: what the library said.
    Failed(String),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSupported => f.write_str("not supported"),
            Self::Mig => f.write_str("MIG"),
            Self::NotPermitted => f.write_str("not permitted"),
            Self::Lost => f.write_str("lost"),
            Self::Hung => f.write_str("hung"),
            Self::Rejected => f.write_str("rejected"),
            Self::NoEarlier => f.write_str("no earlier reading"),
            Self::Gone => f.write_str("gone"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// A value, or why there is none.
pub type Measure<T> = Result<T, Absent>;

/// What `/proc` says of a process over a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Who it is.
    pub process: Process,
    /// User name, or `uid:<number>` where no name service knows it.
    pub user: String,
    /// Command name.
    pub command: Option<String>,
    /// State letter.
    pub state: Option<char>,
    /// CPU time used during the tick.
    pub cpu_ms: Option<i64>,
    /// Resident memory now.
    pub rss_bytes: Option<i64>,
    /// Bytes read from storage during the tick.
    pub read_bytes: Option<i64>,
    /// Time waiting for storage during the tick.
    pub io_wait_ms: Option<i64>,
}

/// Whom a process may belong to; fixed when it is written, resolved by the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Belongs {
    /// Id of cluster and job id, of cluster and pod UID, or of node, boot, session leader and its start.
    pub hint_id: i64,
    /// The same in words: `slurm:alpha:4711`, `pod:west:<uid>`, `session:<leader pid>`.
    pub hint: String,
    /// What it was read from: `cgroup`, `kubelet`, `slurm` (a record on the node), `environ` or `session`.
    pub evidence: &'static str,
    /// A record and the cgroup named different allocations; the cgroup was believed.
    pub conflict: bool,
}
