//! Rates: prices per GPU-hour by team, task type, pool, model and tier. One ledger has one currency.

use gpuledger_schema::id::id63;
use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::RateRow;

use super::money::one_currency;
use super::{Derived, FROM, Fields, Spec, TO, no_check, optional, reference_row, required};
use crate::cell::Cell;
use crate::kind::Kind;

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
