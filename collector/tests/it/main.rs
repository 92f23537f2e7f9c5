//! The node collector against the simulated driver, in told time.

#![allow(unused_crate_dependencies, reason = "the tests use some of the package's dependencies, not all")]

mod golden;
mod hang;
mod machine;
mod show;
