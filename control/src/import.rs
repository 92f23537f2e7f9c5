//! Importing a CSV file into a reference table: read, plan, apply; all or nothing.

use std::path::Path;

use chrono_tz::Tz;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params, params_from_iter};

use crate::audit::{Action, Happened, Log, Who};
use crate::cell::{Cell, Record};
use crate::control::{select_records, version_of};
use crate::csv_file::{self, RawRow};
use crate::error::{ControlError, Problems};
use crate::host_list;
use crate::kind::{Context, Kind};
use crate::plan::{Around, Ended, Origin, Placed, Plan, plan};
use crate::settled;
use crate::table::{Fields, ReferenceTable, Spec};

/// Most rows that one file may stand for, host lists expanded.
const ROWS_MAX: usize = 500_000;
/// What is being tried, for errors.
const DOING: &str = "import into";

/// What the caller knows and the file does not say.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Zone in which dates start at midnight; without it dates are refused, instants with an offset are not.
    pub zone: Option<Tz>,
    /// Currency of rows that do not name one; without it, the one that the ledger has already.
    pub currency: Option<String>,
    /// The time of the import, epoch ms, for the audit log.
    pub now_ms: i64,
    /// Who imports, for the audit log.
    pub actor: String,
    /// Whether rows that are there make room for those of the file, and closed periods may be touched. Needs a reason and an
    /// approver.
    pub force: bool,
    /// Why, for the audit log.
    pub reason: Option<String>,
    /// Who approved it, for the audit log.
    pub approver: Option<String>,
}

impl ImportOptions {
    fn who(&self) -> Who {
        Who {
            actor: self.actor.clone(),
            at_ms: self.now_ms,
            reason: self.reason.clone(),
            approver: self.approver.clone(),
        }
    }
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
    /// Rows that were there and now end, or end earlier: each in words, with its new end.
    pub ended: Vec<String>,
    /// Rows that were there and hold no more, because forced rows stand for all of their time: each in words.
    pub superseded: Vec<String>,
    /// What forced rows left over of rows that were there, as rows of their own: each in words.
    pub split: Vec<String>,
    /// Closed periods whose figures the change touches: what differs there becomes corrections.
    pub corrects: Vec<String>,
    /// The table's version now. It went up by one if anything changed.
    pub version: i64,
}

impl ImportReport {
    /// Whether anything changed.
    pub fn changed(&self) -> bool {
        self.added > 0 || !(self.ended.is_empty() && self.superseded.is_empty() && self.split.is_empty())
    }
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
    let mut problems = Problems::of(file_name);
    let raw = csv_file::read(spec, bytes, &mut problems);
    let rows = raw.len();

    let sql = |source| ControlError::sql(path, DOING, source);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    let ledger_currency = ledger_currency(&transaction, spec).map_err(sql)?;
    let currency = options.currency.as_deref().or(ledger_currency.as_ref().map(|(_, code)| code.as_str()));
    let file = records(spec, raw, Context { zone: options.zone, currency }, &mut problems);
    let stored = stored_rows(&transaction, spec).map_err(sql)?;
    let around = Around {
        zone: options.zone.unwrap_or(Tz::UTC),
        ledger_currency: ledger_currency.filter(|(of, _)| *of != spec.table.name),
        force: options.force,
    };
    let plan = plan(spec, stored, file, around, &mut problems);
    let report = carry_out(&transaction, table, file_name, options, &plan, problems, path)?;
    transaction.commit().map_err(sql)?;
    Ok(ImportReport { rows, ..report })
}

/// Does what was planned, if nothing is wrong with it and with the time that it changes.
pub(crate) fn carry_out(
    transaction: &Transaction<'_>,
    table: ReferenceTable,
    file_name: &str,
    options: &ImportOptions,
    plan: &Plan,
    mut problems: Problems<'_>,
    path: &Path,
) -> Result<ImportReport, ControlError> {
    let spec = table.spec();
    let zone = options.zone.unwrap_or(Tz::UTC);
    let sql = |source| ControlError::sql(path, DOING, source);
    let corrects = settled::touched(transaction, table, plan, options, &mut problems).map_err(sql)?;
    if !problems.is_empty() {
        let problems = problems.into_sorted();
        return Err(ControlError::Refused { table: spec.table.name, file: file_name.to_owned(), problems });
    }
    let version = apply(transaction, spec, plan, file_name, options).map_err(sql)?;
    let ended = |e: &Ended| {
        let mut after = e.before.clone();
        after.end_at(e.to_ms);
        spec.describe(&after, zone)
    };
    Ok(ImportReport {
        rows: 0,
        added: plan.added.len(),
        unchanged: plan.unchanged,
        ended: plan.ended.iter().map(ended).collect(),
        superseded: plan.superseded.iter().map(|s| spec.describe(&s.before, zone)).collect(),
        split: plan.split.iter().map(|s| spec.describe(&s.record, zone)).collect(),
        corrects,
        version,
    })
}

