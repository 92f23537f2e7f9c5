//! Decides what an import does: a pure function of the rows that are there and the rows of the file.
//!
//! Rows are about the same thing when they have the same selector. Of such rows no two may share an instant, except
//! where they differ in the columns that let them stand side by side (the teams of an owner split).
//! A row of the file that is there already changes nothing. One that starts later than an open row ends it; one that
//! repeats an open row but for an end ends it there. Any other overlap is a problem.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono_tz::Tz;

use crate::cell::{Cell, Record};
use crate::error::Problems;
use crate::table::{Spec, Whole};

/// Where a row is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In the control file, under this rowid.
    Stored(i64),
    /// On this line of the imported file.
    Line(u64),
}

/// A row and where it is from.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) origin: Origin,
    pub(crate) record: Record,
}

/// A stored row that gets an end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) rowid: i64,
    pub(crate) before: Record,
    pub(crate) to_ms: i64,
}

/// Everything an import will do; nothing is left to decide when it is applied.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Rows to add, by line.
    pub(crate) added: Vec<Placed>,
    /// Stored rows to end.
    pub(crate) ended: Vec<Ended>,
    /// Rows of the file that are there already.
    pub(crate) unchanged: usize,
}

/// Plans the import of `file` over `stored`. The plan counts only if no problem was found.
pub(crate) fn plan(spec: &Spec, stored: Vec<Placed>, file: Vec<Placed>, zone: Tz, problems: &mut Problems<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut groups: HashMap<Vec<Cell>, Vec<Placed>> = HashMap::new();
    for row in stored {
        groups.entry(spec.pick(&row.record, spec.selector)).or_default().push(row);
    }
    let mut new: BTreeMap<Vec<Cell>, Vec<Placed>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for row in file {
        if seen.insert(row.record.clone()) {
            new.entry(spec.pick(&row.record, spec.selector)).or_default().push(row);
        } else {
            plan.unchanged += 1;
        }
    }
    for (selector, mut rows) in new {
        rows.sort_by_key(|r| r.record.start_ms());
        refuse_overlaps(spec, &rows, zone, problems);
        let there = groups.entry(selector).or_default();
        for row in rows {
            place(spec, there, row, zone, &mut plan, problems);
        }
    }
    plan.added.sort_by_key(|r| match r.origin {
        Origin::Line(line) => line,
        Origin::Stored(_) => 0,
    });
    let mut rows: Vec<&Placed> = groups.values().flatten().collect();
    rows.sort_by_key(|r| match r.origin {
        Origin::Stored(rowid) => rowid,
        Origin::Line(_) => 0,
    });
    rows.extend(&plan.added);
    (spec.check_whole)(&Whole { spec, rows, zone }, problems);
    plan
}

/// Two rows of one file that share an instant are a problem even where one could end the other: a file must be
/// right by itself, whatever was imported before it. `rows` are of one selector, sorted by start.
fn refuse_overlaps(spec: &Spec, rows: &[Placed], zone: Tz, problems: &mut Problems<'_>) {
    let mut last_to_end: HashMap<Vec<Cell>, &Placed> = HashMap::new();
    for row in rows {
        let beside = spec.pick(&row.record, spec.beside);
        let Some(longest) = last_to_end.get(&beside).copied() else {
            last_to_end.insert(beside, row);
            continue;
        };
        if longest.record.intersects(&row.record) {
            let (first, second) = if line(longest) <= line(row) { (longest, row) } else { (row, longest) };
            let other = spec.describe(&first.record, zone);
            problems.push(line(second), None, format!("the row overlaps line {} ({other})", line(first)));
        }
        let open_or_later = match (longest.record.end_ms(), row.record.end_ms()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(longest), Some(this)) => this > longest,
        };
        if open_or_later {
            last_to_end.insert(beside, row);
        }
    }
}

/// Decides about one row of the file, given the rows of its selector that are `there`.
fn place(spec: &Spec, there: &mut [Placed], row: Placed, zone: Tz, plan: &mut Plan, problems: &mut Problems<'_>) {
    if there.iter().any(|t| t.record == row.record) {
        plan.unchanged += 1;
        return;
    }
    if let Some(at) = there.iter().position(|t| t.record.same_but_to(&row.record)) {
        match (there[at].record.end_ms(), row.record.end_ms()) {
            (None, Some(to_ms)) => end(&mut there[at], to_ms, plan),
            // An older file again: the open row it has was ended by the row that followed.
            (Some(to_ms), None) if there.iter().any(|t| t.record.start_ms() == to_ms) => plan.unchanged += 1,
            _ => refuse(spec, &there[at], &row, zone, problems),
        }
        return;
    }
    let beside = spec.pick(&row.record, spec.beside);
    for other in there.iter_mut().filter(|t| t.record.intersects(&row.record)) {
        if other.record.end_ms().is_none() && other.record.start_ms() < row.record.start_ms() {
            end(other, row.record.start_ms(), plan);
        } else if spec.pick(&other.record, spec.beside) == beside {
            refuse(spec, other, &row, zone, problems);
        }
    }
    plan.added.push(row);
}

fn end(stored: &mut Placed, to_ms: i64, plan: &mut Plan) {
    if let Origin::Stored(rowid) = stored.origin {
        plan.ended.push(Ended { rowid, before: stored.record.clone(), to_ms });
    }
    stored.record.end_at(to_ms);
}

fn refuse(spec: &Spec, stored: &Placed, row: &Placed, zone: Tz, problems: &mut Problems<'_>) {
    let other = spec.describe(&stored.record, zone);
    problems.push(line(row), None, format!("the row overlaps a row that is there ({other})"));
}

fn line(row: &Placed) -> u64 {
    match row.origin {
        Origin::Line(line) => line,
        Origin::Stored(_) => 0,
    }
}
