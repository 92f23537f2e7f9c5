//! The facts that `doctor` judges. `None` means that it could not be found out.

use gpuledger_schema::state::SchedulerKind;

use crate::node::config::Accounting;
use crate::node::seen::Measure;

/// What was found out about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What the configuration says schedules work here.
    pub scheduler: SchedulerKind,
    /// What the configuration says about accounting.
    pub accounting: Accounting,
    /// The driver and its GPUs, or why they cannot be asked.
    pub driver: Result<DriverFacts, String>,
    /// Whether this process is in the machine's own PID namespace.
    pub host_pids: Option<bool>,
    /// Whether this process is in the machine's own cgroup namespace.
    pub host_cgroups: Option<bool>,
    /// Whether its effective user is root.
    pub root: Option<bool>,
    /// Capabilities it has, by name without `CAP_`: `SYS_PTRACE`, `DAC_READ_SEARCH`, `SYS_ADMIN`.
    pub capabilities: Vec<String>,
    /// The kubelet's socket: answered, or why not. None where the scheduler is not Kubernetes.
    pub kubelet: Option<Result<(), String>>,
    /// dcgm-exporter: what its page has, or why there is none. None where it is not configured.
    pub dcgm: Option<Result<DcgmFacts, String>>,
    /// Whether the kernel says that the clock is synchronised.
    pub clock_synchronised: Option<bool>,
    /// Whether the inbox of the lake can be written, or why not.
    pub lake_writable: Result<(), String>,
    /// Whether the spool can be written, or why not.
    pub spool_writable: Result<(), String>,
    /// Bytes free where the spool is.
    pub spool_free_bytes: Option<u64>,
    /// Most bytes that the spool may take.
    pub spool_max_bytes: u64,
    /// Users of running processes that no name service knows.
    pub users_unresolved: Option<Vec<u32>>,
}

/// What the driver's library says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverFacts {
    /// Driver version.
    pub version: String,
    /// Its GPUs.
    pub devices: Vec<DeviceFacts>,
}

/// What the driver's library says of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFacts {
    /// NVML index.
    pub index: u32,
    /// Driver UUID.
    pub uuid: String,
    /// Model name.
    pub model: String,
    /// Whether it is cut into MIG instances.
    pub mig: Measure<bool>,
    /// Whether it has GPM (Hopper and newer).
    pub gpm: Measure<bool>,
    /// Whether accounting mode is on.
    pub accounting: Measure<bool>,
    /// Whether process utilization can be read.
    pub process_utilization: Measure<()>,
    /// Whether persistence mode is on.
    pub persistence: Measure<bool>,
}

/// What a page of dcgm-exporter has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DcgmFacts {
    /// GPUs on it.
    pub devices: usize,
    /// Of them, those with SM activity.
    pub with_sm: usize,
    /// Values that were not taken.
    pub rejects: u64,
}

impl Facts {
    /// Whether it has a capability, by its own right or as root with all of them.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|c| c == capability)
    }
}
