//! What a period would be closed as: its lines and charges, and corrections of periods closed before.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::bill::Conservation;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow};

use super::correct::{Correction, billed_minor, corrections};
use super::manifest::Manifest;
use super::read::register_charges;
use super::rows::{in_order, output_sha256, shaped};
use super::{CloseError, period};
use crate::bill::{self, Period};
use crate::engine::Params;
use crate::lake::Lake;
use crate::report::Reader;

/// Lines and charges of a period.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Lines in the order of a bill, corrections among them.
    pub lines: Vec<StatementLineRow>,
    /// Charges in key order, those of corrections among them.
    pub charges: Vec<RecordBatch>,
    /// Classes and money of the fleet, without corrections.
    pub conservation: Conservation,
    /// Corrections of periods closed before.
    pub corrections: Vec<Correction>,
    /// Where corrections do not make closed periods what they should be (M2).
    pub(super) violations: Vec<RecordBatch>,
}

impl Draft {
    /// SHA-256 over lines and charges.
    ///
    /// # Errors
    /// When a column has another type than its table declares.
    pub fn output_sha256(&self) -> Result<String, CloseError> {
        Ok(output_sha256(&self.lines, &self.charges)?)
    }

    /// What teams pay, and of it corrections, minor units.
    pub(super) fn billed_minor(&self) -> (i64, i64) {
        let teams = self.lines.iter().filter(|l| !l.platform).map(|l| l.amount_minor).sum();
        (teams, billed_minor(&self.corrections))
    }

    /// Number of charges.
    pub(super) fn charge_rows(&self) -> usize {
        self.charges.iter().map(RecordBatch::num_rows).sum()
    }
}

/// A period as `reader` knows it, with corrections of those that are closed.
pub(super) async fn draft(
    lake: &Lake,
    reader: &Reader,
    of: &Period,
    closed: &[Manifest],
    close_id: &str,
) -> Result<Draft, CloseError> {
    let work = reader.fork().await?;
    let mut own = bill::exact(&work, of, close_id).await?;
    bill::round(work.engine(), &of.currency, &mut own).await?;
    let found = corrections(lake, reader, closed, of, close_id).await?;
    let mut lines = own.lines;
    let mut charges = shaped(&ChargeRow::TABLE, &own.charges)?;
    for correction in &found.each {
        lines.extend(correction.lines.iter().cloned());
        charges.extend(correction.charges.iter().cloned());
    }
    in_order(&mut lines);
    if found.each.iter().any(|c| !c.charges.is_empty()) {
        register_charges(work.engine(), "loose_charge", &charges)?;
        let (_, ordered) = work.engine().run("close/26_ordered_charge", &Params::new()).await?;
        charges = shaped(&ChargeRow::TABLE, &ordered)?;
    }
    Ok(Draft { lines, charges, conservation: own.conservation, corrections: found.each, violations: found.violations })
}

/// The closed periods whose corrections a draft of this period shows: all of them in the period that is closed next, none in one
/// that has open periods before it.
pub(super) fn corrected_by<'a>(of: &Period, closed: &'a [Manifest]) -> &'a [Manifest] {
    let last = closed.iter().map(|m| m.period.as_str()).max();
    let next = last.and_then(period::number).zip(period::number(&of.name)).is_some_and(|(l, n)| l + 1 == n);
    if next { closed } else { &[] }
}
