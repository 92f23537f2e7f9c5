//! Shared nothing: the tests are in `it/` and `tidy.rs`.
