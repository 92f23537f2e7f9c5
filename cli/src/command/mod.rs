//! One file a command.

use std::io::Write;

use anyhow::Context;
use gpuledger_aggregator::report::{self, Format};
use gpuledger_control::ReferenceTable;

pub(crate) use export::exported;
pub(crate) use reference::{actor, import_as, import_dry};
pub(crate) use token::random;

use crate::args::{Args, Command, ManualLines, Rates, Reclaim};
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::session;

mod audit;
mod budgets;
mod check;
mod close;
mod correct;
mod demo;
mod doctor;
mod explain;
mod export;
mod findings;
mod idle;
mod import;
mod keep;
mod live;
mod manual;
mod notify;
mod quote;
mod reclaim;
mod reference;
mod reports;
mod serve;
mod sql;
mod token;

/// Stack of the threads that plan and run statements.
const STACK_BYTES: usize = 32 << 20;

/// Runs what was typed.
pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let format: Format = args.global.format.parse().map_err(|e: report::UnknownFormat| usage(e.to_string()))?;
    if let Command::CollectFor(asked) = &args.command {
        return live::collect(asked);
    }
    if !runs_on(&args.command) {
        gpuledger_allocator::keep_freed();
    }
    let place = Place::of(&args.global)?;
    let threads = place.partitions().max(2);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    // planning recurses deeply, and the main thread's stack is the system's: run on one of our own
    let worker = std::thread::Builder::new()
        .name("command".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let done = runtime.block_on(dispatch(&place, args, format));
            // what a server was still asked when it had to end is not waited for
            runtime.shutdown_timeout(std::time::Duration::from_secs(1));
            done
        })
        .context("cannot start a thread")?;
    worker.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the command was stopped by a fault of its own")))
}

/// Whether a command runs until it is stopped.
fn runs_on(command: &Command) -> bool {
    match command {
        Command::Serve(_) => true,
        Command::Demo(demo) => demo.serve,
        Command::Reclaim(what) => matches!(what, Reclaim::Watch { .. }),
        _ => false,
    }
}

async fn dispatch(place: &Place, args: Args, format: Format) -> anyhow::Result<Outcome> {
    let named = args.global.data.is_some() || place.config.data.is_some();
    dispatch_one(place, args.command, format, named).await
}

/// Runs a command on a place.
pub(crate) async fn dispatch_one(
    place: &Place,
    command: Command,
    format: Format,
    named: bool,
) -> anyhow::Result<Outcome> {
    match command {
        Command::Demo(asked) if asked.live => live::run(place, &asked, named).await,
        Command::Demo(asked) => demo::run(place, &asked, named).await,
        Command::Import(what) => import::run(place, what).await,
        Command::Ingest => import::ingest(place).await,
        Command::Inventory(r) => reference::run(place, ReferenceTable::Inventory, r, format).await,
        Command::Pools(r) => reference::run(place, ReferenceTable::Pools, r, format).await,
        Command::Tiers(r) => reference::run(place, ReferenceTable::Tiers, r, format).await,
        Command::Rules(r) => reference::run(place, ReferenceTable::Rules, r, format).await,
        Command::Weights(r) => reference::run(place, ReferenceTable::Weights, r, format).await,
        Command::Rates(Rates::Table(r)) => reference::run(place, ReferenceTable::Rates, r, format).await,
        Command::Rates(Rates::Quote(q)) => quote::run(place, &q, format).await,
        Command::Owners(r) => reference::run(place, ReferenceTable::Owners, r, format).await,
        Command::Quotas(r) => reference::run(place, ReferenceTable::Quotas, r, format).await,
        Command::Thresholds(r) => reference::run(place, ReferenceTable::Thresholds, r, format).await,
        Command::Specs(r) => reference::run(place, ReferenceTable::Specs, r, format).await,
        Command::FindingNotes(r) => reference::run(place, ReferenceTable::FindingNotes, r, format).await,
        Command::Terms(r) => reference::run(place, ReferenceTable::Terms, r, format).await,
        Command::Discounts(r) => reference::run(place, ReferenceTable::Discounts, r, format).await,
        Command::CostPools(r) => reference::run(place, ReferenceTable::CostPools, r, format).await,
        Command::EnergyPrices(r) => reference::run(place, ReferenceTable::EnergyPrices, r, format).await,
        Command::Budgets(r) => reference::run(place, ReferenceTable::Budgets, r, format).await,
        Command::CostCenters(r) => reference::run(place, ReferenceTable::CostCenters, r, format).await,
        Command::ManualLines(ManualLines::Table(r)) => {
            reference::run(place, ReferenceTable::ManualLines, r, format).await
        }
        Command::ManualLines(ManualLines::Add(line)) => manual::add(place, &line).await,
        Command::ManualLines(ManualLines::Withdraw(line)) => manual::withdraw(place, &line).await,
        Command::Audit(a) => audit::run(place, &a, format).await,
        Command::Contacts(r) => reference::run(place, ReferenceTable::Contacts, r, format).await,
        Command::Report(r) => reports::run(place, r, format).await,
        Command::Findings(f) => findings::run(place, f, format).await,
        Command::Idle(i) => idle::run(place, &i, format).await,
        Command::Reclaim(r) => reclaim::run(place, r, format).await,
        Command::Explain(e) => explain::run(place, &e, format).await,
        Command::Close(c) => close::run(place, &c, format).await,
        Command::Periods(p) => close::periods(place, &p, format).await,
        Command::Verify(v) => close::verify(place, &v, format).await,
        Command::Correct(c) => correct::run(place, &c, format).await,
        Command::Statement(s) => close::statement(place, &s, format).await,
        Command::Uncharged(u) => close::uncharged(place, &u, format).await,
        Command::Export(e) => export::run(place, &e).await,
        Command::Maintain(m) => keep::maintain(place, &m, format).await,
        Command::Backup(b) => keep::backup(place, &b).await,
        Command::Restore(r) => keep::restore(place, &r).await,
        Command::Check(c) => check::run(place, &c, format).await,
        Command::Sql(s) => sql::run(place, &s, format).await,
        Command::CollectFor(asked) => live::collect(&asked),
        Command::Notify(n) => notify::run(place, n, format).await,
        Command::Serve(s) => serve::run(place, &s).await,
        Command::Token(t) => token::run(place, t, format).await,
        Command::Doctor(d) => doctor::run(place, &d, format).await,
    }
}

/// Writes to standard output; where a server runs the command, to who asked.
pub(crate) fn print(bytes: &[u8]) -> anyhow::Result<()> {
    if session::heard(bytes) {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).context("cannot write to standard output")?;
    out.flush().context("cannot write to standard output")
}

/// Renders a report to standard output.
pub(crate) fn show(report: &report::Report, format: Format) -> anyhow::Result<()> {
    let shown = session::saw(report);
    print(&report::render(shown.as_ref().unwrap_or(report), format)?)
}
