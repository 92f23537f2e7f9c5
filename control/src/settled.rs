//! What closed periods were billed by is settled: a change of it is refused, or forced with a reason and an approver, and then
//! becomes corrections in the next open period.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use crate::cell::Record;
use crate::error::Problems;
use crate::import::ImportOptions;
use crate::period::{Period, closed_periods, next_open};
use crate::plan::{Origin, Plan};
use crate::table::{Fields, ReferenceTable};

/// The closed periods that a plan touches, in order. What may not be done is a problem.
pub(crate) fn touched(
    connection: &Connection,
    table: ReferenceTable,
    plan: &Plan,
    options: &ImportOptions,
    problems: &mut Problems<'_>,
) -> rusqlite::Result<Vec<String>> {
    let blank = |text: &Option<String>| text.as_deref().is_none_or(|t| t.trim().is_empty());
    if options.force && (blank(&options.reason) || blank(&options.approver)) {
        problems.push(1, None, "what is forced needs a reason and an approver");
    }
    let closed = closed_periods(connection)?;
    if table == ReferenceTable::ManualLines {
        refuse_manual_lines(table, plan, &closed, problems);
        return Ok(Vec::new());
    }
    if !table.bills() || closed.is_empty() {
        return Ok(Vec::new());
    }
    let mut names = BTreeSet::new();
    for (line, of_line) in by_line(plan, &closed) {
        if !options.force && !of_line.is_empty() {
            let list = of_line.iter().copied().collect::<Vec<_>>().join(", ");
            let (verb, next) = if of_line.len() == 1 { ("is", "it") } else { ("are", "them") };
            let reason = format!(
                "the row changes what {list} was billed by, which {verb} closed: start it later, or force it (--force with \
                 --reason and --approver), which corrects {next} in the next open period"
            );
            problems.push(line, None, reason);
        }
        names.extend(of_line.into_iter().map(str::to_owned));
    }
    Ok(names.into_iter().collect())
}

/// The closed periods in which each line of the file changes what holds.
fn by_line<'a>(plan: &Plan, closed: &'a [Period]) -> BTreeMap<u64, BTreeSet<&'a str>> {
    let mut lines: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    let mut add = |line: u64, from_ms: i64, to_ms: Option<i64>| {
        let inside = |p: &&Period| p.from_ms < to_ms.unwrap_or(i64::MAX) && from_ms < p.to_ms;
        lines.entry(line).or_default().extend(closed.iter().filter(inside).map(|p| p.period.as_str()));
    };
    for row in &plan.added {
        if let Origin::Line(line) = row.origin {
            add(line, row.record.start_ms(), row.record.end_ms());
        }
    }
    for row in &plan.ended {
        // What a row of the file takes over it changes; what no row takes over, the end itself does.
        add(row.line, row.to_ms, after(&row.before, &plan.split, row.line).or(row.before.end_ms()));
    }
    for row in &plan.superseded {
        let end = after(&row.before, &plan.split, row.line).or(row.before.end_ms());
        add(row.line, row.before.start_ms(), end);
    }
    lines
}

/// From when on the rest of a row that made room stands again as a row of its own.
fn after(before: &Record, split: &[crate::plan::Placed], line: u64) -> Option<i64> {
    let same = |r: &Record| r.0[..r.0.len() - 2] == before.0[..before.0.len() - 2] && r.end_ms() == before.end_ms();
    split.iter().find(|s| s.origin == Origin::Line(line) && same(&s.record)).map(|s| s.record.start_ms())
}

/// A closed period takes no line any more, and gives none back: not by force either.
fn refuse_manual_lines(table: ReferenceTable, plan: &Plan, closed: &[Period], problems: &mut Problems<'_>) {
    let spec = table.spec();
    let mut refuse = |line: u64, record: &Record| {
        let Some(period) = (Fields { spec, record }).text("period") else { return };
        if closed.iter().any(|p| p.period == period) {
            let next = next_open(period, closed);
            let reason = format!("{period} is closed: book a line in the next open period, {next}");
            problems.push(line, Some("period"), reason);
        }
    };
    for row in &plan.added {
        if let Origin::Line(line) = row.origin {
            refuse(line, &row.record);
        }
    }
    plan.ended.iter().for_each(|row| refuse(row.line, &row.before));
    plan.superseded.iter().for_each(|row| refuse(row.line, &row.before));
}
