//! What closes wrote, as tables of a session; and a lake opened as a close saw it.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use gpuledger_schema::path::Numbered;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow};
use gpuledger_schema::window::{self, Window};

use super::manifest::{Earlier, Manifest};
use super::rows::lines;
use super::{CloseError, WRITTEN};
use crate::bill::Period;
use crate::engine::{Engine, Params, text};
use crate::lake::{Build, Cut, Lake};
use crate::report::{Reader, ReportError};
use crate::rows::shaped;

/// Registers what closes wrote, and `closed_line`: the lines of those that are named.
pub(super) async fn register(engine: &Engine, lake: &Lake, known: &[Earlier]) -> Result<(), CloseError> {
    for (spec, name) in WRITTEN {
        match lake.table(spec.name).await?.and_then(|t| t.version()) {
            Some(version) => engine.register(name, lake.provider_at(&spec, version).await?)?,
            None => engine.register_rows(name, spec.schema(), Vec::new())?,
        }
    }
    let field = |name| Field::new(name, DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![field("period"), field("close_id")]));
    let periods: StringArray = known.iter().map(|k| Some(k.period.as_str())).collect();
    let ids: StringArray = known.iter().map(|k| Some(k.close_id.as_str())).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(periods), Arc::new(ids)])
        .map_err(|e| ReportError::Shape(e.to_string()))?;
    engine.register_rows("known_close", schema, vec![batch])?;
    engine.step("close/10_closed_line", &Params::new()).await?;
    Ok(())
}

/// Registers `closed_line` and `closed_charge`, what closed periods billed, for a reader's own questions.
///
/// # Errors
/// When a document or a table cannot be read.
pub async fn closed_tables(lake: &Lake, reader: &Reader) -> Result<(), CloseError> {
    let known: Vec<Earlier> = Manifest::all(lake).await?.iter().map(Manifest::earlier).collect();
    register(reader.engine(), lake, &known).await?;
    reader.engine().step("close/13_closed_charge", &Params::new()).await?;
    Ok(())
}

/// Every line that `closed_line` has.
pub(super) async fn closed_lines(engine: &Engine) -> Result<Vec<StatementLineRow>, CloseError> {
    let frame = engine.context().table("closed_line").await;
    let fail = |e| ReportError::Group { table: "closed_line".to_owned(), source: Box::new(e) };
    Ok(lines(&frame.map_err(fail)?.collect().await.map_err(fail)?)?)
}

/// The charges of a close, in key order.
pub(super) async fn closed_charges(engine: &Engine, close_id: &str) -> Result<Vec<RecordBatch>, CloseError> {
    let params = Params::from([("close_id", text(close_id))]);
    Ok(shaped(&ChargeRow::TABLE, &engine.run("close/11_charge_of_close", &params).await?.1)?)
}

/// Registers lines under a name that statements read.
pub(super) fn register_lines(engine: &Engine, name: &str, rows: &[StatementLineRow]) -> Result<(), CloseError> {
    let batch = super::rows::batch_of(rows)?;
    Ok(engine.register_rows(name, StatementLineRow::TABLE.schema(), vec![batch])?)
}

/// Registers charges under a name that statements read.
pub(super) fn register_charges(engine: &Engine, name: &str, rows: &[RecordBatch]) -> Result<(), CloseError> {
    Ok(engine.register_rows(name, ChargeRow::TABLE.schema(), shaped(&ChargeRow::TABLE, rows)?)?)
}

/// The tables in the versions that a close named.
pub(super) async fn pinned(lake: &Lake, partitions: usize, closed: &Manifest) -> Result<Reader, ReportError> {
    let cut = Cut { tables: closed.tables.clone(), ..Cut::default() };
    let build = Build {
        cut: closed.cut,
        tables: closed.derived.clone(),
        rules: closed.ledger_rules.clone(),
        days: closed.days,
    };
    Reader::of(lake, partitions, (Numbered(closed.cut), cut), build).await
}

/// A session of its own with the tables that a period's figures come from: as its close named them, else as `reader` has them.
pub(super) async fn as_closed(lake: &Lake, reader: &Reader, of: &Period) -> Result<Reader, CloseError> {
    Ok(match Manifest::find(lake, &of.name).await? {
        Some(closed) => pinned(lake, reader.engine().partitions(), &closed).await?,
        None => reader.fork().await?,
    })
}

/// The period that a close closed.
pub(super) fn period_of(closed: &Manifest) -> Result<Period, CloseError> {
    let unknown = |what: &str| CloseError::Unknown {
        object: gpuledger_schema::path::close(&closed.period),
        what: format!("`{what}`"),
    };
    Ok(Period {
        name: closed.period.clone(),
        window: Window { from_ms: closed.from_ms, to_ms: closed.to_ms },
        zone: window::zone(&closed.zone).map_err(|_| unknown(&closed.zone))?,
        currency: closed.currency.parse().map_err(|_| unknown(&closed.currency))?,
    })
}
