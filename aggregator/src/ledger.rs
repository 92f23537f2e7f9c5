//! Building the ledger: which statements run, in which order, over which days.
//!
//! Whole-history steps run once a build; the rest runs once per span of UTC days. A day with many minutes is a span of
//! its own, so memory is that of a day; days that only accounting speaks of are cheap, and several make a span.

use std::collections::BTreeSet;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Int32Type, Int64Type};
use futures::{StreamExt, stream};
use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::table::{
    self, DEVICE_CELL, DEVICE_MISMATCH, HOLDER_CELL, REQUEST, RUN, SESSION_DAY, Table, UNIT, USAGE, reference,
};
use gpuledger_schema::unit::DAY_MS;

use crate::engine::{Engine, EngineError, Params, bigint, int};
use crate::lake::{Build, Cut, Lake, LakeError};
use crate::{rows, statement};

mod again;
mod name;
mod span;
mod tick;

pub use again::{Again, Spans, again};
pub use name::name_ids;
pub(crate) use tick::tick_steps;

/// Rows of minutes a span may have before it is cut; a day above it is a span of its own.
const SPAN_ROWS: i64 = 2_000_000;
/// Spans that are computed at the same time: what they read lies in memory together.
const SPANS_AT_ONCE: usize = 2;
/// Cells of holding a span may have when only accounting speaks.
const SPAN_DAYS_MAX: i32 = 62;
/// How far a failure of a device is looked back for when days are rebuilt.
pub(crate) const FAILURE_DAYS: i32 = 32;
/// A tick up to this far outside a span can still change it (bridging, clipping).
const NEAR_MS: i64 = 900_000;

/// Steps of a span that are published by day, beside usage.
const STEPS_BY_DAY: [Table; 4] = [SESSION_DAY, HOLDER_CELL, DEVICE_MISMATCH, DEVICE_CELL];

/// What can go wrong in a build.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A statement failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// Two natural keys have the same id.
    #[error("two names have the same id {id}: `{one}` and `{other}`")]
    Collision {
        /// The id.
        id: i64,
        /// A key.
        one: String,
        /// Another.
        other: String,
    },
    /// A span of days was not computed to its end.
    #[error("a span of days was not computed to its end")]
    Stopped(#[source] Box<tokio::task::JoinError>),
    /// A statement gave a column of a type that was not expected.
    #[error("`{table}` came back in another shape than its statement declares")]
    Shape {
        /// The table.
        table: &'static str,
    },
}

/// What a build did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildReport {
    /// Days rebuilt.
    pub days: usize,
    /// Rows of usage written.
    pub rows: usize,
    /// Whether everything was up to date.
    pub up_to_date: bool,
}

/// What a statement gave, in the types of the table that it is published as.
fn shaped(spec: &Table, batches: &[RecordBatch]) -> Result<Vec<RecordBatch>, LedgerError> {
    rows::shaped(spec, batches).map_err(|_| LedgerError::Shape { table: spec.name })
}

/// Rules whose change asks for a fresh ledger.
fn rules() -> String {
    statement::rules_hash(&["ledger"])
}

/// The build that belongs to the newest cut and today's rules, if there is one.
pub async fn current(lake: &Lake) -> Result<Option<Build>, LakeError> {
    let Some((number, _)) = lake.newest::<Cut>(path::CUTS).await? else { return Ok(None) };
    let found = lake.newest::<Build>(path::BUILDS).await?;
    Ok(found.map(|(_, b)| b).filter(|b| b.cut == number.0 && b.rules == rules()))
}

