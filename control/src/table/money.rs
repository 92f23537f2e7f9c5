//! What tables with amounts share: one currency for all of the ledger, and amounts in its minor unit.

use gpuledger_schema::currency::minor_digits;

use super::{Fields, Whole};
use crate::error::Problems;
use crate::plan::Origin;

/// Decimals of a stored amount.
const MICRO_DIGITS: u32 = 6;

/// An amount has at most the digits of its currency.
pub(crate) fn in_minor_units(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let (amount, code) = (row.int("amount_micros")?, row.text("currency")?);
    let digits = minor_digits(code);
    let fits = amount % 10_i64.pow(MICRO_DIGITS - digits) == 0;
    (!fits).then(|| ("amount", format!("it has more decimals than {code} has ({digits})")))
}

/// A row of the file in another currency than the rows that are there, in this table or in another, is a problem.
pub(crate) fn one_currency(whole: &Whole<'_>, problems: &mut Problems<'_>) {
    let currency = |row| Fields { spec: whole.spec, record: row }.text("currency");
    let noun = if whole.spec.table.name == "rate" { "rate" } else { "row" };
    let first = whole.rows.first().and_then(|first| Some((first.origin, currency(&first.record)?)));
    let (named, first_code) = match (first, &whole.ledger_currency) {
        (Some((Origin::Stored(_), code)), _) => (format!("the {noun}s that are there are in"), code.to_owned()),
        (_, Some((table, code))) => (format!("table {table} is in"), code.clone()),
        (Some((Origin::Line(line), code)), None) => (format!("line {line} is in"), code.to_owned()),
        (None, None) => return,
    };
    for row in &whole.rows {
        if let (Origin::Line(line), Some(code)) = (row.origin, currency(&row.record))
            && code != first_code
        {
            let reason = format!("the {noun} is in {code}, but {named} {first_code}: a ledger has one currency");
            problems.push(line, Some("currency"), reason);
        }
    }
}
