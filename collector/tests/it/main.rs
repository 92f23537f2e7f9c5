//! The collectors from outside: against the simulated driver in told time, killed while it writes, and against a real Slurm.

#![allow(unused_crate_dependencies, reason = "the tests use some of the package's dependencies, not all")]

mod cluster_slurm;
mod golden;
mod hang;
mod machine;
mod show;
mod spool_crash;
