//! Field values: many readings in one call, each with its own return code.

use std::ffi::c_int;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t, nvmlValue_t};

use super::health::{ecc_errors, energy_mj, memory_temperature_c, power_mw, remapped};
use super::out::{put, take};
use super::{Call, on_device};
use crate::sim::code;

/// Types of values, as NVML numbers them.
const UNSIGNED_INT: u32 = 1;
const UNSIGNED_LONG_LONG: u32 = 3;

/// A reading: 32 or 64 bits.
enum Reading {
    Short(u32),
    Long(u64),
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: c_int,
    values: *mut nvmlFieldValue_t,
) -> u32 {
    on_device("nvmlDeviceGetFieldValues", device, |mut call| {
        let count = usize::try_from(count).map_err(|_| code::INVALID_ARGUMENT)?;
        for at in 0..count {
            let place = values.wrapping_add(at);
            let asked = take(place)?;
            let filled = filled(&mut call, asked);
            put(place, filled)?;
        }
        Ok(())
    })
}

fn filled(call: &mut Call<'_>, asked: nvmlFieldValue_t) -> nvmlFieldValue_t {
    let (answer, kind, value) = match field(call, asked.fieldId) {
        Ok(Reading::Short(value)) => (0, UNSIGNED_INT, nvmlValue_t { uiVal: value }),
        Ok(Reading::Long(value)) => (0, UNSIGNED_LONG_LONG, nvmlValue_t { ullVal: value }),
        Err(refused) => (refused, UNSIGNED_INT, nvmlValue_t { ullVal: 0 }),
    };
    nvmlFieldValue_t {
        fieldId: asked.fieldId,
        scopeId: asked.scopeId,
        timestamp: call.sim.wall(call.now),
        latencyUsec: 0,
        valueType: kind,
        nvmlReturn: answer,
        value,
    }
}

/// One field by its id. Not simulated, so not supported: retired pages, performance policies, NVLink, PCIe.
fn field(call: &mut Call<'_>, id: u32) -> Result<Reading, u32> {
    match id {
        3 | 5 => ecc_errors(call, 0).map(Reading::Long),
        4 | 6 => ecc_errors(call, 1).map(Reading::Long),
        82 => Ok(Reading::Short(memory_temperature_c(call))),
        83 => Ok(Reading::Long(energy_mj(call))),
        142..=145 => Ok(Reading::Short(remapped(call)[id as usize - 142])),
        185 => Ok(Reading::Short(power_mw(call, 1_000_000))),
        186 => Ok(Reading::Short(power_mw(call, 100_000))),
        _ => Err(code::NOT_SUPPORTED),
    }
}
