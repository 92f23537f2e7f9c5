//! The one place of the binary that reads the clock.

/// Now, in epoch milliseconds.
#[allow(clippy::disallowed_methods, reason = "the outermost loop owns the clock; everything below is told the time")]
pub(crate) fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// A stopwatch for progress on stderr; never part of a result.
#[allow(clippy::disallowed_methods, reason = "progress shows elapsed time to a person")]
pub(crate) fn started() -> std::time::Instant {
    std::time::Instant::now()
}
