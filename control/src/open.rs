//! Opening the control file: what it must be, and how its format is brought up to date.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};

use crate::audit;
use crate::error::ControlError;

/// Marks the file as ours (`PRAGMA application_id`), see the first migration.
const APPLICATION_ID: i64 = 1_196_447_052;
/// How long a writer waits for another one before it gives up.
const BUSY_WAIT: Duration = Duration::from_secs(2);
/// What is being tried, for errors.
const DOING: &str = "open";

/// What a migration does, in order.
#[derive(Debug)]
enum Step {
    Sql(&'static str),
    Rust(fn(&Connection) -> rusqlite::Result<()>),
}

/// Every migration, in order: migration n brings a file of format n - 1 to format n. Never edit one that was released.
const MIGRATIONS: &[&[Step]] = &[
    &[Step::Sql(include_str!("../migrations/0001_reference_tables.sql"))],
    &[Step::Sql(include_str!("../migrations/0002_findings.sql"))],
    &[
        Step::Sql(include_str!("../migrations/0003_money.sql")),
        Step::Rust(audit::adopt_edits),
        Step::Sql(include_str!("../migrations/0003_money_log.sql")),
    ],
    &[Step::Sql(include_str!("../migrations/0004_outbox.sql"))],
    &[Step::Sql(include_str!("../migrations/0005_cases.sql"))],
    &[Step::Sql(include_str!("../migrations/0006_tokens.sql"))],
    &[Step::Sql(include_str!("../migrations/0007_policy_in_force.sql"))],
];

/// Opens the file for reading and writing, creates it if it is not there, and migrates it.
pub(crate) fn read_write(path: &Path) -> Result<Connection, ControlError> {
    let sql = |source| ControlError::sql(path, DOING, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(sql)?;
    connection.busy_timeout(BUSY_WAIT).map_err(sql)?;
    // Looked at before anything is written, so that a file of another program stays as it is.
    format(&connection, path)?;
    // Readers do not wait for the writer. Where the file system cannot, SQLite stays with its rollback journal.
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).map_err(sql)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    // Asked again under the lock: another process may have been first.
    let have = format(&transaction, path)?;
    for (number, steps) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > have) {
        for step in *steps {
            match step {
                Step::Sql(statements) => transaction.execute_batch(statements).map_err(sql)?,
                Step::Rust(change) => change(&transaction).map_err(sql)?,
            }
        }
        transaction
            .execute(
                "INSERT INTO meta (name, value) VALUES ('format', ?1) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                [number],
            )
            .map_err(sql)?;
    }
    transaction.commit().map_err(sql)?;
    Ok(connection)
}

/// Opens an existing file for reading only, also from a folder in which nothing can be written.
pub(crate) fn read_only(path: &Path) -> Result<Connection, ControlError> {
    if !path.exists() {
        return Err(ControlError::Missing { path: path.to_owned() });
    }
    match open_for_reading(path, false) {
        Err(ControlError::NotWritable { .. }) if !has_log(path) => open_for_reading(path, true),
        other => other,
    }
}

/// A file in WAL mode needs two files beside it even to be read. Where they cannot be made, and no log waits in one
/// of them, nobody can be writing either: `immutable` reads the file as it stands.
fn open_for_reading(path: &Path, immutable: bool) -> Result<Connection, ControlError> {
    let sql = |source| ControlError::sql(path, DOING, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = if immutable {
        Connection::open_with_flags(immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)
    } else {
        Connection::open_with_flags(path, flags)
    }
    .map_err(sql)?;
    connection.busy_timeout(BUSY_WAIT).map_err(sql)?;
    let known = newest();
    match format(&connection, path)? {
        0 => Err(ControlError::NotControl { path: path.to_owned() }),
        found if found != known => Err(ControlError::Format { path: path.to_owned(), found, known }),
        _ => Ok(connection),
    }
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|m| m.len() > 0)
}

fn immutable_uri(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    // An absolute path gets an empty authority, else a leading `//` would be read as one.
    let authority = if escaped.starts_with('/') { "//" } else { "" };
    format!("file:{authority}{escaped}?immutable=1")
}

fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

/// The format of the file: 0 for an empty one. Anything that is not ours, or newer than this build, is an error.
fn format(connection: &Connection, path: &Path) -> Result<i64, ControlError> {
    let sql = |source| ControlError::sql(path, DOING, source);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0)).map_err(sql)?;
    if tables == 0 {
        return Ok(0);
    }
    let id: i64 = connection.query_row("PRAGMA application_id", [], |r| r.get(0)).map_err(sql)?;
    if id != APPLICATION_ID {
        return Err(ControlError::NotControl { path: path.to_owned() });
    }
    let found: Option<i64> = connection
        .query_row("SELECT value FROM meta WHERE name = 'format'", [], |r| r.get(0))
        .optional()
        .map_err(sql)?;
    match found {
        Some(found) if found <= newest() => Ok(found),
        Some(found) => Err(ControlError::Format { path: path.to_owned(), found, known: newest() }),
        None => Err(ControlError::NotControl { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_stands_where_nothing_can_be_written_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("50% of #1?.sqlite");
        drop(read_write(&path).unwrap());
        let connection = open_for_reading(&path, true).unwrap();
        assert_eq!(format(&connection, &path).unwrap(), newest());
        assert!(!has_log(&path));
        assert_eq!(immutable_uri(Path::new("a b/c.sqlite")), "file:a b/c.sqlite?immutable=1");
    }
}
