//! A bill as one value, for every document: of a closed period from its rows, of an open one as it would be closed now.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::bill::{Bill, Conservation, CostCenter, DRAFT, State};
use gpuledger_schema::table::StatementLineRow;

use super::CloseError;
use super::correct::Look;
use super::draft::{corrected_by, draft};
use super::manifest::{Manifest, Waived};
use super::period::usage_to;
use super::read::{closed_charges, closed_lines, register};
use super::show::hours;
use crate::bill::Period;
use crate::engine::{Engine, Params, bigint};
use crate::lake::Lake;
use crate::report::{Currency, Reader};
use crate::rows::Columns;

/// A bill with the charges behind its lines.
#[derive(Debug, Clone)]
pub struct Billed {
    /// The bill.
    pub bill: Bill,
    /// Rows of `charge`, in order of line, local day, unit and holder.
    pub charges: Vec<RecordBatch>,
}

/// The bill of a period. A closed one is read and never computed again, and is what it was whatever `reader` knows; one that is not
/// closed is computed from `reader`, with corrections of closed periods if it is the next to be closed. `issuer` names who issues
/// it, where it is not closed.
///
/// # Errors
/// When rows cannot be read, or figures cannot be computed.
pub async fn bill(lake: &Lake, reader: &Reader, of: &Period, issuer: &str) -> Result<Billed, CloseError> {
    match Manifest::find(lake, &of.name).await? {
        Some(manifest) => of_closed(lake, reader.engine().partitions(), manifest).await,
        None => of_draft(lake, &reader.fork().await?, of, issuer).await,
    }
}

/// The bill of a closed period, from its rows.
pub(super) async fn of_closed(lake: &Lake, partitions: usize, manifest: Manifest) -> Result<Billed, CloseError> {
    let engine = Engine::new(partitions);
    register(&engine, lake, &[manifest.earlier()]).await?;
    let mut lines = closed_lines(&engine).await?;
    crate::bill::in_order(&mut lines);
    let charges = closed_charges(&engine, &manifest.close_id).await?;
    let currency = super::read::period_of(&manifest)?.currency;
    let bill = Bill {
        issuer: manifest.issuer,
        period: manifest.period,
        from_ms: manifest.from_ms,
        to_ms: manifest.to_ms,
        zone: manifest.zone,
        digits: currency.digits(),
        currency: manifest.currency,
        state: State::Closed {
            close_id: manifest.close_id,
            closed_ms: manifest.closed_ms,
            output_sha256: manifest.output_sha256,
        },
        lines,
        conservation: manifest.conservation,
        cost_centers: manifest.cost_centers,
        notes: manifest.notes,
    };
    Ok(Billed { bill, charges })
}

/// The bill of a period that is not closed, as `work` knows it; steps of it stay in that session.
pub(super) async fn of_draft(lake: &Lake, work: &Reader, of: &Period, issuer: &str) -> Result<Billed, CloseError> {
    let closed = Manifest::all(lake).await?;
    let found = draft(lake, work, of, corrected_by(of, &closed), DRAFT, Look::Changed).await?;
    let as_of_ms = usage_to(work, of.window).await?.unwrap_or(of.window.from_ms).min(of.window.to_ms);
    let bill = Bill {
        issuer: issuer.to_owned(),
        period: of.name.clone(),
        from_ms: of.window.from_ms,
        to_ms: of.window.to_ms,
        zone: of.zone.name().to_owned(),
        currency: of.currency.code().to_owned(),
        digits: of.currency.digits(),
        state: State::Draft { cut: work.cut(), as_of_ms },
        notes: notes(&found.conservation, &found.lines, &[], &of.currency),
        lines: found.lines,
        conservation: found.conservation,
        cost_centers: cost_centers(work, of).await?,
    };
    Ok(Billed { bill, charges: found.charges })
}

/// Cost centres at the last instant of a period.
pub(super) async fn cost_centers(reader: &Reader, of: &Period) -> Result<Vec<CostCenter>, CloseError> {
    let params = Params::from([("at_ms", bigint(of.window.to_ms - 1))]);
    let (_, rows) = reader.engine().run("close/35_cost_center", &params).await?;
    let mut out = Vec::new();
    for b in &rows {
        let c = Columns(b);
        let rows = c.word("code")?.into_iter().zip(c.word("name")?).zip(c.text("parent")?);
        out.extend(rows.map(|((code, name), parent)| CostCenter { code, name, parent }));
    }
    Ok(out)
}

/// What a reader of a bill has to know, in sentences.
pub(super) fn notes(
    c: &Conservation,
    lines: &[StatementLineRow],
    waived: &[Waived],
    currency: &Currency,
) -> Vec<String> {
    let mut out = Vec::new();
    if c.unpriced_ms > 0 {
        out.push(format!("{} held GPU-hours have no price and are in no amount.", hours(c.unpriced_ms)));
    }
    if c.held_unmeasured_ms > 0 {
        let h = hours(c.held_unmeasured_ms);
        out.push(format!("{h} held GPU-hours were not measured: they are neither busy nor waste."));
    }
    if c.unobserved_ms > 0 {
        out.push(format!("{} GPU-hours of nobody were not observed.", hours(c.unobserved_ms)));
    }
    let unassigned: i64 = lines.iter().filter(|l| l.team == "unassigned").map(|l| l.amount_minor).sum();
    if unassigned != 0 {
        let amount = super::show::amount(unassigned, currency);
        out.push(format!("{amount} are of accounts without an owner (team unassigned)."));
    }
    let mut corrected: Vec<&str> = lines.iter().filter_map(|l| l.corrects.as_deref()).collect();
    corrected.sort_unstable();
    corrected.dedup();
    if !corrected.is_empty() {
        out.push(format!("Corrects {}.", corrected.join(", ")));
    }
    out.extend(waived.iter().map(|w| format!("Waived by {}: {} ({}).", w.approver, w.what, w.reason)));
    out
}
