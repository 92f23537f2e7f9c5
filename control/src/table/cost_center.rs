//! Cost centres: a tree of codes. At any time each parent is there, and nobody is above itself.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::table::Row;
use gpuledger_schema::table::money::CostCenterRow;

use super::{FROM, Fields, Spec, TO, Whole, no_check, optional, reference_row, required};
use crate::error::Problems;
use crate::kind::{Kind, show_instant};
use crate::plan::Origin;

pub(crate) const SPEC: Spec = Spec {
    table: CostCenterRow::TABLE,
    columns: &[
        required("code", "code", Kind::Text),
        required("name", "name", Kind::Text),
        optional("parent", "parent", Kind::Text),
        FROM,
        TO,
    ],
    selector: &["code"],
    beside: &[],
    derived: &[],
    check: no_check,
    check_whole: is_a_tree,
};

reference_row!(CostCenterRow, CostCenters; code, name, parent, from_ms, to_ms);

/// A code at an instant: its parent, and the line of the file that says so (0: it was there).
type Tree<'a> = BTreeMap<&'a str, (Option<&'a str>, u64)>;

/// Looks at every instant at which the tree changes. Where a row of the file was refused the tree says nothing yet.
fn is_a_tree(whole: &Whole<'_>, problems: &mut Problems<'_>) {
    if !problems.is_empty() {
        return;
    }
    let edges: BTreeSet<i64> =
        whole.rows.iter().flat_map(|r| [Some(r.record.start_ms()), r.record.end_ms()]).flatten().collect();
    let mut told = BTreeSet::new();
    for at_ms in edges {
        let tree = at(whole, at_ms);
        for (code, (parent, line)) in &tree {
            let Some(reason) = parent.and_then(|parent| wrong(&tree, code, parent)) else { continue };
            // What was right before and is wrong now was made so by some line of this file: the first, if not this one.
            let line = if *line > 0 { *line } else { first_line(whole) };
            if told.insert((*code).to_owned()) {
                let when = if at_ms == 0 { "the beginning".to_owned() } else { show_instant(at_ms, whole.zone) };
                problems.push(line, Some("parent"), format!("{reason}, from {when}"));
            }
        }
    }
}

fn at<'a>(whole: &Whole<'a>, at_ms: i64) -> Tree<'a> {
    let valid =
        whole.rows.iter().filter(|r| r.record.start_ms() <= at_ms && r.record.end_ms().is_none_or(|end| at_ms < end));
    let named = valid.filter_map(|r| {
        let fields = Fields { spec: whole.spec, record: &r.record };
        let line = if let Origin::Line(line) = r.origin { line } else { 0 };
        Some((fields.text("code")?, (fields.text("parent"), line)))
    });
    named.collect()
}

fn first_line(whole: &Whole<'_>) -> u64 {
    let lines = whole.rows.iter().filter_map(|r| if let Origin::Line(line) = r.origin { Some(line) } else { None });
    lines.min().unwrap_or(1)
}

/// What is wrong with the way from a code upwards.
fn wrong(tree: &Tree<'_>, code: &str, parent: &str) -> Option<String> {
    let (mut below, mut above) = (code, Some(parent));
    for _ in 0..=tree.len() {
        let Some(next) = above else { return None };
        if next == code {
            return Some(format!("`{code}` is above itself"));
        }
        match tree.get(next) {
            // Said at the child itself; those further down hang on it.
            None if below == code => return Some(format!("the parent of `{code}` is `{next}`, which is not there")),
            None => return None,
            Some((further, _)) => (below, above) = (next, *further),
        }
    }
    // A circle further up, which is said at its own members.
    None
}
