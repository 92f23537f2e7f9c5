//! Statement lines between rows of SQL and rows of Rust, in the order in which a bill has them.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::bill::LineKind;
use gpuledger_schema::table::{StatementLineRow, batch};

use crate::engine::Engine;
use crate::report::ReportError;
use crate::rows::Columns;

/// Reads lines, and puts them in the order of a bill. A line without a price has no currency of its own: it gets `currency`.
pub(super) fn read(rows: &[RecordBatch], currency: &str) -> Result<Vec<StatementLineRow>, ReportError> {
    let mut out = Vec::new();
    for batch in rows {
        out.extend(read_batch(batch, currency)?);
    }
    in_order(&mut out);
    Ok(out)
}

/// Lines in the order in which a bill shows them.
pub(crate) fn in_order(lines: &mut [StatementLineRow]) {
    lines.sort_by_cached_key(|l| {
        let kind = l.kind.parse::<LineKind>().ok();
        let words = [&l.pool, &l.model, &l.task_type, &l.corrects].map(Clone::clone);
        (l.platform, l.team.clone(), l.cost_center.clone(), kind, words, l.line_id)
    });
}

/// A row's columns are as many as the struct has: one long list, in its order.
fn read_batch(batch: &RecordBatch, currency: &str) -> Result<Vec<StatementLineRow>, ReportError> {
    let c = Columns(batch);
    let words = ["close_id", "period", "kind", "team"].map(|n| c.text(n));
    let [close_id, period, kind, team] = words;
    let (close_id, period, kind, team) = (close_id?, period?, kind?, team?);
    let names = ["cost_center", "pool", "tier", "model", "task_type", "mode", "discount", "currency", "reason"];
    let texts = names.iter().map(|n| c.text(n)).collect::<Result<Vec<_>, _>>()?;
    let measures = [
        "line_id",
        "rate_id",
        "list_price_micros",
        "price_micros",
        "quantity_ms",
        "held_ms",
        "busy_ms",
        "held_idle_ms",
        "held_unmeasured_ms",
        "covered_ms",
        "effective_ms",
        "energy_mj",
    ];
    let ints = measures.iter().map(|n| c.long(n)).collect::<Result<Vec<_>, _>>()?;
    let (exact, platform) = (c.exact("exact")?, c.flag("platform")?);
    let required = |of: &[Option<String>], i: usize, name: &str| {
        of[i].clone().ok_or_else(|| ReportError::Shape(format!("{name} is absent")))
    };
    let line = |i: usize| -> Result<StatementLineRow, ReportError> {
        let text = |at: usize| texts[at][i].clone();
        let int = |at: usize| ints[at][i];
        let ms = |at: usize| int(at).unwrap_or(0);
        Ok(StatementLineRow {
            close_id: required(&close_id, i, "close_id")?,
            period: required(&period, i, "period")?,
            line_id: int(0).ok_or_else(|| ReportError::Shape("line_id is absent".to_owned()))?,
            kind: required(&kind, i, "kind")?,
            platform: platform[i],
            team: required(&team, i, "team")?,
            cost_center: text(0),
            pool: text(1),
            tier: text(2),
            model: text(3),
            task_type: text(4),
            mode: text(5),
            rate_id: int(1),
            list_price_micros: int(2),
            price_micros: int(3),
            discount: text(6),
            currency: text(7).unwrap_or_else(|| currency.to_owned()),
            quantity_ms: ms(4),
            held_ms: ms(5),
            busy_ms: ms(6),
            held_idle_ms: ms(7),
            held_unmeasured_ms: ms(8),
            covered_ms: ms(9),
            effective_ms: int(10),
            energy_mj: int(11),
            exact: exact[i].unwrap_or(0),
            amount_minor: 0,
            waste_minor: 0,
            list_minor: 0,
            corrects: None,
            reason: text(8),
            approver: None,
        })
    };
    (0..batch.num_rows()).map(line).collect()
}

/// Registers lines as a table, with the number of each in column `line_id` as it is.
pub(super) fn register(engine: &Engine, table: &str, lines: &[StatementLineRow]) -> Result<(), ReportError> {
    let rows = batch(lines).map_err(|e| ReportError::Shape(e.to_string()))?;
    Ok(engine.register_rows(table, rows.schema(), vec![rows])?)
}
