//! What one look at a card gave: plain values, with a reason for every one that is absent.

use gpuledger_native::Error;
use gpuledger_native::accounting::Account;
use gpuledger_native::device::RemappedRows;
use gpuledger_native::error::Code;

use crate::node::seen::{Absent, Measure, Moment};

/// A card looked at between two ticks: who uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardPoll {
    /// When.
    pub at: Moment,
    /// Start, by the boot clock, of the time that this poll's utilization speaks of; it ends at `at`. A first poll, or
    /// one after a loss, speaks of no time: both are equal.
    pub from_boot_ms: i64,
    /// Length of the time over which the driver averaged: from the sample that was seen last, which may lie before
    /// `from_boot_ms` when nobody used the card, to now.
    pub average_ms: i64,
    /// Who used it. Nobody is an empty list.
    pub uses: Measure<Vec<Use>>,
    /// Rows of utilization that were impossible.
    pub rejects: Rejects,
    /// Who has a context on it: one list for the card, or one for each MIG instance.
    pub places: Vec<Place>,
    /// Utilization of the card over the same time.
    pub rates: Measure<RatesPpm>,
}

/// A process's use of a card's engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// Process id as the driver gives it.
    pub pid: u32,
    /// When it was last seen using the card, in microseconds by the wall clock.
    pub at_us: u64,
    /// Percent of the samples in which it had work, 0 to 100.
    pub percent: u32,
}

/// Processes of a card, or of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// UUID of the MIG instance, where it is one.
    pub instance: Option<String>,
    /// Its processes, each once.
    pub processes: Measure<Vec<Present>>,
}

/// A process that has a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Process id as the driver gives it.
    pub pid: u32,
    /// Memory it holds.
    pub memory_bytes: Measure<i64>,
}

/// Utilization of a whole device, in parts per million.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatesPpm {
    /// Part of the time in which any kernel ran.
    pub gpu_ppm: Measure<i64>,
    /// Part of the time in which memory was read or written.
    pub memory_ppm: Measure<i64>,
}

/// Rows that were rejected, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rejects {
    /// Process id 0.
    pub pid_zero: u64,
    /// More than 100 percent.
    pub above_100: u64,
    /// Not newer than what was seen before, or older than anything that the driver keeps.
    pub stale: u64,
    /// From the future.
    pub future: u64,
    /// A second row of the same process; the newer one was kept.
    pub duplicate: u64,
}

impl Rejects {
    /// All of them.
    pub const fn total(self) -> u64 {
        self.pid_zero + self.above_100 + self.stale + self.future + self.duplicate
    }

    /// Each reason with its count.
    pub const fn by_reason(self) -> [(&'static str, u64); 5] {
        [
            ("pid_zero", self.pid_zero),
            ("above_100", self.above_100),
            ("stale", self.stale),
            ("future", self.future),
            ("duplicate", self.duplicate),
        ]
    }

    /// Adds those of another poll.
    pub const fn add(&mut self, other: Self) {
        self.pid_zero += other.pid_zero;
        self.above_100 += other.above_100;
        self.stale += other.stale;
        self.future += other.future;
        self.duplicate += other.duplicate;
    }
}

/// A card looked at at the end of a tick: what it is and how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardMinute {
    /// When.
    pub at: Moment,
    /// What it is.
    pub facts: CardFacts,
    /// Memory.
    pub memory: Measure<MemoryNow>,
    /// Power drawn.
    pub power_mw: Measure<i64>,
    /// Power limit that the driver keeps to.
    pub power_limit_mw: Measure<i64>,
    /// Energy used since the look before.
    pub energy_mj: Measure<i64>,
    /// Temperature.
    pub temperature_c: Measure<i64>,
    /// Why clocks are limited, as words; `none` where nothing limits them.
    pub limit_reasons: Measure<String>,
    /// Uncorrected ECC errors since the look before.
    pub ecc_uncorrected: Measure<i64>,
    /// Last Xid error since the look before; there may have been none.
    pub xid: Measure<Option<i64>>,
    /// Rows of memory that were replaced.
    pub remapped: Measure<RemappedRows>,
    /// Activity of the whole card since the look before.
    pub activity: Measure<Activity>,
    /// What the driver summed up for processes.
    pub accounts: Measure<Vec<Account>>,
    /// Its MIG instances.
    pub instances: Vec<InstanceMinute>,
}

/// An instance looked at at the end of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceMinute {
    /// What it is.
    pub facts: InstanceFacts,
    /// Memory.
    pub memory: Measure<MemoryNow>,
    /// Activity of its GPU instance since the look before, where it is alone in it.
    pub activity: Measure<Activity>,
}

/// What a card is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFacts {
    /// The driver's UUID.
    pub uuid: String,
    /// Model.
    pub model: Option<String>,
    /// All of its memory.
    pub memory_bytes: Option<i64>,
    /// CUDA compute capability, e.g. `9.0`.
    pub compute_capability: Option<String>,
    /// Driver version.
    pub driver: Option<String>,
    /// N of `/dev/nvidiaN`.
    pub minor: Option<i64>,
    /// PCI bus id.
    pub pci: Option<String>,
    /// Whether it is cut into instances.
    pub mig: bool,
    /// How many slices it can be cut into, where it is cut.
    pub card_slices: Option<i64>,
}

/// What a MIG instance is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceFacts {
    /// The driver's UUID, `MIG-...`.
    pub uuid: String,
    /// GPU instance; its number is given again after a reconfiguration.
    pub gpu_instance: u32,
    /// Profile, e.g. `3g.40gb`.
    pub profile: Option<String>,
    /// Compute slices.
    pub slices: Option<i64>,
    /// Memory.
    pub memory_bytes: Option<i64>,
    /// Whether no other instance shares its GPU instance, of which activity is measured.
    pub whole_gpu_instance: bool,
}

/// Memory of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryNow {
    /// In use.
    pub used_bytes: i64,
    /// Reserved by the driver.
    pub reserved_bytes: Measure<i64>,
    /// All of it.
    pub total_bytes: i64,
}

/// Mean activity over a tick, each part measured or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// Part of the time in which any kernel ran.
    pub gpu_ppm: Measure<i64>,
    /// Streaming multiprocessors.
    pub sm_ppm: Measure<i64>,
    /// DRAM bandwidth.
    pub dram_ppm: Measure<i64>,
    /// Tensor cores.
    pub tensor_ppm: Measure<i64>,
    /// Where it comes from: `gpm` or `dcgm`.
    pub source: &'static str,
}

/// Why there is no value, from what the library said.
pub fn absent(error: &Error) -> Absent {
    if error.is_unsupported() {
        Absent::NotSupported
    } else if error.is_gone() {
        Absent::Lost
    } else if error.code() == Some(Code::NO_PERMISSION) {
        Absent::NotPermitted
    } else {
        Absent::Failed(error.to_string())
    }
}
