//! The node collector from outside: against the simulated driver in told time, and killed while it writes.

#![allow(unused_crate_dependencies, reason = "the tests use some of the package's dependencies, not all")]

mod claim_node;
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
