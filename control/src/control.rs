//! The control file: one SQLite file with the reference tables and their versions, the state of periods, and the audit log.

use std::path::{Path, PathBuf};

use chrono_tz::Tz;
use rusqlite::{Connection, OptionalExtension};

use crate::audit::{AuditQuery, Entry};
use crate::cell::Record;
use crate::end;
use crate::error::ControlError;
use crate::import::{self, ImportOptions, ImportReport};
use crate::list::Listing;
use crate::open;
use crate::table::{ReferenceRow, ReferenceTable, Spec};

mod copy;

/// The control file, open.
#[derive(Debug)]
pub struct Control {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

/// An edit of a reference table: an entry of the audit log, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// When.
    pub at_ms: i64,
    /// Who.
    pub actor: String,
    /// Name of the imported file.
    pub file: String,
    /// The table's version that the edit led to.
    pub version: i64,
    /// The row before, as JSON; absent for an added row.
    pub before: Option<String>,
    /// The row after, as JSON; absent for a row that holds no more.
    pub after: Option<String>,
}

impl Control {
    /// Opens the control file, creates it where there is none (not its folder), and migrates an older one.
    pub fn open(path: &Path) -> Result<Self, ControlError> {
        Ok(Self { connection: open::read_write(path)?, path: path.to_owned() })
    }

    /// Opens an existing control file for reading; neither it nor its folder needs to be writable.
    pub fn open_read_only(path: &Path) -> Result<Self, ControlError> {
        Ok(Self { connection: open::read_only(path)?, path: path.to_owned() })
    }

    /// Adds the rows of a CSV file to a table. All or nothing: every problem of the file is in the error.
    ///
    /// A row that is there already is unchanged, so importing a file again changes nothing. A row that starts later
    /// than an open row of the same selector ends that row; a row that repeats an open row but has an end ends it
    /// there. Any other overlap is refused, also between two rows of the file.
    ///
    /// A row that changes what a closed period was billed by is refused too. With `force`, a reason and an approver both
    /// are done: rows that were there are ended, split or superseded to make room, and the audit log says so.
    pub fn import(
        &mut self,
        table: ReferenceTable,
        file_name: &str,
        bytes: &[u8],
        options: ImportOptions,
    ) -> Result<ImportReport, ControlError> {
        import::import(&mut self.connection, &self.path, table, file_name, bytes, &options)
    }

    /// The version of a table: 0 until the first import, one more for each import that changed it.
    pub fn version(&self, table: ReferenceTable) -> Result<i64, ControlError> {
        version_of(&self.connection, table.table()).map_err(|e| self.error("read a version from", e))
    }

    /// The rows of a table that are to be published, in a total order. Task weights have the built-in rows where no
    /// imported row is valid; everything else is as imported.
    pub fn rows<R: ReferenceRow>(&self) -> Result<Vec<R>, ControlError> {
        let spec = R::REFERENCE.spec();
        let read = || -> rusqlite::Result<Vec<R>> {
            let select = format!("SELECT * FROM {} ORDER BY {}", spec.table.name, order(spec));
            self.connection.prepare(&select)?.query_map([], R::from_sqlite)?.collect()
        };
        read().map(R::published).map_err(|e| self.error("read rows from", e))
    }

    /// The imported rows of a table as their CSV, in a total order, with instants shown in `zone`.
    pub fn list(&self, table: ReferenceTable, zone: Tz) -> Result<Listing, ControlError> {
        let spec = table.spec();
        let rows = select_records(&self.connection, spec, &order(spec)).map_err(|e| self.error("list rows from", e))?;
        let records: Vec<Record> = rows.into_iter().map(|(_, record)| record).collect();
        Ok(Listing::of(spec, &records, zone))
    }

    /// Ends the open rows of a selector at an instant, for instance a rate that is no longer offered.
    ///
    /// `selector` names columns of the table's CSV and their values; columns of the selector that it leaves out are empty in
    /// the rows that are meant.
    ///
    /// # Errors
    /// [`ControlError::Refused`] where a name or value is no good, no such row is open, or the end touches a closed period
    /// without force; SQLite fails.
    pub fn end(
        &mut self,
        table: ReferenceTable,
        selector: &[(String, String)],
        at_ms: i64,
        options: ImportOptions,
    ) -> Result<ImportReport, ControlError> {
        end::end(&mut self.connection, &self.path, table, selector, at_ms, &options)
    }

    /// Every edit of a table, oldest first.
    pub fn edits(&self, table: ReferenceTable) -> Result<Vec<Edit>, ControlError> {
        let query = AuditQuery { table: Some(table.table().to_owned()), ..AuditQuery::default() };
        let edit = |e: Entry| Edit {
            at_ms: e.at_ms,
            actor: e.actor,
            file: e.source.unwrap_or_default(),
            version: e.version.unwrap_or(0),
            before: e.before,
            after: e.after,
        };
        Ok(self.audit(&query)?.into_iter().map(edit).collect())
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn error(&self, doing: &'static str, source: rusqlite::Error) -> ControlError {
        ControlError::sql(&self.path, doing, source)
    }
}

/// A total order: rows differ in at least one of the columns that are typed.
fn order(spec: &Spec) -> String {
    spec.columns.iter().map(|c| c.stored).collect::<Vec<_>>().join(", ")
}

/// The rows of a table with their rowids.
pub(crate) fn select_records(
    connection: &Connection,
    spec: &Spec,
    order: &str,
) -> rusqlite::Result<Vec<(i64, Record)>> {
    let columns: Vec<&str> = spec.columns.iter().map(|c| c.stored).collect();
    let select = format!("SELECT rowid, {} FROM {} ORDER BY {order}", columns.join(", "), spec.table.name);
    let mut statement = connection.prepare(&select)?;
    let read = |row: &rusqlite::Row<'_>| {
        let cells: rusqlite::Result<Vec<_>> = (1..=columns.len()).map(|at| row.get(at)).collect();
        Ok((row.get(0)?, Record(cells?)))
    };
    statement.query_map([], read)?.collect()
}

pub(crate) fn version_of(connection: &Connection, table: &str) -> rusqlite::Result<i64> {
    let version = connection
        .query_row("SELECT version FROM table_version WHERE table_name = ?1", [table], |row| row.get(0))
        .optional()?;
    Ok(version.unwrap_or(0))
}

#[cfg(test)]
mod tests;
