//! Rows of a run that never was, in place of the ledger's, so that the statements that price every run price it too.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use gpuledger_schema::table::reference::{OwnerRow, PoolRow};
use gpuledger_schema::table::{RUN, Row, Table, UNIT, USAGE, batch};
use gpuledger_schema::unit::{CELL_MS, DAY_MS, SPLIT_PARTS};
use gpuledger_schema::window::{Window, cell_of};

use super::ReportError;
use crate::engine::Engine;

/// The holder of every row.
const HOLDER: i64 = 1;
/// The account by which the run is its team's.
const ACCOUNT: &str = "(quote)";

/// A run that never was.
#[derive(Debug)]
pub(super) struct Invented<'a> {
    pub(super) gpus: u32,
    pub(super) model: &'a str,
    pub(super) window: Window,
    pub(super) team: &'a str,
    pub(super) pool: Option<&'a str>,
    pub(super) cluster: Option<&'a str>,
    pub(super) task_type: &'a str,
    pub(super) preemptible: bool,
    pub(super) memory_bytes: Option<i64>,
    pub(super) interconnect: Option<&'a str>,
    /// Instants at which its rows are cut, besides the edges of cells, in order.
    pub(super) edges: Vec<i64>,
}

impl Invented<'_> {
    /// Registers its rows as `usage`, `unit`, `run` and `owner`, and where its pool is given as `pool`, in place of what was there.
    pub(super) fn register(&self, engine: &Engine) -> Result<(), ReportError> {
        let pieces = self.pieces();
        self.usage(engine, &pieces)?;
        self.unit(engine, pieces.len())?;
        self.run(engine)?;
        let owner = OwnerRow {
            kind: "account".to_owned(),
            cluster: None,
            value: ACCOUNT.to_owned(),
            team: self.team.to_owned(),
            cost_center: None,
            parts: SPLIT_PARTS,
            from_ms: 0,
            to_ms: None,
        };
        register_row(engine, owner)?;
        let Some(pool) = self.pool else { return Ok(()) };
        let everything = PoolRow {
            pool: pool.to_owned(),
            cluster: None,
            node_pattern: None,
            node_regex: None,
            queue: None,
            model: None,
            from_ms: 0,
            to_ms: None,
        };
        register_row(engine, everything)
    }

    /// Its time, cut at cells and edges: cell, from, to.
    fn pieces(&self) -> Vec<(i64, i64, i64)> {
        let Window { from_ms, to_ms } = self.window;
        let cells = (cell_of(from_ms) + 1..=cell_of(to_ms - 1)).map(|c| c * CELL_MS);
        let mut cuts: Vec<i64> = cells.chain(self.edges.iter().copied()).chain([from_ms, to_ms]).collect();
        cuts.retain(|at| (from_ms..=to_ms).contains(at));
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).map(|w| (cell_of(w[0]), w[0], w[1])).collect()
    }

    /// Every piece is on a unit of its own; all of it counts as used, so that a pool billed by what ran bills all of it.
    fn usage(&self, engine: &Engine, pieces: &[(i64, i64, i64)]) -> Result<(), ReportError> {
        let long = |f: &dyn Fn(&(i64, i64, i64)) -> i64| -> ArrayRef {
            Arc::new(pieces.iter().map(f).collect::<Int64Array>())
        };
        let gpu_ms = |(_, from, to): &(i64, i64, i64)| (to - from) * i64::from(self.gpus);
        let days: Int32Array = pieces.iter().map(|(_, from, _)| from.div_euclid(DAY_MS) as i32).collect();
        let units: Int64Array = (1..=pieces.len() as i64).collect();
        register(
            engine,
            &USAGE,
            pieces.len(),
            vec![
                ("day", Arc::new(days)),
                ("unit_id", Arc::new(units)),
                ("cell", long(&|p| p.0)),
                ("holder", long(&|_| HOLDER)),
                ("from_ms", long(&|p| p.1)),
                ("to_ms", long(&|p| p.2)),
                ("busy_ms", long(&gpu_ms)),
                ("covered_ms", long(&gpu_ms)),
            ],
        )
    }

    fn unit(&self, engine: &Engine, units: usize) -> Result<(), ReportError> {
        let text = |value: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![value; units])) };
        let ids: Int64Array = (1..=units as i64).collect();
        let memory: Int64Array = (0..units).map(|_| self.memory_bytes).collect();
        register(
            engine,
            &UNIT,
            units,
            vec![
                ("unit_id", Arc::new(ids)),
                ("kind", text(Some("device"))),
                ("cluster", text(self.cluster)),
                ("model", text(Some(self.model))),
                ("memory_bytes", Arc::new(memory)),
                ("interconnect", text(self.interconnect)),
            ],
        )
    }

    fn run(&self, engine: &Engine) -> Result<(), ReportError> {
        let text = |value: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
        let long = |value: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![value])) };
        register(
            engine,
            &RUN,
            1,
            vec![
                ("holder", long(HOLDER)),
                ("job_key", long(HOLDER)),
                ("kind", text(Some("scheduler"))),
                ("cluster", text(self.cluster)),
                ("account", text(Some(ACCOUNT))),
                ("task_type", text(Some(self.task_type))),
                ("start_ms", long(self.window.from_ms)),
                ("end_ms", long(self.window.to_ms)),
                ("preemptible", Arc::new(BooleanArray::from(vec![self.preemptible]))),
            ],
        )
    }
}

