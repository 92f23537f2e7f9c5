//! The node collector: every process, every GPU, every minute.
//!
//! Sources are looked at in a loop of polls (a few seconds) and ticks (a minute of the boot-time clock). What they saw
//! becomes rows in [`tick`]; rows go to the [`spool`]'s journal, from there as sealed pairs of segments to the inbox.
//! A source that fails takes only its own values with it, and every absent value has a reason.

pub mod attribute;
pub mod claims;
pub mod clock;
pub mod command;
pub mod config;
pub mod doctor;
mod exporter;
pub mod integrate;
pub mod metrics;
mod people;
mod prober;
mod records;
pub mod seen;
pub mod source;
pub mod spool;
mod stopwatch;
pub mod tick;
pub mod watch;
pub mod worker;
