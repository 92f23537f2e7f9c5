//! Closed periods that cannot have other figures than when the last close looked at them.
//!
//! The money of a period is made by the rules from the cells of its days, the runs and units in these, and the reference rows that
//! hold in it. Where all of that is what the last close read, the figures are what that close billed or corrected, and nothing is
//! computed again. Whatever cannot be shown to be equal counts as changed; `verify` and `check` compute everything all the same.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::common::DataFusionError;
use datafusion::logical_expr::{Expr, SortExpr, col, ident, lit, when};
use gpuledger_schema::table::{RUN, Table, UNIT, USAGE, reference};
use gpuledger_schema::window::Window;

use super::CloseError;
use super::files::days_of;
use super::manifest::{Manifest, rules};
use crate::engine::{Engine, EngineError, Params, int};
use crate::lake::{Lake, TableFile};
use crate::report::{Reader, ReportError};
use crate::statement::{self, Statement};

/// What describes the holders and devices of cells, and the statement that reads of it what money looks at.
const DESCRIBED: [(Table, &str); 2] = [(RUN, "close/27_input_run"), (UNIT, "close/28_input_unit")];

/// Names of the closed periods whose money is made from what it was made from when the last close looked at them.
pub(super) async fn unchanged(lake: &Lake, now: &Reader, closed: &[Manifest]) -> Result<BTreeSet<String>, CloseError> {
    // each close knows all that were there before it, so that the last one knows all others
    let Some(last) = closed.iter().find(|m| m.earlier.len() + 1 == closed.len()) else { return Ok(BTreeSet::new()) };
    if of_money(&rules()) != of_money(&last.rules) {
        return Ok(BTreeSet::new());
    }
    let then = Then::open(lake, now, last).await?;
    let mut out = BTreeSet::new();
    for one in closed.iter().filter(|m| m.close_id == last.close_id || last.earlier.contains(&m.earlier())) {
        if then.is_as(now, one).await? {
            out.insert(one.period.clone());
        }
    }
    Ok(out)
}

/// Rules that make money of cells: those of the ledger show in the cells themselves.
fn of_money(rules: &BTreeMap<String, String>) -> BTreeMap<&String, &String> {
    rules.iter().filter(|(name, _)| !name.starts_with("ledger/")).collect()
}

/// Statements that read tables of the lake to make money.
fn makes_money(s: &&Statement) -> bool {
    s.name.starts_with("charge/") || s.name == "close/37_manual_line"
}

/// Tables that those statements read and do not make themselves.
fn read_for_money() -> Result<BTreeSet<String>, EngineError> {
    let mut inputs = BTreeSet::new();
    for s in statement::all().iter().filter(makes_money) {
        inputs.extend(s.header()?.inputs);
    }
    Ok(inputs)
}

/// What the last close read, as far as it is not what is read now.
struct Then {
    /// The tables in their other versions, and the cells of now.
    engine: Engine,
    /// Reference tables that have another version now.
    reference: Vec<Table>,
    /// Tables of [`DESCRIBED`] that have another version now.
    described: Vec<&'static str>,
    /// Files of cells, then and now.
    cells: [Vec<TableFile>; 2],
}

impl Then {
    async fn open(lake: &Lake, now: &Reader, last: &Manifest) -> Result<Self, CloseError> {
        let engine = Engine::new(now.engine().partitions());
        let (cut, build) = (&now.cut_tables().tables, &now.build().tables);
        let of_money = read_for_money()?;
        let mut reference = Vec::new();
        for spec in reference::all().into_iter().filter(|t| of_money.contains(t.name)) {
            if last.tables.get(spec.name) != cut.get(spec.name) {
                register(&engine, lake, &spec, last.tables.get(spec.name)).await?;
                reference.push(spec);
            }
        }
        let mut described = Vec::new();
        for (spec, statement) in DESCRIBED {
            if last.derived.get(spec.name) != build.get(spec.name) {
                register(&engine, lake, &spec, last.derived.get(spec.name)).await?;
                described.push(statement);
            }
        }
        let (before, after) = (last.derived.get(USAGE.name), build.get(USAGE.name));
        if !described.is_empty() {
            // it is read for days whose files are the same
            register(&engine, lake, &USAGE, after).await?;
        }
        let cells = match before == after {
            true => [Vec::new(), Vec::new()],
            false => [files(lake, before).await?, files(lake, after).await?],
        };
        Ok(Self { engine, reference, described, cells })
    }