/// A table that has amounts, and their currency: the table itself if it has rows, else the first that does.
fn ledger_currency(transaction: &Transaction<'_>, spec: &Spec) -> rusqlite::Result<Option<(&'static str, String)>> {
    let with_currency = |t: &ReferenceTable| t.spec().position("currency").is_some();
    let others = ReferenceTable::ALL.into_iter().filter(with_currency).map(|t| t.spec().table.name);
    let own = spec.position("currency").map(|_| spec.table.name);
    for table in own.into_iter().chain(others) {
        let select = format!("SELECT currency FROM {table} LIMIT 1");
        if let Some(code) = transaction.query_row(&select, [], |r| r.get(0)).optional()? {
            return Ok(Some((table, code)));
        }
    }
    Ok(None)
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

pub(crate) fn stored_rows(transaction: &Transaction<'_>, spec: &Spec) -> rusqlite::Result<Vec<Placed>> {
    let rows = select_records(transaction, spec, "rowid")?;
    Ok(rows.into_iter().map(|(rowid, record)| Placed { origin: Origin::Stored(rowid), record }).collect())
}

/// Writes the plan, its entries in the audit log and the new version; returns the version.
fn apply(
    transaction: &Transaction<'_>,
    spec: &Spec,
    plan: &Plan,
    file_name: &str,
    options: &ImportOptions,
) -> rusqlite::Result<i64> {
    let table = spec.table.name;
    let version = version_of(transaction, table)?;
    if !plan.changes() {
        return Ok(version);
    }
    let version = version + 1;
    transaction.execute(
        "INSERT INTO table_version (table_name, version) VALUES (?1, ?2) \
         ON CONFLICT (table_name) DO UPDATE SET version = excluded.version",
        params![table, version],
    )?;
    let zone = options.zone.unwrap_or(Tz::UTC);
    let who = options.who();
    let mut log = Log::open(transaction, &who)?;
    let mut write = |action, record: &Record, before, after| {
        let subject = spec.describe(record, zone);
        log.append(Happened { action, table, subject, version: Some(version), source: Some(file_name), before, after })
    };
    let mut as_json = transaction.prepare(&format!("SELECT {} FROM {table} WHERE rowid = ?1", json_of(spec)))?;
    let mut json = |rowid: i64| as_json.query_row([rowid], |r| r.get::<_, Option<String>>(0));
    let mut delete = transaction.prepare(&format!("DELETE FROM {table} WHERE rowid = ?1"))?;
    for gone in &plan.superseded {
        let before = json(gone.rowid)?;
        delete.execute([gone.rowid])?;
        write(Action::Supersede, &gone.before, before, None)?;
    }
    let mut update = transaction.prepare(&format!("UPDATE {table} SET to_ms = ?2 WHERE rowid = ?1"))?;
    for ended in &plan.ended {
        let before = json(ended.rowid)?;
        update.execute([ended.rowid, ended.to_ms])?;
        let mut after = ended.before.clone();
        after.end_at(ended.to_ms);
        write(Action::End, &after, before, json(ended.rowid)?)?;
    }
    let columns = spec.stored();
    let places = vec!["?"; columns.len()].join(", ");
    let mut insert = transaction.prepare(&format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", ")))?;
    let left = plan.split.iter().map(|row| (Action::Split, row));
    for (action, row) in left.chain(plan.added.iter().map(|row| (Action::Add, row))) {
        let fields = Fields { spec, record: &row.record };
        let derived: Vec<Cell> = spec.derived.iter().map(|d| (d.make)(&fields)).collect();
        let rowid = insert.insert(params_from_iter(row.record.0.iter().chain(&derived)))?;
        write(action, &row.record, None, json(rowid)?)?;
    }
    Ok(version)
}

/// SQL that makes a JSON object of a row of the table.
fn json_of(spec: &Spec) -> String {
    let pairs: Vec<String> = spec.stored().iter().map(|c| format!("'{c}', {c}")).collect();
    format!("json_object({})", pairs.join(", "))
}
