//! `once`: records one minute and gives it as a table; writes nothing.

use super::CommandError;
use crate::node::config::NodeConfig;

/// Records one minute and gives it as a table; writes nothing.
pub async fn run(_config: &NodeConfig) -> Result<String, CommandError> {
    Err(CommandError::NotWired("once"))
}
