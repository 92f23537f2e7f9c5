//! Where rows go: Parquet with decimals and instants, or CSV with the same as text.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Decimal128Array, RecordBatch, TimestampMillisecondArray};
use arrow_schema::SchemaRef;
use gpuledger_schema::bill::Bill;
use parquet::arrow::ArrowWriter;

use super::DOCUMENT;
use super::column::{COLUMNS, Kind, Value, schema};
use super::row::Row;
use crate::csv::{BOM, writer};
use crate::error::ExportError;
use crate::head::iso;
use crate::number::short_decimal;

/// Rows of a batch of Parquet.
const BATCH: usize = 16_384;

/// Takes rows.
pub(super) trait Sink {
    fn row(&mut self, row: &Row<'_>) -> Result<(), ExportError>;
    fn end(self: Box<Self>) -> Result<(), ExportError>;
}

/// Columns that are being filled.
enum Filling {
    Text(StringBuilder),
    Decimal(Vec<Option<i128>>, i8),
    Time(Vec<i64>),
}

impl Filling {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Decimal(scale) => Self::Decimal(Vec::with_capacity(BATCH), scale as i8),
            Kind::Time => Self::Time(Vec::with_capacity(BATCH)),
        }
    }

    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Self::Text(builder), Value::Text(text)) => builder.append_value(text),
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Decimal(out, _), Value::Decimal(n)) => out.push(Some(n)),
            (Self::Decimal(out, _), _) => out.push(None),
            (Self::Time(out), Value::Time(ms)) => out.push(ms),
            (Self::Time(_), _) => {}
        }
    }

    fn take(&mut self) -> Result<ArrayRef, arrow_schema::ArrowError> {
        Ok(match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Decimal(values, scale) => {
                let array: Decimal128Array = std::mem::take(values).into_iter().collect();
                Arc::new(array.with_precision_and_scale(38, *scale)?)
            }
            Self::Time(values) => {
                Arc::new(TimestampMillisecondArray::from(std::mem::take(values)).with_timezone("UTC"))
            }
        })
    }
}

/// Parquet.
pub(super) struct ParquetSink<'a> {
    writer: ArrowWriter<&'a mut (dyn Write + Send)>,
    schema: SchemaRef,
    columns: Vec<Filling>,
    rows: usize,
}

fn parquet_failed(source: parquet::errors::ParquetError) -> ExportError {
    ExportError::Parquet { document: DOCUMENT, source }
}

impl<'a> ParquetSink<'a> {
    pub(super) fn new(bill: &Bill, out: &'a mut (dyn Write + Send)) -> Result<Self, ExportError> {
        let schema: SchemaRef = Arc::new(schema());
        let mut metadata = crate::parquet::metadata(bill)?;
        metadata.push(("focus.version", "1.2".to_owned()));
        let properties = crate::parquet::properties(metadata);
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties)).map_err(parquet_failed)?;
        let columns = COLUMNS.iter().map(|c| Filling::new(c.kind)).collect();
        Ok(Self { writer, schema, columns, rows: 0 })
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let failed = |source| ExportError::Arrow { document: DOCUMENT, source };
        let arrays = self.columns.iter_mut().map(Filling::take).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(failed)?;
        self.rows = 0;
        self.writer.write(&batch).map_err(parquet_failed)
    }
}

impl Sink for ParquetSink<'_> {
    fn row(&mut self, row: &Row<'_>) -> Result<(), ExportError> {
        for (filling, column) in self.columns.iter_mut().zip(&COLUMNS) {
            filling.push((column.of)(row));
        }
        self.rows += 1;
        if self.rows == BATCH { self.flush() } else { Ok(()) }
    }

    fn end(mut self: Box<Self>) -> Result<(), ExportError> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.writer.close().map(|_| ()).map_err(parquet_failed)
    }
}

/// CSV. Text stands as it is: whoever loads the data set compares names with other sources.
pub(super) struct CsvSink<'a> {
    writer: csv::Writer<&'a mut dyn Write>,
}

fn csv_failed(source: csv::Error) -> ExportError {
    ExportError::Csv { document: DOCUMENT, source }
}

impl<'a> CsvSink<'a> {
    pub(super) fn new(bom: bool, out: &'a mut dyn Write) -> Result<Self, ExportError> {
        if bom {
            out.write_all(BOM).map_err(|source| ExportError::Write { document: DOCUMENT, source })?;
        }
        let mut writer = writer(out);
        writer.write_record(COLUMNS.iter().map(|c| c.name)).map_err(csv_failed)?;
        Ok(Self { writer })
    }
}

impl Sink for CsvSink<'_> {
    fn row(&mut self, row: &Row<'_>) -> Result<(), ExportError> {
        for column in &COLUMNS {
            let text = match ((column.of)(row), column.kind) {
                (Value::Text(text), _) => self.writer.write_field(text),
                (Value::Decimal(n), Kind::Decimal(scale)) => self.writer.write_field(short_decimal(n, scale)),
                (Value::Time(ms), _) => self.writer.write_field(iso(ms)?),
                _ => self.writer.write_field(""),
            };
            text.map_err(csv_failed)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(csv_failed)
    }

    fn end(mut self: Box<Self>) -> Result<(), ExportError> {
        self.writer.flush().map_err(|source| ExportError::Write { document: DOCUMENT, source })
    }
}
