//! The collector from outside.

mod spool_crash;
