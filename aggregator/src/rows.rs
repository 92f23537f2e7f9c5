//! What a statement gave, as Rust and as tables of the lake have it.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use gpuledger_schema::table::Table;

use crate::report::ReportError;

/// The columns of a batch by name, as Rust has them.
pub(crate) struct Columns<'a>(pub(crate) &'a RecordBatch);

/// A column that is missing, of another type, or absent where it must not be: its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misshapen(String);

impl From<Misshapen> for ReportError {
    fn from(Misshapen(name): Misshapen) -> Self {
        Self::Shape(name)
    }
}

fn shape(name: &str) -> Misshapen {
    Misshapen(name.to_owned())
}

impl Columns<'_> {
    fn as_type(&self, name: &str, wanted: &DataType) -> Result<ArrayRef, Misshapen> {
        let found = self.0.column_by_name(name).ok_or_else(|| shape(name))?;
        cast(found, wanted).map_err(|_| shape(name))
    }

    /// Text, absent where it is.
    pub(crate) fn text(&self, name: &str) -> Result<Vec<Option<String>>, Misshapen> {
        let found = self.as_type(name, &DataType::Utf8)?;
        let found = found.as_string_opt::<i32>().ok_or_else(|| shape(name))?;
        Ok(found.iter().map(|v| v.map(str::to_owned)).collect())
    }

    /// Text that is always there.
    pub(crate) fn word(&self, name: &str) -> Result<Vec<String>, Misshapen> {
        self.text(name)?.into_iter().map(|v| v.ok_or_else(|| shape(name))).collect()
    }

    /// Whole numbers, absent where they are.
    pub(crate) fn long(&self, name: &str) -> Result<Vec<Option<i64>>, Misshapen> {
        let found = self.as_type(name, &DataType::Int64)?;
        Ok(found.as_primitive_opt::<Int64Type>().ok_or_else(|| shape(name))?.iter().collect())
    }

    /// Whole numbers that are always there.
    pub(crate) fn number(&self, name: &str) -> Result<Vec<i64>, Misshapen> {
        self.long(name)?.into_iter().map(|v| v.ok_or_else(|| shape(name))).collect()
    }

    /// Exact money, absent where it is.
    pub(crate) fn exact(&self, name: &str) -> Result<Vec<Option<i128>>, Misshapen> {
        let found = self.as_type(name, &DataType::Decimal128(38, 0))?;
        Ok(found.as_primitive_opt::<Decimal128Type>().ok_or_else(|| shape(name))?.iter().collect())
    }

    /// True or false.
    pub(crate) fn flag(&self, name: &str) -> Result<Vec<bool>, Misshapen> {
        let found = self.as_type(name, &DataType::Boolean)?;
        let found = found.as_boolean_opt().ok_or_else(|| shape(name))?;
        found.iter().map(|v| v.ok_or_else(|| shape(name))).collect()
    }
}

/// Batches as a table of the lake has them: its columns in its order and types.
pub(crate) fn shaped(spec: &Table, batches: &[RecordBatch]) -> Result<Vec<RecordBatch>, Misshapen> {
    let schema = spec.schema();
    let one = |b: &RecordBatch| {
        let columns = Columns(b);
        let cast = schema.fields().iter().map(|f| columns.as_type(f.name(), f.data_type()));
        let cast = cast.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&schema), cast).map_err(|e| shape(&e.to_string()))
    };
    batches.iter().filter(|b| b.num_rows() > 0).map(one).collect()
}
