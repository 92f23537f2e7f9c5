//! Integration tests.

mod cases;
mod fleet_day;
mod keep;
mod oracle;
mod side_by_side;
mod slt;
mod widen;
mod worlds;
