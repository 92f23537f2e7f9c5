//! A bill as one JSON object. Every number that is not a small count is a decimal string, so that no reader rounds it.
//! `format` names the shape; it changes when a field changes its meaning or goes, and not when one comes.

use std::io::{BufWriter, Write};

use gpuledger_schema::bill::{Bill, Conservation, State};
use gpuledger_schema::table::StatementLineRow;
use serde::Serialize;

use crate::error::ExportError;
use crate::head::iso;
use crate::number::{decimal, short_decimal};
use crate::rollup;
use crate::sums::{Sums, platform, statements, unknown_use};

/// Name and version of the shape.
const FORMAT: &str = "gpuledger.bill/1";

/// What `exact` is divided by to give units of the currency: ms of an hour times millionths.
const EXACT_PER_UNIT: &str = "3600000000000";

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    issuer: &'a str,
    period: &'a str,
    from: String,
    to: String,
    zone: &'a str,
    currency: &'a str,
    digits: u32,
    exact_per_unit: &'static str,
    state: StateOut<'a>,
    total: SumsOut,
    statements: Vec<Statement<'a>>,
    platform: Vec<PlatformPart>,
    cost_centers: Vec<Node>,
    conservation: ConservationOut,
    notes: &'a [String],
    lines: Vec<Line<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum StateOut<'a> {
    Draft { cut: u64, as_of: String },
    Closed { close_id: &'a str, closed: String, output_sha256: &'a str },
}

#[derive(Serialize)]
struct SumsOut {
    lines: usize,
    quantity_ms: String,
    held_ms: String,
    busy_ms: Option<String>,
    held_idle_ms: Option<String>,
    held_unmeasured_ms: String,
    covered_ms: String,
    energy_mj: Option<String>,
    amount: String,
    waste: Option<String>,
    list_amount: String,
}

#[derive(Serialize)]
struct Statement<'a> {
    team: &'a str,
    #[serde(flatten)]
    sums: SumsOut,
}

#[derive(Serialize)]
struct PlatformPart {
    kind: &'static str,
    amount: String,
}

#[derive(Serialize)]
struct Node {
    cost_center: Option<String>,
    name: Option<String>,
    parent: Option<String>,
    depth: usize,
    own: String,
    total: String,
}

#[derive(Serialize)]
struct ConservationOut {
    busy_ms: String,
    held_idle_ms: String,
    held_unmeasured_ms: String,
    unallocated_ms: String,
    unavailable_ms: String,
    unobserved_ms: String,
    unpriced_ms: String,
    billed: String,
    unbilled_held: String,
    to_settle: String,
    unallocated: String,
    unavailable: String,
    unobserved: String,
    shared_out: String,
    fleet: String,
}

#[derive(Serialize)]
struct Line<'a> {
    period: &'a str,
    close_id: &'a str,
    line_id: String,
    kind: &'a str,
    platform: bool,
    team: &'a str,
    cost_center: Option<&'a str>,
    pool: Option<&'a str>,
    tier: Option<&'a str>,
    model: Option<&'a str>,
    task_type: Option<&'a str>,
    mode: Option<&'a str>,
    rate_id: Option<String>,
    list_price: Option<String>,
    price: Option<String>,
    discount: Option<&'a str>,
    quantity_ms: String,
    held_ms: String,
    busy_ms: Option<String>,
    held_idle_ms: Option<String>,
    held_unmeasured_ms: String,
    covered_ms: String,
    effective_ms: Option<String>,
    energy_mj: Option<String>,
    exact: String,
    amount: String,
    waste: Option<String>,
    list_amount: String,
    corrects: Option<&'a str>,
    reason: Option<&'a str>,
    approver: Option<&'a str>,
}

/// Writes a bill.
///
/// # Errors
/// Where an instant of the bill is no date, and where `out` fails.
pub fn write(bill: &Bill, out: &mut dyn Write) -> Result<(), ExportError> {
    let document = document(bill)?;
    // a JSON writer writes a few bytes at a time
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &document).map_err(ExportError::Json)?;
    let end = out.write_all(b"\n").and_then(|()| out.flush());
    end.map_err(|source| ExportError::Write { document: "bill", source })
}

