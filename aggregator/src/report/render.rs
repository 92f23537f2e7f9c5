//! One report, four formats: a table for people, CSV and JSON with exact decimal strings, Parquet with integers.

use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::errors::ParquetError;
use gpuledger_schema::decimal::decimal;

use super::lang::width as width_of;
use super::{Column, Kind, Report, Value};

pub(crate) use gpuledger_schema::decimal::decimal as money;

/// Columns of a terminal that a table should fit.
const WIDTH: usize = 102;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Table,
    /// Comma-separated, one header line, no total.
    Csv,
    /// One object; numbers as decimal strings.
    Json,
    /// Parquet: milliseconds, minor units and bytes as integers.
    Parquet,
}

/// Not a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a format (table, csv, json, parquet)")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        match word {
            "table" => Ok(Self::Table),
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            "parquet" => Ok(Self::Parquet),
            _ => Err(UnknownFormat(word.to_owned())),
        }
    }
}

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Columns do not fit together.
    #[error("cannot lay out the report's columns")]
    Arrow(#[source] ArrowError),
    /// Parquet failed.
    #[error("cannot write the report as Parquet")]
    Parquet(#[source] ParquetError),
}

/// Milliseconds as hours with `decimals`, rounded half away from zero, thousands separated.
pub(crate) fn hours(ms: i128, decimals: usize) -> String {
    decimal(scaled_hours(ms, decimals), decimals as u32, true)
}

fn scaled_hours(ms: i128, decimals: usize) -> i128 {
    let scaled = ms * 10_i128.pow(decimals as u32);
    let half = if ms < 0 { -1_800_000 } else { 1_800_000 };
    (scaled + half) / 3_600_000
}

/// A value as people or machines read it.
fn show(value: &Value, report: &Report, for_people: bool) -> String {
    let digits = report.currency.as_ref().map_or(2, super::Currency::digits);
    let hour_decimals = if for_people { report.table_decimals } else { 4 };
    match value {
        Value::Text(t) => t.clone(),
        Value::Ms(ms) => decimal(scaled_hours(*ms, hour_decimals), hour_decimals as u32, for_people),
        Value::Money(m) => decimal(*m, digits, for_people),
        Value::Count(n) => decimal(*n, 0, for_people),
        Value::Ppm(p) if for_people => format!("{} %", decimal((p + 500) / 1_000, 1, false)),
        Value::Ppm(p) => decimal(*p, 6, false),
        Value::Bytes(b) => decimal((b * 20 + (1 << 30)) / (2 << 30), 1, for_people),
        Value::Unknown if for_people => "unknown".to_owned(),
        Value::Unknown => String::new(),
    }
}

/// Writes a report.
pub fn render(report: &Report, format: Format) -> Result<Vec<u8>, RenderError> {
    match format {
        Format::Table => Ok(table(report).into_bytes()),
        Format::Csv => Ok(csv(report).into_bytes()),
        Format::Json => Ok(json(report).into_bytes()),
        Format::Parquet => parquet(report),
    }
}

fn table(report: &Report) -> String {
    let shown: Vec<usize> = (0..report.columns.len()).filter(|i| !report.columns[*i].heading.is_empty()).collect();
    let cells = |row: &Vec<Value>| -> Vec<String> { shown.iter().map(|i| show(&row[*i], report, true)).collect() };
    let heads: Vec<String> = shown.iter().map(|i| report.columns[*i].heading.clone()).collect();
    let body: Vec<Vec<String>> = report.rows.iter().map(cells).collect();
    let total = report.total.as_ref().filter(|_| !report.rows.is_empty()).map(cells);
    let width = |c: usize| {
        let all = body.iter().chain(total.iter()).map(|r| width_of(&r[c]));
        all.chain([width_of(&heads[c])]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..shown.len()).map(width).collect();
    let text = |c: usize| report.columns[shown[c]].kind == Kind::Text;
    // two blanks between columns, one where the table would not fit a terminal otherwise
    let blanks = if widths.iter().sum::<usize>() + 2 * widths.len() > WIDTH { 1 } else { 2 };
    let line = |row: &[String]| {
        let mut out = String::new();
        for (c, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[c].saturating_sub(width_of(cell)));
            let gap = " ".repeat(if c == 0 { 0 } else { blanks });
            let _ = if text(c) { write!(out, "{gap}{cell}{pad}") } else { write!(out, "{gap}{pad}{cell}") };
        }
        out.trim_end().to_owned()
    };
    let rule = "-".repeat(widths.iter().sum::<usize>() + blanks * widths.len().saturating_sub(1));
    let mut out = format!("{}\n", report.sentence);
    if !body.is_empty() {
        let _ = write!(out, "\n{}\n{rule}\n", line(&heads));
        for row in &body {
            let _ = writeln!(out, "{}", line(row));
        }
        if let Some(total) = &total {
            let _ = write!(out, "{rule}\n{}\n", line(total));
        }
    }
    for note in &report.notes {
        let _ = write!(out, "\n{note}\n");
    }
    out
}

/// A CSV field: quoted where needed; text that a spreadsheet would take for a formula gets a leading apostrophe.
fn field(text: &str, is_text: bool) -> String {
    let risky = is_text && text.len() > 1 && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if risky { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

fn csv(report: &Report) -> String {
    let mut out = report.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(",");
    out.push('\n');
    for row in &report.rows {
        let cells = row.iter().zip(&report.columns).map(|(v, c)| field(&show(v, report, false), c.kind == Kind::Text));
        out.push_str(&cells.collect::<Vec<_>>().join(","));
        out.push('\n');
    }
    out
}

fn json(report: &Report) -> String {
    let object = |row: &Vec<Value>| {
        let mut map = serde_json::Map::new();
        for (v, c) in row.iter().zip(&report.columns) {
            let shown = match v {
                Value::Unknown => serde_json::Value::Null,
                Value::Count(n) => i64::try_from(*n).map_or_else(|_| n.to_string().into(), Into::into),
                v => show(v, report, false).into(),
            };
            map.insert(c.name.clone(), shown);
        }
        serde_json::Value::Object(map)
    };
    let document = serde_json::json!({
        "sentence": report.sentence,
        "currency": report.currency.as_ref().map(super::Currency::code),
        "rows": report.rows.iter().map(object).collect::<Vec<_>>(),
        "total": report.total.as_ref().map(object),
        "notes": report.notes,
    });
    format!("{document:#}\n")
}

fn parquet(report: &Report) -> Result<Vec<u8>, RenderError> {
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (i, c) in report.columns.iter().enumerate() {
        let (field, column) = parquet_column(report, i, c).map_err(RenderError::Arrow)?;
        fields.push(field);
        columns.push(column);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(RenderError::Arrow)?;
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).map_err(RenderError::Parquet)?;
    writer.write(&batch).map_err(RenderError::Parquet)?;
    writer.into_inner().map_err(RenderError::Parquet)
}

fn parquet_column(report: &Report, i: usize, c: &Column) -> Result<(Field, ArrayRef), ArrowError> {
    let number = |v: &Value| match v {
        Value::Ms(n) | Value::Money(n) | Value::Count(n) | Value::Ppm(n) | Value::Bytes(n) => Some(*n),
        Value::Text(_) | Value::Unknown => None,
    };
    let exact = || report.rows.iter().map(|r| number(&r[i]));
    let long =
        || -> ArrayRef { Arc::new(exact().map(|n| n.and_then(|n| i64::try_from(n).ok())).collect::<Int64Array>()) };
    Ok(match c.kind {
        Kind::Text => {
            let texts = report.rows.iter().map(|r| match &r[i] {
                Value::Text(t) => Some(t.as_str()),
                _ => None,
            });
            (Field::new(&c.name, DataType::Utf8, true), Arc::new(texts.collect::<StringArray>()))
        }
        Kind::Money => {
            let digits = report.currency.as_ref().map_or(2, super::Currency::digits) as i8;
            let array = exact().collect::<Decimal128Array>().with_precision_and_scale(38, digits)?;
            (Field::new(&c.name, DataType::Decimal128(38, digits), true), Arc::new(array))
        }
        Kind::Hours => (Field::new(c.name.replace("_hours", "_ms"), DataType::Int64, true), long()),
        Kind::Percent => (Field::new(format!("{}_ppm", c.name), DataType::Int64, true), long()),
        Kind::Gib => (Field::new(c.name.replace("_gib", "_bytes"), DataType::Int64, true), long()),
        Kind::Count => (Field::new(&c.name, DataType::Int64, true), long()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_and_readable() {
        assert_eq!(decimal(2_307_253, 2, true), "23,072.53");
        assert_eq!(decimal(-5, 2, false), "-0.05");
        assert_eq!(decimal(7, 0, true), "7");
        assert_eq!(hours(1_675_774_000, 4), "465.4928");
        assert_eq!(hours(1_800_000, 0), "1");
        assert_eq!(hours(0, 1), "0.0");
        assert_eq!(hours(-1_800_000, 0), "-1");
    }

    #[test]
    fn a_cell_that_looks_like_a_formula_is_text() {
        assert_eq!(field("=1+1", true), "'=1+1");
        assert_eq!(field("-", true), "-");
        assert_eq!(field("-5", false), "-5");
        assert_eq!(field("a,\"b\"", true), "\"a,\"\"b\"\"\"");
    }
}
