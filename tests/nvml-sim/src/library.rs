//! The shared library as a test or a demo needs it: found, copied, and with the symbols of its driver version only.
//!
//! The library that Cargo builds has every symbol. A program that looks them up at load, as nvml-wrapper does, learns
//! what the driver lacks from the lookup; so a copy is made in which the names of absent symbols are broken. A copy
//! also has statics of its own, and with them a simulation of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::elf;
use crate::profile;
use crate::scenario::Scenario;

/// Name of the library as Cargo builds it.
const BUILT: &str = "libgpuledger_nvml_sim.so";

/// Name under which programs look for NVML.
pub const NVML: &str = "libnvidia-ml.so.1";

/// The library that was built with the program that runs: beside it, or in the folder of its dependencies.
pub fn built() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join(BUILT), folder.join("deps").join(BUILT), folder.join("..").join(BUILT)];
    places
        .into_iter()
        .find(|place| place.is_file())
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no {BUILT} beside {}", program.display())))
}

/// A simulation set up in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The library, named as NVML is: a program finds it with `LD_LIBRARY_PATH` set to its folder.
    pub library: PathBuf,
    /// The scenario, which `NVML_SIM_SCENARIO` must name when the library is initialised.
    pub scenario: PathBuf,
}

/// Copies the built library into a folder, with the symbols that the scenario's driver has, and the scenario beside it.
pub fn install(folder: &Path, scenario: &Scenario) -> io::Result<Installed> {
    let installed = Installed { library: folder.join(NVML), scenario: folder.join("scenario.toml") };
    let text = scenario.to_toml().map_err(io::Error::other)?;
    write(&installed.scenario, text.as_bytes())?;
    copy(&built()?, &installed.library, scenario)?;
    Ok(installed)
}

/// Copies a library, leaving out the symbols that the scenario's driver does not have.
pub fn copy(from: &Path, to: &Path, scenario: &Scenario) -> io::Result<()> {
    let mut image = fs::read(from)?;
    let lacks = |symbol: &str| {
        symbol.starts_with("nvml") && !symbol.starts_with("nvml_sim") && !profile::has(&scenario.driver, symbol)
    };
    elf::hide(&mut image, lacks)
        .ok_or_else(|| io::Error::other(format!("{} is no 64-bit ELF library", from.display())))?;
    write(to, &image)
}

#[allow(
    clippy::disallowed_methods,
    reason = "into a folder of the caller's test or demo, which is made anew each time"
)]
fn write(to: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(to, bytes)
}
