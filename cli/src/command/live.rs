//! `demo --live`: the node collector on a simulated driver with real child processes, through to a usage report.
//!
//! The collector runs as a process of its own, as on a node: this binary again, with a command that no help shows.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use gpuledger_aggregator::check;
use gpuledger_aggregator::report::{self, Ask, Dimension, Format};
use gpuledger_collector::node;
use gpuledger_nvml_sim::library;
use gpuledger_nvml_sim::scenario::Scenario;
use gpuledger_schema::window::{Window, show_ms};

use super::demo::fresh_folder;
use super::print;
use crate::args::{Demo, Global, Record};
use crate::clock;
use crate::outcome::Outcome;
use crate::place::{self, Place};

/// Folder of the live demo where the user names none.
const DEFAULT_LIVE: &str = "gpuledger-live";
/// Whose pids the scenario asks for, and what they do: the simulated driver says how busy their cards are.
const CHILDREN: [&str; 3] = ["train", "infer", "notebook"];
/// What the demo's cluster is called.
const CLUSTER: &str = "live";
/// Invariants that the page shows.
const SHOWN: [&str; 2] = ["L1", "L5"];

pub(super) async fn run(place: &Place, asked: &Demo, named: bool) -> anyhow::Result<Outcome> {
    let data = if named { place.data.clone() } else { DEFAULT_LIVE.to_owned() };
    let folder = fresh_folder(&data)?.canonicalize()?;
    let scene = folder.join("input");
    let scenario =
        Scenario::parse(include_str!("../../../tests/nvml-sim/scenarios/demo.toml")).map_err(anyhow::Error::msg)?;
    let simulated = library::install(&scene, &scenario).context(
        "the simulated driver is not beside this program; in a checkout `cargo build --release --workspace` builds it",
    )?;
    let mut children = Vec::new();
    for name in CHILDREN {
        let child = Kept::start(Command::new("setsid").args(["sleep", "86400"]), name)?;
        write(&scene.join(format!("{name}.pid")), &child.0.id().to_string())?;
        children.push(child);
    }
    let config = configuration(&folder, &simulated.library)?;
    let global = Global { data: Some(data.clone()), config: None, format: "table".to_owned(), cut: None };
    let place = Place::of(&global)?;
    // the inbox must be there: a collector makes no lake
    let lake = place.lake_to_write()?;
    let seconds = asked.seconds;
    eprintln!("recording {} real processes on a simulated driver for {seconds} s ...", CHILDREN.len());
    let from_ms = clock::now_ms();
    record(&config, &simulated.scenario, seconds)?;
    let to_ms = clock::now_ms();
    drop(children);

    let lock = place.writer(&lake).await?;
    let taken = place::take_in(&lake).await?;
    if let Some(first) = taken.quarantined.first() {
        anyhow::bail!("what the collector wrote was refused: {first}");
    }
    place::build(&lake, place.partitions()).await?;
    drop(lock);
    let reader = place.reader(&lake).await?;
    let zone = chrono_tz::UTC;
    // whole cells around the recording: what lies outside it was not known, and counts nothing
    let cell = gpuledger_schema::unit::CELL_MS;
    let window = Window { from_ms: from_ms / cell * cell, to_ms: (to_ms / cell + 1) * cell };
    let mut out = format!(
        "SIMULATED DRIVER, REAL PROCESSES: {} to {} (UTC), {} rows\n\n",
        show_ms(from_ms, zone),
        show_ms(to_ms, zone),
        taken.rows
    );
    for by in [&[Dimension::Device][..], &[Dimension::Job, Dimension::User, Dimension::Device]] {
        let ask = Ask { window, zone, by: by.to_vec(), step: None, currency: report::Currency::none() };
        let mut usage = report::usage(&reader, &ask).await?;
        // two minutes are a few hundredths of an hour
        usage.table_decimals = 4;
        out.push_str(&String::from_utf8_lossy(&report::render(&usage, Format::Table)?));
        out.push('\n');
    }
    let findings = check::check(&reader, zone).await?;
    let shown: Vec<_> = findings.iter().filter(|f| SHOWN.contains(&f.id.as_str())).collect();
    for f in &shown {
        let _ = writeln!(out, "{:<7} {:<9} {}", f.id, if f.violated { "VIOLATED" } else { "ok" }, f.says);
    }
    let _ =
        writeln!(out, "\nEverything lies in {data}; try: gpuledger sql --data {data} 'SELECT * FROM process_minute'");
    print(out.as_bytes())?;
    if findings.iter().any(|f| f.violated) {
        anyhow::bail!("an invariant does not hold");
    }
    Ok(Outcome::Done)
}

/// The hidden command: a node's collector for so many seconds.
pub(super) fn collect(asked: &Record) -> anyhow::Result<Outcome> {
    let config = node::config::NodeConfig::read(&asked.node_config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let length = Duration::from_secs(asked.seconds);
    runtime.block_on(async { node::command::node::run_until(&config, tokio::time::sleep(length)).await })?;
    Ok(Outcome::Done)
}

/// Runs the collector to its end.
#[allow(clippy::disallowed_methods, reason = "the demo shows the collector as what it is, a process of its own")]
fn record(config: &Path, scenario: &Path, seconds: u64) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("collect-for").arg("--node-config").arg(config).args(["--seconds", &seconds.to_string()]);
    let status = command.env("NVML_SIM_SCENARIO", scenario).stdin(Stdio::null()).status().context("the collector")?;
    anyhow::ensure!(status.success(), "the collector failed ({status})");
    Ok(())
}

fn configuration(folder: &Path, library: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join("input/node.toml");
    let text = format!(
        "cluster = {CLUSTER:?}\nnode = \"node1\"\nscheduler = \"none\"\nlake = {:?}\nspool = {:?}\nnvml_path = {:?}\n\
         poll_s = 2\nseal_ticks = 1\nmetrics_listen = \"\"\n",
        folder.display().to_string(),
        folder.join("input/spool").display().to_string(),
        library.display().to_string(),
    );
    write(&path, &text)?;
    Ok(path)
}

#[allow(clippy::disallowed_methods, reason = "into the demo's own folder, which is made anew each time")]
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A child that ends with the demo.
struct Kept(Child);

impl Kept {
    #[allow(clippy::disallowed_methods, reason = "the demo's own processes, which do nothing but be there")]
    fn start(command: &mut Command, name: &str) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Self).with_context(|| format!("cannot start the process `{name}`"))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