/// Brings the ledger up to the newest cut. `progress` is told (days done, days in all).
pub async fn build(
    lake: &Lake,
    partitions: usize,
    progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<BuildReport, LedgerError> {
    let Some((cut_number, cut)) = lake.newest::<Cut>(path::CUTS).await? else {
        return Ok(BuildReport { up_to_date: true, ..BuildReport::default() });
    };
    let last = lake.newest::<Build>(path::BUILDS).await?;
    if let Some((_, b)) = &last
        && b.cut == cut_number.0
        && b.rules == rules()
    {
        return Ok(BuildReport { up_to_date: true, ..BuildReport::default() });
    }
    let engine = Engine::new(partitions);
    register_cut(&engine, lake, &cut).await?;
    whole_history(&engine).await?;
    let Some(all) = days_of(&engine).await? else {
        return publish(&engine, lake, cut_number, last, None, BuildReport::default()).await;
    };
    let since = last.as_ref().filter(|(_, b)| b.rules == rules() && b.days.is_some());
    let mut wanted = touched(&engine, lake, since.map(|(_, b)| b), cut_number, all).await?;
    // cells whose minutes are kept no longer stay what they are: derived again they would say that nobody measured
    let kept_from = cut.minutes_from.unwrap_or(i32::MIN);
    wanted.retain(|day| *day >= kept_from);
    failures(&engine, all, &wanted).await?;
    let spans = spans(&engine, &wanted).await?;
    let in_all: usize = spans.iter().map(|(a, b)| (b - a) as usize).sum();
    let mut report = BuildReport { days: in_all, ..BuildReport::default() };
    let mut done = 0;
    // spans are computed side by side and written in order
    let side_by_side = if spans.len() > 1 { SPANS_AT_ONCE.min(partitions.max(1)) } else { 1 };
    let each = (partitions / side_by_side).max(1);
    let computed = spans.into_iter().map(|span| tokio::spawn(span::compute(engine.clone(), each, span)));
    let mut computed = std::pin::pin!(stream::iter(computed).buffered(side_by_side));
    while let Some(span) = computed.next().await {
        let span = span.map_err(|e| LedgerError::Stopped(Box::new(e)))??;
        done += (span.days.1 - span.days.0) as usize;
        report.rows += span::write(lake, span).await?;
        progress(done, in_all);
    }
    let before = last.as_ref().and_then(|(_, b)| b.days);
    drop_days_outside(lake, before, all, kept_from).await?;
    let first = before.map_or(all.0, |(first, _)| if first < kept_from { first.min(all.0) } else { all.0 });
    publish(&engine, lake, cut_number, last, Some((first, all.1)), report).await
}

/// Registers every observed and reference table at its version in the cut (empty where it has none).
pub async fn register_cut(engine: &Engine, lake: &Lake, cut: &Cut) -> Result<(), LedgerError> {
    for spec in table::observed().into_iter().chain(reference::all()) {
        match cut.tables.get(spec.name) {
            Some(version) => engine.register(spec.name, lake.provider_at(&spec, *version).await?)?,
            None => engine.register_empty(&spec)?,
        }
    }
    Ok(crate::reference::register_defaults(engine, |table| cut.tables.contains_key(table))?)
}

/// Registers the derived tables of a build.
pub async fn register_build(engine: &Engine, lake: &Lake, build: Option<&Build>) -> Result<(), LedgerError> {
    for spec in table::derived() {
        match build.and_then(|b| b.tables.get(spec.name)) {
            Some(version) => engine.register(spec.name, lake.provider_at(&spec, *version).await?)?,
            None => engine.register_empty(&spec)?,
        }
    }
    Ok(())
}

/// Steps that read all of history, once a build.
pub async fn whole_history(engine: &Engine) -> Result<(), LedgerError> {
    let none = Params::new();
    name_ids(engine).await?;
    for step in [
        "ledger/01_as_of",
        "ledger/01_look",
        "ledger/02_run_now",
        "ledger/03_job_now",
        "ledger/04_chain",
        "ledger/05_task_type",
        "ledger/06_device_span",
        "ledger/06_scheduler_run",
        "ledger/06_whose_hint",
        "ledger/07_claim",
        "ledger/07_dated",
        "ledger/07_device_index",
        "ledger/07_holding",
        "ledger/08_stamp_group",
        "ledger/09_sample_tick",
        "ledger/11_spare",
        "ledger/11_watched",
        "ledger/12_node_span",
    ] {
        engine.step(step, &none).await?;
    }
    Ok(())
}

/// First and last UTC day that can have usage.
async fn days_of(engine: &Engine) -> Result<Option<(i32, i32)>, LedgerError> {
    let (_, rows) = engine.run("ledger/14_days", &Params::new()).await?;
    let value = |c: usize| {
        rows.iter().find(|b| b.num_rows() > 0).and_then(|b| {
            let column = b.column(c).as_primitive_opt::<Int64Type>()?;
            column.is_valid(0).then(|| column.value(0) as i32)
        })
    };
    Ok(value(0).zip(value(1)))
}

/// Days to rebuild: all without an earlier build of these rules, else those its later cuts touched.
async fn touched(
    engine: &Engine,
    lake: &Lake,
    since: Option<&Build>,
    cut: Numbered,
    all: (i32, i32),
) -> Result<BTreeSet<i32>, LedgerError> {
    let every = || (all.0..=all.1).collect::<BTreeSet<i32>>();
    let Some(since) = since else { return Ok(every()) };
    let mut days = BTreeSet::new();
    let mut near = BTreeSet::new();
    for number in since.cut + 1..=cut.0 {
        // a number without a cut is a batch that was repeated under another number
        if let Some(c) = lake.document::<Cut>(path::CUTS, Numbered(number)).await? {
            days.extend(c.touched_days);
            near.extend(c.near_days);
            days.extend(c.touched_from.map_or(1..=0, |from| from.max(all.0)..=all.1));
        }
    }
    if let Some((first, last)) = since.days {
        // the end of what was known, where the last day was open, is touched by the reading that moved it
        days.extend((all.0..first).chain(last + 1..=all.1));
    }
    let is_there = |d: &i32| (all.0..=all.1).contains(d);
    near.retain(|d| is_there(d) && !days.contains(d));
    days.extend(reached_back(engine, &near).await?);
    Ok(days.into_iter().filter(is_there).collect())
}

/// Of days before days with new minutes, those that can look different for them.
async fn reached_back(engine: &Engine, near: &BTreeSet<i32>) -> Result<BTreeSet<i32>, LedgerError> {
    let (Some(first), Some(last)) = (near.first(), near.last()) else { return Ok(BTreeSet::new()) };
    let params = Params::from([("day_from", int(*first)), ("day_to", int(*last + 1))]);
    let (_, batches) = engine.run("ledger/20_near_day", &params).await?;
    let mut days = BTreeSet::new();
    for batch in &batches {
        let column = batch.column(0).as_primitive_opt::<Int32Type>();
        let column = column.ok_or(LedgerError::Shape { table: "near_day" })?;
        days.extend(column.values().iter().copied().filter(|d| near.contains(d)));
    }
    Ok(days)
}

/// Offsets of the boots' clocks and failures of devices, for all days wanted at once.
async fn failures(engine: &Engine, all: (i32, i32), wanted: &BTreeSet<i32>) -> Result<(), LedgerError> {
    let first = wanted.first().copied().unwrap_or(all.0);
    let from = (first - FAILURE_DAYS).max(all.0 - 1);
    let days = Params::from([("day_from", int(from)), ("day_to", int(all.1 + 2))]);
    let mut near = days.clone();
    near.insert("near_day", int((first - 1).max(from)));
    engine.step("ledger/12_sick", &days).await?;
    engine.step("ledger/20_boot_offset", &near).await?;
    engine.step("ledger/13_failure", &days).await?;
    Ok(())
}

/// Cuts the wanted days into spans `[from, to)` whose minutes fit into memory together.
async fn spans(engine: &Engine, wanted: &BTreeSet<i32>) -> Result<Vec<(i32, i32)>, LedgerError> {
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return Ok(Vec::new()) };
    let params = Params::from([("day_from", int(*first)), ("day_to", int(*last + 1))]);
    let (_, batches) = engine.run("ledger/15_day_rows", &params).await?;
    let mut rows = std::collections::BTreeMap::new();
    for b in &batches {
        let shape = LedgerError::Shape { table: "day_rows" };
        let (Some(days), Some(counts)) =
            (b.column(0).as_primitive_opt::<Int64Type>(), b.column(1).as_primitive_opt::<Int64Type>())
        else {
            return Err(shape);
        };
        for i in 0..b.num_rows() {
            rows.insert(days.value(i) as i32, counts.value(i));
        }
    }
    let mut out: Vec<(i32, i32)> = Vec::new();
    let mut size = 0;
    for day in wanted {
        let more = rows.get(day).copied().unwrap_or(0);
        match out.last_mut() {
            Some(span) if span.1 == *day && size + more <= SPAN_ROWS && *day - span.0 < SPAN_DAYS_MAX => {
                span.1 = *day + 1;
                size += more;
            }
            _ => {
                out.push((*day, *day + 1));
                size = more;
            }
        }
    }
    Ok(out)
}

