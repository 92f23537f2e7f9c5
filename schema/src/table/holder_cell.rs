//! `holder_cell`: what a holder was seen to do on a device in a cell, the evidence behind findings.

use arrow_schema::DataType;

use super::{Column, Table};
use crate::unit::Unit;

const fn col(name: &'static str, data_type: DataType, nullable: bool, unit: Unit, meaning: &'static str) -> Column {
    Column { name, data_type, nullable, unit, meaning }
}

fn sum(name: &'static str, meaning: &'static str) -> Column {
    let unit = if name.ends_with("_ms") { Unit::Ms } else { Unit::Count };
    col(name, DataType::Int64, false, unit, meaning)
}

fn seen(name: &'static str, unit: Unit, meaning: &'static str) -> Column {
    col(name, DataType::Int64, true, unit, meaning)
}

/// Evidence of a holder on a device in a cell, as sums of what its ticks say: each sum stands beside the time for which
/// its part was known. Times here are of the card, whatever share of it was held; `usage` has them by share.
pub const HOLDER_CELL: Table = Table {
    name: "holder_cell",
    grain: "device x cell x holder",
    key: &["device_id", "cell", "holder"],
    by_day: true,
    columns: || {
        vec![
            col("day", DataType::Int32, false, Unit::Day, "UTC day (partition)"),
            col("device_id", DataType::Int64, false, Unit::Id, "physical GPU"),
            col("cell", DataType::Int64, false, Unit::Cell, "15-minute cell"),
            col("holder", DataType::Int64, false, Unit::Id, "allocation, session or foreign use"),
            col("from_ms", DataType::Int64, false, Unit::Instant, "first instant of the holding in the cell"),
            col("to_ms", DataType::Int64, false, Unit::Instant, "end of the last"),
            sum("units", "greatest share granted in the cell, in share units"),
            sum("held_ms", "time in which any share was held"),
            sum("covered_ms", "part of it that was measured for this holder"),
            sum(
                "rest_ms",
                "part of that at rest: nothing ran, or no poll over 1 %, and no DRAM or tensor activity over 1 %",
            ),
            sum("busy_ms", "time its kernels ran, as its process rows say"),
            seen("first_seen_ms", Unit::Instant, "end of its first measured tick: when it was first looked at"),
            seen("last_seen_ms", Unit::Instant, "end of its last measured tick"),
            seen("first_active_ms", Unit::Instant, "start of the first tick that was not at rest"),
            seen("last_active_ms", Unit::Instant, "end of the last tick that was not at rest"),
            sum("sm_work", "SM activity, ppm x ms"),
            sum("sm_known_ms", "time for which it was known"),
            sum("dram_work", "DRAM activity, ppm x ms"),
            sum("dram_known_ms", "time for which it was known"),
            sum("tensor_work", "tensor activity, ppm x ms"),
            sum("tensor_known_ms", "time for which it was known"),
            sum("util_work", "utilization of the whole device, ppm x ms"),
            sum("util_known_ms", "time for which it was known"),
            seen("peak_ppm", Unit::Ppm, "highest poll of one of its processes"),
            seen("mem_peak_bytes", Unit::Bytes, "highest GPU memory in a tick"),
            sum("power_work", "power of the device, mW x ms"),
            sum("power_known_ms", "time for which it was known"),
            seen("power_limit_mw", Unit::Milliwatts, "highest enforced power limit"),
            sum(
                "hung_ms",
                "time of ticks that look hung: SM >= 95 %, DRAM and tensor <= 1 %, power under 40 % of the limit",
            ),
            seen("cpu_ms", Unit::Ms, "CPU time of its processes"),
            seen("io_wait_ms", Unit::Ms, "time they waited for storage"),
            seen("read_bytes", Unit::Bytes, "bytes they read from storage"),
            sum("processes", "most processes in a tick"),
        ]
    },
};
