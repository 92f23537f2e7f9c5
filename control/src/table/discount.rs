//! Discounts: multipliers on prices, by kind, team, task type, pool, model and tier, and by window of the week.

use gpuledger_schema::id::id63;
use gpuledger_schema::table::Row;
use gpuledger_schema::table::money::DiscountRow;

use super::{Derived, FROM, Fields, Spec, TO, Whole, optional, reference_row, required};
use crate::cell::Cell;
use crate::error::Problems;
use crate::kind::Kind;
use crate::plan::{Origin, Placed};
use crate::week::{EVERY_DAY, WeekWindow, mask};

/// What a multiplier is for.
const KINDS: &[&str] = &["off_peak", "borrowed", "preemptible", "discount"];
/// What it is of: of one kind and one such selector, no two rows may fit at one time.
const OF: &[&str] = &["kind", "team", "task_type", "pool", "model", "tier"];

pub(crate) const SPEC: Spec = Spec {
    table: DiscountRow::TABLE,
    columns: &[
        required("name", "name", Kind::Text),
        required("kind", "kind", Kind::Word { of: KINDS, empty: None }),
        optional("team", "team", Kind::Text),
        optional("task_type", "task_type", Kind::TaskType),
        optional("pool", "pool", Kind::Text),
        optional("model", "model", Kind::Text),
        optional("tier", "tier", Kind::Text),
        optional("days", "days", Kind::Days),
        optional("from_time", "from_minute", Kind::TimeOfDay { end: false }),
        optional("to_time", "to_minute", Kind::TimeOfDay { end: true }),
        required("percent_of_price", "factor_e4", Kind::PercentOfPrice),
        FROM,
        TO,
    ],
    selector: &["name"],
    beside: &[],
    derived: &[
        Derived { stored: "discount_id", make: discount_id },
        Derived { stored: "day_mask", make: |f| Cell::Int(window(f).mask) },
    ],
    check,
    check_whole: no_ties,
};

reference_row!(DiscountRow, Discounts;
    discount_id, name, kind, team, task_type, pool, model, tier, days, day_mask, from_minute, to_minute, factor_e4,
    from_ms, to_ms);

/// The id of everything but the end: a discount keeps it when it is ended.
fn discount_id(row: &Fields<'_>) -> Cell {
    let number = |stored| row.int(stored).unwrap_or(0).to_string();
    let numbers = ["from_minute", "to_minute", "factor_e4", "from_ms"].map(number);
    let texts = ["name", "days"].iter().chain(OF).map(|stored| row.text(stored).unwrap_or(""));
    let parts: Vec<&str> = texts.chain(numbers.iter().map(String::as_str)).collect();
    Cell::Int(id63("discount", &parts))
}

fn window(row: &Fields<'_>) -> WeekWindow {
    let days = row.text("days").map(mask);
    WeekWindow {
        mask: days.and_then(Result::ok).unwrap_or(EVERY_DAY),
        from: row.int("from_minute").unwrap_or(0),
        to: row.int("to_minute").unwrap_or(0),
    }
}

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    if row.text("name").is_some_and(|name| name.contains(',')) {
        return Some((
            "name",
            "a name with a comma cannot be told apart on a statement, where names are listed".to_owned(),
        ));
    }
    if row.text("kind") == Some("off_peak") && window(row).is_whole() {
        return Some(("days", "an off-peak row is for a part of the week: fill `days` or the times".to_owned()));
    }
    None
}

/// Two rows of one kind and selector whose windows of the week meet while both are valid would tie.
fn no_ties(whole: &Whole<'_>, problems: &mut Problems<'_>) {
    let of = |row: &Placed| whole.spec.pick(&row.record, OF);
    for (at, row) in whole.rows.iter().enumerate() {
        let Origin::Line(line) = row.origin else { continue };
        let fields = Fields { spec: whole.spec, record: &row.record };
        let ties = |other: &&&Placed| {
            let theirs = Fields { spec: whole.spec, record: &other.record };
            of(row) == of(other)
                && fields.text("name") != theirs.text("name")
                && row.record.intersects(&other.record)
                && window(&fields).meets(window(&theirs))
        };
        if let Some(other) = whole.rows[..at].iter().find(ties) {
            let other = whole.spec.describe(&other.record, whole.zone);
            problems.push(line, None, format!("it would tie with another of its kind and selector: {other}"));
        }
    }
}
