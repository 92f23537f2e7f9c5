//! What a period would be closed as: its lines and charges, and corrections of periods closed before.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::bill::Conservation;
use gpuledger_schema::id::id63;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow};
use gpuledger_schema::window::month_number;

use super::CloseError;
use super::correct::{Correction, Look, billed_minor, corrections};
use super::manifest::Manifest;
use super::read::register_charges;
use super::rows::output_sha256;
use crate::bill::{self, ExactBill, Period};
use crate::engine::{Engine, Params, bigint, text};
use crate::lake::Lake;
use crate::report::{Reader, ReportError};
use crate::rows::{Columns, shaped};

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
    /// Closed periods that were not computed anew, in order: nothing that their money is made from changed since the last close.
    pub unchanged: Vec<String>,
    /// What does not hold of the lines and charges of the period itself (M1), a sentence each.
    pub(super) faults: Vec<String>,
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

/// A period as `reader` knows it, with corrections of those that are closed. Steps of it stay in the session.
pub(super) async fn draft(
    lake: &Lake,
    reader: &Reader,
    of: &Period,
    closed: &[Manifest],
    close_id: &str,
    look: Look,
) -> Result<Draft, CloseError> {
    let engine = reader.engine();
    let mut own = bill::exact(reader, of, close_id).await?;
    let faults = bill::violations(reader, &own).await?;
    bill::round(engine, &of.currency, &mut own).await?;
    own.lines.extend(manual_lines(engine, of, close_id).await?);
    let found = corrections(lake, reader, closed, of, close_id, look).await?;
    let mut lines = own.lines;
    let mut charges = own.charges;
    for correction in &found.each {
        lines.extend(correction.lines.iter().cloned());
        charges.extend(correction.charges.iter().cloned());
    }
    bill::in_order(&mut lines);
    if found.each.iter().any(|c| !c.charges.is_empty()) {
        register_charges(engine, "loose_charge", &charges)?;
        let (_, ordered) = engine.run("close/26_ordered_charge", &Params::new()).await?;
        charges = shaped(&ChargeRow::TABLE, &ordered)?;
    }
    Ok(Draft {
        lines,
        charges,
        conservation: own.conservation,
        corrections: found.each,
        unchanged: found.unchanged.into_iter().collect(),
        faults,
        violations: found.violations,
    })
}

/// Every line of a period as `reader` knows it, exactly and before rounding; manual lines are whole minor units.
pub(super) async fn anew(reader: &Reader, of: &Period, close_id: &str) -> Result<ExactBill, CloseError> {
    let mut own = bill::exact(reader, of, close_id).await?;
    own.lines.extend(manual_lines(reader.engine(), of, close_id).await?);
    Ok(own)
}

/// Lines that people wrote.
async fn manual_lines(engine: &Engine, of: &Period, close_id: &str) -> Result<Vec<StatementLineRow>, CloseError> {
    let code = of.currency.code();
    let params = Params::from([
        ("period", text(&of.name)),
        ("currency", text(code)),
        ("divisor", bigint(of.currency.divisor())),
    ]);
    let mut out = Vec::new();
    for b in &engine.run("close/37_manual_line", &params).await?.1 {
        let c = Columns(b);
        let (line, kind, team) = (c.word("line")?, c.word("kind")?, c.word("team")?);
        let (cost_center, reason, approver) = (c.text("cost_center")?, c.text("reason")?, c.text("approver")?);
        let (exact, amount) = (c.exact("exact")?, c.number("amount_minor")?);
        for i in 0..b.num_rows() {
            out.push(StatementLineRow {
                close_id: close_id.to_owned(),
                period: of.name.clone(),
                line_id: id63("line", &["manual", &of.name, &line[i]]),
                kind: kind[i].clone(),
                platform: false,
                team: team[i].clone(),
                cost_center: cost_center[i].clone(),
                currency: code.to_owned(),
                exact: exact[i].ok_or_else(|| ReportError::Shape("exact".to_owned()))?,
                amount_minor: amount[i],
                reason: reason[i].clone(),
                approver: approver[i].clone(),
                ..StatementLineRow::default()
            });
        }
    }
    Ok(out)
}

/// The closed periods whose corrections a draft of this period shows: all of them in the period that is closed next, none in one
/// that has open periods before it.
pub(super) fn corrected_by<'a>(of: &Period, closed: &'a [Manifest]) -> &'a [Manifest] {
    let last = closed.iter().map(|m| m.period.as_str()).max();
    let next =
        last.and_then(|m| month_number(m).ok()).zip(month_number(&of.name).ok()).is_some_and(|(l, n)| l + 1 == n);
    if next { closed } else { &[] }
}
