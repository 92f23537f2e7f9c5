//! The configuration file: TOML, every key known, nothing guessed.

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use crate::outcome::usage;

/// Configuration. Every key may be left out; what a command needs and lacks, it asks for by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Data folder or URL, where `--data` is not given.
    pub(crate) data: Option<String>,
    /// IANA zone in which days and months are cut, e.g. `Europe/Berlin`.
    pub(crate) billing_zone: Option<String>,
    /// ISO 4217 code of the money, e.g. `EUR`.
    pub(crate) currency: Option<String>,
    /// Threads of the engine; results do not depend on it.
    pub(crate) partitions: Option<usize>,
    /// Folder of the control file (reference tables), where the data is not a folder of this machine.
    pub(crate) control_dir: Option<String>,
    /// Days after its end in which a period still collects late data; 3 where it is not said.
    pub(crate) grace_days: Option<u32>,
    /// Who issues bills: the name on statements.
    pub(crate) issuer: Option<String>,
}

impl Config {
    /// Reads a configuration file, or gives the empty one.
    pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read configuration {}", path.display()))?;
        toml::from_str(&text).map_err(|e| usage(format!("{}: {e}", path.display())))
    }
}
