//! The kernel's clocks.

/// A clock of the kernel, in microseconds. A clock that the kernel does not have reads 0: Linux has had all three
/// since 2.6.39.
fn read_us(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec, and the kernel writes nothing else.
    let code = unsafe { libc::clock_gettime(clock, &mut time) };
    if code != 0 {
        return 0;
    }
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}

/// Microseconds since boot, suspended time included.
pub fn boot_us() -> u64 {
    read_us(libc::CLOCK_BOOTTIME)
}

/// Microseconds since boot, suspended time left out.
pub fn monotonic_us() -> u64 {
    read_us(libc::CLOCK_MONOTONIC)
}

/// Microseconds since the Unix epoch by the wall clock; it can step.
pub fn wall_us() -> u64 {
    read_us(libc::CLOCK_REALTIME)
}

/// Whether the kernel says that the wall clock is synchronised. A kernel that cannot be asked has not said so.
pub fn synchronised() -> bool {
    // SAFETY: all zeroes is a valid timex (it asks for nothing to be changed), and the kernel fills only it.
    let (state, status) = unsafe {
        let mut time: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&mut time), time.status)
    };
    state >= 0 && state != libc::TIME_ERROR && status & libc::STA_UNSYNC == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_and_boot_time_holds_the_time_awake() {
        let (awake, boot) = (monotonic_us(), boot_us());
        assert!(awake > 0 && boot >= awake);
        assert!(monotonic_us() >= awake);
        assert!(wall_us() > 1_600_000_000_000_000, "after the autumn of 2020");
    }
}
