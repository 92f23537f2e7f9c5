//! A span of UTC days: computed in a session of its own, then written in place of what was there.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::table::{Table, USAGE};

use super::{LedgerError, STEPS_BY_DAY, shaped, span_steps};
use crate::engine::{Engine, EngineError, Params};
use crate::lake::Lake;

/// What a span of days gives.
pub(super) struct Span {
    /// First UTC day, and the one after the last.
    pub(super) days: (i32, i32),
    /// Usage first.
    pub(super) tables: Vec<(Table, Vec<RecordBatch>)>,
}

/// Computes a span in a session of its own, which goes with its step tables when the span is done.
pub(super) async fn compute(engine: Engine, partitions: usize, days: (i32, i32)) -> Result<Span, LedgerError> {
    let engine = engine.fork(partitions).await?;
    span_steps(&engine, days).await?;
    let (_, usage) = engine.run("ledger/50_usage", &Params::new()).await?;
    let mut tables = vec![(USAGE, shaped(&USAGE, &usage)?)];
    for spec in STEPS_BY_DAY {
        let step = engine.context().table(spec.name).await.map_err(engine_error(spec.name))?;
        let step = step.collect().await.map_err(engine_error(spec.name))?;
        tables.push((spec, shaped(&spec, &step)?));
    }
    Ok(Span { days, tables })
}

/// Replaces what the ledger had of those days. Gives the rows of usage.
pub(super) async fn write(lake: &Lake, span: Span) -> Result<usize, LedgerError> {
    let rows = span.tables.first().map_or(0, |(_, usage)| usage.iter().map(RecordBatch::num_rows).sum());
    for (spec, made) in span.tables {
        lake.replace_days(&spec, span.days, made).await?;
    }
    Ok(rows)
}

fn engine_error(table: &'static str) -> impl Fn(datafusion::error::DataFusionError) -> LedgerError {
    move |source| LedgerError::Engine(EngineError::Register { table: table.to_owned(), source: Box::new(source) })
}
