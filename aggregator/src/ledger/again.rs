//! Days of the ledger derived a second time, in memory, from what was observed: for comparing with what is published.

use std::collections::BTreeSet;

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::table::{RUN, Table, UNIT};

use super::{LedgerError, days_of, failures, shaped, span, spans, whole_history};
use crate::engine::{Engine, Params};

/// Some UTC days derived again.
#[derive(Debug)]
pub struct Again {
    /// First UTC day, and the one after the last.
    pub days: (i32, i32),
    /// What is published of them by day, usage first.
    pub tables: Vec<(Table, Vec<RecordBatch>)>,
}

/// Spans of days that are still to be derived again.
#[derive(Debug)]
pub struct Spans {
    engine: Engine,
    waiting: Vec<(i32, i32)>,
}

/// Prepares deriving `days` again from the observed and reference tables of `engine`: the steps over all of history run here.
///
/// # Errors
/// When a statement fails.
pub async fn again(engine: &Engine, days: &BTreeSet<i32>) -> Result<Spans, LedgerError> {
    let engine = engine.fork(engine.partitions()).await?;
    whole_history(&engine).await?;
    let Some(all) = days_of(&engine).await? else { return Ok(Spans { engine, waiting: Vec::new() }) };
    let wanted: BTreeSet<i32> = days.iter().copied().filter(|d| (all.0..=all.1).contains(d)).collect();
    failures(&engine, all, &wanted).await?;
    let mut waiting = spans(&engine, &wanted).await?;
    waiting.reverse();
    Ok(Spans { engine, waiting })
}

impl Spans {
    /// The next days; their minutes lie in memory only while this runs.
    ///
    /// # Errors
    /// When a statement fails.
    pub async fn next(&mut self) -> Result<Option<Again>, LedgerError> {
        let Some(days) = self.waiting.pop() else { return Ok(None) };
        let span = span::compute(self.engine.clone(), self.engine.partitions(), days).await?;
        Ok(Some(Again { days: span.days, tables: span.tables }))
    }

    /// Who holds and what is held, over all of history: `run` and `unit`.
    ///
    /// # Errors
    /// When a statement fails.
    pub async fn who_and_what(&self) -> Result<Vec<(Table, Vec<RecordBatch>)>, LedgerError> {
        let mut out = Vec::new();
        for (spec, step) in [(RUN, "ledger/60_run"), (UNIT, "ledger/61_unit")] {
            let (_, rows) = self.engine.run(step, &Params::new()).await?;
            out.push((spec, shaped(&spec, &rows)?));
        }
        Ok(out)
    }
}
