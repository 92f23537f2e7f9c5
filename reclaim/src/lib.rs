//! Plan, check, apply.
