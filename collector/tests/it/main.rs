//! The collectors from outside: against the simulated driver in told time, killed while it writes, and against a real Slurm.

#![allow(unused_crate_dependencies, reason = "the tests use some of the package's dependencies, not all")]

mod claim_node;
mod cluster_slurm;
mod errors;
mod golden;
mod hang;
mod kube_access;
mod kube_api;
mod kube_look;
mod kube_scale;
mod kube_watch;
mod machine;
mod show;
mod spool_crash;
