//! What the fleet's reports share: rows of a statement as rows of a report, sums by any keys, and how parts are written.

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Column as ColumnName;
use datafusion::functions_aggregate::expr_fn::{max, sum};
use datafusion::logical_expr::Expr;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::Window;

use super::grouped::{Group, Measure, ppm, texts, whole};
use super::render::money;
use super::{Column, Kind, ReportError, Value};
use crate::engine::{Engine, Params, bigint, int};

/// `from_ms` and `to_ms` of a window.
pub(super) fn instants(window: Window) -> Params {
    Params::from([("from_ms", bigint(window.from_ms)), ("to_ms", bigint(window.to_ms))])
}

/// A window's instants, and the UTC days it touches.
pub(super) fn window_days(window: Window) -> Params {
    let mut params = instants(window);
    params.extend(days(window));
    params
}

/// The UTC days that a window touches: `from_day` and `to_day`, both in it.
pub(super) fn days(window: Window) -> Params {
    let day = |ms: i64| int(ms.div_euclid(DAY_MS) as i32);
    Params::from([("from_day", day(window.from_ms)), ("to_day", day(window.to_ms - 1))])
}

/// Columns of a report: name, heading (empty: not in the table), kind.
pub(super) fn columns(list: &[(&str, &str, Kind)]) -> Vec<Column> {
    list.iter().map(|(name, heading, kind)| Column::new(name, heading, *kind)).collect()
}

/// The column of a statement that a report's column shows: hours come of `_ms`, percentages of `_ppm`, GiB of `_bytes`.
fn behind(column: &Column) -> String {
    match column.kind {
        Kind::Hours => column.name.replace("_hours", "_ms"),
        Kind::Percent => format!("{}_ppm", column.name),
        Kind::Gib => column.name.replace("_gib", "_bytes"),
        Kind::Text | Kind::Money | Kind::Count => column.name.clone(),
    }
}

/// Runs a statement and gives its rows in the report's columns, in the statement's order; what is absent is unknown.
pub(super) async fn rows(
    engine: &Engine,
    statement: &str,
    params: &Params,
    columns: &[Column],
) -> Result<Vec<Vec<Value>>, ReportError> {
    valued(&engine.run(statement, params).await?.1, columns)
}

/// Rows that a statement gave, in the report's columns.
pub(super) fn valued(batches: &[RecordBatch], columns: &[Column]) -> Result<Vec<Vec<Value>>, ReportError> {
    let mut out = Vec::new();
    for batch in batches {
        let mut made: Vec<Vec<Value>> = vec![Vec::with_capacity(columns.len()); batch.num_rows()];
        for column in columns {
            let values = match column.kind {
                Kind::Text => texts(batch, &column.name)?.into_iter().map(Value::Text).collect(),
                kind => {
                    let numbers = whole(batch, &behind(column))?;
                    numbers.into_iter().map(|n| n.map_or(Value::Unknown, |n| value(kind, n))).collect::<Vec<_>>()
                }
            };
            made.iter_mut().zip(values).for_each(|(row, v)| row.push(v));
        }
        out.extend(made);
    }
    Ok(out)
}

fn value(kind: Kind, number: i128) -> Value {
    match kind {
        Kind::Text | Kind::Count => Value::Count(number),
        Kind::Hours => Value::Ms(number),
        Kind::Money => Value::Money(number),
        Kind::Percent => Value::Ppm(number),
        Kind::Gib => Value::Bytes(number),
    }
}

/// Sums of a table's measures by text keys, in order of the keys; names before `-` and the like.
pub(super) async fn sums(
    engine: &Engine,
    table: &str,
    keys: &[&str],
    measures: &[Measure],
) -> Result<Vec<Group>, ReportError> {
    let fail = |e| ReportError::Group { table: table.to_owned(), source: Box::new(e) };
    let column = |name: &str| Expr::Column(ColumnName::from_name(name));
    let taken = measures
        .iter()
        .map(|m| match m {
            Measure::Sum(c) => sum(column(c)).alias(*c),
            Measure::Max(c) => max(column(c)).alias(*c),
        })
        .collect();
    let frame = engine.context().table(table).await.map_err(fail)?;
    let by = keys.iter().map(|k| column(k)).collect();
    let batches = frame.aggregate(by, taken).map_err(fail)?.collect().await.map_err(fail)?;
    let mut groups = Vec::new();
    for batch in &batches {
        let texts = keys.iter().map(|k| texts(batch, k)).collect::<Result<Vec<_>, _>>()?;
        let name = |m: &Measure| match m {
            Measure::Sum(c) | Measure::Max(c) => *c,
        };
        let numbers = measures.iter().map(|m| whole(batch, name(m))).collect::<Result<Vec<_>, _>>()?;
        groups.extend((0..batch.num_rows()).map(|i| Group {
            key: texts.iter().map(|t| t[i].clone()).collect(),
            sums: numbers.iter().map(|n| n[i]).collect(),
        }));
    }
    groups.sort_by_cached_key(|g| order(&g.key));
    Ok(groups)
}

/// Names first, then `(platform)`, `-` and the like.
pub(super) fn order(key: &[String]) -> Vec<(bool, String)> {
    key.iter().map(|k| (!k.starts_with(|c: char| c.is_alphanumeric()), k.clone())).collect()
}

/// A part of a whole in words, `4.2 %`; `unknown` where there is no whole.
pub(super) fn percent(part: Option<i128>, of: Option<i128>) -> String {
    match (part, of) {
        (Some(part), Some(of)) => match ppm(part, of) {
            Value::Ppm(p) => format!("{} %", money((p + 500) / 1_000, 1, false)),
            _ => "unknown".to_owned(),
        },
        _ => "unknown".to_owned(),
    }
}

/// A part of a whole as a value; unknown where either is.
pub(super) fn share(part: Option<i128>, of: Option<i128>) -> Value {
    match (part, of) {
        (Some(part), Some(of)) => ppm(part, of),
        _ => Value::Unknown,
    }
}