/// Every per-span step, in order, up to usage.
pub async fn span_steps(engine: &Engine, span: (i32, i32)) -> Result<(), LedgerError> {
    let (lo, hi) = (i64::from(span.0) * DAY_MS, i64::from(span.1) * DAY_MS);
    let days = Params::from([("day_from", int(span.0 - 1)), ("day_to", int(span.1 + 1))]);
    let window = Params::from([("lo_ms", bigint(lo)), ("hi_ms", bigint(hi))]);
    let mut near = days.clone();
    near.extend([("near_from_ms", bigint(lo - NEAR_MS)), ("near_to_ms", bigint(hi + NEAR_MS))]);
    let mut days_and_window = days.clone();
    days_and_window.extend(window.clone());
    let none = Params::new();
    for (step, params) in [
        ("ledger/21_tick", &near),
        ("ledger/22_instance_tick", &days),
        ("ledger/23_process", &days),
        ("ledger/24_tick_piece", &window),
        ("ledger/25_holder_tick", &none),
        ("ledger/26_session", &none),
        ("ledger/27_bridge", &none),
        ("ledger/27_held", &window),
        ("ledger/28_holder", &window),
        ("ledger/29_device_mismatch", &window),
        ("ledger/30_interval", &window),
        ("ledger/31_grant", &none),
        ("ledger/32_slot", &none),
        ("ledger/33_measured", &none),
        ("ledger/34_part", &none),
        ("ledger/35_extra", &none),
        ("ledger/36_busy", &none),
        ("ledger/37_estimated", &none),
        ("ledger/38_usage_device", &none),
        ("ledger/40_count_cell", &window),
        ("ledger/41_node_part", &none),
        ("ledger/41_spare_cell", &window),
        ("ledger/42_stand_in", &none),
        ("ledger/43_replaced", &none),
        ("ledger/44_capacity", &none),
        ("ledger/45_stand_in_grant", &none),
        ("ledger/46_usage_stand_in", &none),
        ("ledger/51_session_day", &days_and_window),
        ("ledger/52_holder_cell", &none),
        ("ledger/52_card_piece", &days),
        ("ledger/53_at_rest", &none),
        ("ledger/53_device_cell", &none),
    ] {
        engine.step(step, params).await?;
    }
    Ok(())
}

