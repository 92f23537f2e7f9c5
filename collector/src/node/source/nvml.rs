pub mod last_seen;
pub mod look;
