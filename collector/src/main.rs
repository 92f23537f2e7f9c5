//! `gpuledger-collector`: what happens on a node, and on a cluster. This file parses, runs and turns the outcome into an exit code.

mod args;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;

use gpuledger_collector::cluster;
use gpuledger_collector::cluster::config::ClusterConfig;
use gpuledger_collector::cluster::kubernetes::config::KubernetesConfig;
use gpuledger_collector::cluster::slurm::SlurmLooker;
use gpuledger_collector::cluster::slurm::config::SlurmConfig;
use gpuledger_collector::node::clock::KernelClock;
use gpuledger_collector::node::command::{calibrate, doctor, node, once};
use gpuledger_collector::node::config::{ConfigError, NodeConfig};
use gpuledger_collector::node::doctor::gather::Asked;
use gpuledger_collector::node::doctor::{from_nvml, from_smi};
use gpuledger_collector::node::seen::Clock;

use crate::args::{Args, Cluster, Command, Scheduler};

/// What was typed, or what stands in the configuration, makes no sense.
const WRONG_USAGE: u8 = 2;
/// Where the configuration of a node is, unless said otherwise.
const NODE_CONFIG: &str = "/etc/gpuledger/node.toml";
/// Where the configuration of a cluster is, unless said otherwise.
const CLUSTER_CONFIG: &str = "/etc/gpuledger/cluster.toml";

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => {
            let help = !e.use_stderr();
            let _ = e.print();
            return if help { ExitCode::SUCCESS } else { ExitCode::from(WRONG_USAGE) };
        }
    };
    start_log();
    match run(args) {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            eprintln!("gpuledger-collector: {e:#}");
            ExitCode::from(if e.chain().any(|c| c.is::<ConfigError>()) { WRONG_USAGE } else { 1 })
        }
    }
}

fn run(args: Args) -> anyhow::Result<u8> {
    // One thread: the collector may take half a percent of a core, and nothing here computes for long.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let command = match args.command {
        Command::Cluster(cluster) => {
            let path = args.config.unwrap_or_else(|| PathBuf::from(CLUSTER_CONFIG));
            return runtime.block_on(on_cluster(&cluster, &path)).map(|()| 0);
        }
        command => command,
    };
    let read = NodeConfig::read(&args.config.unwrap_or_else(|| PathBuf::from(NODE_CONFIG)))?;
    // From here on the configuration has a name, wherever it came from.
    let config = NodeConfig { node: Some(name_of(args.node, &read)?), ..read };
    runtime.block_on(async {
        match command {
            Command::Cluster(_) => unreachable!("a cluster was run before"),
            Command::Node => node::run(&config).await.map(|()| 0).map_err(anyhow::Error::from),
            Command::Once(form) => Ok(printed(&once::run(&config, form.into()).await?)),
            Command::Calibrate(what) => Ok(printed(&calibrate::run(&config, &what.into()).await?)),
            Command::Doctor => {
                let (page, code) = doctor::run(&config, asked(&config)).await;
                printed(&page);
                Ok(code)
            }
        }
    })
}

/// Records what a scheduler says, until told to stop.
async fn on_cluster(asked: &Cluster, path: &Path) -> anyhow::Result<()> {
    match asked.scheduler {
        Scheduler::Slurm => {
            let config: ClusterConfig<SlurmConfig> = ClusterConfig::read(path)?;
            let looker = SlurmLooker::new(&config.cluster, &config.scheduler);
            Ok(cluster::run::run(looker, &config, Arc::new(KernelClock), asked.once).await?)
        }
        Scheduler::Kubernetes => {
            let config: ClusterConfig<KubernetesConfig> = ClusterConfig::read(path)?;
            let clock: Arc<dyn Clock> = Arc::new(KernelClock);
            let looker = cluster::kubernetes::looker(&config, &clock).await?;
            Ok(cluster::run::run(looker, &config, clock, asked.once).await?)
        }
    }
}

/// What the driver's library, the kernel's clock and the disk say. Where the library cannot be loaded, `nvidia-smi` may know
/// what this process may not.
fn asked(config: &NodeConfig) -> Asked {
    let driver = from_nvml::ask(&config.nvml_path)
        .or_else(|why| from_smi::ask().map_err(|also| format!("{why}; and through nvidia-smi: {also}")));
    Asked {
        driver,
        clock_synchronised: Some(KernelClock.now().synchronised),
        spool_free_bytes: gpuledger_native::disk::free_bytes(&config.spool),
    }
}

/// The name of this node: as typed, else from the configuration, else the kernel's.
fn name_of(typed: Option<String>, config: &NodeConfig) -> anyhow::Result<String> {
    if let Some(name) = typed.or_else(|| config.node.clone()) {
        return Ok(name);
    }
    let path = config.proc_root.join("sys/kernel/hostname");
    let name = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}; set `node`", path.display()))?;
    Ok(name.trim().to_owned())
}

fn printed(text: &str) -> u8 {
    print!("{text}");
    0
}

/// Logs go to stderr; `GPULEDGER_LOG` is error, warn (the default), info, debug or trace.
fn start_log() {
    let level = std::env::var("GPULEDGER_LOG").ok().and_then(|l| l.parse().ok()).unwrap_or(tracing::Level::WARN);
    tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_writer(std::io::stderr).init();
}

#[cfg(test)]
mod deploy_tests;