/// Registers rows of a table of the lake, with what is not given absent, or 0 where nothing may be absent.
fn register(engine: &Engine, table: &Table, rows: usize, given: Vec<(&str, ArrayRef)>) -> Result<(), ReportError> {
    let schema = table.schema();
    let shape = |e: datafusion::arrow::error::ArrowError| ReportError::Shape(format!("{}: {e}", table.name));
    let columns = schema.fields().iter().map(|field| match given.iter().find(|(name, _)| name == field.name()) {
        Some((_, values)) => Ok(Arc::clone(values)),
        None if field.is_nullable() => Ok(new_null_array(field.data_type(), rows)),
        None => cast(&Int64Array::from(vec![0; rows]), field.data_type()).map_err(shape),
    });
    let made = RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_, _>>()?).map_err(shape)?;
    register_as_read(engine, table.name, &made)
}

fn register_row<R: Row>(engine: &Engine, row: R) -> Result<(), ReportError> {
    let made = batch(&[row]).map_err(|e| ReportError::Shape(e.to_string()))?;
    register_as_read(engine, R::TABLE.name, &made)
}

/// Registers rows with the types that the lake returns.
fn register_as_read(engine: &Engine, table: &str, rows: &RecordBatch) -> Result<(), ReportError> {
    let field = |f: &Arc<Field>| match f.data_type() {
        DataType::Utf8 => Field::new(f.name(), DataType::Utf8View, f.is_nullable()),
        other => Field::new(f.name(), other.clone(), f.is_nullable()),
    };
    let schema = Arc::new(Schema::new(rows.schema().fields().iter().map(field).collect::<Vec<_>>()));
    let shape = |e: datafusion::arrow::error::ArrowError| ReportError::Shape(format!("{table}: {e}"));
    let columns: Result<Vec<ArrayRef>, _> =
        rows.columns().iter().zip(schema.fields()).map(|(c, f)| cast(c, f.data_type())).collect();
    let made = RecordBatch::try_new(Arc::clone(&schema), columns.map_err(shape)?).map_err(shape)?;
    Ok(engine.register_rows(table, schema, vec![made])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_cut_at_cells_and_edges_and_nothing_is_lost() {
        let run = |from_ms, to_ms, edges| Invented {
            gpus: 2,
            model: "m",
            window: Window { from_ms, to_ms },
            team: "t",
            pool: None,
            cluster: None,
            task_type: "unknown",
            preemptible: false,
            memory_bytes: None,
            interconnect: None,
            edges,
        };
        let pieces = run(1_000, 2 * CELL_MS, vec![5, CELL_MS + 7, CELL_MS + 7, 9 * CELL_MS]).pieces();
        assert_eq!(pieces, [(0, 1_000, CELL_MS), (1, CELL_MS, CELL_MS + 7), (1, CELL_MS + 7, 2 * CELL_MS)]);
        assert_eq!(run(5, 6, Vec::new()).pieces(), [(0, 5, 6)]);
    }
}
