//! A loaded copy of the simulated library, told what to do from the program that loaded it.

use std::ffi::{CString, c_char, c_int, c_longlong, c_ulonglong};
use std::io;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::library;
use crate::scenario::Scenario;

type Load = unsafe extern "C" fn(*const c_char) -> c_int;
type Advance = unsafe extern "C" fn(c_longlong) -> c_int;
type Release = unsafe extern "C" fn() -> c_int;
type Calls = unsafe extern "C" fn(*const c_char) -> c_ulonglong;
type Time = unsafe extern "C" fn(*mut c_longlong, *mut c_longlong) -> c_int;

/// The exports besides NVML's of one copy, with its scenario loaded and NVML not initialised.
///
/// Whoever loads the same file gets the same simulation; the library stays loaded for as long as somebody has it.
#[derive(Debug)]
pub struct Control {
    _library: Library,
    path: PathBuf,
    advance: Advance,
    release: Release,
    calls: Calls,
    time: Time,
}

impl Control {
    /// Installs a copy for a scenario into a folder, and loads both.
    pub fn install(folder: &Path, scenario: &Scenario) -> io::Result<Self> {
        let installed = library::install(folder, scenario)?;
        // SAFETY: loading the simulation runs no code of its own.
        let library = unsafe { Library::new(&installed.library) }.map_err(io::Error::other)?;
        let load: Load = symbol(&library, "nvml_sim_load")?;
        let path = CString::new(installed.scenario.to_string_lossy().as_bytes()).map_err(io::Error::other)?;
        // SAFETY: the type is the exported function's, and the text outlives the call.
        if unsafe { load(path.as_ptr()) } != 0 {
            return Err(io::Error::other("the scenario does not load"));
        }
        Ok(Self {
            advance: symbol(&library, "nvml_sim_advance_us")?,
            release: symbol(&library, "nvml_sim_release")?,
            calls: symbol(&library, "nvml_sim_calls")?,
            time: symbol(&library, "nvml_sim_time_us")?,
            path: installed.library,
            _library: library,
        })
    }

    /// The copy, to be loaded as a driver's library is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets time of a told scenario go by.
    pub fn advance_us(&self, by_us: i64) {
        // SAFETY: the function is the library's, which is loaded as long as `self` lives.
        unsafe { (self.advance)(by_us) };
    }

    /// Ends every hang.
    pub fn release(&self) {
        // SAFETY: as above.
        unsafe { (self.release)() };
    }

    /// Calls made so far of one function, by its C name.
    pub fn calls(&self, name: &str) -> u64 {
        // SAFETY: as above, and the text outlives the call.
        CString::new(name).map_or(0, |name| unsafe { (self.calls)(name.as_ptr()) })
    }

    /// The scenario's wall clock and the time since its start, in microseconds.
    pub fn time_us(&self) -> (i64, i64) {
        let (mut wall_us, mut scenario_us) = (0, 0);
        // SAFETY: as above, and both pointers are to live values.
        unsafe { (self.time)(&mut wall_us, &mut scenario_us) };
        (wall_us, scenario_us)
    }
}

fn symbol<F: Copy>(library: &Library, name: &str) -> io::Result<F> {
    // SAFETY: callers in this file name the type that the export has.
    unsafe { library.get::<F>(name.as_bytes()) }.map(|f| *f).map_err(io::Error::other)
}
