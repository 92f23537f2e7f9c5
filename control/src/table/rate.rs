//! Rates: prices per GPU-hour by team, task type, pool, model and tier. One ledger has one currency.

use gpuledger_schema::id::id63;
use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::RateRow;

use super::{Derived, FROM, Fields, Spec, TO, Whole, no_check, optional, reference_row, required};
use crate::cell::Cell;
use crate::error::Problems;
use crate::kind::Kind;
use crate::plan::Origin;

pub(crate) const SPEC: Spec = Spec {
    table: RateRow::TABLE,
    columns: &[
        optional("team", "team", Kind::Text),
        optional("task_type", "task_type", Kind::TaskType),
        optional("pool", "pool", Kind::Text),
        optional("model", "model", Kind::Text),
        optional("tier", "tier", Kind::Text),
        required("price", "price_micros", Kind::Price),
        optional("currency", "currency", Kind::Currency),
        FROM,
        TO,
    ],
    selector: &["team", "task_type", "pool", "model", "tier"],
    beside: &[],
    derived: &[Derived { stored: "rate_id", make: rate_id }],
    check: no_check,
    check_whole: one_currency,
};

reference_row!(RateRow, Rates;
    rate_id, team, task_type, pool, model, tier, price_micros, currency, from_ms, to_ms);

/// The id of selectors, start and price; a rate keeps it when it is ended.
fn rate_id(row: &Fields<'_>) -> Cell {
    let number = |stored| row.int(stored).unwrap_or(0).to_string();
    let (from, price) = (number("from_ms"), number("price_micros"));
    let selectors = SPEC.selector.iter().map(|stored| row.text(stored).unwrap_or(""));
    let currency = row.text("currency").unwrap_or("");
    let parts: Vec<&str> = selectors.chain([from.as_str(), price.as_str(), currency]).collect();
    Cell::Int(id63("rate", &parts))
}

fn one_currency(whole: &Whole<'_>, problems: &mut Problems<'_>) {
    let currency = |row| Fields { spec: whole.spec, record: row }.text("currency");
    let Some(first) = whole.rows.first() else { return };
    let Some(first_code) = currency(&first.record) else { return };
    let named = match first.origin {
        Origin::Stored(_) => "the rates that are there are in".to_owned(),
        Origin::Line(line) => format!("line {line} is in"),
    };
    for row in &whole.rows {
        if let (Origin::Line(line), Some(code)) = (row.origin, currency(&row.record))
            && code != first_code
        {
            problems.push(
                line,
                Some("currency"),
                format!("the rate is in {code}, but {named} {first_code}: a ledger has one currency"),
            );
        }
    }
}
