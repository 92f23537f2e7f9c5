//! The kernel's clocks as [`Clock`].

use gpuledger_native::clock;

use super::seen::{Clock, Moment};

/// Reads the kernel's clocks; the only "now" of the node collector outside tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelClock;

impl Clock for KernelClock {
    fn now(&self) -> Moment {
        Moment {
            wall_ms: ms(clock::wall_us()),
            boot_ms: ms(clock::boot_us()),
            awake_ms: ms(clock::monotonic_us()),
            synchronised: clock::synchronised(),
        }
    }
}

fn ms(us: u64) -> i64 {
    i64::try_from(us / 1_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_one_moment_belong_together() {
        let now = KernelClock.now();
        assert!(now.boot_ms >= now.awake_ms && now.awake_ms > 0);
        assert!(now.wall_ms > now.boot_ms, "the epoch lies before any boot");
    }
}
