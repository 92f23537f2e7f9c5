//! Owners: which team pays for a label, account or user. At any time the shares of a key add up to 100 %.

use std::collections::BTreeMap;

use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::OwnerRow;
use gpuledger_schema::unit::SPLIT_PARTS;

use super::{FROM, Fields, Spec, TO, Whole, optional, reference_row, required};
use crate::cell::Cell;
use crate::decimal;
use crate::error::Problems;
use crate::kind::{Kind, show_instant};
use crate::plan::{Origin, Placed};

pub(crate) const SPEC: Spec = Spec {
    table: OwnerRow::TABLE,
    columns: &[
        required("kind", "kind", Kind::OwnerBy),
        optional("cluster", "cluster", Kind::Text),
        required("value", "value", Kind::Text),
        required("team", "team", Kind::Team),
        optional("cost_center", "cost_center", Kind::Text),
        optional("share_percent", "parts", Kind::Share),
        FROM,
        TO,
    ],
    selector: &["kind", "cluster", "value"],
    beside: &["team", "cost_center"],
    derived: &[],
    check,
    check_whole: shares_add_up,
};

reference_row!(OwnerRow, Owners; kind, cluster, value, team, cost_center, parts, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let value = row.text("value")?;
    let label = value == "*" || value.split_once('=').is_some_and(|(key, _)| !key.is_empty());
    let wrong = row.text("kind") == Some("label") && !label;
    wrong.then(|| ("value", format!("`{value}` is not a label of the form key=value")))
}

/// Looks at every instant at which the owners of a key change, for the keys that the file names. Where a row of the
/// file was refused the sums say nothing, so they wait until the rows are right.
fn shares_add_up(whole: &Whole<'_>, problems: &mut Problems<'_>) {
    if !problems.is_empty() {
        return;
    }
    let mut keys: BTreeMap<Vec<Cell>, Vec<&Placed>> = BTreeMap::new();
    for row in &whole.rows {
        keys.entry(whole.spec.pick(&row.record, whole.spec.selector)).or_default().push(row);
    }
    for (key, rows) in keys {
        let first_line = rows.iter().find_map(|r| match r.origin {
            Origin::Line(line) => Some(line),
            Origin::Stored(_) => None,
        });
        let Some(line) = first_line else { continue };
        if let Some((at_ms, parts)) = first_wrong_sum(whole.spec, &rows) {
            let name = key.iter().filter_map(Cell::text).collect::<Vec<_>>().join(" ");
            let at = if at_ms == 0 { "the beginning".to_owned() } else { show_instant(at_ms, whole.zone) };
            let sum = decimal::show(parts, 2);
            let reason = format!("the shares of {name} add up to {sum} %, not 100 %, from {at}");
            problems.push(line, Some("share_percent"), reason);
        }
    }
}

/// The first instant from which the parts of a key are neither absent nor whole, and what they add up to.
fn first_wrong_sum(spec: &Spec, rows: &[&Placed]) -> Option<(i64, i64)> {
    let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
    for row in rows {
        let parts = Fields { spec, record: &row.record }.int("parts").unwrap_or(0);
        *changes.entry(row.record.start_ms()).or_default() += parts;
        if let Some(to_ms) = row.record.end_ms() {
            *changes.entry(to_ms).or_default() -= parts;
        }
    }
    let mut sum = 0;
    changes.into_iter().find_map(|(at, change)| {
        sum += change;
        (sum != 0 && sum != SPLIT_PARTS).then_some((at, sum))
    })
}
