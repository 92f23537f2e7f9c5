//! The program's allocator, and what it does with memory that was given back. Whoever links this crate takes all of its memory from
//! mimalloc, libraries in C too: an engine's threads ask for memory all the time, and wait for each other in the system's allocator.
//! The collectors, which stay small, do not link it.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set, mi_option_t};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay` of mimalloc 2 and 3 (`mimalloc.h`): ms after which memory that was freed goes back to the system; -1: never.
const PURGE_DELAY: mi_option_t = 15;
const NEVER: c_long = -1;

/// Memory that is freed stays with the process, which takes it again without asking the system: for work that ends soon.
/// Counts from the next time that something is freed.
pub fn keep_freed() {
    // SAFETY: an option's number and a value; the allocator reads it at the next purge, and needs no start before that.
    unsafe { mi_option_set(PURGE_DELAY, NEVER) };
}

#[cfg(test)]
mod tests {
    use libmimalloc_sys::mi_option_get;

    use super::*;

    #[test]
    fn the_number_is_that_of_the_delay() {
        // SAFETY: reads a value.
        let delay = unsafe { mi_option_get(PURGE_DELAY) };
        assert_eq!(delay, 1_000, "the default of mimalloc 3");
        keep_freed();
        // SAFETY: reads a value.
        assert_eq!(unsafe { mi_option_get(PURGE_DELAY) }, NEVER);
    }
}
