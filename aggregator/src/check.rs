//! Running the checks: every invariant that applies to what the lake holds, a line each.

use std::fmt::Write as _;
use std::sync::Arc;

use chrono_tz::Tz;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::ViewTable;
use datafusion::logical_expr::{col, lit};
use gpuledger_schema::invariant::INVARIANTS;
use gpuledger_schema::unit::{CELL_MS, DAY_MS};
use gpuledger_schema::window::{Window, day_of};
use serde::Serialize;

use crate::engine::{Engine, Params, bigint};
use crate::ledger;
use crate::report::{Ask, Currency, Reader, ReportError, price_facts};

mod cells;

/// Rows of a finding that are shown.
const ROWS_SHOWN: usize = 5;
/// Numbers of partitions with which charges must be the same.
const PARTITIONS: [usize; 2] = [1, 16];
/// Minor units of a cent, in exact money: the checks round as a currency with two decimals does.
const CENT: i64 = 36_000_000_000;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Id of the invariant.
    pub id: String,
    /// What it says.
    pub says: String,
    /// Whether it does not hold.
    pub violated: bool,
    /// Rows that need a look: of a violation, or a list that a close wants fixed or waived.
    pub rows: usize,
    /// The first of them.
    pub shown: String,
}

/// Runs every check over all the time there is.
///
/// # Errors
/// When a statement fails or gives other columns than it declares.
pub async fn check(reader: &Reader, zone: Tz) -> Result<Vec<Finding>, ReportError> {
    ledger::whole_history(reader.engine()).await?;
    let window = everything(reader).await?;
    let Some(window) = window else {
        return Ok(vec![from("L6", &reader.engine().run("check/L6", &Params::new()).await?.1, true)]);
    };
    prepare(reader, window, zone).await?;
    // also what is known outside the days that have usage
    let known = Window { from_ms: i64::MIN, to_ms: i64::MAX };
    let mut of_cells = cells::findings(reader, window, known).await?;
    let mut out = Vec::new();
    for invariant in INVARIANTS {
        let of_all = match invariant.id {
            "M3" => Some(partitions_agree(reader, window, zone, &PARTITIONS).await?),
            "M4" => Some(listed(reader).await?),
            id => one(reader.engine(), id).await?,
        };
        out.extend(Finding::both(of_cells.remove(invariant.id), of_all));
    }
    Ok(out)
}

/// Runs the checks over one window that has been priced in this session (or is now): what a close asks of the period it closes. What
/// is only listed is left to its own list. With `both` the charges are made a second time, with another number of partitions.
pub(crate) async fn of_window(
    work: &Reader,
    window: Window,
    zone: Tz,
    both: bool,
) -> Result<Vec<Finding>, ReportError> {
    prepare(work, window, zone).await?;
    let own = work.engine().partitions();
    let other = PARTITIONS.into_iter().rev().find(|n| *n != own).unwrap_or(1);
    let again = async {
        match both {
            true => partitions_agree(work, window, zone, &[own, other]).await.map(Some),
            false => Ok(None),
        }
    };
    let reader = work.fork().await?;
    let rest = async {
        ledger::whole_history(reader.engine()).await?;
        only(reader.engine(), window).await?;
        let mut of_cells = cells::findings(&reader, window, window).await?;
        let mut out = Vec::new();
        for invariant in INVARIANTS.iter().filter(|i| !["M3", "M4"].contains(&i.id)) {
            out.extend(Finding::both(of_cells.remove(invariant.id), one(reader.engine(), invariant.id).await?));
        }
        Ok::<_, ReportError>(out)
    };
    // the charges are made again while cells are looked at: neither needs the other
    let (again, mut out) = tokio::try_join!(again, rest)?;
    out.extend(again);
    Ok(out)
}

/// Prices a window, and rounds its lines as M1 wants them.
async fn prepare(reader: &Reader, window: Window, zone: Tz) -> Result<(), ReportError> {
    let ask = Ask { window, zone, by: Vec::new(), step: None, currency: Currency::none() };
    price_facts(reader, &ask).await?;
    reader.engine().step("check/M1_lines", &Params::new()).await?;
    reader.engine().step("charge/90_round", &Params::from([("divisor", bigint(CENT))])).await?;
    Ok(())
}

/// Makes tables that are partitioned by day those of a window, which consists of whole cells.
async fn only(engine: &Engine, window: Window) -> Result<(), ReportError> {
    let (first, last) = (day_of(window.from_ms) as i32, day_of(window.to_ms - 1) as i32);
    for name in ["usage", "device_minute", "process_minute"] {
        let fail = |e| ReportError::Group { table: name.to_owned(), source: Box::new(e) };
        let frame = engine.context().table(name).await.map_err(fail)?;
        let mut inside = col("day").between(lit(first), lit(last));
        if name == "usage" {
            let (from, to) = (window.from_ms.div_euclid(CELL_MS), window.to_ms.div_euclid(CELL_MS));
            inside = inside.and(col("cell").gt_eq(lit(from))).and(col("cell").lt(lit(to)));
        }
        let plan = frame.filter(inside).map_err(fail)?.into_unoptimized_plan();
        engine.register(name, Arc::new(ViewTable::new(plan, None)))?;
    }
    Ok(())
}

