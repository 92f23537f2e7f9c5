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
    if let Some(window) = window {
        prepare(reader, window, zone).await?;
        reader.engine().step("check/cell_sum", &Params::new()).await?;
    }
    let mut out = Vec::new();
    for invariant in INVARIANTS {
        out.extend(match (invariant.id, window) {
            ("M3", Some(window)) => Some(partitions_agree(reader, window, zone, &PARTITIONS).await?),
            ("M4", Some(_)) => Some(listed(reader).await?),
            // also what is known outside the days that have usage
            ("L1", Some(_)) => Some(known_time(reader.engine(), Window { from_ms: i64::MIN, to_ms: i64::MAX }).await?),
            (id, Some(window)) => one(reader, id, window).await?,
            ("L6", None) => Some(from("L6", &reader.engine().run("check/L6", &Params::new()).await?.1, true)),
            (_, None) => None,
        });
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
    let reader = work.fork().await?;
    ledger::whole_history(reader.engine()).await?;
    only(reader.engine(), window).await?;
    reader.engine().step("check/cell_sum", &Params::new()).await?;
    let mut out = Vec::new();
    for invariant in INVARIANTS.iter().filter(|i| i.id != "M4") {
        match invariant.id {
            "M3" if both => {
                let own = work.engine().partitions();
                let other = PARTITIONS.into_iter().rev().find(|n| *n != own).unwrap_or(1);
                out.push(partitions_agree(work, window, zone, &[own, other]).await?);
            }
            "M3" => {}
            id => out.extend(one(&reader, id, window).await?),
        }
    }
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

/// One invariant over a window; none where it is looked at elsewhere.
async fn one(reader: &Reader, id: &str, window: Window) -> Result<Option<Finding>, ReportError> {
    let (engine, none) = (reader.engine(), Params::new());
    Ok(match id {
        // over closed periods, each with a window of its own: `close::m2`
        "M2" => None,
        "M1" => {
            let params = Params::from([("divisor", bigint(CENT))]);
            Some(from("M1", &engine.run("check/M1", &params).await?.1, true))
        }
        "L1" => Some(known_time(engine, window).await?),
        "L4" => {
            let mapping = engine.run("check/L4_mapping", &none).await?.1;
            Some(conflicts(&engine.run("check/L4", &none).await?.1)?.beside(from("L4", &mapping, false)))
        }
        id => Some(from(id, &engine.run(&format!("check/{id}"), &none).await?.1, true)),
    })
}

/// L1 over what is known inside a window.
async fn known_time(engine: &Engine, window: Window) -> Result<Finding, ReportError> {
    let params = Params::from([("from_ms", bigint(window.from_ms)), ("to_ms", bigint(window.to_ms))]);
    Ok(from("L1", &engine.run("check/L1", &params).await?.1, true))
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

/// Conflicts are listed, time over the card is a violation.
fn conflicts(rows: &[RecordBatch]) -> Result<Finding, ReportError> {
    let mut finding = from("L4", rows, false);
    for batch in rows {
        let what = crate::report::texts(batch, "what")?;
        finding.violated |= what.iter().any(|w| w == "over the card");
    }
    Ok(finding)
}

async fn listed(reader: &Reader) -> Result<Finding, ReportError> {
    let none = Params::new();
    let (_, rows) = reader.engine().run("check/M4", &none).await?;
    let (_, aside) = reader.engine().run("check/M4_quarantine", &none).await?;
    Ok(from("M4", &rows, false).beside(from("M4", &aside, false)))
}

impl Finding {
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
    let (_, rows) = reader.engine().run("read/70_usage_days", &Params::new()).await?;
    let days = |name| -> Result<Option<i128>, ReportError> {
        Ok(rows
            .iter()
            .map(|b| crate::report::whole(b, name))
            .collect::<Result<Vec<_>, _>>()?
            .concat()
            .first()
            .copied()
            .flatten())
    };
    let Some((first, last)) = days("first_day")?.zip(days("last_day")?) else { return Ok(None) };
    Ok(Some(Window { from_ms: first as i64 * DAY_MS, to_ms: (last as i64 + 1) * DAY_MS }))
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
