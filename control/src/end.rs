//! Ending the open rows of a selector: a rate that is no longer offered, a quota that is taken back, a line withdrawn.

use std::path::Path;

use chrono_tz::Tz;
use rusqlite::{Connection, TransactionBehavior};

use crate::cell::Cell;
use crate::error::{ControlError, Problems};
use crate::import::{ImportOptions, ImportReport, carry_out, stored_rows};
use crate::kind::{Context, show_instant};
use crate::plan::{Placed, Plan, end as end_row};
use crate::table::{ReferenceTable, Spec, Whole};

/// Where the words of the selector come from, for messages and the audit log.
const TYPED: &str = "what was typed";
/// What is being tried, for errors.
const DOING: &str = "end rows of";

pub(crate) fn end(
    connection: &mut Connection,
    path: &Path,
    table: ReferenceTable,
    selector: &[(String, String)],
    at_ms: i64,
    options: &ImportOptions,
) -> Result<ImportReport, ControlError> {
    let spec = table.spec();
    let mut problems = Problems::of(TYPED);
    let wanted = cells(spec, selector, options, &mut problems);
    let sql = |source| ControlError::sql(path, DOING, source);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    let mut rows = stored_rows(&transaction, spec).map_err(sql)?;
    let mut plan = Plan::default();
    if problems.is_empty() {
        end_open(spec, &mut rows, &wanted, at_ms, options, &mut plan, &mut problems);
        let zone = options.zone.unwrap_or(Tz::UTC);
        let whole = Whole { spec, rows: rows.iter().collect(), zone, ledger_currency: None };
        (spec.check_whole)(&whole, &mut problems);
    }
    let report = carry_out(&transaction, table, TYPED, options, &plan, problems, path)?;
    transaction.commit().map_err(sql)?;
    Ok(report)
}

/// The cells of the selector; a column that was not named is empty in the rows that are meant.
fn cells(
    spec: &Spec,
    selector: &[(String, String)],
    options: &ImportOptions,
    problems: &mut Problems<'_>,
) -> Vec<Cell> {
    let of_selector: Vec<_> = spec.columns.iter().filter(|c| spec.selector.contains(&c.stored)).collect();
    for (name, _) in selector {
        if !of_selector.iter().any(|c| c.name == name) {
            let known = of_selector.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
            problems.push(1, Some(name), format!("rows are named by {known}"));
        }
    }
    let context = Context { zone: options.zone, currency: options.currency.as_deref() };
    let mut cells = Vec::new();
    for stored in spec.selector {
        let Some(column) = of_selector.iter().find(|c| c.stored == *stored) else { continue };
        let typed = selector.iter().find(|(name, _)| name == column.name).map(|(_, value)| value.as_str());
        match column.kind.parse(typed.filter(|t| !t.is_empty()), context) {
            Ok(cell) => cells.push(cell),
            Err(reason) => problems.push(1, Some(column.name), reason),
        }
    }
    cells
}

fn end_open(
    spec: &Spec,
    rows: &mut [Placed],
    wanted: &[Cell],
    at_ms: i64,
    options: &ImportOptions,
    plan: &mut Plan,
    problems: &mut Problems<'_>,
) {
    let zone = options.zone.unwrap_or(Tz::UTC);
    let open = |row: &&mut Placed| {
        spec.pick(&row.record, spec.selector) == wanted && row.record.end_ms().is_none_or(|end| end > at_ms)
    };
    let mut found = 0;
    for row in rows.iter_mut().filter(open) {
        found += 1;
        if row.record.start_ms() >= at_ms {
            let words = spec.describe(&row.record, zone);
            let reason = format!("the row starts after {}, when it would end ({words})", show_instant(at_ms - 1, zone));
            problems.push(1, None, reason);
        } else {
            end_row(row, at_ms, 1, plan);
        }
    }
    if found == 0 {
        let named = spec.columns.iter().filter(|c| spec.selector.contains(&c.stored)).zip(wanted);
        let words: Vec<String> = named
            .filter(|(_, cell)| **cell != Cell::Absent)
            .map(|(c, cell)| format!("{}={}", c.name, c.kind.show(cell, zone)))
            .collect();
        let words = if words.is_empty() { "no selector at all".to_owned() } else { words.join(" ") };
        let at = show_instant(at_ms, zone);
        problems.push(1, None, format!("no row of {} with {words} holds at {at}", spec.table.name));
    }
}
