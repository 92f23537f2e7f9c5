//! The configuration file: TOML, every key known, nothing guessed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use gpuledger_notify::config::{AlertmanagerConfig, CalendarConfig, MailConfig, NotifyConfig, WebhookConfig};
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
    /// Where pages are, e.g. `https://gpu.example.org`: what mails link to; where it is not said they name commands.
    pub(crate) pages_url: Option<String>,
    /// Name of the installation, in every message.
    pub(crate) site: Option<String>,
    /// Mail server.
    pub(crate) mail: Option<MailConfig>,
    /// Webhooks by name.
    #[serde(default)]
    pub(crate) webhook: BTreeMap<String, WebhookConfig>,
    /// Alertmanager.
    pub(crate) alertmanager: Option<AlertmanagerConfig>,
    /// Work calendars by name.
    #[serde(default)]
    pub(crate) calendar: BTreeMap<String, CalendarConfig>,
    /// Schedulers that reclaiming may ask, and its loop.
    #[serde(default)]
    pub(crate) reclaim: ReclaimConfig,
}

impl Config {
    /// What mail, chat and alerts go by.
    pub(crate) fn notify(&self) -> NotifyConfig {
        NotifyConfig {
            site: self.site.clone(),
            mail: self.mail.clone(),
            webhook: self.webhook.clone(),
            alertmanager: self.alertmanager.clone(),
            calendar: self.calendar.clone(),
        }
    }

    /// Reads a configuration file, or gives the empty one.
    pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read configuration {}", path.display()))?;
        toml::from_str(&text).map_err(|e| usage(format!("{}: {e}", path.display())))
    }
}
