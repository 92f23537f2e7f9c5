//! What the simulation exports besides NVML: its clock, its scenario, its counters.

use std::ffi::{c_char, c_int, c_longlong, c_ulonglong};
use std::path::PathBuf;

use super::out::{put, take_text};
use super::system::load;
use crate::sim::{Sim, lock};

/// Sets the wall clock of a told clock, in microseconds since the epoch. Forward, the scenario's time goes along; back,
/// only the wall clock steps. 0, or 1 where nothing is loaded.
#[unsafe(no_mangle)]
extern "C" fn nvml_sim_set_time_us(wall_us: c_longlong) -> c_int {
    with(|sim| sim.clock.set_wall(wall_us))
}

/// Lets microseconds go by on a told clock.
#[unsafe(no_mangle)]
extern "C" fn nvml_sim_advance_us(by_us: c_longlong) -> c_int {
    with(|sim| sim.clock.advance(by_us))
}

/// Steps the wall clock alone.
#[unsafe(no_mangle)]
extern "C" fn nvml_sim_step_wall_us(by_us: c_longlong) -> c_int {
    with(|sim| sim.clock.step_wall(by_us))
}

/// Reads the clock: wall clock and scenario time, in microseconds.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvml_sim_time_us(wall_us: *mut c_longlong, scenario_us: *mut c_longlong) -> c_int {
    with(|sim| {
        let now = sim.look();
        // A null pointer asks for the other one only.
        put(wall_us, sim.wall(now)).ok();
        put(scenario_us, now).ok();
    })
}

/// Takes another scenario, at its start; the library stays initialised as often as it was. 0, or 1 with the reason on
/// standard error: the scenario then stays as it was.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvml_sim_load(path: *const c_char) -> c_int {
    let Ok(path) = take_text(path) else { return 1 };
    let (path, text, scenario) = match load(PathBuf::from(path)) {
        Ok(loaded) => loaded,
        Err(why) => {
            eprintln!("nvml-sim: {why}");
            return 1;
        }
    };
    let mut guard = lock();
    let inits = guard.as_ref().map_or(0, |sim| sim.inits);
    let mut sim = Sim::new(path, text, scenario);
    sim.inits = inits;
    sim.told();
    *guard = Some(sim);
    0
}

/// How often a symbol was called since the scenario was loaded; for a null name, how often any was.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvml_sim_calls(symbol: *const c_char) -> c_ulonglong {
    let name = take_text(symbol).ok();
    let guard = lock();
    let Some(sim) = guard.as_ref() else { return 0 };
    match name {
        Some(name) => sim.calls.get(name).copied().unwrap_or(0),
        None => sim.calls.values().sum(),
    }
}

/// Lets every call go on that hangs now.
#[unsafe(no_mangle)]
extern "C" fn nvml_sim_release() -> c_int {
    with(Sim::release)
}

fn with(act: impl FnOnce(&mut Sim)) -> c_int {
    match lock().as_mut() {
        Some(sim) => {
            act(sim);
            0
        }
        None => 1,
    }
}

/// Writes the counters to the file that `NVML_SIM_CALLS` names, a symbol and its calls a line.
#[allow(clippy::disallowed_methods, reason = "a report of a test run, of no lasting worth")]
pub(super) fn write_calls() {
    let Some(path) = std::env::var_os("NVML_SIM_CALLS") else { return };
    let guard = lock();
    let Some(sim) = guard.as_ref() else { return };
    let lines: String = sim.calls.iter().map(|(symbol, calls)| format!("{symbol} {calls}\n")).collect();
    if let Err(e) = std::fs::write(&path, lines) {
        eprintln!("nvml-sim: {}: {e}", path.display());
    }
}