fn document(bill: &Bill) -> Result<Document<'_>, ExportError> {
    let money = |minor: i128| decimal(minor, bill.digits, false);
    let state = match &bill.state {
        State::Draft { cut, as_of_ms } => StateOut::Draft { cut: *cut, as_of: iso(*as_of_ms)? },
        State::Closed { close_id, closed_ms, output_sha256 } => {
            StateOut::Closed { close_id, closed: iso(*closed_ms)?, output_sha256 }
        }
    };
    let statements = statements(bill);
    let node = |n: rollup::Node| Node {
        cost_center: n.code,
        name: n.name,
        parent: n.parent,
        depth: n.depth,
        own: money(n.own.amount),
        total: money(n.total.amount),
    };
    Ok(Document {
        format: FORMAT,
        issuer: &bill.issuer,
        period: &bill.period,
        from: iso(bill.from_ms)?,
        to: iso(bill.to_ms)?,
        zone: &bill.zone,
        currency: &bill.currency,
        digits: bill.digits,
        exact_per_unit: EXACT_PER_UNIT,
        state,
        total: sums(bill, &Sums::of(bill.lines.iter().filter(|l| !l.platform))),
        statements: statements
            .into_iter()
            .map(|(team, lines)| Statement { team, sums: sums(bill, &Sums::of(lines)) })
            .collect(),
        platform: platform(bill)
            .into_iter()
            .map(|(kind, sums)| PlatformPart { kind: kind.as_str(), amount: money(sums.amount) })
            .collect(),
        cost_centers: rollup::tree(bill).into_iter().map(node).collect(),
        conservation: conservation(&bill.conservation, &money),
        notes: &bill.notes,
        lines: bill.lines.iter().map(|l| line(bill, l)).collect(),
    })
}

fn sums(bill: &Bill, sums: &Sums) -> SumsOut {
    let money = |minor: i128| decimal(minor, bill.digits, false);
    let measured = |n: String| (!sums.unknown_use()).then_some(n);
    SumsOut {
        lines: sums.lines,
        quantity_ms: sums.quantity_ms.to_string(),
        held_ms: sums.held_ms.to_string(),
        busy_ms: measured(sums.busy_ms.to_string()),
        held_idle_ms: measured(sums.held_idle_ms.to_string()),
        held_unmeasured_ms: sums.held_unmeasured_ms.to_string(),
        covered_ms: sums.covered_ms.to_string(),
        energy_mj: sums.energy_mj.map(|n| n.to_string()),
        amount: money(sums.amount),
        waste: measured(money(sums.waste)),
        list_amount: money(sums.list),
    }
}

fn conservation(c: &Conservation, money: &dyn Fn(i128) -> String) -> ConservationOut {
    let minor = |n: i64| money(n.into());
    ConservationOut {
        busy_ms: c.busy_ms.to_string(),
        held_idle_ms: c.held_idle_ms.to_string(),
        held_unmeasured_ms: c.held_unmeasured_ms.to_string(),
        unallocated_ms: c.unallocated_ms.to_string(),
        unavailable_ms: c.unavailable_ms.to_string(),
        unobserved_ms: c.unobserved_ms.to_string(),
        unpriced_ms: c.unpriced_ms.to_string(),
        billed: minor(c.billed_minor),
        unbilled_held: minor(c.unbilled_held_minor),
        to_settle: minor(c.to_settle_minor),
        unallocated: minor(c.unallocated_minor),
        unavailable: minor(c.unavailable_minor),
        unobserved: minor(c.unobserved_minor),
        shared_out: minor(c.shared_out_minor),
        fleet: minor(c.fleet_minor),
    }
}

fn line<'a>(bill: &Bill, l: &'a StatementLineRow) -> Line<'a> {
    let money = |minor: i64| decimal(minor.into(), bill.digits, false);
    let whole = |n: Option<i64>| n.map(|n| n.to_string());
    let price = |n: Option<i64>| n.map(|n| short_decimal(n.into(), 6));
    let measured = |n: String| (!unknown_use(l)).then_some(n);
    Line {
        period: &l.period,
        close_id: &l.close_id,
        line_id: l.line_id.to_string(),
        kind: &l.kind,
        platform: l.platform,
        team: &l.team,
        cost_center: l.cost_center.as_deref(),
        pool: l.pool.as_deref(),
        tier: l.tier.as_deref(),
        model: l.model.as_deref(),
        task_type: l.task_type.as_deref(),
        mode: l.mode.as_deref(),
        rate_id: whole(l.rate_id),
        list_price: price(l.list_price_micros),
        price: price(l.price_micros),
        discount: l.discount.as_deref(),
        quantity_ms: l.quantity_ms.to_string(),
        held_ms: l.held_ms.to_string(),
        busy_ms: measured(l.busy_ms.to_string()),
        held_idle_ms: measured(l.held_idle_ms.to_string()),
        held_unmeasured_ms: l.held_unmeasured_ms.to_string(),
        covered_ms: l.covered_ms.to_string(),
        effective_ms: whole(l.effective_ms),
        energy_mj: whole(l.energy_mj),
        exact: l.exact.to_string(),
        amount: money(l.amount_minor),
        waste: measured(money(l.waste_minor)),
        list_amount: money(l.list_minor),
        corrects: l.corrects.as_deref(),
        reason: l.reason.as_deref(),
        approver: l.approver.as_deref(),
    }
}
