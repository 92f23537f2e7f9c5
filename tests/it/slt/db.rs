//! The session behind an `.slt`: `table`, `INSERT INTO` and `run` are handled here, all else is plain SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use gpuledger_aggregator::engine::{Engine, Params};
use gpuledger_aggregator::statement;
use sqllogictest::{AsyncDB, DBOutput};

use super::chain::{Chain, chained, static_name};
use super::kind::{Kind, kinds, rows};

/// What went wrong, in words.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn refused<E: std::error::Error>(error: E) -> Refused {
    Refused(chained(&error))
}

/// A fresh session of one `.slt`.
pub(crate) struct Db {
    engine: Engine,
    chain: Arc<Chain>,
    tables: BTreeMap<String, (SchemaRef, Vec<RecordBatch>)>,
}

#[async_trait]
impl AsyncDB for Db {
    type Error = Refused;
    type ColumnType = Kind;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<Kind>, Refused> {
        let (verb, rest) = sql.trim().split_once(char::is_whitespace).unwrap_or((sql, ""));
        match verb.to_ascii_lowercase().as_str() {
            "table" => self.table(rest.trim()).await,
            "insert" => self.insert(rest.trim()).await,
            "run" => self.statement(rest.trim()).await,
            _ => self.query(sql).await,
        }
    }

    async fn shutdown(&mut self) {}
}

impl Db {
    /// A session that uses `partitions` threads and knows the tables of `chain`.
    pub(crate) fn new(chain: Arc<Chain>, partitions: usize) -> Self {
        Self { engine: Engine::new(partitions), chain, tables: BTreeMap::new() }
    }

    /// `table NAME[, NAME]` or `table NAME (col TYPE, ...)`: registers empty tables.
    async fn table(&mut self, rest: &str) -> Result<DBOutput<Kind>, Refused> {
        let Some((name, columns)) = rest.split_once('(') else {
            for name in rest.split(',').map(str::trim) {
                let known = self.chain.tables.get(name);
                let schema = known.ok_or_else(|| Refused(format!("no table or step is called `{name}`")))?;
                self.keep(name, Arc::clone(schema), Vec::new())?;
            }
            return Ok(DBOutput::StatementComplete(0));
        };
        let mut select = Vec::new();
        for column in top_level(columns.trim_end().trim_end_matches(')'), ',') {
            let (column, kind) = column
                .trim()
                .split_once(char::is_whitespace)
                .ok_or_else(|| Refused(format!("column `{column}` has no type")))?;
            select.push(format!("CAST(NULL AS {kind}) AS {column}"));
        }
        let frame = self.engine.context().sql(&format!("SELECT {}", select.join(", "))).await.map_err(refused)?;
        self.keep(name.trim(), Arc::new(frame.schema().as_arrow().clone()), Vec::new())?;
        Ok(DBOutput::StatementComplete(0))
    }

    fn keep(&mut self, name: &str, schema: SchemaRef, rows: Vec<RecordBatch>) -> Result<(), Refused> {
        self.engine.register_rows(name, Arc::clone(&schema), rows.clone()).map_err(refused)?;
        self.tables.insert(name.to_owned(), (schema, rows));
        Ok(())
    }

    /// `INSERT INTO NAME (cols) VALUES ...` or `... SELECT ...`: what is left out becomes NULL or its type's zero.
    async fn insert(&mut self, rest: &str) -> Result<DBOutput<Kind>, Refused> {
        let shape = || Refused("write INSERT INTO name (columns) VALUES ...".to_owned());
        let (into, rest) = rest.split_once(char::is_whitespace).ok_or_else(shape)?;
        let (head, rest) = rest.split_once('(').filter(|_| into.eq_ignore_ascii_case("into")).ok_or_else(shape)?;
        let (columns, rows) = rest.split_once(')').ok_or_else(shape)?;
        let name = head.trim();
        let (schema, mut kept) =
            self.tables.get(name).cloned().ok_or_else(|| Refused(format!("`table {name}` was not said before")))?;
        let columns: Vec<&str> = columns.split(',').map(|c| c.trim().trim_matches('"')).collect();
        let frame = self.engine.context().sql(&format!("SELECT * FROM ({rows})")).await.map_err(refused)?;
        let mut count = 0;
        for batch in frame.collect().await.map_err(refused)? {
            if batch.num_columns() != columns.len() {
                return Err(Refused(format!("{} columns, {} values", columns.len(), batch.num_columns())));
            }
            if let Some(stray) = columns.iter().find(|c| schema.field_with_name(c).is_err()) {
                return Err(Refused(format!("`{name}` has no column `{stray}`")));
            }
            let filled = schema.fields().iter().map(|f| match columns.iter().position(|c| c == f.name()) {
                Some(at) => cast(batch.column(at), f.data_type()).map_err(refused),
                None => absent(f, batch.num_rows()),
            });
            let filled = filled.collect::<Result<Vec<_>, _>>()?;
            count += batch.num_rows() as u64;
            kept.push(RecordBatch::try_new(Arc::clone(&schema), filled).map_err(refused)?);
        }
        self.keep(name, schema, kept)?;
        Ok(DBOutput::StatementComplete(count))
    }

