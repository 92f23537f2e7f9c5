//! Importing a CSV file into a reference table: read, plan, apply; all or nothing.

use std::path::Path;

use chrono_tz::Tz;
use rusqlite::{Connection, Transaction, TransactionBehavior, params, params_from_iter};

use crate::cell::{Cell, Record};
use crate::control::{select_records, version_of};
use crate::csv_file::{self, RawRow};
use crate::error::{ControlError, Problems};
use crate::host_list;
use crate::kind::{Context, Kind};
use crate::plan::{Ended, Origin, Placed, Plan, plan};
use crate::table::{Fields, ReferenceTable, Spec};

/// Most rows that one file may stand for, host lists expanded.
const ROWS_MAX: usize = 500_000;
/// What is being tried, for errors.
const DOING: &str = "import into";

/// What the caller knows and the file does not say.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Zone in which dates start at midnight; without it dates are refused, instants with an offset are not.
    pub zone: Option<Tz>,
    /// Currency of rates that do not name one.
    pub currency: Option<String>,
    /// The time of the import, for the edit log.
    pub now_ms: i64,
    /// Who imports, for the edit log.
    pub actor: String,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportReport {
    /// Data rows of the file. A row with a host list counts once here and once per node below.
    pub rows: usize,
    /// Rows added to the table.
    pub added: usize,
    /// Rows that were there already.
    pub unchanged: usize,
    /// Rows that were there, were open, and now end: each in words, with its new end.
    pub ended: Vec<String>,
    /// The table's version now. It went up by one if anything was added or ended.
    pub version: i64,
}

pub(crate) fn import(
    connection: &mut Connection,
    path: &Path,
    table: ReferenceTable,
    file_name: &str,
    bytes: &[u8],
    options: &ImportOptions,
) -> Result<ImportReport, ControlError> {
    let spec = table.spec();
    let zone = options.zone.unwrap_or(Tz::UTC);
    let mut problems = Problems::of(file_name);
    let raw = csv_file::read(spec, bytes, &mut problems);
    let rows = raw.len();
    let context = Context { zone: options.zone, currency: options.currency.as_deref() };
    let file = records(spec, raw, context, &mut problems);

    let sql = |source| ControlError::sql(path, DOING, source);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    let stored = stored_rows(&transaction, spec).map_err(sql)?;
    let plan = plan(spec, stored, file, zone, &mut problems);
    if !problems.is_empty() {
        let problems = problems.into_sorted();
        return Err(ControlError::Refused { table: spec.table.name, file: file_name.to_owned(), problems });
    }
    let version = apply(&transaction, spec, &plan, file_name, options).map_err(sql)?;
    transaction.commit().map_err(sql)?;
    let ended = plan.ended.iter().map(|e| in_words(spec, e, zone)).collect();
    Ok(ImportReport { rows, added: plan.added.len(), unchanged: plan.unchanged, ended, version })
}

/// The rows as they would be stored; a row with a problem is left out, its problems are listed.
fn records(spec: &Spec, raw: Vec<RawRow>, context: Context<'_>, problems: &mut Problems<'_>) -> Vec<Placed> {
    let mut placed = Vec::new();
    for row in raw {
        let Some(record) = record(spec, &row, context, problems) else { continue };
        let expanded = expand(spec, record, row.line, problems);
        if placed.len() + expanded.len() > ROWS_MAX {
            problems.push(row.line, None, format!("up to here the file stands for more than {ROWS_MAX} rows"));
            break;
        }
        placed.extend(expanded.into_iter().map(|record| Placed { origin: Origin::Line(row.line), record }));
    }
    placed
}

fn record(spec: &Spec, row: &RawRow, context: Context<'_>, problems: &mut Problems<'_>) -> Option<Record> {
    let mut cells = Vec::with_capacity(spec.columns.len());
    for (column, text) in spec.columns.iter().zip(&row.cells) {
        if column.required && text.is_none() {
            problems.push(row.line, Some(column.name), "the cell is empty");
            continue;
        }
        match column.kind.parse(text.as_deref(), context) {
            Ok(cell) => cells.push(cell),
            Err(reason) => problems.push(row.line, Some(column.name), reason),
        }
    }
    if cells.len() < spec.columns.len() {
        return None;
    }
    let record = Record(cells);
    if record.end_ms().is_some_and(|to_ms| to_ms <= record.start_ms()) {
        problems.push(row.line, Some("to"), "the end is not after the start");
        return None;
    }
    if let Some((column, reason)) = (spec.check)(&Fields { spec, record: &record }) {
        problems.push(row.line, Some(column), reason);
        return None;
    }
    Some(record)
}

