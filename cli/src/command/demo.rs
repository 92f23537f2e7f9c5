//! `demo`: a month of a generated fleet, from accounting text and minute segments to a bill that adds up.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use gpuledger_aggregator::check::{self, Finding};
use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report::{self, Ask, Charges, Dimension, Format, Reader};
use gpuledger_collector::import::sacct;
use gpuledger_collector::input::Input;
use gpuledger_control::ReferenceTable;
use gpuledger_schema::path::safe_writer;
use gpuledger_schema::window::{self, show_ms};
use tokio::task::JoinSet;

use super::{print, reference};
use crate::args::{Demo, Global, Serve};
use crate::demo::{Fleet, FleetParams, generate};
use crate::outcome::{Outcome, usage};
use crate::place::{self, Place};

/// Folder of the demo where the user names none.
const DEFAULT_DEMO: &str = "gpuledger-demo";
/// Marks a folder as a demo's, so that the next demo may replace it.
const MARKER: &str = "GENERATED-BY-GPULEDGER-DEMO";
/// The month that is generated: it has a 23-hour day in its zone.
const MONTH: (i32, u32) = (2026, 3);
/// Its zone.
const ZONE: chrono_tz::Tz = chrono_tz::Europe::Berlin;
/// Gaps that are shown.
const TOP_GAPS: usize = 5;

pub(super) async fn run(place: &Place, asked: &Demo, named: bool) -> anyhow::Result<Outcome> {
    if asked.gpus < 64 {
        return Err(usage("--gpus is 64 or more"));
    }
    let data = if named { place.data.clone() } else { DEFAULT_DEMO.to_owned() };
    let folder = fresh_folder(&data)?;
    eprintln!("generating a fleet of {} GPUs (nothing here was measured) ...", asked.gpus);
    let params = FleetParams { seed: asked.seed, month: MONTH, zone: ZONE, gpus: asked.gpus, days: asked.days };
    let fleet = Arc::new(generate(&params));
    let config = keep_inputs(&folder, &fleet)?;
    let global = Global { data: Some(data.clone()), config: Some(config), format: "table".to_owned(), cut: None };
    let place = Place::of(&global)?;
    let lake = place.lake_to_write()?;
    let (said, delivered) = tokio::join!(say(&place, &fleet), deliver(&lake, &fleet));
    said?;
    delivered?;
    let lock = place.writer(&lake).await?;
    eprintln!("taking it in ...");
    let taken = place::take_in(&lake).await?;
    if let Some(first) = taken.quarantined.first() {
        anyhow::bail!("the demo's own input was refused: {first}");
    }
    eprintln!("building the ledger ...");
    place::build(&lake, place.partitions()).await?;
    drop(lock);
    let reader = place.reader(&lake).await?;
    let text = bill(&place, &lake, &reader, &fleet, asked.gpus).await?;
    print(text.as_bytes())?;
    if asked.serve {
        drop(reader);
        return super::serve::run(&place, &Serve { listen: asked.listen, link: true }).await;
    }
    Ok(Outcome::Done)
}

/// An empty folder: a new one, or an earlier demo's. Anything else is left alone.
#[allow(clippy::disallowed_methods, reason = "the demo replaces its own folder, and only that")]
pub(super) fn fresh_folder(data: &str) -> anyhow::Result<PathBuf> {
    let folder = PathBuf::from(data);
    let full = std::fs::read_dir(&folder).is_ok_and(|mut d| d.next().is_some());
    if full && !folder.join(MARKER).exists() {
        return Err(usage(format!("`{data}` holds something that is not a demo; name another folder with --data")));
    }
    if full {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot replace the earlier demo in {data}"))?;
    }
    std::fs::create_dir_all(folder.join("input")).with_context(|| format!("cannot make {data}/input"))?;
    std::fs::write(folder.join(MARKER), "everything in this folder was generated\n")?;
    Ok(folder)
}