    /// `run FOLDER/NAME [with p = expr, ...]`: runs the product's file and registers its declared output.
    async fn statement(&mut self, rest: &str) -> Result<DBOutput<Kind>, Refused> {
        let (name, values) = match rest.split_once(char::is_whitespace) {
            None => (rest, ""),
            Some((name, given)) => {
                let given = given.trim();
                let values = given.strip_prefix("with ").ok_or_else(|| Refused(format!("`{given}` after {name}")))?;
                (name, values)
            }
        };
        let found = statement::find(name).ok_or_else(|| Refused(format!("there is no sql/{name}.sql")))?;
        let types = found.header().map_err(refused)?.parameters;
        let mut params = Params::new();
        for given in top_level(values, ',').into_iter().filter(|g| !g.trim().is_empty()) {
            let (key, expr) = given.split_once('=').ok_or_else(|| Refused(format!("`{given}` has no value")))?;
            let kind = types.get(key.trim()).ok_or_else(|| Refused(format!("{name} takes no `{}`", key.trim())))?;
            params.insert(static_name(&found, key.trim()), self.value(expr.trim(), kind).await?);
        }
        let rows = if name == "ledger/00_name" {
            gpuledger_aggregator::ledger::name_ids(&self.engine).await.map_err(refused)?;
            0
        } else {
            self.engine.step(name, &params).await.map_err(refused)?
        };
        Ok(DBOutput::StatementComplete(rows as u64))
    }

    async fn value(&self, expr: &str, kind: &str) -> Result<ScalarValue, Refused> {
        let frame = self.engine.context().sql(&format!("SELECT CAST({expr} AS {kind})")).await.map_err(refused)?;
        let rows = frame.collect().await.map_err(refused)?;
        let column = rows.first().map(|b| b.column(0)).ok_or_else(|| Refused(format!("`{expr}` gives no row")))?;
        let value = ScalarValue::try_from_array(column, 0).map_err(refused)?;
        if kind == "VARCHAR" { value.cast_to(&DataType::Utf8).map_err(refused) } else { Ok(value) }
    }

    async fn query(&self, sql: &str) -> Result<DBOutput<Kind>, Refused> {
        let frame = self.engine.context().sql(sql).await.map_err(refused)?;
        let schema: Schema = frame.schema().as_arrow().clone();
        let batches = frame.collect().await.map_err(refused)?;
        Ok(DBOutput::Rows { types: kinds(&schema), rows: rows(&batches).map_err(refused)? })
    }
}

/// A column that an `INSERT` leaves out: NULL, or the zero of its type where NULL is not allowed.
fn absent(field: &Field, rows: usize) -> Result<ArrayRef, Refused> {
    if field.is_nullable() {
        return Ok(new_null_array(field.data_type(), rows));
    }
    let zero: ArrayRef = match field.data_type() {
        DataType::Int64 => Arc::new(Int64Array::from(vec![0; rows])),
        DataType::Int32 => Arc::new(Int32Array::from(vec![0; rows])),
        DataType::Decimal128(38, 0) => {
            Arc::new(Decimal128Array::from(vec![0; rows]).with_data_type(DataType::Decimal128(38, 0)))
        }
        DataType::Boolean => Arc::new(BooleanArray::from(vec![false; rows])),
        DataType::Utf8 | DataType::Utf8View => Arc::new(StringArray::from(vec![""; rows])),
        other => return Err(Refused(format!("say what `{}` is: no zero of {other}", field.name()))),
    };
    cast(&zero, field.data_type()).map_err(refused)
}

/// Splits at a separator that stands in no bracket and no quotes.
fn top_level(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut depth, mut quoted, mut from) = (Vec::new(), 0_i32, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            c if c == separator && depth == 0 && !quoted => {
                parts.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}
