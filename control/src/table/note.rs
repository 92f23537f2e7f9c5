//! Finding notes: what people say of a finding, from when on. A later note of the same finding ends the one before.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::FindingNoteRow;

use super::threshold::RULES;
use super::{FROM, Fields, Spec, TO, no_check_whole, optional, reference_row, required};
use crate::kind::Kind;

/// States of a finding.
const STATES: &[&str] = &["open", "accepted", "done", "dismissed"];

pub(crate) const SPEC: Spec = Spec {
    table: FindingNoteRow::TABLE,
    columns: &[
        required("rule", "rule", Kind::Text),
        required("subject", "subject", Kind::Text),
        required("state", "state", Kind::Text),
        optional("reason", "reason", Kind::Text),
        required("by", "by", Kind::Text),
        FROM,
        TO,
    ],
    selector: &["rule", "subject"],
    beside: &[],
    derived: &[],
    check,
    check_whole: no_check_whole,
};

reference_row!(FindingNoteRow, FindingNotes; rule, subject, state, reason, by, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let (rule, state) = (row.text("rule")?, row.text("state")?);
    if !RULES.contains(&rule) {
        return Some(("rule", format!("unknown rule `{rule}`; it is one of {}", RULES.join(", "))));
    }
    if !STATES.contains(&state) {
        return Some(("state", format!("unknown state `{state}`; it is one of {}", STATES.join(", "))));
    }
    (state == "dismissed" && row.text("reason").is_none())
        .then(|| ("reason", "a finding is dismissed for a reason".to_owned()))
}
