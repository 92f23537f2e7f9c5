//! The configuration file: TOML, every key known, nothing guessed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use gpuledger_api::guard::Proxy;
use gpuledger_api::tell;
use gpuledger_notify::config::NotifyConfig;
use serde::Deserialize;

use crate::outcome::usage;
use crate::reclaim::ReclaimConfig;

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
    /// Mail server, webhooks, Alertmanager, work calendars.
    #[serde(default)]
    pub(crate) notify: NotifyConfig,
    /// What is told when.
    #[serde(default)]
    pub(crate) tell: tell::Settings,
    /// The server.
    #[serde(default)]
    pub(crate) server: ServerConfig,
    /// Schedulers that reclaiming may ask, and its loop.
    #[serde(default)]
    pub(crate) reclaim: ReclaimConfig,
}

/// `[server]`: what `gpuledger serve` goes by.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerConfig {
    /// Address and port that it listens on.
    pub(crate) listen: SocketAddr,
    /// Address under which people reach it, for links in mails.
    pub(crate) public_url: Option<String>,
    /// Names under which people reach it, beside that of `public_url`.
    pub(crate) hosts: Vec<String>,
    /// Certificate chain, PEM; with `tls_key`.
    pub(crate) tls_certificate: Option<PathBuf>,
    /// Private key, PEM.
    pub(crate) tls_key: Option<PathBuf>,
    /// Whoever reaches the port may do everything: only where it listens on a loopback address.
    pub(crate) open: bool,
    /// A proxy in front that says who asks.
    pub(crate) proxy: Option<Proxy>,
    /// Users are shown under pseudonyms to others than admins and themselves.
    pub(crate) pseudonyms: bool,
    /// Requests a second that one name may make.
    pub(crate) requests_per_second: u32,
    /// Largest segment that a node may bring, MiB.
    pub(crate) segment_mib: u32,
    /// Seconds that requests in flight are given at the end.
    pub(crate) grace_seconds: u32,
    /// Seconds from one look into the inbox to the next.
    pub(crate) ingest_seconds: u32,
    /// Minutes from one check of the invariants to the next.
    pub(crate) check_minutes: u32,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            public_url: None,
            hosts: Vec::new(),
            tls_certificate: None,
            tls_key: None,
            open: false,
            proxy: None,
            pseudonyms: false,
            requests_per_second: 50,
            segment_mib: 64,
            grace_seconds: 10,
            ingest_seconds: 10,
            check_minutes: 60,
        }
    }
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
