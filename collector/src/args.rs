//! What can be typed. Every command has an example in its help.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use gpuledger_collector::node::command::calibrate::Calibration;
use gpuledger_collector::node::command::once::Form;

const EXAMPLES: &str = "Examples:
  gpuledger-collector doctor
  gpuledger-collector once --config node.toml
  gpuledger-collector node --config /etc/gpuledger/node.toml
  gpuledger-collector calibrate --duty-percent 40 -- python3 load.py
  gpuledger-collector cluster slurm --config /etc/gpuledger/cluster.toml

Exit codes: 0 done, 1 failed (doctor: something is broken), 2 wrong usage or wrong configuration.";

/// Records what happens on this node: every process, every GPU, every minute.
#[derive(Debug, Parser)]
#[command(name = "gpuledger-collector", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Configuration file (TOML; unknown keys stop the program) [default: /etc/gpuledger/node.toml, of a cluster
    /// /etc/gpuledger/cluster.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Name of this node, where the configuration is shared by many [default: `node` there, else the host name]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) node: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record every minute until told to stop
    #[command(after_help = "Example:\n  gpuledger-collector node --config /etc/gpuledger/node.toml")]
    Node,
    /// Record one minute, print it as a table, and write nothing
    #[command(after_help = "Examples:\n  gpuledger-collector once\n  gpuledger-collector once --json")]
    Once(Once),
    /// Say in plain words what this node can and cannot measure, why, and what to do
    #[command(
        after_help = "Example:\n  gpuledger-collector doctor\n\nExit codes: 0 ready, 1 something is broken, 2 wrong usage or configuration."
    )]
    Doctor,
    /// Run a known load and compare busy time from independent sources
    #[command(
        after_help = "Examples:\n  gpuledger-collector calibrate -- gpu_burn 60\n  gpuledger-collector calibrate --duty-percent 40 --seconds 120 -- python3 load.py"
    )]
    Calibrate(Calibrate),
    /// Record what a scheduler says of jobs, runs and nodes, until told to stop
    #[command(
        after_help = "Examples:\n  gpuledger-collector cluster slurm --config /etc/gpuledger/cluster.toml\n  gpuledger-collector cluster kubernetes\n  gpuledger-collector cluster slurm --once"
    )]
    Cluster(Cluster),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Cluster {
    /// The scheduler
    #[arg(value_enum, value_name = "SCHEDULER")]
    pub(crate) scheduler: Scheduler,
    /// Look once, write what is different, and end
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Scheduler {
    /// Slurm, beside its controller
    Slurm,
    /// Kubernetes, through its API server
    Kubernetes,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Once {
    /// A line of JSON for each row, instead of a table
    #[arg(long)]
    json: bool,
}

impl From<Once> for Form {
    fn from(asked: Once) -> Self {
        if asked.json { Self::Json } else { Self::Table }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Calibrate {
    /// Part of the time, in percent, in which the load computes, where it is known
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(i64).range(0..=100))]
    duty_percent: Option<i64>,
    /// Seconds after which the load is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(10..=3600))]
    seconds: u64,
    /// The load: a program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl From<Calibrate> for Calibration {
    fn from(asked: Calibrate) -> Self {
        Self {
            command: asked.command,
            duty_ppm: asked.duty_percent.map(|percent| percent * 10_000),
            duration_s: asked.seconds,
        }
    }
}
