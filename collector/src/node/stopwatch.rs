//! How long a look took, for the metrics alone: no row depends on it.

use std::time::{Duration, Instant};

/// Runs from its start.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[allow(clippy::disallowed_methods, reason = "durations of looks are shown to operators and go into no row")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since its start.
    pub fn read(self) -> Duration {
        self.0.elapsed()
    }
}