/// Usage of days that no longer exist (an import taken back, an as-of that moved) goes.
async fn drop_days_outside(
    lake: &Lake,
    before: Option<(i32, i32)>,
    all: (i32, i32),
    kept_from: i32,
) -> Result<(), LedgerError> {
    let Some((first, last)) = before else { return Ok(()) };
    let first = first.max(kept_from);
    for gone in [(first, all.0.min(last + 1)), (first.max(all.1 + 1), last + 1)] {
        if gone.0 < gone.1 {
            for spec in [USAGE].iter().chain(&STEPS_BY_DAY) {
                lake.replace_days(spec, gone, Vec::new()).await?;
            }
        }
    }
    Ok(())
}

async fn publish(
    engine: &Engine,
    lake: &Lake,
    cut: Numbered,
    last: Option<(Numbered, Build)>,
    days: Option<(i32, i32)>,
    report: BuildReport,
) -> Result<BuildReport, LedgerError> {
    let mut tables = std::collections::BTreeMap::new();
    for spec in [USAGE].iter().chain(&STEPS_BY_DAY) {
        if let Some(version) = lake.table(spec.name).await?.and_then(|t| t.version()) {
            tables.insert(spec.name.to_owned(), version);
        }
    }
    match tables.get(SESSION_DAY.name) {
        Some(version) => engine.register(SESSION_DAY.name, lake.provider_at(&SESSION_DAY, *version).await?)?,
        None => engine.register_empty(&SESSION_DAY)?,
    }
    for (spec, step) in [(RUN, "ledger/60_run"), (UNIT, "ledger/61_unit"), (REQUEST, "ledger/62_request")] {
        let (_, rows) = engine.run(step, &Params::new()).await?;
        tables.insert(spec.name.to_owned(), lake.replace_all(&spec, shaped(&spec, &rows)?).await?);
    }
    let build = Build { cut: cut.0, tables, rules: rules(), days };
    let number = Numbered(last.map_or(0, |(n, _)| n.0) + 1);
    lake.create_document(&format!("{}/{}", path::BUILDS, number.file_name()), &build).await?;
    Ok(report)
}
