//! Integration tests.

mod oracle;
mod slt;
mod worlds;