/// Keeps what a real site would have in files: accounting text, reference tables, configuration.
#[allow(clippy::disallowed_methods, reason = "the demo writes its inputs where a person can look at them")]
fn keep_inputs(folder: &Path, fleet: &Fleet) -> anyhow::Result<PathBuf> {
    let input = folder.join("input");
    let write = |name: &str, text: &str| {
        std::fs::write(input.join(name), text).with_context(|| format!("cannot write {name} of the demo"))
    };
    for file in &fleet.accounting {
        write(&file.name, &file.text)?;
    }
    for (_, name, csv) in &fleet.references {
        write(name, csv)?;
    }
    write("gpuledger.toml", &fleet.config)?;
    Ok(input.join("gpuledger.toml"))
}

/// What people say of the fleet: its reference tables.
async fn say(place: &Place, fleet: &Fleet) -> anyhow::Result<()> {
    for (command, name, csv) in &fleet.references {
        let table: ReferenceTable = command.parse().map_err(|e| anyhow::anyhow!("{command}: {e}"))?;
        reference::import(place, table, name, csv.as_bytes(), None).await?;
    }
    Ok(())
}

/// Accounting through its importer, and the collectors' segments as they would have sent them.
async fn deliver(lake: &Lake, fleet: &Arc<Fleet>) -> anyhow::Result<()> {
    for file in &fleet.accounting {
        let input = Input { name: file.name.clone(), bytes: file.text.clone().into_bytes(), problem: None };
        let options = sacct::SacctOptions {
            cluster: file.cluster.clone(),
            zone: Some(window::zone(&file.zone)?),
            fields: None,
            as_of_ms: Some(fleet.span.to_ms),
        };
        let imported = sacct::import(&[input], &options)?;
        if let Some(first) = imported.quarantine.first() {
            anyhow::bail!("the demo's own accounting was refused: {}: {}", first.source, first.reason);
        }
        for segment in imported.segments(&safe_writer(&file.cluster))? {
            lake.deliver(&segment.name.file_name(), segment.bytes).await?;
        }
    }
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get);
    let mut waiting = 0..fleet.deliveries();
    let mut made = JoinSet::new();
    let start = |n: usize, made: &mut JoinSet<anyhow::Result<()>>| {
        made.spawn(deliver_one(lake.clone(), Arc::clone(fleet), n));
    };
    waiting.by_ref().take(threads).for_each(|n| start(n, &mut made));
    while let Some(one) = made.join_next().await {
        one??;
        if let Some(n) = waiting.next() {
            start(n, &mut made);
        }
    }
    Ok(())
}

/// A cluster's or a node's day: made beside the runtime, then put into the inbox in the order of its segments.
async fn deliver_one(lake: Lake, fleet: Arc<Fleet>, n: usize) -> anyhow::Result<()> {
    let segments = tokio::task::spawn_blocking(move || fleet.delivery(n)).await??;
    for segment in segments {
        lake.deliver(&segment.name.file_name(), segment.bytes).await?;
    }
    Ok(())
}

