//! Column types and values of an `.slt` as text.

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use sqllogictest::ColumnType;

/// The letter of a column in `query ...`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `T`: text.
    Text,
    /// `I`: a whole number of any width.
    Integer,
    /// `D`: a decimal.
    Decimal,
    /// `B`: true or false.
    Boolean,
    /// `F`: a float, which no rule may give.
    Float,
    /// `?`: anything else.
    Other,
}

impl ColumnType for Kind {
    fn from_char(value: char) -> Option<Self> {
        match value {
            'T' => Some(Self::Text),
            'I' => Some(Self::Integer),
            'D' => Some(Self::Decimal),
            'B' => Some(Self::Boolean),
            'F' => Some(Self::Float),
            '?' => Some(Self::Other),
            _ => None,
        }
    }

    fn to_char(&self) -> char {
        match self {
            Self::Text => 'T',
            Self::Integer => 'I',
            Self::Decimal => 'D',
            Self::Boolean => 'B',
            Self::Float => 'F',
            Self::Other => '?',
        }
    }
}

impl Kind {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Boolean => Self::Boolean,
            t if t.is_integer() => Self::Integer,
            t if t.is_decimal() => Self::Decimal,
            t if t.is_floating() => Self::Float,
            _ => Self::Other,
        }
    }
}

/// The kinds of the columns of a result.
pub(crate) fn kinds(schema: &Schema) -> Vec<Kind> {
    schema.fields().iter().map(|f| Kind::of(f.data_type())).collect()
}

/// Rows as text: NULL is `NULL`, an empty text `(empty)`, the separator of composed keys `|`, a line break `\n`.
pub(crate) fn rows(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>, ArrowError> {
    let options = FormatOptions::default();
    let mut out = Vec::new();
    for batch in batches {
        let columns = batch.columns();
        let formatters =
            columns.iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options)).collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let value = |(column, f): (&datafusion::arrow::array::ArrayRef, &ArrayFormatter<'_>)| {
                if column.is_null(row) { "NULL".to_owned() } else { shown(&f.value(row).to_string()) }
            };
            out.push(columns.iter().zip(&formatters).map(value).collect());
        }
    }
    Ok(out)
}

fn shown(text: &str) -> String {
    if text.is_empty() { "(empty)".to_owned() } else { text.replace('\u{1f}', "|").replace('\n', "\\n") }
}
