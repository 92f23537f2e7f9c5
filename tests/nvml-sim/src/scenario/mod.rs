//! What the simulated machine is and does: the scenario file.
//!
//! Times are seconds of the scenario (`_s`, its clock starts at 0), shares are percent. Unknown keys are errors, so
//! that a misspelt fault does not pass as a healthy GPU.

mod fault;
mod gpu;
mod process;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use fault::{Event, EventKind, Fault, Row, What};
pub use gpu::{Gpu, Health, Instance, Limit, MigLayout, Model};
pub use process::{Duty, Engines, Kind, MemStep, Process, Repeat, Who};

/// A whole simulated machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What a right collector makes of it, in words.
    #[serde(default)]
    pub about: String,
    /// Where time comes from.
    #[serde(default)]
    pub clock: ClockConfig,
    /// The driver's version and its habits.
    #[serde(default)]
    pub driver: Driver,
    /// The GPUs, in NVML's order.
    #[serde(default, rename = "gpu")]
    pub gpus: Vec<Gpu>,
    /// The processes on them.
    #[serde(default, rename = "process")]
    pub processes: Vec<Process>,
    /// What event sets deliver.
    #[serde(default, rename = "event")]
    pub events: Vec<Event>,
    /// What goes wrong, and when.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
}

/// Where time comes from. The environment's `NVML_SIM_CLOCK` (a time file) goes before all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClockConfig {
    /// Whether time runs by itself or is told.
    pub mode: ClockMode,
    /// How many seconds of the scenario go by in a second of the machine, when live.
    pub scale: f64,
    /// `CLOCK_BOOTTIME` at which the scenario began, in microseconds: for several programs on one live scenario.
    /// Absent: when this program loaded it.
    pub origin_boot_us: Option<i64>,
    /// Wall clock at the scenario's start when time is told; microseconds since the epoch.
    pub start_wall_us: i64,
}

impl Default for ClockConfig {
    fn default() -> Self {
        // 2026-03-02T00:00:00Z: a Monday, so that days in tests are easy to name.
        Self { mode: ClockMode::Live, scale: 1.0, origin_boot_us: None, start_wall_us: 1_772_409_600_000_000 }
    }
}

/// Whether time runs by itself or is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockMode {
    /// The machine's clocks.
    Live,
    /// Only `nvml_sim_set_time_us` and `nvml_sim_advance_us` move it.
    Virtual,
}

/// The driver's version and its habits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Driver {
    /// Version, which decides the symbols and struct sizes there are.
    pub version: String,
    /// CUDA version in NVML's form (12080 is 12.8).
    pub cuda: i32,
    /// Whether the caller has the rights of root: accounting mode, clearing of pids, streaming.
    pub privileged: bool,
    /// Bytes of a row of the `_v3` process lists (24 or 32). Absent: as the version had it.
    pub process_row_bytes: Option<usize>,
    /// How the utilization call answers a count probe where nothing ran.
    pub idle_probe: IdleProbe,
    /// Symbols that this driver lacks, besides those its version lacks.
    pub missing: Vec<String>,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            version: "570.124.06".to_owned(),
            cuda: 12_080,
            privileged: true,
            process_row_bytes: None,
            idle_probe: IdleProbe::Capacity,
            missing: Vec::new(),
        }
    }
}

/// How the utilization call answers a count probe where nothing ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleProbe {
    /// 100 and INSUFFICIENT_SIZE: a capacity.
    Capacity,
    /// 0 and SUCCESS.
    Zero,
}

/// Why a scenario cannot be used.
#[derive(Debug)]
pub struct BadScenario(String);

impl fmt::Display for BadScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadScenario {}

impl Scenario {
    /// Reads a scenario file. Pid files that it names without a root are beside it.
    pub fn read(path: &Path) -> Result<Self, BadScenario> {
        let text = std::fs::read_to_string(path).map_err(|e| BadScenario(format!("{}: {e}", path.display())))?;
        let mut scenario = Self::parse(&text).map_err(|e| BadScenario(format!("{}: {e}", path.display())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for process in &mut scenario.processes {
            if let Who::PidFile(file) = &mut process.who {
                *file = folder.join(&*file);
            }
        }
        Ok(scenario)
    }

    /// Reads a scenario from its text and checks that its parts name each other rightly.
    pub fn parse(text: &str) -> Result<Self, BadScenario> {
        let scenario: Self = toml::from_str(text).map_err(|e| BadScenario(e.to_string()))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// The scenario as the text of a file.
    pub fn to_toml(&self) -> Result<String, BadScenario> {
        toml::to_string(self).map_err(|e| BadScenario(e.to_string()))
    }

    fn check(&self) -> Result<(), BadScenario> {
        let bad = |what: String| Err(BadScenario(what));
        if !(self.clock.scale > 0.0 && self.clock.scale <= 100_000.0) {
            return bad(format!("clock.scale {} is not in 0..100000", self.clock.scale));
        }
        if self.gpus.len() > 64 {
            return bad(format!("{} GPUs; the simulation has room for 64", self.gpus.len()));
        }
        for (at, process) in self.processes.iter().enumerate() {
            process.check(self.gpus.len()).map_err(|why| BadScenario(format!("process {at}: {why}")))?;
        }
        for (at, gpu) in self.gpus.iter().enumerate() {
            gpu.check().map_err(|why| BadScenario(format!("gpu {at}: {why}")))?;
        }
        let named = self.events.iter().map(|e| Some(e.gpu)).chain(self.faults.iter().map(|f| f.gpu));
        match named.flatten().find(|gpu| *gpu >= self.gpus.len()) {
            Some(gpu) => bad(format!("an event or a fault names GPU {gpu}, there are {}", self.gpus.len())),
            None => Ok(()),
        }
    }
}

/// Seconds of a scenario file as microseconds.
pub(crate) fn us(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}
