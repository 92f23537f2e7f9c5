//! Configuration of a cluster collector: one TOML file, in which a table of its own says how the scheduler is reached. An
//! unknown key stops the program, and so does a value out of its bounds.
//!
//! `examples/collector/cluster-*.toml` show every key with its default; tests read them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::node::config::{ConfigError, line};

/// Least and most bytes that a spool may take.
const SPOOL_BYTES: (u64, u64) = (16 << 20, 1 << 44);

/// How a scheduler is reached; the part of the file that differs.
pub trait SchedulerConfig: DeserializeOwned + Default {
    /// The first key whose value is wrong, and why.
    fn wrong(&self) -> Option<(&'static str, String)>;
}

/// Configuration of a cluster collector. Only `cluster` and `lake` must be given.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, bound = "S: SchedulerConfig")]
pub struct ClusterConfig<S> {
    /// Cluster that the scheduler schedules; the same name as in the configuration of its nodes.
    pub cluster: String,
    /// Folder of the lake; segments are put into its inbox.
    pub lake: PathBuf,
    /// Folder of what was written and of segments not yet taken [default: /var/lib/gpuledger/cluster].
    #[serde(default = "default::spool")]
    pub spool: PathBuf,
    /// Bytes of waiting segments beyond which no further look is taken: what ended meanwhile is asked for later [1 GiB].
    #[serde(default = "default::spool_max_bytes")]
    pub spool_max_bytes: u64,
    /// Seconds between looks, 10 to 3600 [60].
    #[serde(default = "default::interval_s")]
    pub interval_s: u64,
    /// Looks of a segment, 1 to 60 [5].
    #[serde(default = "default::seal_looks")]
    pub seal_looks: usize,
    /// Where `/metrics`, `/ready` and `/live` are served [127.0.0.1:9842]; empty: nowhere.
    #[serde(default = "default::metrics_listen")]
    pub metrics_listen: String,
    /// Allows `metrics_listen` to be reached from other machines [false].
    #[serde(default)]
    pub metrics_remote: bool,
    /// How the scheduler is reached: the table `[slurm]` or `[kubernetes]`.
    #[serde(default, alias = "slurm", alias = "kubernetes")]
    pub scheduler: S,
}

/// What a key is where it is left out.
mod default {
    use super::PathBuf;

    pub(super) fn spool() -> PathBuf {
        PathBuf::from("/var/lib/gpuledger/cluster")
    }
    pub(super) const fn spool_max_bytes() -> u64 {
        1 << 30
    }
    pub(super) const fn interval_s() -> u64 {
        60
    }
    pub(super) const fn seal_looks() -> usize {
        5
    }
    pub(super) fn metrics_listen() -> String {
        "127.0.0.1:9842".to_owned()
    }
}

impl<S> ClusterConfig<S> {
    /// The address of the metrics, where they are served.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_listen.parse().ok()
    }

    /// Time between looks; never 0.
    pub fn interval_ms(&self) -> i64 {
        i64::try_from(self.interval_s).unwrap_or(3_600).max(1) * 1_000
    }
}

impl<S: SchedulerConfig> ClusterConfig<S> {
    /// Reads and checks the file at `path`.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { file: file.clone(), source })?;
        Self::parse(&text, &file)
    }

    /// Reads and checks `text`, which stands in `file`.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|e| {
            let (line, key) = e.span().map_or((1, None), |span| line::at(text, span.start));
            // What is missing stands on no line; the key of the first one would mislead.
            let key = key.filter(|_| !e.message().starts_with("missing field"));
            ConfigError::Toml { file: file.to_owned(), line, key, why: e.message().to_owned() }
        })?;
        match config.wrong() {
            None => Ok(config),
            Some((key, why)) => {
                Err(ConfigError::Value { file: file.to_owned(), line: line::of_key(text, key), key, why })
            }
        }
    }

    /// The first key whose value is wrong, and why.
    fn wrong(&self) -> Option<(&'static str, String)> {
        let name = &self.cluster;
        let folder =
            |key, path: &Path| (!path.is_absolute()).then(|| (key, format!("`{}` must begin with /", path.display())));
        let looks = u64::try_from(self.seal_looks).unwrap_or(u64::MAX);
        let bounds = [
            ("interval_s", self.interval_s, 10, 3_600),
            ("seal_looks", looks, 1, 60),
            ("spool_max_bytes", self.spool_max_bytes, SPOOL_BYTES.0, SPOOL_BYTES.1),
        ];
        (name.trim() != name || name.is_empty() || name.contains(char::is_control))
            .then(|| ("cluster", "must have a name without blanks around it".to_owned()))
            .or_else(|| folder("lake", &self.lake))
            .or_else(|| folder("spool", &self.spool))
            .or_else(|| {
                let out = bounds.into_iter().find(|(_, value, low, high)| !(low..=high).contains(&value));
                out.map(|(key, value, low, high)| (key, format!("is {value} and must be {low} to {high}")))
            })
            .or_else(|| self.wrong_address())
            .or_else(|| self.scheduler.wrong())
    }

    fn wrong_address(&self) -> Option<(&'static str, String)> {
        if self.metrics_listen.is_empty() {
            return None;
        }
        match self.metrics_address() {
            None => Some(("metrics_listen", "must be an address and a port, like 127.0.0.1:9842".to_owned())),
            Some(address) if !self.metrics_remote && !address.ip().is_loopback() => Some((
                "metrics_listen",
                "can be reached from other machines; `metrics_remote = true` allows it".to_owned(),
            )),
            Some(_) => None,
        }
    }
}
