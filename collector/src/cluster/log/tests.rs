//! Tests of `log`.
