//! The lake: takes segments in, runs the statements of `sql/`, publishes tables, answers reports.
//!
//! Knows no NVML and no HTTP, and does no business arithmetic in Rust: the rules are in `sql/`. The named
//! exceptions are ids of places (hashes), the calendar (`schema::window`) and the conversion of shares to units.

pub mod audit;
pub mod bill;
pub mod check;
pub mod close;
pub mod engine;
pub mod explain;
pub mod idle;
pub mod ingest;
pub mod keep;
pub mod lake;
pub mod ledger;
pub mod reference;
pub mod report;
mod rows;
pub mod statement;
