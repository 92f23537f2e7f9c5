//! One process of a scenario, or a run of processes of one kind.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A process and what it does on its GPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Which process of the machine it is.
    pub who: Who,
    /// GPUs it is on.
    #[serde(default = "first_gpu")]
    pub gpus: Vec<usize>,
    /// GPU instance it runs in, where its GPU is cut.
    #[serde(default)]
    pub gi: Option<u32>,
    /// Compute instance it runs in.
    #[serde(default)]
    pub ci: Option<u32>,
    /// When it allocates memory on the GPU.
    #[serde(default)]
    pub from_s: f64,
    /// When it leaves; absent: it stays.
    #[serde(default)]
    pub to_s: Option<f64>,
    /// How it is listed.
    #[serde(default)]
    pub kind: Kind,
    /// How busy it keeps the compute engine.
    #[serde(default)]
    pub sm: Duty,
    /// What it does to the other engines.
    #[serde(default)]
    pub engines: Engines,
    /// Memory it holds at first, in bytes.
    #[serde(default = "one_gib")]
    pub mem_bytes: u64,
    /// Later amounts of memory, in order of time.
    #[serde(default)]
    pub mem_steps: Vec<MemStep>,
    /// Whether the driver answers N/A (all ones) for its memory.
    #[serde(default)]
    pub mem_unknown: bool,
    /// Its pid in a namespace: the caller is then in that namespace too.
    #[serde(default)]
    pub namespace_pid: Option<u32>,
    /// Left out of the process lists: the caller's namespace does not have it.
    #[serde(default)]
    pub hidden: bool,
    /// Many like it, one after the other.
    #[serde(default)]
    pub repeat: Option<Repeat>,
}

impl Process {
    /// A process that stays on one GPU and keeps it busy for a constant share of the time.
    pub fn constant(pid: u32, gpu: usize, sm_percent: f64) -> Self {
        Self {
            who: Who::Pid(pid),
            gpus: vec![gpu],
            gi: None,
            ci: None,
            from_s: 0.0,
            to_s: None,
            kind: Kind::Compute,
            sm: Duty::Constant(sm_percent),
            engines: Engines::default(),
            mem_bytes: one_gib(),
            mem_steps: Vec::new(),
            mem_unknown: false,
            namespace_pid: None,
            hidden: false,
            repeat: None,
        }
    }
}

/// Which process of the machine a simulated one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// This pid, whether such a process exists or not.
    Pid(u32),
    /// The process whose pid this file holds. It is there from when the file is, and leaves when the kernel no longer
    /// has it; `from_s` and `to_s` bound it further.
    PidFile(PathBuf),
}

/// How a process is listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// In the compute list.
    #[default]
    Compute,
    /// In the graphics list.
    Graphics,
    /// In both, with the same total memory in each.
    Both,
    /// A client of an MPS server: in the compute and the MPS list.
    Mps,
}

/// How busy a process keeps an engine: percent of the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Duty {
    /// Always the same.
    Constant(f64),
    /// On and off in turn, on first.
    Square {
        /// Length of an on and an off together.
        period_s: f64,
        /// Part of the period that is on, 0 to 1.
        on: f64,
        /// Percent while on.
        percent: f64,
    },
    /// A new value every step, drawn evenly from the range; the same seed gives the same values.
    Noise {
        /// Smallest percent.
        low: f64,
        /// Largest percent.
        high: f64,
        /// How long a value holds.
        step_s: f64,
        /// Seed of the values.
        seed: u64,
    },
}

impl Default for Duty {
    fn default() -> Self {
        Self::Constant(0.0)
    }
}

/// What a process does besides: encoder and decoder in percent of its life, the rest in percent of its busy time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Engines {
    /// Encoder, percent of the time.
    pub encoder: f64,
    /// Decoder, percent of the time.
    pub decoder: f64,
    /// Percent of the busy time in which the frame buffer is read or written.
    pub memory: f64,
    /// SMs at work while busy, percent.
    pub sm_active: f64,
    /// Warps resident while busy, percent.
    pub occupancy: f64,
    /// Tensor pipe while busy, percent.
    pub tensor: f64,
    /// Memory bandwidth used while busy, percent.
    pub dram: f64,
}

impl Default for Engines {
    fn default() -> Self {
        Self { encoder: 0.0, decoder: 0.0, memory: 50.0, sm_active: 90.0, occupancy: 40.0, tensor: 30.0, dram: 50.0 }
    }
}

/// An amount of memory from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemStep {
    /// When it begins.
    pub at_s: f64,
    /// Bytes held.
    pub bytes: u64,
}

/// Many processes like one: the n-th starts n intervals later, with the n-th next pid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How many in all.
    pub count: u32,
    /// Time between two starts.
    pub every_s: f64,
    /// What is added to the pid each time; 0 reuses it.
    pub pid_step: u32,
}

impl Process {
    pub(super) fn check(&self, gpus: usize) -> Result<(), String> {
        if let Some(gpu) = self.gpus.iter().find(|gpu| **gpu >= gpus) {
            return Err(format!("it is on GPU {gpu}, there are {gpus}"));
        }
        match self.sm {
            Duty::Square { period_s, on, .. } if period_s < 0.01 || !(0.0..=1.0).contains(&on) => {
                Err(format!("a period of {period_s} s is below 0.01, or a part on of {on} not in 0..1"))
            }
            Duty::Noise { low, high, step_s, .. } if step_s < 0.01 || low > high => {
                Err(format!("a step of {step_s} s is below 0.01, or the range {low}..{high} is empty"))
            }
            _ => Ok(()),
        }
    }
}

fn first_gpu() -> Vec<usize> {
    vec![0]
}

fn one_gib() -> u64 {
    1 << 30
}
