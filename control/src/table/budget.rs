//! Budgets: what a team may spend in an interval, in money, in GPU-hours, or both.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::money::BudgetRow;

use super::money::{in_minor_units, one_currency};
use super::{Fields, Spec, optional, reference_row, required};
use crate::kind::Kind;

/// Most GPU-hours of a budget: what a million GPUs give in a century.
const HOURS_MAX: i64 = 1_000_000_000_000;

pub(crate) const SPEC: Spec = Spec {
    table: BudgetRow::TABLE,
    columns: &[
        required("team", "team", Kind::Text),
        optional("amount", "amount_micros", Kind::Amount { signed: false }),
        optional("gpu_hours", "gpu_hours", Kind::Count { min: 1, max: HOURS_MAX }),
        optional("alert_at", "alert_at", Kind::Alerts),
        optional("currency", "currency", Kind::Currency),
        // Both ends are asked for: the budget is for exactly this time.
        required("from", "from_ms", Kind::From),
        required("to", "to_ms", Kind::To),
    ],
    selector: &["team"],
    beside: &[],
    derived: &[],
    check,
    check_whole: one_currency,
};

reference_row!(BudgetRow, Budgets; team, amount_micros, gpu_hours, alert_at, currency, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    match (row.int("amount_micros"), row.int("gpu_hours")) {
        (None, None) => Some(("amount", "neither `amount` nor `gpu_hours` is filled".to_owned())),
        (Some(0), _) => Some(("amount", "a budget of nothing has no percents".to_owned())),
        _ => in_minor_units(row),
    }
}