async fn bill(place: &Place, lake: &Lake, reader: &Reader, fleet: &Fleet, gpus: u32) -> anyhow::Result<String> {
    let ask = |by: &[Dimension]| -> anyhow::Result<Ask> {
        Ok(Ask { window: fleet.span, zone: ZONE, by: by.to_vec(), step: None, currency: place.currency(lake)? })
    };
    let mut out = String::new();
    let _ = write!(
        out,
        "GENERATED DATA: a fleet of {gpus} GPUs that does not exist, {} to {} ({})\n\n",
        show_ms(fleet.span.from_ms, ZONE),
        show_ms(fleet.span.to_ms, ZONE),
        ZONE.name()
    );
    let mut section = |title: &str, body: &[u8]| {
        let _ = write!(out, "{title}\n{}\n{}\n", "=".repeat(title.len()), String::from_utf8_lossy(body));
    };
    let table = |r: &report::Report| report::render(r, Format::Table);
    // Side by side: the checks price all the time there is, the reports the month, once for all of them. Each has a
    // session of its own, because a report keeps its steps there.
    let (by_team, by_type) = (ask(&[Dimension::Team])?, ask(&[Dimension::TaskType])?);
    let (clusters, gaps) = (ask(&[Dimension::Cluster])?, ask(&[Dimension::Job, Dimension::Team, Dimension::User])?);
    let checked = reader.with_partitions(1).await?;
    let findings = tokio::spawn(async move { check::check(&checked, ZONE).await });
    let priced = reader.with_partitions(1).await?;
    report::prepare(&priced, &by_team).await?;
    let r = priced.fork().await?;
    let by_team = tokio::spawn(async move { report::charge(&r, &by_team).await });
    let r = priced.fork().await?;
    let by_type = tokio::spawn(async move { report::charge(&r, &by_type).await });
    let r = priced.fork().await?;
    let usage = tokio::spawn(async move { report::usage(&r, &clusters).await });
    let r = priced.fork().await?;
    let gaps = tokio::spawn(async move { report::gaps(&r, &gaps, Some(TOP_GAPS)).await });
    let (rules, pools, all) = (ask(&[Dimension::Rule])?, ask(&[Dimension::Pool])?, ask(&[])?);
    let r = priced.fork().await?;
    let asked = report::FindingsAsked { grouped: true, ..report::FindingsAsked::default() };
    let rules = tokio::spawn(async move { report::findings(&r, &rules, &asked).await });
    let r = priced.fork().await?;
    let pools = tokio::spawn(async move { report::fleet(&r, &pools, None).await });
    let r = priced.fork().await?;
    let free = tokio::spawn(async move { report::fragmentation(&r, &all).await });
    let (by_team, by_type) = (by_team.await??, by_type.await??);
    section("Statement by team", &table(&by_team.report)?);
    section("Statement by task type", &table(&by_type.report)?);
    section("Conservation: six classes are the capacity", &table(&usage.await??)?);
    section("Top gaps between asked and used", &table(&gaps.await??)?);
    section("What should change, by rule", &table(&rules.await??)?);
    section("The fleet", &table(&pools.await??)?);
    section("Free cards that cannot be used as they lie", &table(&free.await??)?);
    section("Checks", check_lines(&findings.await??).as_bytes());
    if by_team.charged != by_type.charged || by_team.fleet != by_type.fleet || !adds_up(&by_team) {
        anyhow::bail!("the statements do not add up to the same total");
    }
    next_steps(&mut out, place, fleet);
    Ok(out)
}

fn adds_up(c: &Charges) -> bool {
    c.charged + c.platform.iter().sum::<i128>() == c.fleet
}

fn check_lines(findings: &[Finding]) -> String {
    let mut out = String::new();
    for f in findings {
        let word = match (f.violated, f.rows) {
            (true, _) => "VIOLATED",
            (false, 0) => "ok",
            (false, _) => "listed",
        };
        let _ = writeln!(out, "{:<7} {word:<9} {}", f.id, f.says);
    }
    out
}

fn next_steps(out: &mut String, place: &Place, fleet: &Fleet) {
    let data = &place.data;
    let with = format!("--data {data} --config {data}/input/gpuledger.toml");
    let _ = write!(
        out,
        "Where things lie\n================\n\
         {data}/input      accounting text, reference tables and configuration, as a site would keep them\n\
         {data}/tables     the lake: Delta tables, readable as Parquet by anything\n\n\
         What to try next\n================\n\
         gpuledger report charge {with} --month 2026-03 --by cost_center,model\n\
         gpuledger report usage {with} --month 2026-03 --step day\n\
         gpuledger report findings {with} --month 2026-03 --top 10\n\
         gpuledger report health {with} --month 2026-03\n\
         gpuledger sql {with} \"SELECT state, count(*) FROM run GROUP BY state\"\n"
    );
    if let Some(first) = fleet.landmarks.iter().find(|l| l.name.starts_with(|c: char| c.is_ascii_digit())) {
        let _ = writeln!(out, "gpuledger explain {with} {}/{}", first.cluster, first.name);
    }
    let runs = fleet.landmarks.iter().filter(|l| l.name.starts_with(|c: char| c.is_ascii_digit()));
    for l in runs.take(4) {
        let _ = writeln!(out, "gpuledger report job {with} {}/{}    ({})", l.cluster, l.name, l.what);
    }
}
