//! Grouping a step table by dimensions: sums of its measures, in a total order of its keys.

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::Column as ColumnName;
use datafusion::functions_aggregate::expr_fn::{max, sum};
use datafusion::logical_expr::Expr;
use gpuledger_schema::window::day_label;

use super::{Dimension, ReportError, Value};
use crate::engine::Engine;

/// A group: its key in words and its measures (absent where nothing was known).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) key: Vec<String>,
    pub(super) sums: Vec<Option<i128>>,
}

/// How a measure is taken over a group.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measure {
    /// The sum.
    Sum(&'static str),
    /// The greatest.
    Max(&'static str),
}

impl Measure {
    fn column(self) -> &'static str {
        match self {
            Self::Sum(c) | Self::Max(c) => c,
        }
    }
}

fn column(name: &str) -> Expr {
    Expr::Column(ColumnName::from_name(name))
}

/// Groups `table` by dimensions; keys in order, numbers among them by size, what nobody holds last.
pub(super) async fn grouped(
    engine: &Engine,
    table: &str,
    by: &[Dimension],
    measures: &[Measure],
) -> Result<Vec<Group>, ReportError> {
    let fail = |e| ReportError::Group { table: table.to_owned(), source: Box::new(e) };
    let keys = by.iter().map(|d| column(d.word())).collect();
    let taken = measures
        .iter()
        .map(|m| match m {
            Measure::Sum(c) => sum(column(c)).alias(*c),
            Measure::Max(c) => max(column(c)).alias(*c),
        })
        .collect();
    let frame = engine.context().table(table).await.map_err(fail)?;
    if let Some(missing) = by.iter().find(|d| !frame.schema().has_column_with_unqualified_name(d.word())) {
        return Err(ReportError::Dimension(*missing));
    }
    let batches = frame.aggregate(keys, taken).map_err(fail)?.collect().await.map_err(fail)?;
    let mut groups = Vec::new();
    for batch in &batches {
        read(batch, by, measures, &mut groups)?;
    }
    if by.is_empty() && groups.iter().all(|g: &Group| g.sums.iter().all(Option::is_none)) {
        groups.clear();
    }
    in_order(&mut groups);
    Ok(groups)
}

/// Puts groups in order of their keys.
pub(super) fn in_order(groups: &mut [Group]) {
    groups.sort_by_cached_key(|g| g.key.iter().map(|k| order(k)).collect::<Vec<_>>());
}

fn read(batch: &RecordBatch, by: &[Dimension], measures: &[Measure], into: &mut Vec<Group>) -> Result<(), ReportError> {
    let keys = by.iter().map(|d| texts(batch, d.word())).collect::<Result<Vec<_>, _>>()?;
    let sums = measures.iter().map(|m| whole(batch, m.column())).collect::<Result<Vec<_>, _>>()?;
    for i in 0..batch.num_rows() {
        into.push(Group {
            key: keys.iter().zip(by).map(|(k, d)| label(*d, &k[i])).collect(),
            sums: sums.iter().map(|s| s[i]).collect(),
        });
    }
    Ok(())
}

/// A column as text.
pub(crate) fn texts(batch: &RecordBatch, name: &str) -> Result<Vec<String>, ReportError> {
    let shape = || ReportError::Shape(name.to_owned());
    let found = batch.column_by_name(name).ok_or_else(shape)?;
    let text = cast(found, &DataType::Utf8).map_err(|_| shape())?;
    let text = text.as_string_opt::<i32>().ok_or_else(shape)?;
    Ok((0..text.len()).map(|i| if text.is_valid(i) { text.value(i).to_owned() } else { "-".to_owned() }).collect())
}

/// A column of whole numbers, exactly.
pub(crate) fn whole(batch: &RecordBatch, name: &str) -> Result<Vec<Option<i128>>, ReportError> {
    let shape = || ReportError::Shape(name.to_owned());
    let found = batch.column_by_name(name).ok_or_else(shape)?;
    let exact = cast(found, &DataType::Decimal128(38, 0)).map_err(|_| shape())?;
    let exact = exact.as_primitive_opt::<Decimal128Type>().ok_or_else(shape)?;
    Ok((0..exact.len()).map(|i| exact.is_valid(i).then(|| exact.value(i))).collect())
}

fn label(dimension: Dimension, key: &str) -> String {
    match (dimension, key.parse::<i32>()) {
        (Dimension::Day, Ok(day)) => day_label(day),
        (Dimension::Month, Ok(month)) => format!("{:04}-{:02}", month / 100, month % 100),
        _ => key.to_owned(),
    }
}

/// Numbers by size, then words; `(platform)`, `-` and the like after names.
fn order(key: &str) -> (u8, i64, String) {
    match key.parse::<i64>() {
        Ok(number) => (0, number, String::new()),
        Err(_) if key.starts_with(|c: char| c.is_alphanumeric()) => (1, 0, key.to_owned()),
        Err(_) => (2, 0, key.to_owned()),
    }
}

/// `part` of `whole` in parts per million, rounded half up; unknown where there is no whole.
pub(super) fn ppm(part: i128, whole: i128) -> Value {
    if whole <= 0 { Value::Unknown } else { Value::Ppm((part * 2_000_000 + whole) / (2 * whole)) }
}
