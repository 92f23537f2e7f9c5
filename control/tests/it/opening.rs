//! Opening the control file: where it cannot be, what it may not be, and reading it where nothing can be written.

use std::path::Path;

use gpuledger_control::ReferenceTable::Rates;
use gpuledger_control::{Control, ControlError};
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
            format!("control file {} has format 99, this gpuledger reads format 3", ledger.path().display())
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
