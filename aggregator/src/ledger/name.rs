//! Ids of natural keys that only SQL knows: SQL makes no hashes.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use gpuledger_schema::id::{hint_of_job, id63};

use super::LedgerError;
use crate::engine::{Engine, Params};

/// Gives every natural key of `00_name` its id and publishes `name`.
pub async fn name_ids(engine: &Engine) -> Result<(), LedgerError> {
    let (_, batches) = engine.run("ledger/00_name", &Params::new()).await?;
    let shape = || LedgerError::Shape { table: "name" };
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); 5];
    for batch in &batches {
        for (into, column) in columns.iter_mut().zip(batch.columns()) {
            let text = cast(column, &DataType::Utf8).map_err(|_| shape())?;
            let text = text.as_string_opt::<i32>().ok_or_else(shape)?;
            into.extend((0..text.len()).map(|i| text.value(i).to_owned()));
        }
    }
    let mut seen = std::collections::BTreeMap::new();
    let mut ids = Vec::new();
    for i in 0..columns[0].len() {
        let key: Vec<&str> = (1..5).map(|c| columns[c][i].as_str()).collect();
        // a run that processes name by its SLUID: the id that they carry
        let id = if columns[0][i] == "hint" { hint_of_job(key[0], key[1]) } else { id63(&columns[0][i], &key) };
        let shown = format!("{} {}", columns[0][i], key.join("/"));
        if let Some(other) = seen.insert(id, shown.clone()) {
            return Err(LedgerError::Collision { id, one: other, other: shown });
        }
        ids.push(id);
    }
    let text = |n| Field::new(n, DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![
        text("kind"),
        text("a"),
        text("b"),
        text("c"),
        text("d"),
        Field::new("id", DataType::Int64, false),
    ]));
    let mut arrays: Vec<datafusion::arrow::array::ArrayRef> =
        columns.into_iter().map(|c| Arc::new(StringArray::from(c)) as _).collect();
    arrays.push(Arc::new(Int64Array::from(ids)));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|_| shape())?;
    Ok(engine.register_rows("name", schema, vec![batch])?)
}
