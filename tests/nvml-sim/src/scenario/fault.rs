//! What goes wrong, and what event sets deliver.

use serde::{Deserialize, Serialize};

/// Something that is wrong for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// GPU it is about; absent: all of them, and calls that name none.
    #[serde(default)]
    pub gpu: Option<usize>,
    /// When it begins.
    #[serde(default)]
    pub from_s: f64,
    /// When it ends; absent: never.
    #[serde(default)]
    pub to_s: Option<f64>,
    /// How many calls it meets before it is used up; absent: all.
    #[serde(default)]
    pub times: Option<u32>,
    /// What is wrong.
    pub what: What,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// The GPU fell off the bus: every call on it answers GPU_IS_LOST.
    Lost,
    /// A call answers with a code.
    Code {
        /// Symbol; absent: every one.
        #[serde(default)]
        call: Option<String>,
        /// NVML's return code.
        code: u32,
    },
    /// A call does not come back for some time of the scenario, then does what it should.
    Hang {
        /// Symbol; absent: every one.
        #[serde(default)]
        call: Option<String>,
        /// How long; absent: for ever.
        #[serde(default)]
        seconds: Option<f64>,
        /// Whether every other call waits too, as on a lock inside the driver.
        #[serde(default)]
        everyone: bool,
    },
    /// Rows that the utilization call adds to the true ones.
    Rows {
        /// The rows.
        rows: Vec<Row>,
        /// Each this many times.
        #[serde(default = "one")]
        copies: u32,
        /// Leave the true rows out.
        #[serde(default)]
        instead: bool,
    },
    /// A count probe that is wrong by the time of the fill: processes came or went in between.
    Probe {
        /// Symbol whose probe it is.
        call: String,
        /// The count it answers.
        count: u32,
    },
    /// A GPM metric with another value, with NaN, or with a code of its own.
    Gpm {
        /// Metric id.
        metric: u32,
        /// Value in place of the true one; absent: NaN.
        #[serde(default)]
        value: Option<f64>,
        /// Return code of the metric.
        #[serde(default)]
        code: u32,
    },
    /// Accounting answers all ones for utilization, memory utilization and highest memory.
    AccountingUnknown,
    /// The list of accounted pids ends with zeros: entries went between count and fill.
    AccountingZeros {
        /// How many.
        count: u32,
    },
    /// The wall clock steps, and with it the stamps of later rows.
    ClockStep {
        /// Forward, or back where negative.
        by_s: f64,
    },
    /// The energy counter starts again from zero, at `from_s`.
    EnergyReset,
    /// The driver is unloaded at `from_s` and back at `to_s`: until then every call, also init, answers
    /// DRIVER_NOT_LOADED; then UNINITIALIZED until the library is initialised again. Handles, accounting mode and
    /// counters start anew.
    Reload,
    /// Waiting on an event set answers with a code at once.
    WaitFails {
        /// NVML's return code.
        code: u32,
    },
}

/// A row of the utilization call that is not true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Process id it gives.
    pub pid: u32,
    /// SM utilization it gives, percent.
    pub sm: u32,
    /// Memory utilization it gives, percent.
    #[serde(default)]
    pub mem: u32,
    /// Age of its stamp at the call, in seconds; negative: in the future.
    #[serde(default)]
    pub age_s: f64,
}

/// What event sets deliver at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When.
    pub at_s: f64,
    /// From which GPU.
    pub gpu: usize,
    /// What kind.
    pub kind: EventKind,
    /// Its data: the Xid.
    #[serde(default)]
    pub data: u64,
    /// GPU instance, where the GPU is cut.
    #[serde(default)]
    pub gi: Option<u32>,
    /// Compute instance.
    #[serde(default)]
    pub ci: Option<u32>,
    /// How many in a row.
    #[serde(default = "one")]
    pub count: u32,
}

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A corrected ECC error.
    SingleBit,
    /// An uncorrected ECC error.
    DoubleBit,
    /// A critical Xid.
    Xid,
    /// The MIG layout changed.
    MigConfig,
    /// The GPU became unavailable.
    Unavailable,
    /// The recovery action changed.
    Recovery,
}

impl EventKind {
    pub(crate) fn bit(self) -> u64 {
        match self {
            Self::SingleBit => 0x1,
            Self::DoubleBit => 0x2,
            Self::Xid => 0x8,
            Self::MigConfig => 0x100,
            Self::Unavailable => 0x4000,
            Self::Recovery => 0x8000,
        }
    }
}

fn one() -> u32 {
    1
}
