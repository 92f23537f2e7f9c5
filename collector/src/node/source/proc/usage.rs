//! From counters to what a process used during a tick. Pure.

use crate::node::seen::{Absent, Measure};

/// Counters of a process that only grow. Each can be absent alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// User and system time of all its threads, in clock ticks.
    pub cpu_ticks: Measure<u64>,
    /// Bytes fetched from storage.
    pub read_bytes: Measure<u64>,
    /// Time its main thread waited for storage, in clock ticks.
    pub io_wait_ticks: Measure<u64>,
}

impl Counters {
    /// The counters of a process as it starts.
    pub fn at_start() -> Self {
        Self { cpu_ticks: Ok(0), read_bytes: Ok(0), io_wait_ticks: Ok(0) }
    }
}

/// What was used during a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// CPU time.
    pub cpu_ms: Measure<i64>,
    /// Bytes fetched from storage.
    pub read_bytes: Measure<i64>,
    /// Waiting for storage.
    pub io_wait_ms: Measure<i64>,
}

/// What was used between two looks; `before` is absent where the tick's start was not seen.
pub fn used(before: Option<&Counters>, now: &Counters, ticks_per_second: u64) -> Used {
    let to_ms = |ticks: u64| ticks.checked_mul(1000).and_then(|t| t.checked_div(ticks_per_second));
    let same = Some;
    Used {
        cpu_ms: difference(before.map(|b| &b.cpu_ticks), &now.cpu_ticks, to_ms),
        read_bytes: difference(before.map(|b| &b.read_bytes), &now.read_bytes, same),
        io_wait_ms: difference(before.map(|b| &b.io_wait_ticks), &now.io_wait_ticks, to_ms),
    }
}

/// Both ends are converted before they are subtracted, so that the ticks of a process add up to its whole.
fn difference(before: Option<&Measure<u64>>, now: &Measure<u64>, convert: impl Fn(u64) -> Option<u64>) -> Measure<i64> {
    let now = now.clone()?;
    let Some(Ok(before)) = before else { return Err(Absent::NoEarlier) };
    let grown = convert(now).zip(convert(*before)).and_then(|(now, before)| now.checked_sub(before));
    let grown = grown.ok_or(Absent::NoEarlier)?;
    i64::try_from(grown).map_err(|_| Absent::Rejected)
}

#[cfg(test)]
mod tests;
