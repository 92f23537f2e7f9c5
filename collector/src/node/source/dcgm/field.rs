//! The fields of DCGM that are read, each with its names, its unit and the values it can have.
//!
//! The unit belongs to the field, never to the name: a ratio field that carries 37 is wrong, not 37 percent.

use crate::import::decimal::{Decimal, Rounding};

/// Bytes of a MiB, in which DCGM counts memory.
const MIB: i64 = 1 << 20;
/// Parts per million of a whole.
const WHOLE_PPM: i64 = 1_000_000;
/// What a ratio may read above a whole: two counters are not read at the same instant.
const OVER_PPM: i64 = 5_000;
/// Greatest memory of a card that is believed, in MiB (16 TiB).
const MEMORY_MAX_MIB: i64 = 1 << 24;
/// Greatest power of a card that is believed, in mW.
const POWER_MAX_MW: i64 = 10_000_000;
/// Greatest energy counter that is believed, in mJ: a kilowatt for thirty years.
const ENERGY_MAX_MJ: i64 = 1_000_000_000_000_000;
/// Temperatures that are believed, in degrees Celsius.
const TEMPERATURES_C: std::ops::RangeInclusive<i64> = -50..=200;
/// Greatest Xid that is believed.
const XID_MAX: i64 = 9_999;

/// A field that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Part of the time in which the graphics or compute engine was active (1001).
    GrEngine,
    /// Part of the time in which a multiprocessor had a warp, mean over all (1002).
    Sm,
    /// Resident warps of those that fit (1003).
    SmOccupancy,
    /// Part of the cycles in which a tensor pipe was active (1004).
    Tensor,
    /// Part of the cycles in which device memory moved data (1005).
    Dram,
    /// Part of the time in which any kernel ran (203).
    GpuUtil,
    /// Part of the time in which memory was read or written (204).
    MemUtil,
    /// Memory in use (252).
    MemUsed,
    /// Memory free (251).
    MemFree,
    /// Memory reserved by the driver (253).
    MemReserved,
    /// Power now (155).
    Power,
    /// Energy since the driver was loaded (156).
    Energy,
    /// Temperature of the chip (150).
    Temperature,
    /// Last Xid, 0 where there was none (230).
    Xid,
}

/// How the number on the page becomes ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// 0..1 to parts per million.
    Ratio,
    /// 0..100 to parts per million.
    Percent,
    /// Percent or ratio, which the exporter's version decides: settled by what it has been seen to write.
    PercentOrRatio,
    /// MiB to bytes.
    Mib,
    /// W to mW.
    Watt,
    /// mJ, as it is.
    Millijoule,
    /// J to mJ.
    Joule,
    /// Degrees, as they are.
    Celsius,
    /// A code, as it is.
    Code,
}

/// Every name under which a field is exported. Names changed with DCGM 4.6; the old ones live on in exporters' files.
const NAMES: &[(&str, Field, Unit)] = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", Field::GrEngine, Unit::Ratio),
    ("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", Field::GrEngine, Unit::Ratio),
    ("DCGM_FI_PROF_SM_ACTIVE", Field::Sm, Unit::Ratio),
    ("DCGM_FI_PROF_SM_UTIL_RATIO", Field::Sm, Unit::Ratio),
    ("DCGM_FI_PROF_SM_OCCUPANCY", Field::SmOccupancy, Unit::Ratio),
    ("DCGM_FI_PROF_SM_OCCUPANCY_RATIO", Field::SmOccupancy, Unit::Ratio),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Field::Tensor, Unit::Ratio),
    ("DCGM_FI_PROF_TENSOR_UTIL_RATIO", Field::Tensor, Unit::Ratio),
    ("DCGM_FI_PROF_DRAM_ACTIVE", Field::Dram, Unit::Ratio),
    ("DCGM_FI_PROF_DRAM_UTIL_RATIO", Field::Dram, Unit::Ratio),
    ("DCGM_FI_DEV_GPU_UTIL", Field::GpuUtil, Unit::Percent),
    ("DCGM_FI_DEV_GPU_UTIL_RATIO", Field::GpuUtil, Unit::PercentOrRatio),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", Field::MemUtil, Unit::Percent),
    ("DCGM_FI_DEV_MEM_COPY_UTIL_RATIO", Field::MemUtil, Unit::PercentOrRatio),
    ("DCGM_FI_DEV_FB_USED", Field::MemUsed, Unit::Mib),
    ("DCGM_FI_DEV_FB_FREE", Field::MemFree, Unit::Mib),
    ("DCGM_FI_DEV_FB_RESERVED", Field::MemReserved, Unit::Mib),
    ("DCGM_FI_DEV_POWER_USAGE", Field::Power, Unit::Watt),
    ("DCGM_FI_DEV_BOARD_POWER_WATTS", Field::Power, Unit::Watt),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Field::Energy, Unit::Millijoule),
    ("DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", Field::Energy, Unit::Joule),
    ("DCGM_FI_DEV_GPU_TEMP", Field::Temperature, Unit::Celsius),
    ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", Field::Temperature, Unit::Celsius),
    ("DCGM_FI_DEV_XID_ERRORS", Field::Xid, Unit::Code),
    ("DCGM_FI_DEV_XID_ERROR", Field::Xid, Unit::Code),
];

