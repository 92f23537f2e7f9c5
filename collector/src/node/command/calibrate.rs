//! `calibrate -- COMMAND`: runs a known load and compares busy time from independent sources.

use super::CommandError;
use crate::node::config::NodeConfig;

/// A calibration that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calibration {
    /// The load: program and arguments.
    pub command: Vec<String>,
    /// Part of the time in which the load says that it computes, where it is known.
    pub duty_ppm: Option<i64>,
    /// Seconds that it runs at most; it is ended then.
    pub duration_s: u64,
}

/// Runs it and gives the comparison as a table.
pub async fn run(_config: &NodeConfig, _calibration: &Calibration) -> Result<String, CommandError> {
    Err(CommandError::NotWired("calibrate"))
}
