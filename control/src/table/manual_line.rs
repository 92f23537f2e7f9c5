//! Manual lines: credits and adjustments that a person books in an open period, with reason and approver.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::money::ManualLineRow;

use super::money::{in_minor_units, one_currency};
use super::{FROM, Fields, Spec, TO, Whole, optional, reference_row, required};
use crate::error::Problems;
use crate::kind::Kind;
use crate::plan::Origin;

/// What a line is.
const KINDS: &[&str] = &["credit", "adjustment"];

pub(crate) const SPEC: Spec = Spec {
    table: ManualLineRow::TABLE,
    columns: &[
        required("line", "line", Kind::Text),
        required("period", "period", Kind::Month),
        required("kind", "kind", Kind::Word { of: KINDS, empty: None }),
        required("team", "team", Kind::Text),
        optional("cost_center", "cost_center", Kind::Text),
        required("amount", "amount_micros", Kind::Amount { signed: true }),
        optional("currency", "currency", Kind::Currency),
        required("reason", "reason", Kind::Text),
        required("approver", "approver", Kind::Text),
        FROM,
        TO,
    ],
    selector: &["line"],
    beside: &[],
    derived: &[],
    check,
    check_whole,
};

reference_row!(ManualLineRow, ManualLines;
    line, period, kind, team, cost_center, amount_micros, currency, reason, approver, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    match (row.text("kind"), row.int("amount_micros")?) {
        (_, 0) => Some(("amount", "a line of nothing says nothing".to_owned())),
        (Some("credit"), n) if n > 0 => {
            Some(("amount", "a credit is in favour of the team: its amount is negative".to_owned()))
        }
        _ => in_minor_units(row),
    }
}

/// A line is written once and at most withdrawn: its name is not used again.
fn check_whole(whole: &Whole<'_>, problems: &mut Problems<'_>) {
    one_currency(whole, problems);
    let name = |record| Fields { spec: whole.spec, record }.text("line");
    for (at, row) in whole.rows.iter().enumerate() {
        if let Origin::Line(line) = row.origin
            && whole.rows[..at].iter().any(|other| name(&other.record) == name(&row.record))
        {
            problems.push(line, Some("line"), "a line of this name is there: a line is never changed, it is withdrawn");
        }
    }
}
