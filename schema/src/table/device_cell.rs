//! `device_cell`: what the minutes of a physical GPU say in one cell, added up.

use arrow_schema::DataType;

use super::{Column, Table};
use crate::unit::Unit;

/// Minutes of a physical GPU, added up per cell: means stay sums with the time for which they are known.
pub const DEVICE_CELL: Table = Table {
    name: "device_cell",
    grain: "device x cell",
    key: &["device_id", "cell"],
    by_day: true,
    columns: || {
        let col = |name, data_type, nullable, unit, meaning| Column { name, data_type, nullable, unit, meaning };
        let known = |name, unit, meaning| col(name, DataType::Int64, false, unit, meaning);
        let maybe = |name, unit, meaning| col(name, DataType::Int64, true, unit, meaning);
        vec![
            col("day", DataType::Int32, false, Unit::Day, "UTC day (partition)"),
            known("device_id", Unit::Id, "physical GPU"),
            known("cell", Unit::Cell, "15-minute cell"),
            known("ticks", Unit::Count, "ticks in state ok that reach into the cell"),
            known("ok_ms", Unit::Ms, "their time in the cell"),
            maybe("sm_ppm_ms", Unit::None, "SM activity, ppm x ms"),
            known("sm_known_ms", Unit::Ms, "time for which it is known"),
            maybe("sm_min_ppm", Unit::Ppm, "lowest SM activity of a tick"),
            maybe("sm_max_ppm", Unit::Ppm, "highest SM activity of a tick"),
            maybe("dram_ppm_ms", Unit::None, "DRAM activity, ppm x ms"),
            known("dram_known_ms", Unit::Ms, "time for which it is known"),
            maybe("tensor_ppm_ms", Unit::None, "tensor core activity, ppm x ms"),
            known("tensor_known_ms", Unit::Ms, "time for which it is known"),
            maybe("gpu_util_ppm_ms", Unit::None, "part in which any kernel ran, ppm x ms"),
            known("gpu_util_known_ms", Unit::Ms, "time for which it is known"),
            maybe("gpu_util_min_ppm", Unit::Ppm, "lowest of a tick"),
            maybe("gpu_util_max_ppm", Unit::Ppm, "highest of a tick"),
            maybe("mem_used_byte_ms", Unit::None, "memory in use, bytes x ms"),
            known("mem_known_ms", Unit::Ms, "time for which it is known"),
            maybe("mem_used_min_bytes", Unit::Bytes, "least memory in use"),
            maybe("mem_used_max_bytes", Unit::Bytes, "most memory in use"),
            maybe("mem_total_bytes", Unit::Bytes, "memory of the card"),
            maybe("power_mw_ms", Unit::None, "power, mW x ms"),
            known("power_known_ms", Unit::Ms, "time for which it is known"),
            maybe("power_min_mw", Unit::Milliwatts, "lowest power of a tick"),
            maybe("power_max_mw", Unit::Milliwatts, "highest power of a tick"),
            maybe("power_limit_mw", Unit::Milliwatts, "highest enforced power limit"),
            maybe("temperature_c_ms", Unit::None, "temperature, degrees x ms"),
            known("temperature_known_ms", Unit::Ms, "time for which it is known"),
            maybe("temperature_min_c", Unit::Celsius, "lowest temperature"),
            maybe("temperature_max_c", Unit::Celsius, "highest temperature"),
            known("process_ms", Unit::None, "processes, count x ms"),
            known("process_min", Unit::Count, "fewest processes of a tick"),
            known("process_max", Unit::Count, "most processes of a tick"),
            known("judged_ms", Unit::Ms, "time for which it is known whether the card was at rest"),
            known("rest_ms", Unit::Ms, "of that, at rest: no measured activity above 1 %"),
            known("rest_longest_ms", Unit::Ms, "longest spell at rest inside the cell"),
            known("rest_first_ms", Unit::Ms, "spell at rest from the start of the cell; 0: it does not start at rest"),
            known("rest_last_ms", Unit::Ms, "spell at rest to the end of the cell; 0: it does not end at rest"),
        ]
    },
};
