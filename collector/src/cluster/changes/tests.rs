//! Tests of `changes`.
