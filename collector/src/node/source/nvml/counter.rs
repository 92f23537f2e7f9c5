//! A counter that only grows, until it starts again: what was added between two readings.

use crate::node::seen::{Absent, Measure, Moment, TICK_MS};

/// How much longer than a tick the time between two readings may be: more would be another tick's too.
const SLACK_MS: i64 = 5_000;

/// The last reading of a counter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counter {
    before: Option<(u64, i64)>,
}

impl Counter {
    /// What was added since the reading before; nothing is known after a reset, a gap, or without one.
    pub(super) fn added(&mut self, reading: Measure<u64>, now: Moment) -> Measure<i64> {
        let before = self.before.take();
        let value = reading?;
        self.before = Some((value, now.boot_ms));
        let (earlier, at_ms) = before.ok_or(Absent::NoEarlier)?;
        if now.boot_ms - at_ms > TICK_MS + SLACK_MS {
            return Err(Absent::NoEarlier);
        }
        let added = value.checked_sub(earlier).ok_or(Absent::NoEarlier)?;
        i64::try_from(added).map_err(|_| Absent::Rejected)
    }

    /// Forgets the reading before: the driver was loaded again.
    pub(super) const fn forget(&mut self) {
        self.before = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot_ms: i64) -> Moment {
        Moment { wall_ms: boot_ms, boot_ms, awake_ms: boot_ms, synchronised: true }
    }

    #[test]
    fn differences_over_a_reset_and_a_gap_are_absent_and_never_zero_or_negative() {
        let mut energy = Counter::default();
        assert_eq!(energy.added(Ok(1_000), at(60_000)), Err(Absent::NoEarlier));
        assert_eq!(energy.added(Ok(31_000), at(120_000)), Ok(30_000));
        assert_eq!(energy.added(Ok(500), at(180_000)), Err(Absent::NoEarlier), "reset");
        assert_eq!(energy.added(Ok(500), at(240_000)), Ok(0), "measured zero");
        assert_eq!(energy.added(Ok(9_500), at(360_000)), Err(Absent::NoEarlier), "a minute between was missed");
        assert_eq!(energy.added(Ok(9_600), at(420_000)), Ok(100));
        assert_eq!(energy.added(Err(Absent::NotSupported), at(480_000)), Err(Absent::NotSupported));
        assert_eq!(energy.added(Ok(9_700), at(540_000)), Err(Absent::NoEarlier), "the reading before failed");
    }
}
