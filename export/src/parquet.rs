//! Lines as Parquet: the columns of table `statement_line` as they are, amounts also as decimals of the currency, and what
//! the bill is as metadata of the file.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use gpuledger_schema::bill::Bill;
use gpuledger_schema::table::{self, Row, StatementLineRow};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::error::ExportError;
use crate::head::{hash, iso};

const DOCUMENT: &str = "lines";

/// Writes the lines of a bill.
///
/// # Errors
/// Where an instant of the bill is no date, and where `out` fails.
pub fn write(bill: &Bill, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    let batch = batch(bill).map_err(|source| ExportError::Arrow { document: DOCUMENT, source })?;
    let properties = properties(metadata(bill)?);
    let failed = |source| ExportError::Parquet { document: DOCUMENT, source };
    let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties)).map_err(failed)?;
    writer.write(&batch).map_err(failed)?;
    writer.close().map(|_| ()).map_err(failed)
}

/// How Parquet is written here.
pub(crate) fn properties(metadata: Vec<(&str, String)>) -> WriterProperties {
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(metadata))
        .build()
}

/// What the file is of.
pub(crate) fn metadata(bill: &Bill) -> Result<Vec<(&'static str, String)>, ExportError> {
    let mut out = vec![
        ("gpuledger.period", bill.period.clone()),
        ("gpuledger.from", iso(bill.from_ms)?),
        ("gpuledger.to", iso(bill.to_ms)?),
        ("gpuledger.zone", bill.zone.clone()),
        ("gpuledger.currency", bill.currency.clone()),
        ("gpuledger.digits", bill.digits.to_string()),
        ("gpuledger.state", if hash(bill).is_some() { "closed" } else { "draft" }.to_owned()),
    ];
    out.extend(hash(bill).map(|h| ("gpuledger.output_sha256", h.to_owned())));
    Ok(out)
}

fn batch(bill: &Bill) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let digits = bill.digits as i8;
    let mut fields: Vec<Field> = StatementLineRow::TABLE.schema().fields().iter().map(|f| Field::clone(f)).collect();
    let mut columns = table::batch(&bill.lines)?.columns().to_vec();
    let money: [(&str, fn(&StatementLineRow) -> i64); 3] =
        [("amount", |l| l.amount_minor), ("waste", |l| l.waste_minor), ("list_amount", |l| l.list_minor)];
    for (name, minor) in money {
        let values = bill.lines.iter().map(|l| Some(i128::from(minor(l)))).collect::<Decimal128Array>();
        fields.push(Field::new(name, DataType::Decimal128(38, digits), false));
        columns.push(Arc::new(values.with_precision_and_scale(38, digits)?) as ArrayRef);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
