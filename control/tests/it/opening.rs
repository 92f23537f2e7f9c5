//! Opening the control file: where it cannot be, what it may not be, and reading it where nothing can be written.

use std::path::Path;

use gpuledger_control::ReferenceTable::Rates;
use gpuledger_control::{AuditQuery, Control, ControlError};
use gpuledger_schema::table::reference::RateRow;

use crate::Ledger;

#[test]
fn a_file_that_is_not_a_database_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "not a database, ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    for error in [Control::open(&path).unwrap_err(), Control::open_read_only(&path).unwrap_err()] {
        assert_eq!(error.to_string(), format!("{} is not a database, or is damaged", path.display()));
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE rate (x)").unwrap();
    let before = std::fs::read(&path).unwrap();
    for error in [Control::open(&path).unwrap_err(), Control::open_read_only(&path).unwrap_err()] {
        let expected = format!("{} is a database, but not a control file of gpuledger", path.display());
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_format_is_refused() {
    let ledger = Ledger::new();
    rusqlite::Connection::open(ledger.path()).unwrap().execute("UPDATE meta SET value = 99", []).unwrap();
    for error in [Control::open(&ledger.path()).unwrap_err(), Control::open_read_only(&ledger.path()).unwrap_err()] {
        assert_eq!(
            error.to_string(),
            format!("control file {} has format 99, this gpuledger reads format 7", ledger.path().display())
        );
    }
}

#[test]
fn a_folder_that_is_missing_or_takes_no_files_is_named() {
    for path in ["/nonexistent/control.sqlite", "/proc/control.sqlite"] {
        let error = Control::open(Path::new(path)).unwrap_err();
        assert!(matches!(error, ControlError::NotWritable { .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("cannot open {path}: the file or its folder is missing, read-only or not permitted")
        );
        let error = Control::open_read_only(Path::new(path)).unwrap_err();
        assert_eq!(error.to_string(), format!("there is no control file at {path}"));
    }
}

#[test]
fn reading_needs_no_right_to_write_and_writing_says_so() {
    let mut ledger = Ledger::new();
    ledger.import(Rates, "price\n10\n");
    let (folder, path) = (ledger.folder.path().to_owned(), ledger.path());
    let Ledger { folder: keep, control } = ledger;
    drop(control);
    set_read_only(&folder, true);
    let is_read_only = std::fs::write(folder.join("probe"), "").is_err();

    let mut reader = Control::open_read_only(&path).unwrap();
    assert_eq!(reader.rows::<RateRow>().unwrap().len(), 1);
    let refused = reader.import(Rates, "in.csv", b"team,price\na,11\n", crate::options()).unwrap_err();
    assert!(matches!(refused, ControlError::NotWritable { .. }), "{refused:?}");
    drop(reader);
    if is_read_only {
        assert!(matches!(Control::open(&path), Err(ControlError::NotWritable { .. })));
    } else {
        println!("not checked: this user may write into a read-only folder (root)");
    }
    set_read_only(&folder, false);
    assert_eq!(Control::open(&path).unwrap().rows::<RateRow>().unwrap().len(), 1);
    drop(keep);
}

fn set_read_only(folder: &Path, read_only: bool) {
    use std::os::unix::fs::PermissionsExt;
    let mode = if read_only { 0o555 } else { 0o755 };
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A file as the release before this one left it: format 2, with an edit log of its own.
#[test]
fn the_edits_of_an_older_file_become_the_first_entries_of_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sqlite");
    let old = rusqlite::Connection::open(&path).unwrap();
    for format in ["0001_reference_tables", "0002_findings"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("migrations/{format}.sql"));
        old.execute_batch(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
    old.execute_batch(
        "INSERT INTO meta VALUES ('format', 2);
         INSERT INTO table_version VALUES ('rate', 2);
         INSERT INTO rate VALUES (1, NULL, NULL, NULL, NULL, NULL, 10000000, 'EUR', 0, 86400000);
         INSERT INTO edit (at_ms, actor, file, table_name, version, before, after) VALUES
             (5, 'anna', 'old.csv', 'rate', 1, NULL, '{\"price_micros\":10000000}'),
             (6, 'ben', 'new.csv', 'rate', 2, '{\"to_ms\":null}', '{\"to_ms\":86400000}');",
    )
    .unwrap();
    drop(old);
    let refused = Control::open_read_only(&path).unwrap_err();
    assert!(refused.to_string().ends_with("has format 2, this gpuledger reads format 7"), "{refused}");

    let control = Control::open(&path).unwrap();
    let edits = control.edits(Rates).unwrap();
    assert_eq!(
        edits.iter().map(|e| (e.at_ms, e.actor.as_str(), e.file.as_str(), e.version)).collect::<Vec<_>>(),
        [(5, "anna", "old.csv", 1), (6, "ben", "new.csv", 2)]
    );
    let actions: Vec<_> = control.audit(&AuditQuery::default()).unwrap().into_iter().map(|e| e.action).collect();
    assert_eq!(actions, ["add", "end"]);
    let check = control.verify_audit(&[]).unwrap();
    assert_eq!((check.entries, check.broken), (2, None));
    assert_eq!(control.rows::<RateRow>().unwrap().len(), 1);
}
