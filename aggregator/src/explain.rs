//! From a charge down to its minutes, and a reader's own read-only question.

use std::fmt::Write as _;

use chrono_tz::Tz;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::parquet::arrow::ArrowWriter;
use gpuledger_schema::unit::{CELL_MS, DAY_MS};
use gpuledger_schema::window::{Window, show_ms};
use serde::Serialize;

use crate::engine::{Params, bigint, int, text};
use crate::report::{Ask, Currency, Dimension, Narrow, Reader, ReportError, price_facts, whole};

/// How far down an explanation goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Depth {
    /// Every cell.
    pub cells: bool,
    /// Every minute.
    pub minutes: bool,
}

/// A part of an explanation: a heading and rows of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// What it shows.
    pub heading: String,
    /// Names of its columns.
    pub header: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// An explanation of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Its parts.
    pub sections: Vec<Section>,
}

/// Runs that the word may mean: `cluster/job`, a raw job id, or an allocation id.
pub async fn find(reader: &Reader, word: &str) -> Result<Vec<i64>, ReportError> {
    let (cluster, job) = word.split_once('/').unwrap_or(("", word));
    let params =
        Params::from([("cluster", text(cluster)), ("job", text(job)), ("holder", bigint(word.parse().unwrap_or(0)))]);
    let (_, rows) = reader.engine().run("read/60_explain_run", &params).await?;
    let found = rows.iter().map(|b| whole(b, "holder")).collect::<Result<Vec<_>, _>>()?;
    Ok(found.concat().into_iter().flatten().map(|h| h as i64).collect())
}

/// Why a run costs what it costs; none where it may not be selected.
pub async fn explain(
    reader: &Reader,
    holder: i64,
    zone: Tz,
    currency: Option<&Currency>,
    depth: Depth,
) -> Result<Option<Told>, ReportError> {
    let engine = reader.engine();
    let who = Params::from([("holder", bigint(holder))]);
    let (_, facts) = engine.run("read/61_explain_facts", &who).await?;
    let at = |name| -> Result<i64, ReportError> {
        let all = facts.iter().map(|b| whole(b, name)).collect::<Result<Vec<_>, _>>()?;
        Ok(all.concat().first().copied().flatten().unwrap_or(0) as i64)
    };
    let (start, end) = (at("start_ms")?, at("end_ms")?);
    let window =
        Window { from_ms: start.div_euclid(CELL_MS) * CELL_MS, to_ms: (end.div_euclid(CELL_MS) + 1) * CELL_MS };
    let code = currency.cloned().unwrap_or_else(Currency::none);
    let ask = Ask { window, zone, by: Vec::new(), step: None, currency: code };
    price_facts(reader, &ask).await?;
    if !reader.sees(holder).await? {
        return Ok(None);
    }
    let day = |ms: i64| int(ms.div_euclid(DAY_MS) as i32);
    let mut days = who.clone();
    days.extend([("from_day", day(window.from_ms)), ("to_day", day(window.to_ms))]);
    let mut sections = vec![upright("run", &facts, zone)?];
    let mut add = |heading: &str, rows: Rows| -> Result<(), ReportError> {
        sections.push(section(heading, &rows.0, &rows.1, zone)?);
        Ok(())
    };
    add("held", engine.run("read/62_explain_held", &days).await?)?;
    add("charged: held_ms x price_micros / 3 600 000 / 10^6", engine.run("read/63_explain_charge", &who).await?)?;
    if depth.cells {
        add("cells", engine.run("read/64_explain_cells", &days).await?)?;
    }
    if depth.minutes {
        add("minutes as written", engine.run("read/65_explain_minutes", &days).await?)?;
    }
    sections.push(Section {
        heading: "made from (versions of the lake's tables; `rate` and `owner` are the reference tables)".to_owned(),
        header: vec!["table".to_owned(), "version".to_owned()],
        rows: reader.versions().into_iter().map(|(table, version)| vec![table, version]).collect(),
    });
    sections.iter_mut().for_each(|s| s.keep(reader.narrow()));
    Ok(Some(Told { sections }))
}

impl Section {
    /// Keeps what other teams pay of the same run to them.
    fn keep(&mut self, narrow: &Narrow) {
        if let Some(at) = self.header.iter().position(|column| column == Dimension::Team.word()) {
            self.rows.retain(|row| narrow.has_team(&row[at]));
        }
    }
}

fn cell(batch: &RecordBatch, column: usize, row: usize, zone: Tz) -> Result<String, ReportError> {
    let array = batch.column(column);
    let name = batch.schema().field(column).name().clone();
    if array.is_null(row) {
        return Ok("unknown".to_owned());
    }
    let shown = ArrayFormatter::try_new(array, &FormatOptions::default())
        .map_err(|e| ReportError::Shape(e.to_string()))?
        .value(row)
        .to_string();
    let instant = ["start_ms", "end_ms", "from_ms", "to_ms", "tick_ms", "submit_ms", "eligible_ms", "first_submit_ms"];
    match shown.parse::<i64>() {
        Ok(ms) if instant.contains(&name.as_str()) => Ok(show_ms(ms, zone)),
        _ => Ok(shown),
    }
}

