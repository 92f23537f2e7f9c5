//! Corrections: what became known of closed periods since they were billed.
//!
//! A closed period is computed anew from all that is known now, and compared with what was billed for it, in its own close and in
//! corrections since. What differs becomes lines of the period that is closed next. The rules are `sql/close/2*`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::array::{Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use gpuledger_schema::bill::{DRAFT, LineKind};
use gpuledger_schema::id::id63;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow};

use super::manifest::{Earlier, Manifest};
use super::read::{closed_lines, period_of, register, register_charges, register_lines};
use super::show::hours;
use super::{CloseError, draft, m2, same};
use crate::bill::Period;
use crate::engine::{Engine, Params, bigint, text};
use crate::lake::Lake;
use crate::report::{Reader, ReportError};
use crate::rows::{Columns, shaped};

/// What a closed period is corrected by.
#[derive(Debug, Clone)]
pub struct Correction {
    /// The closed period.
    pub period: String,
    /// Lines of kind `correction` (and `rounding`), of the period that is closed next.
    pub lines: Vec<StatementLineRow>,
    /// Charges behind them, in key order; they name the day of use.
    pub charges: Vec<RecordBatch>,
}

/// Which closed periods are computed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Those whose money may be made from something else than when the last close looked.
    Changed,
    /// All: a proof takes nothing for granted.
    All,
}

/// Corrections, and whether they make closed periods what they should be.
#[derive(Debug, Clone, Default)]
pub(super) struct Corrections {
    /// Periods that were not computed anew: their money is made from what it was made from.
    pub(super) unchanged: BTreeSet<String>,
    /// A correction for each closed period that needs one, in order of periods.
    pub(super) each: Vec<Correction>,
    /// Where closed amounts and corrections are not the fresh computation (M2): rows, none if all is well.
    pub(super) violations: Vec<RecordBatch>,
}

/// Corrections of every closed period, by what `reader` knows, as lines of `into`; `look` says of which it has to be computed that
/// there are none.
pub(super) async fn corrections(
    lake: &Lake,
    reader: &Reader,
    closed: &[Manifest],
    into: &Period,
    close_id: &str,
    look: Look,
) -> Result<Corrections, CloseError> {
    if closed.is_empty() {
        return Ok(Corrections::default());
    }
    let work = reader.fork().await?;
    let mut out = Corrections::default();
    if look == Look::Changed {
        out.unchanged = same::unchanged(lake, &work, closed).await?;
    }
    let unchanged = &out.unchanged;
    let changed: Vec<&Manifest> = closed.iter().filter(|m| !unchanged.contains(&m.period)).collect();
    if changed.is_empty() {
        return Ok(out);
    }
    let engine = work.engine();
    let known: Vec<Earlier> = closed.iter().map(Manifest::earlier).collect();
    register(engine, lake, &known).await?;
    let billed = closed_lines(engine).await?;
    let (mut fresh, mut new) = (Vec::new(), Vec::new());
    for manifest in changed {
        let (correction, now) = of_one(&work, manifest, into, close_id).await?;
        fresh.extend(now);
        if !correction.lines.is_empty() {
            new.extend(correction.lines.iter().cloned());
            out.each.push(correction);
        }
    }
    register_lines(engine, "fresh_line", &fresh)?;
    let of = |l: &StatementLineRow| l.corrects.clone().unwrap_or_else(|| l.period.clone());
    let billed = billed.into_iter().filter(|l| !out.unchanged.contains(&of(l)));
    let all: Vec<StatementLineRow> = billed.chain(new).collect();
    register_lines(engine, "closed_line", &all)?;
    out.violations = m2::violations(engine, &into.currency).await?;
    Ok(out)
}

