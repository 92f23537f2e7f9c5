//! A span of UTC days: computed in a session of its own, then written in place of what was there.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::table::{SESSION_DAY, USAGE};

use super::shape::shaped;
use super::{LedgerError, span_steps};
use crate::engine::{Engine, EngineError, Params};
use crate::lake::Lake;

/// What a span of days gives.
pub(super) struct Span {
    /// First UTC day, and the one after the last.
    pub(super) days: (i32, i32),
    usage: Vec<RecordBatch>,
    session_day: Vec<RecordBatch>,
}

/// Computes a span in a session of its own, which goes with its step tables when the span is done.
pub(super) async fn compute(engine: Engine, partitions: usize, days: (i32, i32)) -> Result<Span, LedgerError> {
    let engine = engine.fork(partitions).await?;
    span_steps(&engine, days).await?;
    let (_, usage) = engine.run("ledger/50_usage", &Params::new()).await?;
    let session_day = engine.context().table("session_day").await.map_err(engine_error("session_day"))?;
    let session_day = session_day.collect().await.map_err(engine_error("session_day"))?;
    Ok(Span { days, usage: shaped(&USAGE, usage)?, session_day: shaped(&SESSION_DAY, session_day)? })
}

/// Replaces what the ledger had of those days. Gives the rows of usage.
pub(super) async fn write(lake: &Lake, span: &Span) -> Result<usize, LedgerError> {
    lake.replace_days(&USAGE, span.days, span.usage.clone()).await?;
    lake.replace_days(&SESSION_DAY, span.days, span.session_day.clone()).await?;
    Ok(span.usage.iter().map(RecordBatch::num_rows).sum())
}

fn engine_error(table: &'static str) -> impl Fn(datafusion::error::DataFusionError) -> LedgerError {
    move |source| LedgerError::Engine(EngineError::Register { table: table.to_owned(), source: Box::new(source) })
}
