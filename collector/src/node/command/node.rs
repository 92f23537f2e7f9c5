//! `node`: records every minute until it is told to stop.

use super::CommandError;
use crate::node::config::NodeConfig;

/// Records every minute until it is told to stop.
pub async fn run(_config: &NodeConfig) -> Result<(), CommandError> {
    Err(CommandError::NotWired("node"))
}