/// The correction of one closed period, and its lines as they are known now; `closed_line` is there.
async fn of_one(
    work: &Reader,
    manifest: &Manifest,
    into: &Period,
    close_id: &str,
) -> Result<(Correction, Vec<StatementLineRow>), CloseError> {
    let of = period_of(manifest)?;
    if of.currency != into.currency {
        let (was, now) = (of.currency.code().to_owned(), into.currency.code().to_owned());
        return Err(CloseError::Currency { period: of.name, was, now });
    }
    let now = draft::anew(work, &of, close_id).await?;
    register_lines(work.engine(), "fresh_line", &now.lines)?;
    register_charges(work.engine(), "fresh_charge", &now.charges)?;
    Ok((correction(work.engine(), &of, into, close_id).await?, now.lines))
}

/// One period against what was billed for it; `fresh_line`, `fresh_charge` and `closed_line` are there.
async fn correction(engine: &Engine, of: &Period, into: &Period, close_id: &str) -> Result<Correction, CloseError> {
    let none = Params::new();
    engine.step("close/20_keyed_line", &Params::from([("period", text(&of.name))])).await?;
    let changed = engine.step("close/21_change", &none).await?;
    let divisor = Params::from([("divisor", bigint(into.currency.divisor()))]);
    let (_, rows) = engine.run("close/22_correction", &divisor).await?;
    let mut out = Correction { period: of.name.clone(), lines: Vec::new(), charges: Vec::new() };
    let mut causes = BTreeMap::new();
    if changed > 0 {
        engine.step("close/23_charge_differs", &none).await?;
        engine.step("close/23_charge_change", &none).await?;
        for b in &engine.run("close/24_cause", &none).await?.1 {
            causes.extend(Columns(b).word("line_key")?.into_iter().zip(Columns(b).word("cause")?));
        }
    }
    let mut ids = Vec::new();
    for batch in &rows {
        for (key, line) in lines(batch, of, into, close_id, &causes)? {
            ids.extend(key.map(|k| (k, line.line_id)));
            out.lines.push(line);
        }
    }
    if !ids.is_empty() {
        register_ids(engine, &ids)?;
        let params = Params::from([("close_id", text(close_id)), ("period", text(&into.name))]);
        out.charges = shaped(&ChargeRow::TABLE, &engine.run("close/25_correction_charge", &params).await?.1)?;
    }
    Ok(out)
}

fn register_ids(engine: &Engine, ids: &[(String, i64)]) -> Result<(), CloseError> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("line_key", DataType::Utf8, false),
        Field::new("line_id", DataType::Int64, false),
    ]));
    let keys: StringArray = ids.iter().map(|(k, _)| Some(k.as_str())).collect();
    let numbers: Int64Array = ids.iter().map(|(_, id)| Some(*id)).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(keys), Arc::new(numbers)])
        .map_err(|e| ReportError::Shape(e.to_string()))?;
    Ok(engine.register_rows("correction_id", schema, vec![batch])?)
}

