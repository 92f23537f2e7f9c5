//! Decides what an import does: a pure function of the rows that are there and the rows of the file.
//!
//! Rows are about the same thing when they have the same selector. Of such rows no two may share an instant, except
//! where they differ in the columns that let them stand side by side (the teams of an owner split).
//! A row of the file that is there already changes nothing. One that starts later than an open row ends it; one that
//! repeats an open row but for an end ends it there. Any other overlap is a problem, unless it is forced: then what is there
//! makes room for exactly the time of the new rows.

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
    /// Line of the file that ends it.
    pub(crate) line: u64,
}

/// A stored row that holds no more: forced rows stand for all of the time from its start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Superseded {
    pub(crate) rowid: i64,
    pub(crate) before: Record,
    /// Line of the first forced row that stands in its place.
    pub(crate) line: u64,
}

/// Everything an import will do; nothing is left to decide when it is applied.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Rows to add, by line.
    pub(crate) added: Vec<Placed>,
    /// Stored rows to end.
    pub(crate) ended: Vec<Ended>,
    /// Stored rows that hold no more (forced only).
    pub(crate) superseded: Vec<Superseded>,
    /// What forced rows leave over of stored rows, as rows of their own (forced only).
    pub(crate) split: Vec<Placed>,
    /// Rows of the file that are there already.
    pub(crate) unchanged: usize,
}

impl Plan {
    /// Whether it changes anything.
    pub(crate) fn changes(&self) -> bool {
        !(self.added.is_empty() && self.ended.is_empty() && self.superseded.is_empty() && self.split.is_empty())
    }
}

/// What is known beside the rows.
#[derive(Debug)]
pub(crate) struct Around {
    /// Zone in which instants are shown.
    pub(crate) zone: Tz,
    /// Another table that has amounts, and the currency they are in.
    pub(crate) ledger_currency: Option<(&'static str, String)>,
    /// Whether stored rows make room where they overlap.
    pub(crate) force: bool,
}

/// Plans the import of `file` over `stored`. The plan counts only if no problem was found.
pub(crate) fn plan(
    spec: &Spec,
    stored: Vec<Placed>,
    file: Vec<Placed>,
    around: Around,
    problems: &mut Problems<'_>,
) -> Plan {
    let zone = around.zone;
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
        if around.force {
            make_room(there, &rows, &mut plan);
        }
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
    rows.extend(&plan.split);
    rows.extend(&plan.added);
    (spec.check_whole)(&Whole { spec, rows, zone, ledger_currency: around.ledger_currency }, problems);
    plan
}

/// Takes the time of the forced rows from the rows that are there: what is left before them is a row that ends, what is left
/// after them a row of its own, and where nothing is left from its start a row is superseded.
fn make_room(there: &mut Vec<Placed>, rows: &[Placed], plan: &mut Plan) {
    let forced: Vec<&Placed> = rows.iter().filter(|row| !is_there(there, row)).collect();
    let mut kept = Vec::new();
    for mut stored in there.drain(..) {
        let (Origin::Stored(rowid), false) = (stored.origin, rows.iter().any(|row| repeats(&stored, row))) else {
            kept.push(stored);
            continue;
        };
        let taken = forced.iter().filter(|row| row.record.intersects(&stored.record));
        let Some(line) = taken.clone().map(|row| line(row)).min() else {
            kept.push(stored);
            continue;
        };
        let mut left = vec![stored.record.clone()];
        for row in taken {
            left = left.iter().flat_map(|piece| without(piece, &row.record)).collect();
        }
        let before = stored.record.clone();
        let from_start = left.first().filter(|piece| piece.start_ms() == before.start_ms());
        if let Some(to_ms) = from_start.and_then(Record::end_ms) {
            left.remove(0);
            stored.record.end_at(to_ms);
            plan.ended.push(Ended { rowid, before, to_ms, line });
            kept.push(stored);
        } else {
            plan.superseded.push(Superseded { rowid, before, line });
        }
        plan.split.extend(left.into_iter().map(|record| Placed { origin: Origin::Line(line), record }));
    }
    *there = kept;
}

/// Whether a row of the file needs no room: it is there, or is the older state of a row that was ended since.
fn is_there(there: &[Placed], row: &Placed) -> bool {
    there.iter().any(|stored| repeats(stored, row))
        || (row.record.end_ms().is_none()
            && there.iter().any(|stored| {
                stored.record.same_but_to(&row.record)
                    && there.iter().any(|next| Some(next.record.start_ms()) == stored.record.end_ms())
            }))
}

/// Whether a row of the file is the stored one, or the same with an end where that has none.
fn repeats(stored: &Placed, row: &Placed) -> bool {
    stored.record == row.record || (stored.record.same_but_to(&row.record) && stored.record.end_ms().is_none())
}

/// The time of `piece` that lies outside `taken`, as at most two rows.
fn without(piece: &Record, taken: &Record) -> Vec<Record> {
    if !piece.intersects(taken) {
        return vec![piece.clone()];
    }
    let mut left = Vec::new();
    if piece.start_ms() < taken.start_ms() {
        let mut before = piece.clone();
        before.end_at(taken.start_ms());
        left.push(before);
    }
    if let Some(end_ms) = taken.end_ms()
        && piece.end_ms().is_none_or(|end| end > end_ms)
    {
        let mut after = piece.clone();
        after.start_at(end_ms);
        left.push(after);
    }
    left
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
            (None, Some(to_ms)) => end(&mut there[at], to_ms, line(&row), plan),
            // An older file again: the open row it has was ended by the row that followed.
            (Some(to_ms), None) if there.iter().any(|t| t.record.start_ms() == to_ms) => plan.unchanged += 1,
            _ => refuse(spec, &there[at], &row, zone, problems),
        }
        return;
    }
    let beside = spec.pick(&row.record, spec.beside);
    for other in there.iter_mut().filter(|t| t.record.intersects(&row.record)) {
        if other.record.end_ms().is_none() && other.record.start_ms() < row.record.start_ms() {
            end(other, row.record.start_ms(), line(&row), plan);
        } else if spec.pick(&other.record, spec.beside) == beside {
            refuse(spec, other, &row, zone, problems);
        }
    }
    plan.added.push(row);
}

/// Ends a row that is there, for a line of the file.
pub(crate) fn end(stored: &mut Placed, to_ms: i64, line: u64, plan: &mut Plan) {
    if let Origin::Stored(rowid) = stored.origin {
        plan.ended.push(Ended { rowid, before: stored.record.clone(), to_ms, line });
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
