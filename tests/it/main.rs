//! Integration tests.

mod fleet_day;
mod oracle;
mod slt;
mod worlds;
