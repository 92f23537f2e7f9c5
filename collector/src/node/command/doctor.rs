//! `doctor`: finds out, judges, and gives the page with its exit code.

use crate::node::config::NodeConfig;
use crate::node::doctor::gather::{Asked, gather};
use crate::node::doctor::{diagnose, exit_code, show};

/// The page for the terminal and the exit code.
pub async fn run(config: &NodeConfig, asked: Asked) -> (String, u8) {
    let findings = diagnose(&gather(config, asked).await);
    (show(config.node.as_deref().unwrap_or("this node"), &findings), exit_code(&findings))
}
