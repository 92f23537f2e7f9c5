//! Init, shutdown, versions, names of errors.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::PathBuf;

use super::out::{put, put_text, take_text};
use super::{Call, on_library};
use crate::scenario::Scenario;
use crate::sim::{Answer, Held, Sim, Target, Verdict, code, lock};

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> u32 {
    init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit() -> u32 {
    init("nvmlInit")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> u32 {
    init("nvmlInitWithFlags")
}

/// Reads the scenario and starts; a scenario that is the same as before goes on where it was.
fn init(symbol: &'static str) -> u32 {
    let mut guard = lock();
    if guard.as_ref().is_none_or(|sim| sim.inits == 0 && !sim.was_told()) {
        match read_scenario() {
            Ok((path, text, _)) if guard.as_ref().is_some_and(|sim| sim.is_from(&path, &text)) => {}
            Ok((path, text, scenario)) => *guard = Some(Sim::new(path, text, scenario)),
            Err(why) => {
                eprintln!("nvml-sim: {why}");
                return code::UNKNOWN;
            }
        }
    }
    drop(guard);
    start(symbol)
}

/// Initialises: the faults of init calls count here, also those that hang.
fn start(symbol: &'static str) -> u32 {
    let mut held = Held::default();
    loop {
        if let Some(sim) = lock().as_mut() {
            let already = sim.inits;
            // An init is admitted as if it had happened, so that "not initialised" is not its answer.
            if let Err(refused) = sim.init() {
                return refused;
            }
            match sim.admit(symbol, Target::Library, &mut held) {
                Verdict::Go(_) => return 0,
                Verdict::Refuse(refused) => {
                    sim.inits = already;
                    return refused;
                }
                Verdict::Wait => sim.inits = already,
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn read_scenario() -> Result<(PathBuf, String, Scenario), String> {
    let path = std::env::var_os("NVML_SIM_SCENARIO").map(PathBuf::from).ok_or("NVML_SIM_SCENARIO is not set")?;
    load(path)
}

/// A scenario with its file and text.
pub(super) fn load(path: PathBuf) -> Result<(PathBuf, String, Scenario), String> {
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let scenario = Scenario::read(&path).map_err(|e| e.to_string())?;
    Ok((path, text, scenario))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> u32 {
    let answer = on_library("nvmlShutdown", |call| {
        call.sim.inits -= 1;
        if call.sim.inits == 0 {
            call.sim.event_sets.clear();
            call.sim.gpm_samples.clear();
        }
        Ok(())
    });
    super::control::write_calls();
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> u32 {
    on_library("nvmlSystemGetDriverVersion", |call| put_text(version, length, &call.sim.world.scenario.driver.version))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> u32 {
    on_library("nvmlSystemGetNVMLVersion", |call| {
        let driver = &call.sim.world.scenario.driver;
        put_text(version, length, &format!("{}.{}", driver.cuda / 1000, driver.version))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) -> u32 {
    on_library("nvmlSystemGetCudaDriverVersion", |call| put(version, call.sim.world.scenario.driver.cuda))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> u32 {
    on_library("nvmlSystemGetCudaDriverVersion_v2", |call| put(version, call.sim.world.scenario.driver.cuda))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, length: c_uint) -> u32 {
    on_library("nvmlSystemGetProcessName", |_: Call<'_>| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| code::NOT_FOUND)?;
        let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
        put_text(name, length, &String::from_utf8_lossy(first))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(result: c_uint) -> *const c_char {
    let text: &CStr = match result {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        13 => c"Function Not Found",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        18 => c"Driver/library version mismatch",
        21 => c"No data",
        23 => c"Insufficient resources",
        24 => c"Frequency not supported",
        25 => c"Argument version mismatch",
        26 => c"Deprecated",
        27 => c"Not ready",
        28 => c"GPU not found",
        29 => c"Invalid state",
        30 => c"Reset type not supported",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

/// A handle by its text name: UUID or PCI address.
pub(super) fn text_argument(from: *const c_char) -> Result<String, u32> {
    take_text(from).map(str::to_owned)
}

/// A check of a versioned struct: the version is its size and its number.
pub(super) fn expect_version<T>(version: u32, number: u32) -> Answer {
    let right = size_of::<T>() as u32 | (number << 24);
    if version == right { Ok(()) } else { Err(code::VERSION_MISMATCH) }
}
