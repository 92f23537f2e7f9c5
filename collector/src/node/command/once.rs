//! `once`: records one minute and gives it as text; writes nothing.

use super::CommandError;
use crate::node::config::NodeConfig;

/// How the minute is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A table for a person.
    Table,
    /// A line of JSON for each row: its columns by name, `table` with the table's name, `uuid` with the device's;
    /// what is absent is null. `tests/gpu/compare.py` reads it.
    Json,
}

/// Records one minute and gives its rows as text; writes nothing.
pub async fn run(_config: &NodeConfig, _form: Form) -> Result<String, CommandError> {
    Err(CommandError::NotWired("once"))
}
