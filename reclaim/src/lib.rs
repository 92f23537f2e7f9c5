//! Plan, check, apply: the only code of gpuledger that may stop work, written so that nobody has to be afraid of it.
//!
//! - [`plan`] is a pure function of snapshot, policy and time. [`check`] reads a plan as a stranger would and refuses.
//! - [`apply`] looks at the world again before each step, acts once, and believes that a GPU is free only when it was seen free.
//! - What is not known is never idle: an outage of telemetry or scheduler can stop an action and never starts one.
//!
//! The crate knows no prices, no pages and no SQL. Whoever runs the loop hands it a [`Snapshot`](gpuledger_schema::reclaim::Snapshot)
//! and the traits of [`port`]: the world, the schedulers, the mail, the store, the clock.

// A test that unwraps says where it failed.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod actuator;
pub mod answer;
pub mod apply;
pub mod backtest;
pub mod check;
pub mod letter;
pub mod plan;
pub mod policy;
pub mod port;
pub mod proof;
pub mod recoverable;
pub mod store;
pub mod sweep;
mod text;
pub mod value;

pub use text::{Lang, utc};
