//! What a billing month costs whom: exact lines and charges of a period, and their rounding to minor units.
//!
//! The rules are `sql/charge`; this moves rows and gives lines their ids. Manual lines, corrections and everything that makes a
//! period final belong to the close.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;
use datafusion::arrow::array::{Int64Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use gpuledger_schema::bill::Conservation;
use gpuledger_schema::id::id63;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow};
use gpuledger_schema::window::Window;

use crate::engine::{Engine, Params, text};
use crate::report::{Currency, Depth, Reader, ReportError, price, texts, whole};
use crate::rows::shaped;

mod lines;
mod rounding;

pub(crate) use lines::in_order;
pub use rounding::round;

/// A billing month in a zone.
#[derive(Debug, Clone)]
pub struct Period {
    /// The month, YYYY-MM.
    pub name: String,
    /// Its instants.
    pub window: Window,
    /// Zone of its local days.
    pub zone: Tz,
    /// Currency it is billed in.
    pub currency: Currency,
}

/// Lines, charges and classes of a period, with exact money.
#[derive(Debug, Clone)]
pub struct ExactBill {
    /// Lines without rounding (`amount_minor`, `waste_minor`, `list_minor` are 0), ordered as `schema::bill::Bill::lines`.
    pub lines: Vec<StatementLineRow>,
    /// Rows of `charge`, ordered by line_id, local_day, unit_id, holder.
    pub charges: Vec<RecordBatch>,
    /// Classes of time, ms; money is filled in by [`round`].
    pub conservation: Conservation,
}

/// Computes lines and charges of a period from the cells that `reader` has. Rows carry `close_id`.
///
/// # Errors
/// When a statement fails or gives other columns than it declares, or two lines have the same id.
pub async fn exact(reader: &Reader, period: &Period, close_id: &str) -> Result<ExactBill, ReportError> {
    price(reader, period.window, period.zone, Depth::Charges).await?;
    let (engine, none) = (reader.engine(), Params::new());
    name_lines(engine, &engine.step_rows("charge/81_line_of", &none).await?)?;
    engine.step("charge/82_line", &none).await?;
    engine.step("charge/83_item", &none).await?;
    let named = Params::from([("close_id", text(close_id)), ("period", text(&period.name))]);
    let (_, rows) = engine.run("charge/85_statement_line", &named).await?;
    let lines = lines::read(&rows, period.currency.code())?;
    let (_, rows) = engine.run("charge/84_charge_row", &named).await?;
    let charges = shaped(&ChargeRow::TABLE, &rows)?;
    let (_, classes) = engine.run("charge/86_class", &none).await?;
    Ok(ExactBill { lines, charges, conservation: conservation(&classes)? })
}

/// What does not hold of the bill that [`exact`] computed last in this session, a sentence each: M1 and what it rests on.
///
/// # Errors
/// When a statement fails or gives other columns than it declares.
pub async fn violations(reader: &Reader, bill: &ExactBill) -> Result<Vec<String>, ReportError> {
    let engine = reader.engine();
    lines::register(engine, "bill_line", &bill.lines)?;
    engine.register_rows("bill_charge", ChargeRow::TABLE.schema(), bill.charges.clone())?;
    let (_, rows) = engine.run("check/M1_bill", &Params::new()).await?;
    let mut out = Vec::new();
    for batch in &rows {
        let (what, place, found) = (texts(batch, "what")?, texts(batch, "place")?, texts(batch, "found")?);
        out.extend((0..batch.num_rows()).map(|i| format!("{}: {} ({})", what[i], place[i], found[i])));
    }
    Ok(out)
}

/// Registers the ids of lines: hashes of their keys.
fn name_lines(engine: &Engine, line_of: &[RecordBatch]) -> Result<(), ReportError> {
    let mut ids = BTreeMap::new();
    for batch in line_of {
        for key in texts(batch, "line_key")? {
            let id = id63("line", &[&key]);
            if ids.insert(id, key.clone()).is_some_and(|other| other != key) {
                return Err(ReportError::Shape(format!("line_id: two lines have the id {id}")));
            }
        }
    }
    let schema = Arc::new(Schema::new(vec![
        Field::new("line_key", DataType::Utf8, false),
        Field::new("line_id", DataType::Int64, false),
    ]));
    let keys: StringArray = ids.values().map(Some).collect();
    let numbers: Int64Array = ids.keys().copied().collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(keys), Arc::new(numbers)])
        .map_err(|e| ReportError::Shape(e.to_string()))?;
    Ok(engine.register_rows("line_id", schema, vec![batch])?)
}

fn conservation(rows: &[RecordBatch]) -> Result<Conservation, ReportError> {
    let sum = |name: &str| -> Result<i64, ReportError> {
        let all = rows.iter().map(|b| whole(b, name)).collect::<Result<Vec<_>, _>>()?;
        Ok(all.concat().into_iter().flatten().sum::<i128>() as i64)
    };
    Ok(Conservation {
        busy_ms: sum("busy_ms")?,
        held_idle_ms: sum("held_idle_ms")?,
        held_unmeasured_ms: sum("held_unmeasured_ms")?,
        unallocated_ms: sum("unallocated_ms")?,
        unavailable_ms: sum("unavailable_ms")?,
        unobserved_ms: sum("unobserved_ms")?,
        unpriced_ms: sum("unpriced_ms")?,
        ..Conservation::default()
    })
}
