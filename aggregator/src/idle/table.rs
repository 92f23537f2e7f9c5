//! What whoever asks brings along, as tables that statements read: policies, floors of power, and what earlier looks knew.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};

use super::Rules;
use crate::engine::Engine;
use crate::report::ReportError;

/// Windows, and whom they are about. What is absent is any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdlePolicy {
    /// Name of the policy.
    pub policy: String,
    /// Cluster.
    pub cluster: Option<String>,
    /// Pool.
    pub pool: Option<String>,
    /// Task type.
    pub task_type: Option<String>,
    /// Queue.
    pub queue: Option<String>,
    /// Team.
    pub team: Option<String>,
    /// From, epoch ms.
    pub from_ms: i64,
    /// To (exclusive), epoch ms; absent: open.
    pub to_ms: Option<i64>,
    /// Rest after which what was never used counts as idle, ms.
    pub never_ms: i64,
    /// Rest after which anything does, ms.
    pub idle_ms: i64,
    /// Work after which it no longer does, ms.
    pub active_ms: i64,
    /// Mean SM activity of a day under which its owner is asked, ppm.
    pub low_use_ppm: i64,
}

/// Power of a card of a model with nothing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerFloor {
    /// Model, as the driver names it.
    pub model: String,
    /// Highest power at rest, mW.
    pub floor_mw: i64,
}

type Columns = Vec<(&'static str, DataType, ArrayRef)>;

fn text<'a>(name: &'static str, values: impl Iterator<Item = Option<&'a str>>) -> (&'static str, DataType, ArrayRef) {
    (name, DataType::Utf8, Arc::new(values.collect::<StringArray>()))
}

fn long(name: &'static str, values: impl Iterator<Item = Option<i64>>) -> (&'static str, DataType, ArrayRef) {
    (name, DataType::Int64, Arc::new(values.collect::<Int64Array>()))
}

/// Registers them.
pub(super) fn register(engine: &Engine, rules: &Rules, known: &[(i64, i64)]) -> Result<(), ReportError> {
    let p = || rules.policies.iter();
    let policies = vec![
        text("policy", p().map(|p| Some(p.policy.as_str()))),
        text("cluster", p().map(|p| p.cluster.as_deref())),
        text("pool", p().map(|p| p.pool.as_deref())),
        text("task_type", p().map(|p| p.task_type.as_deref())),
        text("queue", p().map(|p| p.queue.as_deref())),
        text("team", p().map(|p| p.team.as_deref())),
        long("from_ms", p().map(|p| Some(p.from_ms))),
        long("to_ms", p().map(|p| p.to_ms)),
        long("never_ms", p().map(|p| Some(p.never_ms))),
        long("idle_ms", p().map(|p| Some(p.idle_ms))),
        long("active_ms", p().map(|p| Some(p.active_ms))),
        long("low_use_ppm", p().map(|p| Some(p.low_use_ppm))),
    ];
    table(engine, "idle_policy", policies)?;
    let f = || rules.floors.iter();
    let floors = vec![
        text("model", f().map(|f| Some(f.model.as_str()))),
        long("floor_mw", f().map(|f| Some(f.floor_mw))),
        long("from_ms", f().map(|_| Some(0))),
        long("to_ms", f().map(|_| None)),
    ];
    table(engine, "power_floor", floors)?;
    let known = vec![
        long("holder", known.iter().map(|(holder, _)| Some(*holder))),
        long("rest_from_ms", known.iter().map(|(_, from)| Some(*from))),
    ];
    table(engine, "idle_known", known)
}

fn table(engine: &Engine, name: &str, columns: Columns) -> Result<(), ReportError> {
    let fields: Vec<Field> = columns.iter().map(|(n, t, _)| Field::new(*n, t.clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|e| ReportError::Shape(e.to_string()))?;
    Ok(engine.register_rows(name, schema, vec![batch])?)
}
