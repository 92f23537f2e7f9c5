//! When something that failed is tried again: after a minute, then twice as long each time, up to ten.

/// Shortest pause.
const FIRST_MS: i64 = 60_000;
/// Longest pause.
const LONGEST_MS: i64 = 600_000;

/// A pause before the next try, by the boot clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause {
    until_ms: i64,
    length_ms: i64,
}

impl Pause {
    /// No pause yet: the first try is at once.
    pub(super) const fn now(now_ms: i64) -> Self {
        Self { until_ms: now_ms, length_ms: FIRST_MS / 2 }
    }

    /// A first pause.
    pub(super) const fn first(now_ms: i64) -> Self {
        Self { until_ms: now_ms + FIRST_MS, length_ms: FIRST_MS }
    }

    /// The next, longer pause.
    pub(super) fn longer(self, now_ms: i64) -> Self {
        let length_ms = (self.length_ms * 2).min(LONGEST_MS);
        Self { until_ms: now_ms + length_ms, length_ms }
    }

    /// Whether it is over.
    pub(super) const fn is_due(&self, now_ms: i64) -> bool {
        now_ms >= self.until_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_one_minute_to_ten() {
        let mut pause = Pause::now(0);
        assert!(pause.is_due(0));
        let mut lengths = Vec::new();
        for _ in 0..6 {
            pause = pause.longer(1_000);
            lengths.push((pause.until_ms - 1_000) / 60_000);
        }
        assert_eq!(lengths, [1, 2, 4, 8, 10, 10]);
        assert!(!Pause::first(1_000).is_due(60_999) && Pause::first(1_000).is_due(61_000));
    }
}
