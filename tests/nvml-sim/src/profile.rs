//! What a driver of some version has: its symbols, and the size of its rows.

use crate::scenario::Driver;

/// Numbers of a driver version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32);

impl Version {
    pub(crate) fn of(text: &str) -> Self {
        let mut numbers = text.split('.').map(|part| part.parse().unwrap_or(0));
        Self(numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

/// Symbols that came with a version: name, or beginning of names where it ends with `*`.
const SINCE: [(&str, Version); 12] = [
    ("nvmlDeviceGetProcessUtilization", Version(418, 0)),
    ("nvmlDeviceGetRemappedRows", Version(450, 0)),
    ("nvmlDeviceGetMemoryInfo_v2", Version(510, 0)),
    ("nvmlDeviceGetComputeRunningProcesses_v3", Version(510, 0)),
    ("nvmlDeviceGetGraphicsRunningProcesses_v3", Version(510, 0)),
    ("nvmlDeviceGetMPSComputeRunningProcesses_v3", Version(510, 0)),
    ("nvmlDeviceGetCurrentClocksEventReasons", Version(535, 0)),
    ("nvmlDeviceGetRunningProcessDetailList", Version(535, 0)),
    ("nvmlGpm*", Version(535, 0)),
    ("nvmlDeviceGetProcessesUtilizationInfo", Version(550, 0)),
    ("nvmlGpm*StreamingEnabled", Version(555, 0)),
    ("nvmlDeviceGetAccountingStats_v2", Version(610, 0)),
];

/// Whether a driver has a symbol.
pub(crate) fn has(driver: &Driver, symbol: &str) -> bool {
    let version = Version::of(&driver.version);
    let old_enough = SINCE.iter().filter(|(name, _)| names(name, symbol)).all(|(_, since)| version >= *since);
    old_enough && !driver.missing.iter().any(|name| name == symbol)
}

fn names(pattern: &str, symbol: &str) -> bool {
    match pattern.split_once('*') {
        Some((begin, end)) => symbol.starts_with(begin) && symbol.ends_with(end),
        None => pattern == symbol,
    }
}

/// Bytes of a row of the `_v3` process lists: the first drivers of 535 had a field more.
pub(crate) fn process_row_bytes(driver: &Driver) -> usize {
    let version = Version::of(&driver.version);
    let wide = version >= Version(535, 0) && version < Version(535, 98);
    driver.process_row_bytes.unwrap_or(if wide { 32 } else { 24 })
}

/// Whether pids of utilization rows are translated into the caller's namespace, as those of lists are.
pub(crate) fn translates_utilization(driver: &Driver) -> bool {
    Version::of(&driver.version) >= Version(570, 86)
}
