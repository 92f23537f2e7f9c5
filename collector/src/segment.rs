//! The segment writer: rows of one table as one Parquet file whose name carries the hash of its bytes.
//!
//! The same rows give the same bytes on every machine: no clock, no version of a library and no path goes in.

use std::borrow::Cow;
use std::sync::Arc;

use gpuledger_schema::path::{SegmentName, safe_writer};
use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow, Row, batch};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use sha2::{Digest, Sha256};

/// Metadata key: the table the rows belong to.
pub const KEY_TABLE: &str = "gpuledger.table";
/// Metadata key: version of the segment format.
pub const KEY_FORMAT: &str = "gpuledger.format";
/// Metadata key: who wrote the segment.
pub const KEY_WRITER: &str = "gpuledger.writer";
/// Metadata key, on a device file: hash of the process file of the same interval, or [`NO_PAIR`].
pub const KEY_PAIR: &str = "gpuledger.pair";
/// The version of the segment format that this code writes.
pub const FORMAT: &str = "1";
/// Stands for the process file of an interval in which no process was seen.
pub const NO_PAIR: &str = "none";

/// Stands in the file where a writer usually names its build: a build must not change the hash of the rows.
const CREATED_BY: &str = "gpuledger version 1";
/// Better levels cost more time than they save bytes on rows of this kind.
const ZSTD_LEVEL: i32 = 3;
/// Columns that count up row by row: as differences they take 13 bytes a minute row where plain ones take 20.
const COUNTING: &[&str] = &["tick_ms", "mono_ms", "seq"];
/// Hex digits of the hash that stand in a name.
const HASH_DIGITS: usize = 32;

/// A segment, ready to be put into an inbox under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its name.
    pub name: SegmentName,
    /// Its Parquet bytes.
    pub bytes: Vec<u8>,
}

/// Why rows could not become a segment.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The rows do not fit the table's schema.
    #[error("cannot lay out rows of `{table}`")]
    Rows {
        /// The table.
        table: &'static str,
        /// What Arrow says.
        source: arrow_schema::ArrowError,
    },
    /// Parquet refused them.
    #[error("cannot write rows of `{table}` as Parquet")]
    Parquet {
        /// The table.
        table: &'static str,
        /// What Parquet says.
        source: ParquetError,
    },
}

/// The rows as one segment, in their order; `None` where there are none.
pub fn segment<R: Row>(writer: &str, rows: &[R]) -> Result<Option<Segment>, SegmentError> {
    if rows.is_empty() { Ok(None) } else { write(writer, rows, None).map(Some) }
}

/// A node's interval: the process file, then the device file that names it by hash.
///
/// The order of the result is the order in which they may be put into an inbox. Both are sorted by device, tick,
/// sequence and process, so that the order in which a collector saw things does not change the bytes.
pub fn pair(
    writer: &str,
    process: &[ProcessMinuteRow],
    device: &[DeviceMinuteRow],
) -> Result<Vec<Segment>, SegmentError> {
    let process = in_order(process, |r| (r.device_id, r.tick_ms, r.seq, r.pid, r.boot_id, r.start_ticks));
    let device = in_order(device, |r| (r.device_id, r.tick_ms, r.seq, r.boot_id));

    let mut out = Vec::new();
    out.extend(segment(writer, &process)?);
    if !device.is_empty() {
        let named = out.first().map_or(NO_PAIR, |s: &Segment| s.name.hash.as_str()).to_owned();
        out.push(write(writer, &device, Some(named))?);
    }
    Ok(out)
}

/// The rows in order of their key; those that are in order already are not copied, and their texts with them.
fn in_order<R: Clone, K: Ord>(rows: &[R], key: impl Fn(&R) -> K) -> Cow<'_, [R]> {
    if rows.is_sorted_by_key(&key) {
        return Cow::Borrowed(rows);
    }
    let mut rows = rows.to_vec();
    rows.sort_by_key(key);
    Cow::Owned(rows)
}

/// The head of the SHA-256 of some bytes, as it stands in a segment's name.
pub fn hash_of(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(HASH_DIGITS);
    for byte in Sha256::digest(bytes).iter().take(HASH_DIGITS / 2) {
        hex.push_str(&format!("{byte:02x}"));
    }
    hex
}

fn write<R: Row>(writer: &str, rows: &[R], pair: Option<String>) -> Result<Segment, SegmentError> {
    let table = R::TABLE.name;
    let writer = safe_writer(writer);
    let rows = batch(rows).map_err(|source| SegmentError::Rows { table, source })?;
    let bytes = parquet_bytes(&rows, properties::<R>(&writer, pair))
        .map_err(|source| SegmentError::Parquet { table, source })?;
    Ok(Segment { name: SegmentName { table: table.to_owned(), writer, hash: hash_of(&bytes) }, bytes })
}

fn parquet_bytes(
    rows: &arrow_array::RecordBatch,
    properties: Result<WriterProperties, ParquetError>,
) -> Result<Vec<u8>, ParquetError> {
    // The types in use need no Arrow schema beside Parquet's own, and it would be most of a small file.
    let options = ArrowWriterOptions::new().with_properties(properties?).with_skip_arrow_metadata(true);
    let mut out = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&rows.schema()), options)?;
    out.write(rows)?;
    out.into_inner()
}

fn properties<R: Row>(writer: &str, pair: Option<String>) -> Result<WriterProperties, ParquetError> {
    let note = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let mut notes = vec![note(KEY_TABLE, R::TABLE.name), note(KEY_FORMAT, FORMAT), note(KEY_WRITER, writer)];
    notes.extend(pair.map(|hash| note(KEY_PAIR, &hash)));

    let mut builder = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(notes));
    for column in (R::TABLE.columns)().iter().filter(|c| COUNTING.contains(&c.name)) {
        let path = ColumnPath::from(column.name);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(builder.build())
}

#[cfg(test)]
mod tests;