/// Why a value was not taken. Counted by this word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reject {
    /// One of DCGM's own marks for "no value".
    Blank,
    /// DCGM's mark for "not supported" or "not found".
    NotSupported,
    /// DCGM's mark for "not permitted".
    NotPermitted,
    /// Not a number: `NaN`, `+Inf`, words.
    NotANumber,
    /// A number that the field cannot have.
    OutOfRange,
    /// Percent or ratio: the exporter has not yet shown which.
    UnitUnknown,
    /// Several series of one device and field that say different things.
    Contradictory,
    /// A series that names no device.
    NoDevice,
    /// A line that is no sample.
    BadLine,
}

impl Reject {
    /// The word under which it is counted.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::NotSupported => "not_supported",
            Self::NotPermitted => "not_permitted",
            Self::NotANumber => "not_a_number",
            Self::OutOfRange => "out_of_range",
            Self::UnitUnknown => "unit_unknown",
            Self::Contradictory => "contradictory",
            Self::NoDevice => "no_device",
            Self::BadLine => "bad_line",
        }
    }
}

/// Which of the two units a renamed field has been seen to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Whole percents.
    Percent,
    /// Parts of one.
    Ratio,
}

impl Field {
    /// The field and unit of an exported name; none where the name is not read.
    pub(super) fn of(name: &str) -> Option<(Self, Unit)> {
        NAMES.iter().find(|(known, ..)| *known == name).map(|(_, field, unit)| (*field, *unit))
    }

    /// Whether DCGM measures it for a MIG instance. The others are the card's, under whatever labels they come.
    ///
    /// Memory is not among them: exporters repeat the card's under instance labels, and NVML gives the instance's.
    pub(super) const fn of_instance(self) -> bool {
        matches!(self, Self::GrEngine | Self::Sm | Self::SmOccupancy | Self::Tensor | Self::Dram)
    }

    /// Whether it is the memory of a card.
    pub(super) const fn is_memory(self) -> bool {
        matches!(self, Self::MemUsed | Self::MemFree | Self::MemReserved)
    }

    /// Whether its value moves on a card that is being read, even an idle one: it shows whether the page is alive.
    pub(super) const fn moves(self) -> bool {
        matches!(self, Self::Energy | Self::Power)
    }
}

/// What a value of a renamed field shows about its unit: above 1 only percent can be, between 0 and 1 only a ratio.
pub(super) fn scale_shown(value: &str) -> Option<Scale> {
    let ppm = Decimal::parse(value)?.scaled(WHOLE_PPM, 1, Rounding::Nearest)?;
    match ppm {
        1..WHOLE_PPM => Some(Scale::Ratio),
        p if p > WHOLE_PPM && p <= 100 * WHOLE_PPM => Some(Scale::Percent),
        _ => None,
    }
}

/// Reads a value in the unit of its field.
pub(super) fn read(unit: Unit, value: &str, scale: Option<Scale>) -> Result<i64, Reject> {
    if let Some(mark) = mark(value) {
        return Err(mark);
    }
    let number = Decimal::parse(value).ok_or(Reject::NotANumber)?;
    let times = |factor: i64, over: i64| number.scaled(factor, over, Rounding::Nearest).ok_or(Reject::OutOfRange);
    let within = |read: i64, low: i64, high: i64| match (low..=high).contains(&read) {
        true => Ok(read),
        false => Err(Reject::OutOfRange),
    };
    let part = |read: i64| within(read, 0, WHOLE_PPM + OVER_PPM).map(|ppm| ppm.min(WHOLE_PPM));
    match (unit, scale) {
        (Unit::Ratio, _) | (Unit::PercentOrRatio, Some(Scale::Ratio)) => part(times(WHOLE_PPM, 1)?),
        (Unit::Percent, _) | (Unit::PercentOrRatio, Some(Scale::Percent)) => part(times(WHOLE_PPM, 100)?),
        (Unit::PercentOrRatio, None) if times(1, 1)? == 0 => Ok(0),
        (Unit::PercentOrRatio, None) => Err(Reject::UnitUnknown),
        (Unit::Mib, _) => within(times(1, 1)?, 0, MEMORY_MAX_MIB).map(|mib| mib * MIB),
        (Unit::Watt, _) => within(times(1_000, 1)?, 0, POWER_MAX_MW),
        (Unit::Millijoule, _) => within(times(1, 1)?, 0, ENERGY_MAX_MJ),
        (Unit::Joule, _) => within(times(1_000, 1)?, 0, ENERGY_MAX_MJ),
        (Unit::Celsius, _) => within(times(1, 1)?, *TEMPERATURES_C.start(), *TEMPERATURES_C.end()),
        (Unit::Code, _) => within(times(1, 1)?, 0, XID_MAX),
    }
}

/// DCGM's marks for "no value": the last 16 numbers of a 64-bit integer, and 2^47 and what follows it as a float.
fn mark(value: &str) -> Option<Reject> {
    const INTEGER: i64 = i64::MAX - 15;
    const FLOAT: i64 = 1 << 47;
    let number = Decimal::parse(value)?.scaled(1, 1, Rounding::Down)?;
    let nth = if number >= INTEGER { number - INTEGER } else { number.checked_sub(FLOAT)? };
    match nth {
        0 => Some(Reject::Blank),
        1 | 2 => Some(Reject::NotSupported),
        3 => Some(Reject::NotPermitted),
        _ => None,
    }
}
