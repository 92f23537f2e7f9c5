//! Tests of `keeper`.
