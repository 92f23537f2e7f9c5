//! Integration tests.

mod slt;
