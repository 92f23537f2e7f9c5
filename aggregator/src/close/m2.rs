//! M2: closed amounts and corrections are a fresh computation over all that the last close knew.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::table::StatementLineRow;

use super::CloseError;
use super::draft::anew;
use super::manifest::{Earlier, Manifest};
use super::read::{period_of, pinned, register, register_lines};
use crate::check::{self, Finding};
use crate::engine::{Engine, Params, bigint};
use crate::lake::Lake;
use crate::report::Currency;

/// Rows of the check over `fresh_line` and `closed_line`, which are there.
pub(super) async fn violations(engine: &Engine, currency: &Currency) -> Result<Vec<RecordBatch>, CloseError> {
    let params = Params::from([("divisor", bigint(currency.divisor()))]);
    Ok(engine.run("check/M2", &params).await?.1)
}

/// The check over every closed period, as the last close knew them; none where nothing is closed.
///
/// # Errors
/// When the versions that the last close named cannot be read.
pub async fn m2(lake: &Lake, partitions: usize) -> Result<Option<Finding>, CloseError> {
    let closed = Manifest::all(lake).await?;
    let Some(last) = closed.iter().max_by_key(|m| (m.closed_ms, m.period.clone())) else { return Ok(None) };
    let reader = pinned(lake, partitions, last).await?;
    let known: Vec<Earlier> = closed.iter().map(Manifest::earlier).collect();
    register(reader.engine(), lake, &known).await?;
    let mut fresh: Vec<StatementLineRow> = Vec::new();
    for manifest in &closed {
        fresh.extend(anew(&reader, &period_of(manifest)?, &last.close_id).await?.lines);
    }
    register_lines(reader.engine(), "fresh_line", &fresh)?;
    let rows = violations(reader.engine(), &period_of(last)?.currency).await?;
    Ok(Some(check::from("M2", &rows, true)))
}
