//! Integration tests.

mod cases;
mod fleet_day;
mod oracle;
mod slt;
mod widen;
mod worlds;
