//! How long a look took, for the metrics alone: no row depends on it.

use std::time::{Duration, Instant};

/// Runs from its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[allow(clippy::disallowed_methods, reason = "durations of looks are shown to operators and go into no row")]
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since its start.
    pub(super) fn read(self) -> Duration {
        self.0.elapsed()
    }
}