/// What one invariant says of all of a window; none where it is looked at elsewhere, or cell by cell alone.
async fn one(engine: &Engine, id: &str) -> Result<Option<Finding>, ReportError> {
    let none = Params::new();
    Ok(match id {
        // M2 is over closed periods, each with a window of its own: `close::m2`
        "M2" | "L1" | "L5" => None,
        "M1" => {
            let params = Params::from([("divisor", bigint(CENT))]);
            Some(from("M1", &engine.run("check/M1", &params).await?.1, true))
        }
        "L4" => {
            let conflicts = from("L4", &engine.run("check/L4_conflict", &none).await?.1, false);
            Some(conflicts.beside(from("L4", &engine.run("check/L4_mapping", &none).await?.1, false)))
        }
        id => Some(from(id, &engine.run(&format!("check/{id}"), &none).await?.1, true)),
    })
}

fn shape(e: impl std::fmt::Display) -> ReportError {
    ReportError::Shape(e.to_string())
}

fn says(id: &str) -> String {
    INVARIANTS.iter().find(|i| i.id == id).map_or_else(String::new, |i| i.says.to_owned())
}

/// What the rows of the check of an invariant say.
pub(crate) fn from(id: &str, rows: &[RecordBatch], violated: bool) -> Finding {
    let count = rows.iter().map(RecordBatch::num_rows).sum();
    Finding { id: id.to_owned(), says: says(id), violated: violated && count > 0, rows: count, shown: first(rows) }
}

fn first(rows: &[RecordBatch]) -> String {
    let mut left = ROWS_SHOWN;
    let mut few = Vec::new();
    for batch in rows.iter().filter(|b| b.num_rows() > 0) {
        let take = batch.num_rows().min(left);
        few.push(batch.slice(0, take));
        left -= take;
    }
    few.retain(|b| b.num_rows() > 0);
    if few.is_empty() { String::new() } else { pretty_format_batches(&few).map(|t| t.to_string()).unwrap_or_default() }
}

async fn listed(reader: &Reader) -> Result<Finding, ReportError> {
    let none = Params::new();
    let (_, rows) = reader.engine().run("check/M4", &none).await?;
    let (_, aside) = reader.engine().run("check/M4_quarantine", &none).await?;
    Ok(from("M4", &rows, false).beside(from("M4", &aside, false)))
}

impl Finding {
    /// Either, or one beside the other.
    fn both(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.beside(other)),
            (one, other) => one.or(other),
        }
    }

    /// What else is listed under the same id.
    fn beside(mut self, more: Self) -> Self {
        self.rows += more.rows;
        self.violated |= more.violated;
        self.shown = [self.shown, more.shown].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("\n");
        self
    }
}

/// The charges with as many partitions as are named, in order.
async fn charges(reader: Reader, ask: Ask) -> Result<RecordBatch, ReportError> {
    price_facts(&reader, &ask).await?;
    let (schema, rows) = reader.engine().run("check/M3", &Params::new()).await?;
    concat_batches(&schema, &rows).map_err(shape)
}

/// The same charges with several numbers of partitions, row for row. A session that has one of these numbers has its charges.
async fn partitions_agree(
    reader: &Reader,
    window: Window,
    zone: Tz,
    numbers: &[usize],
) -> Result<Finding, ReportError> {
    let ask = Ask { window, zone, by: Vec::new(), step: None, currency: Currency::none() };
    let mut all = Vec::new();
    for partitions in numbers {
        let priced = reader.engine().partitions() == *partitions;
        let other = if priced { reader.fork().await? } else { reader.with_partitions(*partitions).await? };
        all.push(tokio::spawn(charges(other, ask.clone())));
    }
    let mut found = Vec::new();
    for one in all {
        found.push(one.await.map_err(shape)??);
    }
    let differs = found.iter().any(|f| *f != found[0]);
    Ok(Finding {
        id: "M3".into(),
        says: says("M3"),
        violated: differs,
        rows: usize::from(differs),
        shown: String::new(),
    })
}

/// From the first to the last day of usage.
async fn everything(reader: &Reader) -> Result<Option<Window>, ReportError> {
    let (_, rows) = reader.engine().run("read/70_day_rows", &Params::new()).await?;
    let days = rows.iter().map(|b| crate::report::whole(b, "day")).collect::<Result<Vec<_>, _>>()?.concat();
    let ends = days.first().zip(days.last()).and_then(|(first, last)| first.zip(*last));
    Ok(ends.map(|(first, last)| Window { from_ms: first as i64 * DAY_MS, to_ms: (last as i64 + 1) * DAY_MS }))
}

/// Findings as lines for people.
pub fn text(findings: &[Finding], cut: u64) -> String {
    let mut out = format!("checks of cut {cut}\n");
    for f in findings {
        let word = match (f.violated, f.rows) {
            (true, _) => "VIOLATED",
            (false, 0) => "ok",
            (false, _) => "listed",
        };
        let rows = if f.rows == 0 { String::new() } else { format!(" ({} rows)", f.rows) };
        let _ = writeln!(out, "{:<7} {word:<9} {}{rows}", f.id, f.says);
        if !f.shown.is_empty() {
            let _ = writeln!(out, "{}", f.shown);
        }
    }
    out
}
