//! The one place of the binary that reads the clock.

/// Now, in epoch milliseconds.
#[allow(clippy::disallowed_methods, reason = "the outermost loop owns the clock; everything below is told the time")]
pub(crate) fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// The wall clock, for whoever asks again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallClock;

impl gpuledger_reclaim::port::Clock for WallClock {
    fn now_ms(&self) -> i64 {
        now_ms()
    }
}

/// A stopwatch for progress on stderr; never part of a result.
#[allow(clippy::disallowed_methods, reason = "progress shows elapsed time to a person")]
pub(crate) fn started() -> std::time::Instant {
    std::time::Instant::now()
}
