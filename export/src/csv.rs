//! Lines as CSV (RFC 4180, UTF-8): decimals for money, whole milliseconds for time, and text that no spreadsheet takes for a
//! formula.

use std::io::Write;

use gpuledger_schema::bill::Bill;
use gpuledger_schema::table::StatementLineRow;

use crate::error::ExportError;
use crate::number::{decimal, hours_scaled, short_decimal};

/// How the file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Begin with a byte order mark, by which Excel knows that the file is UTF-8.
    pub bom: bool,
}

/// What Excel knows UTF-8 by.
pub(crate) const BOM: &[u8] = "\u{feff}".as_bytes();

/// First characters by which a spreadsheet takes a text for a formula: also the full-width forms, which some read as the same.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A text that a spreadsheet shows as it is: with an apostrophe before it where it would be taken for a formula.
pub(crate) fn safe(text: &str) -> String {
    if text.starts_with(FORMULA) { format!("'{text}") } else { text.to_owned() }
}

/// Columns of the file, in order.
const COLUMNS: [&str; 36] = [
    "period",
    "close_id",
    "line_id",
    "kind",
    "platform",
    "team",
    "cost_center",
    "pool",
    "tier",
    "model",
    "task_type",
    "mode",
    "rate_id",
    "list_price",
    "price",
    "discount",
    "currency",
    "gpu_hours",
    "amount",
    "waste",
    "list_amount",
    "quantity_ms",
    "held_ms",
    "busy_ms",
    "held_idle_ms",
    "held_unmeasured_ms",
    "covered_ms",
    "effective_ms",
    "energy_mj",
    "exact",
    "corrects",
    "reason",
    "approver",
    "state",
    "zone",
    "output_sha256",
];

/// Writes the lines of a bill.
///
/// # Errors
/// Where `out` fails.
pub fn write(bill: &Bill, options: Options, out: &mut dyn Write) -> Result<(), ExportError> {
    if options.bom {
        out.write_all(BOM).map_err(|source| ExportError::Write { document: "lines", source })?;
    }
    let failed = |source| ExportError::Csv { document: "lines", source };
    let mut csv = writer(out);
    csv.write_record(COLUMNS).map_err(failed)?;
    for line in &bill.lines {
        csv.write_record(record(bill, line)).map_err(failed)?;
    }
    csv.flush().map_err(|source| ExportError::Write { document: "lines", source })
}

/// A writer of RFC 4180: lines end in CR LF, fields are quoted where they must be.
pub(crate) fn writer(out: &mut dyn Write) -> csv::Writer<&mut dyn Write> {
    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out)
}

/// A line's cells: what is absent is empty.
fn record(bill: &Bill, line: &StatementLineRow) -> [String; 36] {
    let text = |t: &Option<String>| t.as_deref().map(safe).unwrap_or_default();
    let whole = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
    let price = |n: Option<i64>| n.map(|n| short_decimal(n.into(), 6)).unwrap_or_default();
    let money = |minor: i64| decimal(minor.into(), bill.digits, false);
    // held time of which nothing was measured: how much of it was used is not known, and a 0 would say that it is
    let measured = |ms: i64| if crate::sums::unknown_use(line) { String::new() } else { ms.to_string() };
    let (state, hash) = match crate::head::hash(bill) {
        Some(hash) => ("closed", hash),
        None => ("draft", ""),
    };
    [
        line.period.clone(),
        line.close_id.clone(),
        line.line_id.to_string(),
        line.kind.clone(),
        line.platform.to_string(),
        safe(&line.team),
        text(&line.cost_center),
        text(&line.pool),
        text(&line.tier),
        text(&line.model),
        text(&line.task_type),
        text(&line.mode),
        whole(line.rate_id),
        price(line.list_price_micros),
        price(line.price_micros),
        text(&line.discount),
        line.currency.clone(),
        decimal(hours_scaled(line.quantity_ms.into(), 6), 6, false),
        money(line.amount_minor),
        if crate::sums::unknown_use(line) { String::new() } else { money(line.waste_minor) },
        money(line.list_minor),
        line.quantity_ms.to_string(),
        line.held_ms.to_string(),
        measured(line.busy_ms),
        measured(line.held_idle_ms),
        line.held_unmeasured_ms.to_string(),
        line.covered_ms.to_string(),
        whole(line.effective_ms),
        whole(line.energy_mj),
        line.exact.to_string(),
        text(&line.corrects),
        text(&line.reason),
        text(&line.approver),
        state.to_owned(),
        bill.zone.clone(),
        hash.to_owned(),
    ]
}
