//! Every statement once, on an empty lake: which tables exist, and with which columns.
//!
//! Observed, derived and reference tables come from the schema crate, with text as Delta returns it (Utf8View). A step
//! table has the columns that its statement gives when everything before it is empty. What Rust registers (`calendar`,
//! `exact`, `target`, `line_id`, a bill, what a close reads) is written down here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use gpuledger_aggregator::engine::{Engine, Params, bigint, int, text};
use gpuledger_aggregator::ledger::name_ids;
use gpuledger_aggregator::statement::{self, Statement};
use gpuledger_schema::table::{self, ChargeRow, Row, StatementLineRow, reference};

/// Tables by name, the session they are registered in, and the statements that could not be run.
pub(crate) struct Chain {
    /// The session, every table empty.
    pub(crate) engine: Engine,
    /// Columns of each table.
    pub(crate) tables: BTreeMap<String, SchemaRef>,
    /// Statements that lack an input, or failed.
    pub(crate) failed: Vec<String>,
}

/// The columns of a table as Delta returns it.
fn as_read(schema: &Schema) -> SchemaRef {
    let field = |f: &Arc<Field>| match f.data_type() {
        DataType::Utf8 => Field::new(f.name(), DataType::Utf8View, f.is_nullable()),
        other => Field::new(f.name(), other.clone(), f.is_nullable()),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Tables that Rust registers beside what the lake has.
fn registered() -> Vec<(&'static str, SchemaRef)> {
    let schema = |fields: &[(&str, DataType)]| -> SchemaRef {
        Arc::new(Schema::new(fields.iter().map(|(n, t)| Field::new(*n, t.clone(), false)).collect::<Vec<_>>()))
    };
    let money = DataType::Decimal128(38, 0);
    vec![
        (
            "calendar",
            schema(&[
                ("cell", DataType::Int64),
                ("day", DataType::Int32),
                ("month", DataType::Int32),
                ("hour_start_ms", DataType::Int64),
                ("workday", DataType::Boolean),
                ("day_ms", DataType::Int64),
                ("hour", DataType::Int32),
                ("weekday", DataType::Int32),
                ("week", DataType::Int32),
            ]),
        ),
        ("exact", schema(&[("measure", DataType::Utf8), ("line", DataType::Int64), ("amount", money.clone())])),
        ("target", schema(&[("measure", DataType::Utf8), ("minor_units", money)])),
        ("known_close", schema(&[("period", DataType::Utf8), ("close_id", DataType::Utf8)])),
        ("correction_id", schema(&[("line_key", DataType::Utf8), ("line_id", DataType::Int64)])),
        // rows of closes as they are read, and of a computation as it is made
        ("written_line", as_read(&StatementLineRow::TABLE.schema())),
        ("written_charge", as_read(&ChargeRow::TABLE.schema())),
        ("fresh_line", StatementLineRow::TABLE.schema()),
        ("fresh_charge", ChargeRow::TABLE.schema()),
        ("loose_charge", ChargeRow::TABLE.schema()),
        ("line_id", schema(&[("line_key", DataType::Utf8), ("line_id", DataType::Int64)])),
        ("bill_line", StatementLineRow::TABLE.schema()),
        ("bill_charge", ChargeRow::TABLE.schema()),
        // what whoever sweeps for idle runs brings along, and what was won back
        ("idle_known", schema(&[("holder", DataType::Int64), ("rest_from_ms", DataType::Int64)])),
        (
            "won",
            schema(&[
                ("case_id", DataType::Int64),
                ("team", DataType::Utf8),
                ("task_type", DataType::Utf8),
                ("pool", DataType::Utf8),
                ("model", DataType::Utf8),
                ("freed_ms", DataType::Int64),
                ("gpu_ms", DataType::Int64),
            ]),
        ),
        (
            "idle_policy",
            schema(&[
                ("policy", DataType::Utf8),
                ("cluster", DataType::Utf8),
                ("pool", DataType::Utf8),
                ("task_type", DataType::Utf8),
                ("queue", DataType::Utf8),
                ("team", DataType::Utf8),
                ("from_ms", DataType::Int64),
                ("to_ms", DataType::Int64),
                ("never_ms", DataType::Int64),
                ("idle_ms", DataType::Int64),
                ("active_ms", DataType::Int64),
                ("low_use_ppm", DataType::Int64),
            ]),
        ),
        (
            "power_floor",
            schema(&[
                ("model", DataType::Utf8),
                ("floor_mw", DataType::Int64),
                ("from_ms", DataType::Int64),
                ("to_ms", DataType::Int64),
            ]),
        ),
    ]
}

/// A value for each declared parameter, of its declared type.
pub(crate) fn any_params(statement: &Statement) -> Result<Params, String> {
    let header = statement.header().map_err(|e| e.to_string())?;
    header
        .parameters
        .iter()
        .map(|(name, kind)| {
            let value = match kind.as_str() {
                "BIGINT" => bigint(1),
                "INT" => int(1),
                "VARCHAR" => text(""),
                "BOOLEAN" => ScalarValue::Boolean(Some(true)),
                other => return Err(format!("{}: parameter type {other}", statement.name)),
            };
            Ok((static_name(statement, name), value))
        })
        .collect()
}

/// A parameter's name as part of the statement's own text, which lives as long as the program.
pub(crate) fn static_name(statement: &Statement, name: &str) -> &'static str {
    let at = statement.text.find(name).unwrap_or(0);
    &statement.text[at..at + name.len()]
}

impl Chain {
    /// Runs every statement of the product on an empty lake, each as soon as its inputs exist.
    pub(crate) async fn new() -> Result<Self, String> {
        statement::read_from(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql")).map_err(|e| e.to_string())?;
        let engine = Engine::new(1);
        let mut chain = Self { engine, tables: BTreeMap::new(), failed: Vec::new() };
        for spec in table::observed().into_iter().chain(table::derived()).chain(reference::all()) {
            chain.add(spec.name, as_read(&spec.schema()))?;
        }
        for (name, schema) in registered() {
            chain.add(name, schema)?;
        }
        // folders in the order in which they run; `read` may give `used` as well, and then the first one counts
        let order = ["ledger/", "charge/", "idle/", "read/", "waste/", "close/", "check/"];
        let mut waiting: Vec<Statement> = Vec::new();
        for folder in order {
            waiting.extend(statement::all().iter().filter(|s| s.name.starts_with(folder)));
        }
        loop {
            let before = waiting.len();
            let mut later = Vec::new();
            for s in waiting {
                let inputs: BTreeSet<String> = s.header().map_err(|e| e.to_string())?.inputs.into_iter().collect();
                if inputs.iter().all(|t| chain.has(t)) {
                    chain.step(&s).await;
                } else {
                    later.push(s);
                }
            }
            waiting = later;
            if waiting.is_empty() || waiting.len() == before {
                break;
            }
        }
        chain.failed.extend(waiting.iter().map(|s| {
            let inputs = s.header().map(|h| h.inputs).unwrap_or_default();
            let missing: Vec<_> = inputs.iter().filter(|t| !chain.tables.contains_key(*t)).cloned().collect();
            format!("sql/{}.sql: nothing gives {}", s.name, missing.join(", "))
        }));
        Ok(chain)
    }

    fn has(&self, table: &str) -> bool {
        table == "none" || self.tables.contains_key(table)
    }

    fn add(&mut self, name: &str, schema: SchemaRef) -> Result<(), String> {
        self.engine.register_rows(name, Arc::clone(&schema), Vec::new()).map_err(|e| e.to_string())?;
        self.tables.insert(name.to_owned(), schema);
        Ok(())
    }

    async fn step(&mut self, s: &Statement) {
        if let Err(e) = self.try_step(s).await {
            self.failed.push(e);
        }
    }

    async fn try_step(&mut self, s: &Statement) -> Result<(), String> {
        let output = s.header().map_err(|e| e.to_string())?.output;
        if output == "name" {
            name_ids(&self.engine).await.map_err(|e| chained(&e))?;
            let provider = self.engine.context().table_provider("name").await.map_err(|e| e.to_string())?;
            self.tables.insert(output, provider.schema());
            return Ok(());
        }
        let (schema, rows) = self.engine.run(s.name, &any_params(s)?).await.map_err(|e| chained(&e))?;
        if !self.tables.contains_key(&output) {
            let schema = rows.first().map_or(schema, datafusion::arrow::array::RecordBatch::schema);
            self.add(&output, schema)?;
        }
        Ok(())
    }
}

/// An error with its causes in one line.
pub(crate) fn chained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text.push_str(": ");
        text.push_str(&e.to_string());
        cause = e.source();
    }
    text
}