/// What a statement gave.
pub(crate) type Rows = (SchemaRef, Vec<RecordBatch>);

/// Rows under a heading, instants in `zone`.
pub(crate) fn section(
    heading: &str,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    zone: Tz,
) -> Result<Section, ReportError> {
    let header = schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut rows = Vec::new();
    for b in batches {
        for r in 0..b.num_rows() {
            rows.push((0..b.num_columns()).map(|c| cell(b, c, r, zone)).collect::<Result<_, _>>()?);
        }
    }
    Ok(Section { heading: heading.to_owned(), header, rows })
}

/// One row, shown as a line per column.
fn upright(heading: &str, batches: &[RecordBatch], zone: Tz) -> Result<Section, ReportError> {
    let mut rows = Vec::new();
    for b in batches.iter().filter(|b| b.num_rows() > 0) {
        for c in 0..b.num_columns() {
            rows.push(vec![b.schema().field(c).name().clone(), cell(b, c, 0, zone)?]);
        }
    }
    Ok(Section { heading: heading.to_owned(), header: vec!["fact".to_owned(), "value".to_owned()], rows })
}

impl Told {
    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for s in &self.sections {
            let mut widths: Vec<usize> = s.header.iter().map(|h| h.chars().count()).collect();
            for row in &s.rows {
                for (w, c) in widths.iter_mut().zip(row) {
                    *w = (*w).max(c.chars().count());
                }
            }
            let line = |cells: &[String]| {
                let padded: Vec<String> = cells.iter().zip(&widths).map(|(c, w)| format!("{c:<w$}")).collect();
                padded.join("  ").trim_end().to_owned()
            };
            let _ = write!(out, "{}\n  {}\n", s.heading, line(&s.header));
            for row in &s.rows {
                let _ = writeln!(out, "  {}", line(row));
            }
            out.push('\n');
        }
        out
    }
}

/// What a question gave.
#[derive(Debug)]
pub struct Answer {
    /// Names of its columns.
    pub header: Vec<String>,
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
}

/// Asks one SELECT; anything that would change something is refused.
#[allow(clippy::disallowed_methods, reason = "a reader's own question is no statement of sql/; it may only read")]
pub async fn ask_sql(reader: &Reader, query: &str) -> Result<Answer, DataFusionError> {
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let frame = reader.engine().context().sql_with_options(query, options).await?;
    let schema: SchemaRef = std::sync::Arc::new(frame.schema().as_arrow().clone());
    let rows = frame.collect().await?;
    let schema = rows.first().map_or(schema, RecordBatch::schema);
    Ok(Answer { header: schema.fields().iter().map(|f| f.name().clone()).collect(), schema, rows })
}

impl Answer {
    /// Every value as text; absent is `NULL`.
    pub fn text_rows(&self) -> Result<Vec<Vec<String>>, ArrowError> {
        let options = FormatOptions::default().with_null("NULL");
        let mut out = Vec::new();
        for batch in &self.rows {
            let columns =
                batch.columns().iter().map(|c| ArrayFormatter::try_new(c, &options)).collect::<Result<Vec<_>, _>>()?;
            out.extend((0..batch.num_rows()).map(|r| columns.iter().map(|c| c.value(r).to_string()).collect()));
        }
        Ok(out)
    }

    /// Comma-separated with a header, also where there are no rows.
    pub fn csv(&self) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::new();
        let mut writer = datafusion::arrow::csv::WriterBuilder::new().with_header(true).build(&mut out);
        writer.write(&RecordBatch::new_empty(std::sync::Arc::clone(&self.schema)))?;
        for batch in &self.rows {
            writer.write(batch)?;
        }
        drop(writer);
        Ok(out)
    }

    /// An array of objects.
    pub fn json(&self) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::new();
        let mut writer = datafusion::arrow::json::ArrayWriter::new(&mut out);
        writer.write_batches(&self.rows.iter().collect::<Vec<_>>())?;
        writer.finish()?;
        drop(writer);
        out.push(b'\n');
        Ok(out)
    }

    /// Parquet.
    pub fn parquet(&self) -> Result<Vec<u8>, datafusion::parquet::errors::ParquetError> {
        let mut writer = ArrowWriter::try_new(Vec::new(), std::sync::Arc::clone(&self.schema), None)?;
        for batch in &self.rows {
            writer.write(batch)?;
        }
        writer.into_inner()
    }
}