/// Rows of `22_correction` as lines, each with its key.
fn lines(
    batch: &RecordBatch,
    of: &Period,
    into: &Period,
    close_id: &str,
    causes: &BTreeMap<String, String>,
) -> Result<Vec<(Option<String>, StatementLineRow)>, CloseError> {
    let c = Columns(batch);
    let (keys, platform, team, cost_center) =
        (c.text("line_key")?, c.flag("platform")?, c.word("team")?, c.text("cost_center")?);
    let (pool, tier, model, task_type) = (c.text("pool")?, c.text("tier")?, c.text("model")?, c.text("task_type")?);
    let (mode, discount, rate_id) = (c.text("mode")?, c.text("discount")?, c.long("rate_id")?);
    let (list_price, price) = (c.long("list_price_micros")?, c.long("price_micros")?);
    let (quantity, held, busy) = (c.number("quantity_ms")?, c.number("held_ms")?, c.number("busy_ms")?);
    let (idle, unmeasured) = (c.number("held_idle_ms")?, c.number("held_unmeasured_ms")?);
    let (covered, effective, energy) = (c.number("covered_ms")?, c.long("effective_ms")?, c.long("energy_mj")?);
    let (exact, amount) = (c.exact("exact")?, c.number("amount_minor")?);
    let (waste, list) = (c.long("waste_minor")?, c.long("list_minor")?);
    let mut out = Vec::new();
    for i in 0..batch.num_rows() {
        let (kind, id_of, reason) = match &keys[i] {
            Some(key) => {
                let cause = causes.get(key).map_or("terms", String::as_str);
                (LineKind::Correction, key.as_str(), sentence(of, cause, quantity[i]))
            }
            None => (LineKind::Rounding, "", format!("what rounding leaves of the corrections of {}", of.name)),
        };
        let line = StatementLineRow {
            close_id: close_id.to_owned(),
            period: into.name.clone(),
            line_id: id63("line", &[kind.as_str(), &into.name, &of.name, id_of]),
            kind: kind.as_str().to_owned(),
            platform: platform[i],
            team: team[i].clone(),
            cost_center: cost_center[i].clone(),
            pool: pool[i].clone(),
            tier: tier[i].clone(),
            model: model[i].clone(),
            task_type: task_type[i].clone(),
            mode: mode[i].clone(),
            rate_id: rate_id[i],
            list_price_micros: list_price[i],
            price_micros: price[i],
            discount: discount[i].clone(),
            currency: into.currency.code().to_owned(),
            quantity_ms: quantity[i],
            held_ms: held[i],
            busy_ms: busy[i],
            held_idle_ms: idle[i],
            held_unmeasured_ms: unmeasured[i],
            covered_ms: covered[i],
            effective_ms: effective[i],
            energy_mj: energy[i],
            exact: exact[i].ok_or_else(|| ReportError::Shape("exact".to_owned()))?,
            amount_minor: amount[i],
            waste_minor: waste[i].unwrap_or(0),
            list_minor: list[i].unwrap_or(0),
            corrects: Some(of.name.clone()),
            reason: Some(reason),
            approver: None,
        };
        out.push((keys[i].clone(), line));
    }
    Ok(out)
}

/// Why a line of a correction is there.
fn sentence(of: &Period, cause: &str, quantity_ms: i64) -> String {
    let sign = if quantity_ms < 0 { "-" } else { "+" };
    let moved = format!("{sign}{} GPU-hours", hours(quantity_ms.abs()));
    let why = match cause {
        "usage" => "usage became known after the close",
        "owner" => "another owner is known since the close",
        "sharing" => "shared cost falls to others since the close",
        "price" => "another price is known since the close",
        _ => "pool, model, task type or terms are others since the close",
    };
    format!("{}: {why} ({moved})", of.name)
}

/// Corrections of closed periods as they would be if a period were closed now; of one closed period, or of all.
///
/// # Errors
/// When figures cannot be computed, or the asked period is not closed.
pub async fn preview(
    lake: &Lake,
    reader: &Reader,
    into: &Period,
    only: Option<&str>,
) -> Result<Vec<Correction>, CloseError> {
    let closed = Manifest::all(lake).await?;
    let Some(only) = only else {
        return Ok(corrections(lake, reader, &closed, into, DRAFT, Look::Changed).await?.each);
    };
    let one = closed.iter().find(|m| m.period == only).ok_or_else(|| CloseError::NotClosed(only.to_owned()))?;
    // corrections of the period stand in later closes: all of them are known, one is computed
    let known: Vec<Earlier> = closed.iter().map(Manifest::earlier).collect();
    let work = reader.fork().await?;
    register(work.engine(), lake, &known).await?;
    let (found, _) = of_one(&work, one, into, DRAFT).await?;
    Ok(Some(found).filter(|c| !c.lines.is_empty()).into_iter().collect())
}

/// What of corrections teams pay, minor units.
pub(super) fn billed_minor(each: &[Correction]) -> i64 {
    each.iter().flat_map(|c| &c.lines).filter(|l| !l.platform).map(|l| l.amount_minor).sum()
}
