//! Lines and charges between record batches and rows, and their hash.

use std::fmt::Write as _;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int32Type, Int64Type};
use gpuledger_schema::hash::hex;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow, Table, batch};
use sha2::{Digest, Sha256};

use crate::report::ReportError;
use crate::rows::{Columns, shaped};

fn shape(name: &str) -> ReportError {
    ReportError::Shape(name.to_owned())
}

/// Ends a value in the text that is hashed.
const END: char = '\u{1f}';
/// Stands for an absent value.
const ABSENT: char = '\u{1e}';

/// Lines as rows of `statement_line`.
pub(super) fn lines(batches: &[RecordBatch]) -> Result<Vec<StatementLineRow>, ReportError> {
    let mut out = Vec::new();
    for b in batches {
        let c = Columns(b);
        let (close_id, period, line_id, kind) =
            (c.word("close_id")?, c.word("period")?, c.number("line_id")?, c.word("kind")?);
        let (platform, team, cost_center) = (c.flag("platform")?, c.word("team")?, c.text("cost_center")?);
        let (pool, tier, model) = (c.text("pool")?, c.text("tier")?, c.text("model")?);
        let (task_type, mode, discount) = (c.text("task_type")?, c.text("mode")?, c.text("discount")?);
        let (rate_id, list_price, price) = (c.long("rate_id")?, c.long("list_price_micros")?, c.long("price_micros")?);
        let (currency, quantity, held) = (c.word("currency")?, c.number("quantity_ms")?, c.number("held_ms")?);
        let (busy, idle) = (c.number("busy_ms")?, c.number("held_idle_ms")?);
        let (unmeasured, covered) = (c.number("held_unmeasured_ms")?, c.number("covered_ms")?);
        let (effective, energy, exact) = (c.long("effective_ms")?, c.long("energy_mj")?, c.exact("exact")?);
        let (amount, waste, list) = (c.number("amount_minor")?, c.number("waste_minor")?, c.number("list_minor")?);
        let (corrects, reason, approver) = (c.text("corrects")?, c.text("reason")?, c.text("approver")?);
        for i in 0..b.num_rows() {
            out.push(StatementLineRow {
                close_id: close_id[i].clone(),
                period: period[i].clone(),
                line_id: line_id[i],
                kind: kind[i].clone(),
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
                currency: currency[i].clone(),
                quantity_ms: quantity[i],
                held_ms: held[i],
                busy_ms: busy[i],
                held_idle_ms: idle[i],
                held_unmeasured_ms: unmeasured[i],
                covered_ms: covered[i],
                effective_ms: effective[i],
                energy_mj: energy[i],
                exact: exact[i].ok_or_else(|| shape("exact"))?,
                amount_minor: amount[i],
                waste_minor: waste[i],
                list_minor: list[i],
                corrects: corrects[i].clone(),
                reason: reason[i].clone(),
                approver: approver[i].clone(),
            });
        }
    }
    Ok(out)
}

/// Lines as one batch.
pub(super) fn batch_of(lines: &[StatementLineRow]) -> Result<RecordBatch, ReportError> {
    batch(lines).map_err(|e| shape(&e.to_string()))
}

/// SHA-256 over lines and charges: the names of the columns, then every row in key order, each value as text. Which close wrote
/// them is not in it: the same figures have the same hash.
pub(super) fn output_sha256(lines: &[StatementLineRow], charges: &[RecordBatch]) -> Result<String, ReportError> {
    let mut by_key: Vec<StatementLineRow> = lines.to_vec();
    by_key.sort_by_key(|l| l.line_id);
    let mut hash = Sha256::new();
    hash_rows(&mut hash, &StatementLineRow::TABLE, &[batch_of(&by_key)?])?;
    hash_rows(&mut hash, &ChargeRow::TABLE, charges)?;
    Ok(hex(&hash.finalize()))
}

fn hash_rows(hash: &mut Sha256, spec: &Table, batches: &[RecordBatch]) -> Result<(), ReportError> {
    let schema = spec.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).filter(|n| *n != "close_id").collect();
    hash.update(format!("{}{END}{}\n", spec.name, names.join(&END.to_string())));
    for b in shaped(spec, batches)? {
        let columns = names.iter().map(|n| b.column_by_name(n).ok_or_else(|| shape(n)));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let mut text = String::new();
        for row in 0..b.num_rows() {
            for column in &columns {
                value(&mut text, column, row);
            }
            text.push('\n');
            if text.len() > 1 << 20 {
                hash.update(&text);
                text.clear();
            }
        }
        hash.update(&text);
    }
    Ok(())
}

fn value(text: &mut String, column: &ArrayRef, row: usize) {
    if column.is_null(row) {
        text.push(ABSENT);
        return;
    }
    match column.data_type() {
        DataType::Int64 => _ = write!(text, "{}", column.as_primitive::<Int64Type>().value(row)),
        DataType::Int32 => _ = write!(text, "{}", column.as_primitive::<Int32Type>().value(row)),
        DataType::Decimal128(..) => _ = write!(text, "{}", column.as_primitive::<Decimal128Type>().value(row)),
        DataType::Boolean => text.push_str(if column.as_boolean().value(row) { "true" } else { "false" }),
        _ => text.push_str(column.as_string::<i32>().value(row)),
    }
    text.push(END);
}
