//! Reference tables from the outside: files in, rows, listings and refusals out.

#![allow(clippy::unwrap_used, reason = "a test that unwraps says where it failed")]

mod files;
mod forced;
mod history;
mod money;
mod opening;
mod periods;
mod refusals;

use std::path::Path;

use chrono_tz::Tz;
use gpuledger_control::{Control, ControlError, ImportOptions, ImportReport, ReferenceTable};
use tempfile::TempDir;

/// Midnight of 2026-01-01 in Asia/Shanghai.
const JANUARY: i64 = 1_767_196_800_000;
/// Midnight of 2026-03-15 in Asia/Shanghai.
const MID_MARCH: i64 = 1_773_504_000_000;

/// A control file in a folder of its own, with what an import of it is usually given.
struct Ledger {
    folder: TempDir,
    control: Control,
}

impl Ledger {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        Self { folder, control }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("control.sqlite")
    }

    fn try_import(&mut self, table: ReferenceTable, csv: impl AsRef<[u8]>) -> Result<ImportReport, ControlError> {
        self.control.import(table, "in.csv", csv.as_ref(), options())
    }

    fn import(&mut self, table: ReferenceTable, csv: impl AsRef<[u8]>) -> ImportReport {
        self.try_import(table, csv).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The problems of a file that must be refused and change nothing, one text each.
    fn refused(&mut self, table: ReferenceTable, csv: impl AsRef<[u8]>) -> Vec<String> {
        let before = (self.listed(table), self.control.version(table).unwrap(), self.control.edits(table).unwrap());
        let error = self.try_import(table, csv).expect_err("the file should be refused");
        let after = (self.listed(table), self.control.version(table).unwrap(), self.control.edits(table).unwrap());
        assert_eq!(before, after, "a refused file changed something");
        error.problems().iter().map(ToString::to_string).collect()
    }

    /// The table as CSV lines without the header.
    fn listed(&self, table: ReferenceTable) -> Vec<String> {
        self.csv(table).lines().skip(1).map(str::to_owned).collect()
    }

    fn csv(&self, table: ReferenceTable) -> String {
        let mut out = Vec::new();
        self.control.list(table, Tz::Asia__Shanghai).unwrap().write_csv(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }
}

fn options() -> ImportOptions {
    ImportOptions {
        zone: Some(Tz::Asia__Shanghai),
        currency: Some("CNY".into()),
        now_ms: 1_775_000_000_000,
        actor: "anna".into(),
        ..ImportOptions::default()
    }
}

/// The documented example of a table.
fn example(table: ReferenceTable) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/reference");
    std::fs::read(folder.join(format!("{table}.csv"))).unwrap()
}
