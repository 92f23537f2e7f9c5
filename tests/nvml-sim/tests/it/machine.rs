//! A simulated machine of one test: its own copy of the library, and with it its own clock and scenario.

use std::ffi::{CString, c_char, c_int, c_longlong, c_ulonglong};
use std::path::{Path, PathBuf};

use gpuledger_nvml_sim::library;
use gpuledger_nvml_sim::scenario::Scenario;
use libloading::{Library, Symbol};
use nvml_wrapper::Nvml;

/// Wall clock at a told scenario's start: 2026-03-02T00:00:00Z.
pub(crate) const START_US: u64 = 1_772_409_600_000_000;

/// A machine with the library initialised.
pub(crate) struct Machine {
    pub(crate) nvml: Nvml,
    pub(crate) sim: Control,
}

/// The exports besides NVML's.
pub(crate) struct Control {
    library: Library,
    _folder: tempfile::TempDir,
    path: PathBuf,
}

/// A scenario of the folder `scenarios`.
pub(crate) fn shipped(name: &str) -> Scenario {
    Scenario::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name)).unwrap()
}

impl Control {
    /// Sets a copy of the library up, with the scenario loaded and nothing initialised.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let installed = library::install(folder.path(), scenario).unwrap();
        // SAFETY: loading the simulation runs no code of its own.
        let library = unsafe { Library::new(&installed.library) }.unwrap();
        let control = Self { library, path: installed.library.clone(), _folder: folder };
        control.load(&installed.scenario);
        control
    }

    pub(crate) fn load(&self, path: &Path) {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the signature is the exported function's, and the text outlives the call.
        let answer =
            unsafe { self.symbol::<unsafe extern "C" fn(*const c_char) -> c_int>("nvml_sim_load")(path.as_ptr()) };
        assert_eq!(answer, 0);
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn symbol<T>(&self, name: &str) -> Symbol<'_, T> {
        // SAFETY: callers name the exported function's signature.
        unsafe { self.library.get(name.as_bytes()) }.unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        // SAFETY: the symbol is looked up and not called.
        unsafe { self.library.get::<*const ()>(name.as_bytes()) }.is_ok()
    }

    pub(crate) fn init(&self) -> Result<Nvml, nvml_wrapper::error::NvmlError> {
        Nvml::builder().lib_path(self.path.as_os_str()).init()
    }

    /// Lets seconds of the scenario go by.
    pub(crate) fn pass_s(&self, seconds: f64) {
        self.symbol::<extern "C" fn(c_longlong) -> c_int>("nvml_sim_advance_us")((seconds * 1e6) as i64);
    }

    pub(crate) fn calls(&self, name: &str) -> u64 {
        let name = CString::new(name).unwrap();
        // SAFETY: the signature is the exported function's, and the text outlives the call.
        unsafe { self.symbol::<unsafe extern "C" fn(*const c_char) -> c_ulonglong>("nvml_sim_calls")(name.as_ptr()) }
    }
}

impl Machine {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let sim = Control::new(scenario);
        Self { nvml: sim.init().unwrap(), sim }
    }

    pub(crate) fn shipped(name: &str) -> Self {
        Self::new(&shipped(name))
    }

    pub(crate) fn gpu(&self, index: u32) -> nvml_wrapper::Device<'_> {
        self.nvml.device_by_index(index).unwrap()
    }

    pub(crate) fn pass_s(&self, seconds: f64) {
        self.sim.pass_s(seconds);
    }
}
