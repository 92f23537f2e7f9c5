//! Nothing lost, nothing doubled, nothing unbounded: at every step, with every fault.

mod memory_disk;
pub(super) mod rows;

mod bounds;
mod crash;
mod delivery;
mod restart;
