//! The contract between the parts of gpuledger: tables, units, ids, windows, lake paths, invariants.
//!
//! Nothing in this crate does IO, reads a clock or knows NVML, DataFusion or HTTP.
//! Instants are integer milliseconds since the Unix epoch (`_ms`), intervals are half-open `[from, to)`.

pub mod bill;
pub mod currency;
pub mod decimal;
pub mod hash;
pub mod id;
pub mod invariant;
pub mod path;
pub mod reclaim;
pub mod state;
pub mod table;
pub mod unit;
pub mod window;
