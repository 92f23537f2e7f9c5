//! What reclaiming was worth: GPU-time that was won back, as an estimate, with what it costs at the price of its moment.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use gpuledger_schema::window::Window;

use super::money::{Amounts, round};
use super::{Currency, Reader, ReportError};
use crate::engine::{Params, bigint};
use crate::rows::Columns;

/// GPU-time that one case won back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Won {
    /// The case.
    pub case_id: i64,
    /// Team.
    pub team: String,
    /// Task type.
    pub task_type: String,
    /// Pool.
    pub pool: String,
    /// Model; absent: not known.
    pub model: Option<String>,
    /// When its GPUs were seen free, epoch ms.
    pub freed_ms: i64,
    /// GPU-time, ms.
    pub gpu_ms: i64,
}

/// Runs whose GPUs something else took, and the work that was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preempted {
    /// What the scheduler calls it.
    pub state: String,
    /// Runs.
    pub runs: i64,
    /// Work since their last known checkpoint, else since their start, GPU-ms.
    pub lost_gpu_ms: i64,
}

/// Money of each, in order, in minor units; absent where there is no price.
///
/// # Errors
/// When a statement fails.
pub async fn recovered(reader: &Reader, won: &[Won], currency: &Currency) -> Result<Vec<Option<i128>>, ReportError> {
    register(reader, won)?;
    let (_, rows) = reader.engine().run("read/90_recovered", &Params::new()).await?;
    let mut exact = std::collections::BTreeMap::new();
    for batch in &rows {
        let c = Columns(batch);
        exact.extend(c.number("case_id")?.into_iter().zip(c.exact("amount")?));
    }
    let of = |w: &Won| exact.get(&w.case_id).copied().flatten();
    let amounts: Vec<Amounts> = vec![("won", won.iter().map(|w| of(w).unwrap_or(0)).collect())];
    let minor = round(reader.engine(), currency, &amounts).await?;
    Ok(won.iter().zip(&minor[0]).map(|(w, minor)| of(w).map(|_| *minor)).collect())
}

fn register(reader: &Reader, won: &[Won]) -> Result<(), ReportError> {
    let text = |f: for<'a> fn(&'a Won) -> Option<&'a str>| -> ArrayRef {
        Arc::new(won.iter().map(f).collect::<StringArray>())
    };
    let long = |f: fn(&Won) -> i64| -> ArrayRef { Arc::new(won.iter().map(f).collect::<Int64Array>()) };
    let (words, numbers) = (DataType::Utf8, DataType::Int64);
    let schema = Arc::new(Schema::new(vec![
        Field::new("case_id", numbers.clone(), false),
        Field::new("team", words.clone(), false),
        Field::new("task_type", words.clone(), false),
        Field::new("pool", words.clone(), false),
        Field::new("model", words, true),
        Field::new("freed_ms", numbers.clone(), false),
        Field::new("gpu_ms", numbers, false),
    ]));
    let columns = vec![
        long(|w| w.case_id),
        text(|w| Some(w.team.as_str())),
        text(|w| Some(w.task_type.as_str())),
        text(|w| Some(w.pool.as_str())),
        text(|w| w.model.as_deref()),
        long(|w| w.freed_ms),
        long(|w| w.gpu_ms),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|e| ReportError::Shape(e.to_string()))?;
    Ok(reader.engine().register_rows("won", schema, vec![batch])?)
}

/// What was preempted in a window, by whatever.
///
/// # Errors
/// When the statement fails.
pub async fn preempted(reader: &Reader, window: Window) -> Result<Vec<Preempted>, ReportError> {
    let params = Params::from([("from_ms", bigint(window.from_ms)), ("to_ms", bigint(window.to_ms))]);
    let (_, rows) = reader.engine().run("idle/91_preempted", &params).await?;
    let mut out = Vec::new();
    for batch in &rows {
        let c = Columns(batch);
        let all = c.word("state")?.into_iter().zip(c.number("runs")?).zip(c.number("lost_gpu_ms")?);
        out.extend(all.map(|((state, runs), lost_gpu_ms)| Preempted { state, runs, lost_gpu_ms }));
    }
    Ok(out)
}