    /// Whether everything that makes the money of a closed period is what it was.
    async fn is_as(&self, now: &Reader, closed: &Manifest) -> Result<bool, CloseError> {
        let window = Window { from_ms: closed.from_ms, to_ms: closed.to_ms };
        let (first, last) = days_of(window);
        let of_days = |files: &Vec<TableFile>| -> Vec<TableFile> {
            files.iter().filter(|f| f.day.is_none_or(|d| (first..=last).contains(&d))).cloned().collect()
        };
        if of_days(&self.cells[0]) != of_days(&self.cells[1]) {
            return Ok(false);
        }
        for spec in &self.reference {
            if held_in(&self.engine, spec, closed).await? != held_in(now.engine(), spec, closed).await? {
                return Ok(false);
            }
        }
        let days = Params::from([("from_day", int(first)), ("to_day", int(last))]);
        for statement in &self.described {
            let (then, now) = (self.engine.run(statement, &days).await?, now.engine().run(statement, &days).await?);
            if whole(then.0, &then.1)? != whole(now.0, &now.1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

async fn register(engine: &Engine, lake: &Lake, spec: &Table, version: Option<&u64>) -> Result<(), CloseError> {
    match version {
        Some(version) => Ok(engine.register(spec.name, lake.provider_at(spec, *version).await?)?),
        None => Ok(engine.register_empty(spec)?),
    }
}

async fn files(lake: &Lake, version: Option<&u64>) -> Result<Vec<TableFile>, CloseError> {
    match version {
        Some(version) => Ok(lake.files_at(&USAGE, *version).await?),
        None => Ok(Vec::new()),
    }
}

fn whole(schema: datafusion::arrow::datatypes::SchemaRef, rows: &[RecordBatch]) -> Result<RecordBatch, ReportError> {
    let schema = rows.first().map_or(schema, RecordBatch::schema);
    concat_batches(&schema, rows).map_err(|e| ReportError::Shape(e.to_string()))
}

/// Rows of a reference table that hold in a period, or are booked in it. Where a row ends after the period is no matter of its.
async fn held_in(engine: &Engine, spec: &Table, of: &Manifest) -> Result<RecordBatch, CloseError> {
    let fail = |e: DataFusionError| ReportError::Group { table: spec.name.to_owned(), source: Box::new(e) };
    let frame = engine.context().table(spec.name).await.map_err(fail)?;
    let names: Vec<&str> = (spec.columns)().iter().map(|c| c.name).collect();
    let order: Vec<SortExpr> = names.iter().map(|n| ident(*n).sort(true, true)).collect();
    let frame = if names.contains(&"period") {
        frame.filter(col("period").eq(lit(of.period.as_str())))
    } else {
        let open = col("to_ms").is_null().or(col("to_ms").gt(lit(of.from_ms)));
        let shown = names.iter().map(|n| -> Result<Expr, DataFusionError> {
            match *n {
                "to_ms" => Ok(when(col("to_ms").lt(lit(of.to_ms)), col("to_ms")).end()?.alias("to_ms")),
                other => Ok(ident(other)),
            }
        });
        let shown = shown.collect::<Result<Vec<_>, _>>().map_err(fail)?;
        frame.filter(col("from_ms").lt(lit(of.to_ms)).and(open)).and_then(|f| f.select(shown))
    };
    let frame = frame.and_then(|f| f.sort(order)).map_err(fail)?;
    let schema = std::sync::Arc::new(frame.schema().as_arrow().clone());
    Ok(whole(schema, &frame.collect().await.map_err(fail)?)?)
}

#[cfg(test)]
mod tests {
    use gpuledger_schema::table;

    use super::*;

    /// What is compared is all that money is made from: a rule that reads another table of the lake has to be looked at here.
    #[test]
    fn money_is_made_of_cells_what_describes_them_and_dated_rows() {
        let read = read_for_money().unwrap();
        let of =
            |tables: Vec<Table>| -> Vec<&str> { tables.iter().map(|t| t.name).filter(|n| read.contains(*n)).collect() };
        assert_eq!(of(table::observed()), Vec::<&str>::new());
        assert_eq!(of(table::derived()), ["usage", "run", "unit"]);
        let dated = |t: &Table| {
            let names: Vec<&str> = (t.columns)().iter().map(|c| c.name).collect();
            names.contains(&"period") || (names.contains(&"from_ms") && names.contains(&"to_ms"))
        };
        let compared: Vec<Table> = reference::all().into_iter().filter(|t| read.contains(t.name)).collect();
        assert!(compared.len() >= 9 && compared.iter().all(dated), "{compared:?}");
    }
}
