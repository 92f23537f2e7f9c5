//! Integration tests.

mod cases;
mod fleet_day;
mod keep;
mod oracle;
mod slt;
mod widen;
mod worlds;
