//! `gpuledger-collector`: what happens on a node. This file parses, runs and turns the outcome into an exit code.

mod args;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use gpuledger_collector::node::command::{calibrate, doctor, node, once};
use gpuledger_collector::node::config::{ConfigError, NodeConfig};
use gpuledger_collector::node::doctor::from_smi;
use gpuledger_collector::node::doctor::gather::Asked;

use crate::args::{Args, Command};

/// What was typed, or what stands in the configuration, makes no sense.
const WRONG_USAGE: u8 = 2;

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
    let config = NodeConfig::read(&args.config)?;
    // One thread: the collector may take half a percent of a core, and nothing here computes for long.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async {
        match args.command {
            Command::Node => node::run(&config).await.map(|()| 0).map_err(anyhow::Error::from),
            Command::Once => Ok(printed(&once::run(&config).await?)),
            Command::Calibrate(what) => Ok(printed(&calibrate::run(&config, &what.into()).await?)),
            Command::Doctor => {
                let (page, code) = doctor::run(&config, &name_of(&config), asked()).await;
                printed(&page);
                Ok(code)
            }
        }
    })
}

/// What the driver says through `nvidia-smi`; the native clock and the disk are not asked, and nothing is claimed.
fn asked() -> Asked {
    Asked { driver: from_smi::ask(), clock_synchronised: None, spool_free_bytes: None }
}

/// The name of this node: from the configuration, else the kernel's.
fn name_of(config: &NodeConfig) -> String {
    let kernel = || std::fs::read_to_string(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    config.node.clone().unwrap_or_else(|| kernel().trim().to_owned())
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