/// One record for each name of a host list.
fn expand(spec: &Spec, record: Record, line: u64, problems: &mut Problems<'_>) -> Vec<Record> {
    let Some(at) = spec.columns.iter().position(|c| c.kind == Kind::Hosts) else { return vec![record] };
    let Some(list) = record.0[at].text() else { return vec![record] };
    match host_list::expand(list) {
        Ok(names) => names.into_iter().map(|name| with_cell(&record, at, Cell::Text(name))).collect(),
        Err(error) => {
            problems.push(line, Some(spec.columns[at].name), error.to_string());
            Vec::new()
        }
    }
}

fn with_cell(record: &Record, at: usize, cell: Cell) -> Record {
    let mut record = record.clone();
    record.0[at] = cell;
    record
}

fn stored_rows(transaction: &Transaction<'_>, spec: &Spec) -> rusqlite::Result<Vec<Placed>> {
    let rows = select_records(transaction, spec, "rowid")?;
    Ok(rows.into_iter().map(|(rowid, record)| Placed { origin: Origin::Stored(rowid), record }).collect())
}

/// Writes the plan, its edits and the new version; returns the version.
fn apply(
    transaction: &Transaction<'_>,
    spec: &Spec,
    plan: &Plan,
    file_name: &str,
    options: &ImportOptions,
) -> rusqlite::Result<i64> {
    let table = spec.table.name;
    let version = version_of(transaction, table)?;
    if plan.added.is_empty() && plan.ended.is_empty() {
        return Ok(version);
    }
    let version = version + 1;
    transaction.execute(
        "INSERT INTO table_version (table_name, version) VALUES (?1, ?2) \
         ON CONFLICT (table_name) DO UPDATE SET version = excluded.version",
        params![table, version],
    )?;
    let json = json_of(spec);
    let mut as_json = transaction.prepare(&format!("SELECT {json} FROM {table} WHERE rowid = ?1"))?;
    let mut log = transaction.prepare(
        "INSERT INTO edit (at_ms, actor, file, table_name, version, before, after) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut write_log = |before: Option<String>, after: String| {
        log.execute(params![options.now_ms, options.actor, file_name, table, version, before, after]).map(drop)
    };
    let mut update = transaction.prepare(&format!("UPDATE {table} SET to_ms = ?2 WHERE rowid = ?1"))?;
    for ended in &plan.ended {
        let before = as_json.query_row([ended.rowid], |r| r.get(0))?;
        update.execute([ended.rowid, ended.to_ms])?;
        write_log(Some(before), as_json.query_row([ended.rowid], |r| r.get(0))?)?;
    }
    let columns = spec.stored();
    let places = vec!["?"; columns.len()].join(", ");
    let mut insert = transaction.prepare(&format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", ")))?;
    for added in &plan.added {
        let fields = Fields { spec, record: &added.record };
        let derived: Vec<Cell> = spec.derived.iter().map(|d| (d.make)(&fields)).collect();
        let rowid = insert.insert(params_from_iter(added.record.0.iter().chain(&derived)))?;
        write_log(None, as_json.query_row([rowid], |r| r.get(0))?)?;
    }
    Ok(version)
}

/// SQL that makes a JSON object of a row of the table.
fn json_of(spec: &Spec) -> String {
    let pairs: Vec<String> = spec.stored().iter().map(|c| format!("'{c}', {c}")).collect();
    format!("json_object({})", pairs.join(", "))
}

fn in_words(spec: &Spec, ended: &Ended, zone: Tz) -> String {
    let mut after = ended.before.clone();
    after.end_at(ended.to_ms);
    spec.describe(&after, zone)
}
