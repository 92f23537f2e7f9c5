//! `[reclaim]` of the configuration: the schedulers that may be asked, where the kill file lies, how often the loop looks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gpuledger_reclaim::actuator::Schedulers;
use gpuledger_reclaim::actuator::kubernetes::Kubernetes;
use gpuledger_reclaim::actuator::slurm::{Slurm, SlurmCommands};
use gpuledger_reclaim::port::Clock;
use serde::Deserialize;

use crate::outcome::usage;

/// What is configured of reclaiming. Every key may be left out; a cluster that stands under neither scheduler is never asked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReclaimConfig {
    /// A file that stops everything while it is there [default: `reclaim.stop` beside the control file].
    pub(crate) kill_file: Option<PathBuf>,
    /// Seconds between rounds of `reclaim watch`; 60 where it is not said.
    pub(crate) round_seconds: Option<u64>,
    /// Slurm, by cluster.
    #[serde(default)]
    pub(crate) slurm: BTreeMap<String, SlurmAt>,
    /// Kubernetes, by cluster.
    #[serde(default)]
    pub(crate) kubernetes: BTreeMap<String, KubernetesAt>,
}

/// Seconds between rounds where nobody says otherwise.
const ROUND_S: u64 = 60;

impl ReclaimConfig {
    /// Seconds between rounds.
    pub(crate) fn round_s(&self) -> u64 {
        self.round_seconds.unwrap_or(ROUND_S)
    }
}

/// A Slurm whose commands are on this machine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlurmAt {
    /// Folder of `scontrol` and `scancel` [default: they are found in `PATH`].
    pub(crate) folder: Option<PathBuf>,
    /// `SLURM_CONF` [default: the usual one].
    pub(crate) conf: Option<PathBuf>,
    /// Seconds that a command may take; 30 where it is not said.
    pub(crate) deadline_seconds: Option<u64>,
}

/// An API server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KubernetesAt {
    /// Kubeconfig file [default: the pod's own service account].
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of it [default: its current one].
    pub(crate) context: Option<String>,
}

/// Seconds that a command of Slurm may take.
const DEADLINE_S: u64 = 30;

/// The schedulers that may be asked.
///
/// # Errors
/// Where a cluster stands under both, or a kubeconfig cannot be used.
pub(crate) async fn schedulers(config: &ReclaimConfig, clock: &Arc<dyn Clock>) -> anyhow::Result<Schedulers> {
    let mut all = Schedulers::default();
    if let Some(twice) = config.slurm.keys().find(|c| config.kubernetes.contains_key(*c)) {
        return Err(usage(format!("cluster `{twice}` stands under [reclaim.slurm] and under [reclaim.kubernetes]")));
    }
    for (cluster, at) in &config.slurm {
        let runner = SlurmCommands {
            folder: at.folder.clone(),
            conf: at.conf.clone(),
            deadline: Duration::from_secs(at.deadline_seconds.unwrap_or(DEADLINE_S)),
        };
        all = all.with(cluster, Box::new(Slurm { runner }));
    }
    for (cluster, at) in &config.kubernetes {
        let made = Kubernetes::open(at.kubeconfig.as_deref(), at.context.as_deref(), Arc::clone(clock)).await;
        let made = made.map_err(|e| usage(format!("[reclaim.kubernetes.{cluster}]: {e}")))?;
        all = all.with(cluster, Box::new(made));
    }
    Ok(all)
}
