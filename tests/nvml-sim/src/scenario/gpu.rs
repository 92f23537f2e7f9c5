//! One GPU of a scenario.

use serde::{Deserialize, Serialize};

/// One GPU. What is absent comes from its model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gpu {
    /// Product it is.
    pub model: Model,
    /// `GPU-` and a UUID; absent: made from its index.
    pub uuid: Option<String>,
    /// Product name.
    pub name: Option<String>,
    /// Frame buffer in bytes, reserved memory included.
    pub memory_bytes: Option<u64>,
    /// Memory that the driver keeps for itself, in bytes.
    pub reserved_bytes: Option<u64>,
    /// Memory of nobody visible (contexts of hidden processes), in bytes.
    pub hidden_bytes: u64,
    /// N of `/dev/nvidiaN`; absent: its index.
    pub minor: Option<u32>,
    /// PCI address such as `00000000:3B:00.0`; absent: made from its index.
    pub pci: Option<String>,
    /// Board serial; absent: NOT_SUPPORTED, as on many boards.
    pub serial: Option<String>,
    /// Power when nothing runs, in watts.
    pub idle_watts: Option<f64>,
    /// Power when fully busy, in watts: also the limit.
    pub max_watts: Option<f64>,
    /// When accounting mode was switched on; absent: it is off.
    pub accounting_from_s: Option<f64>,
    /// Calls that this GPU answers with NOT_SUPPORTED.
    pub not_supported: Vec<String>,
    /// MIG layouts, each from its time on. None: MIG was never on.
    pub mig: Vec<MigLayout>,
    /// Health readings, each from its time on.
    pub health: Vec<Health>,
}

/// A product.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Volta: no MIG, no GPM.
    V100,
    /// Ampere with MIG, but without GPM.
    A100,
    /// Ada: no MIG, no GPM.
    L4,
    /// Hopper: MIG and GPM.
    #[default]
    H100,
    /// Hopper with more memory.
    H200,
    /// Blackwell.
    B200,
}

/// What follows from the product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) name: &'static str,
    pub(crate) architecture: u32,
    pub(crate) compute: (i32, i32),
    pub(crate) memory_mib: u64,
    pub(crate) multiprocessors: u32,
    pub(crate) watts: (f64, f64),
    pub(crate) mig: bool,
    pub(crate) gpm: bool,
}

impl Model {
    pub(crate) fn product(self) -> Product {
        let (name, architecture, compute, memory_mib, multiprocessors, watts, mig, gpm) = match self {
            Self::V100 => ("Tesla V100-SXM2-32GB", 5, (7, 0), 32_768, 80, (40.0, 300.0), false, false),
            Self::A100 => ("NVIDIA A100-SXM4-80GB", 7, (8, 0), 81_920, 108, (60.0, 400.0), true, false),
            Self::L4 => ("NVIDIA L4", 8, (8, 9), 23_034, 58, (15.0, 72.0), false, false),
            Self::H100 => ("NVIDIA H100 80GB HBM3", 9, (9, 0), 81_559, 132, (70.0, 700.0), true, true),
            Self::H200 => ("NVIDIA H200", 9, (9, 0), 143_771, 132, (75.0, 700.0), true, true),
            Self::B200 => ("NVIDIA B200", 10, (10, 0), 183_359, 148, (140.0, 1000.0), true, true),
        };
        Product { name, architecture, compute, memory_mib, multiprocessors, watts, mig, gpm }
    }
}

/// How a GPU is cut, from a time on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MigLayout {
    /// When this layout begins.
    pub at_s: f64,
    /// Whether MIG mode is on.
    pub enabled: bool,
    /// The instances. Indices left out are gaps.
    pub instances: Vec<Instance>,
}

/// A GPU instance with its compute instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Index of the MIG device in the enumeration.
    pub index: u32,
    /// Id of the GPU instance.
    pub gi: u32,
    /// Id of the compute instance; absent: the GPU instance has none, and there is no MIG device.
    pub ci: Option<u32>,
    /// `MIG-` and a UUID; absent: made from GPU, GPU instance and layout.
    pub uuid: Option<String>,
    /// Profile such as `3g.40gb`.
    pub profile: String,
    /// Slices (of seven) of the GPU instance.
    pub slices: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
}

/// Health readings from a time on. What is absent stays as it was before (at first: healthy).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Health {
    /// When these readings begin.
    pub at_s: f64,
    /// GPU temperature in degrees Celsius.
    pub temperature_c: Option<i32>,
    /// Memory temperature in degrees Celsius.
    pub memory_temperature_c: Option<u32>,
    /// Multiprocessor clock in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Memory clock in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Why clocks are limited.
    pub limits: Option<Vec<Limit>>,
    /// Whether ECC is on.
    pub ecc: Option<bool>,
    /// Corrected errors since boot.
    pub ecc_corrected: Option<u64>,
    /// Uncorrected errors since boot.
    pub ecc_uncorrected: Option<u64>,
    /// Rows remapped after corrected errors.
    pub remapped_corrected: Option<u32>,
    /// Rows remapped after uncorrected errors.
    pub remapped_uncorrected: Option<u32>,
    /// Whether a remapping waits for a reset.
    pub remapped_pending: Option<bool>,
    /// Whether a remapping failed.
    pub remapped_failed: Option<bool>,
}

/// A reason for which clocks are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Nothing runs.
    Idle,
    /// Clocks set by an application.
    AppClocks,
    /// The power limit.
    PowerCap,
    /// The board slows down, for heat or for power.
    Hardware,
    /// Kept equal to another GPU.
    SyncBoost,
    /// The driver slows down for heat.
    SoftwareThermal,
    /// The board slows down for heat.
    HardwareThermal,
    /// The power supply asked for it.
    PowerBrake,
    /// Clocks set for a display.
    Display,
}

impl Limit {
    pub(crate) fn bit(self) -> u64 {
        1 << (self as u64)
    }
}

impl Gpu {
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.mig.is_empty() && !self.model.product().mig {
            return Err(format!("{} has no MIG", self.model.product().name));
        }
        for layout in &self.mig {
            for instance in &layout.instances {
                if instance.index > 6 {
                    return Err(format!("MIG device index {} is above 6", instance.index));
                }
            }
        }
        Ok(())
    }
}
