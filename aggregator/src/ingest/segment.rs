//! Whether a segment can be trusted: its name, its hash, its table, its columns.

use bytes::Bytes;
use datafusion::arrow::array::{Array, AsArray, RecordBatch, new_null_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{Int32Type, Int64Type};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use gpuledger_schema::hash::sha256_hex;
use gpuledger_schema::path::SegmentName;
use gpuledger_schema::table::{self, Table};
use gpuledger_schema::window::day_of;

use super::owner::{Owners, file_of};
use crate::lake::BatchSegment;

/// Metadata key in which a device file names its process file.
const PAIR_KEY: &str = "gpuledger.pair";
/// What stands there where no process was seen.
const NO_PAIR: &str = "none";

/// Why a segment is set aside.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("the file name is not a segment's (<table>~<writer>~<hash>.parquet)")]
    Name,
    #[error("there is no observed table `{0}`")]
    Table(String),
    #[error("its bytes do not have the hash in its name: it was cut or changed on the way")]
    Hash,
    #[error("not a whole Parquet file: {0}")]
    Parquet(String),
    #[error("column `{0}` is unknown to this version")]
    UnknownColumn(String),
    #[error("column `{column}` is {found}, which cannot be read as {wanted}")]
    Type { column: String, found: String, wanted: String },
    #[error("column `{0}` is missing or empty where every row must have a value")]
    Missing(String),
    #[error("column `day` does not agree with tick_ms")]
    Day,
    #[error("a node does not write `{0}`")]
    NotOfANode(&'static str),
    #[error("it lies in the folder of node `{node}` and speaks of `{other}`")]
    Foreign { node: String, other: String },
}

/// A segment that can go in.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) entry: BatchSegment,
    pub(super) table: Table,
    pub(super) rows: Vec<RecordBatch>,
    /// Hash in the name of the process file a device file belongs with.
    pub(super) pair: Option<String>,
}

/// Checks a segment; a bad one comes back with its bytes so that nothing is lost.
pub(super) fn check(name: &str, bytes: Vec<u8>, owners: &Owners) -> Result<Checked, (Vec<u8>, Problem)> {
    match inspect(name, &bytes).and_then(|checked| owners.admit(&checked).map(|()| checked)) {
        Ok(checked) => Ok(checked),
        Err(problem) => Err((bytes, problem)),
    }
}

fn inspect(name: &str, bytes: &[u8]) -> Result<Checked, Problem> {
    let parsed = SegmentName::parse(file_of(name)).ok_or(Problem::Name)?;
    let table = table::observed()
        .into_iter()
        .find(|t| t.name == parsed.table)
        .ok_or_else(|| Problem::Table(parsed.table.clone()))?;
    let sha256 = sha256_hex(bytes);
    if !sha256.starts_with(&parsed.hash) {
        return Err(Problem::Hash);
    }
    let parquet = |e: &dyn std::fmt::Display| Problem::Parquet(e.to_string());
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes)).map_err(|e| parquet(&e))?;
    let metadata = builder.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let pair = metadata.into_iter().find(|kv| kv.key == PAIR_KEY).and_then(|kv| kv.value).filter(|v| v != NO_PAIR);
    let reader = builder.with_batch_size(65_536).build().map_err(|e| parquet(&e))?;
    let mut rows = Vec::new();
    for batch in reader {
        rows.push(conform(&table, &batch.map_err(|e| parquet(&e))?)?);
    }
    let entry = BatchSegment { name: name.to_owned(), size_bytes: bytes.len() as u64, sha256 };
    Ok(Checked { entry, table, rows, pair })
}

/// Brings a batch to the table's columns: an absent column of an older writer is NULL, an unknown one is refused.
fn conform(table: &Table, batch: &RecordBatch) -> Result<RecordBatch, Problem> {
    let schema = table.schema();
    if let Some(unknown) = batch.schema().fields().iter().find(|f| schema.field_with_name(f.name()).is_err()) {
        return Err(Problem::UnknownColumn(unknown.name().clone()));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let mut columns = Vec::new();
    for field in schema.fields() {
        let column = match batch.column_by_name(field.name()) {
            None => new_null_array(field.data_type(), batch.num_rows()),
            Some(found) if same_kind(found.data_type(), field.data_type()) => {
                cast_with_options(found, field.data_type(), &options).map_err(|_| Problem::Type {
                    column: field.name().clone(),
                    found: found.data_type().to_string(),
                    wanted: field.data_type().to_string(),
                })?
            }
            Some(found) => {
                return Err(Problem::Type {
                    column: field.name().clone(),
                    found: found.data_type().to_string(),
                    wanted: field.data_type().to_string(),
                });
            }
        };
        if !field.is_nullable() && column.null_count() > 0 {
            return Err(Problem::Missing(field.name().clone()));
        }
        columns.push(column);
    }
    let out = RecordBatch::try_new(schema, columns).map_err(|e| Problem::Parquet(e.to_string()))?;
    days_agree(table, &out)?;
    Ok(out)
}

/// Types that hold the same values: text in any encoding, integers of any width (a value that does not fit fails).
fn same_kind(found: &datafusion::arrow::datatypes::DataType, wanted: &datafusion::arrow::datatypes::DataType) -> bool {
    use datafusion::arrow::datatypes::DataType as T;
    let text = |t: &T| match t {
        T::Utf8 | T::LargeUtf8 | T::Utf8View => true,
        T::Dictionary(_, value) => matches!(**value, T::Utf8 | T::LargeUtf8),
        _ => false,
    };
    found == wanted || (text(found) && text(wanted)) || (found.is_integer() && wanted.is_integer())
}

fn days_agree(table: &Table, batch: &RecordBatch) -> Result<(), Problem> {
    if !table.by_day {
        return Ok(());
    }
    let day = batch.column_by_name("day").and_then(|c| c.as_primitive_opt::<Int32Type>());
    let tick = batch.column_by_name("tick_ms").and_then(|c| c.as_primitive_opt::<Int64Type>());
    match day.zip(tick) {
        Some((day, tick)) if (0..day.len()).all(|i| i64::from(day.value(i)) == day_of(tick.value(i))) => Ok(()),
        _ => Err(Problem::Day),
    }
}
