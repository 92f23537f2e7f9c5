//! What can go wrong with the control file, and with a file that is imported into it.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// One thing that is wrong in an imported file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file's name as given.
    pub file: String,
    /// Line, counted from 1.
    pub line: u64,
    /// CSV column, where it is about one.
    pub column: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file, self.line)?;
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Collects the problems of one file.
#[derive(Debug)]
pub(crate) struct Problems<'a> {
    file: &'a str,
    list: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(crate) fn of(file: &'a str) -> Self {
        Self { file, list: Vec::new() }
    }

    pub(crate) fn push(&mut self, line: u64, column: Option<&str>, reason: impl Into<String>) {
        let column = column.map(str::to_owned);
        self.list.push(Problem { file: self.file.to_owned(), line, column, reason: reason.into() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems by line; those of one line stay in the order in which they were found.
    pub(crate) fn into_sorted(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|p| p.line);
        self.list
    }
}

/// Why something could not be done with the control file.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// There is no such file to read.
    #[error("there is no control file at {}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder cannot be opened or written.
    #[error("cannot {doing} {}: the file or its folder is missing, read-only or not permitted", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// The disk, or the quota on it, is full; nothing was changed.
    #[error("cannot {doing} {}: the disk is full; nothing was changed", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// Another process holds the write lock.
    #[error("cannot {doing} {}: another gpuledger is writing; try again when it is done", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// The file is not SQLite's at all, or is damaged.
    #[error("{} is not a database, or is damaged", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// A database of some other program.
    #[error("{} is a database, but not a control file of gpuledger", path.display())]
    NotControl {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer gpuledger, or by an older one where nothing may be migrated.
    #[error("control file {} has format {found}, this gpuledger reads format {known}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format it has.
        found: i64,
        /// The format this build reads.
        known: i64,
    },
    /// A silence that may not be.
    #[error("the silence was not written: {reason}")]
    Silence {
        /// Why.
        reason: &'static str,
    },
    /// Anything else SQLite says.
    #[error("cannot {doing} {}", path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// The period is closed, and closed is final.
    #[error(
        "{period} is closed: nothing of it can be {doing} any more; what is known later is corrected in the next open period"
    )]
    PeriodClosed {
        /// The period.
        period: String,
        /// What was asked for.
        doing: &'static str,
    },
    /// What was to be written makes no sense; nothing was changed.
    #[error("nothing was written to {table}: {reason}")]
    Not {
        /// The table.
        table: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The imported file has problems; nothing was changed.
    #[error("nothing of {file} was imported into {table}, it has {}", listed(problems))]
    Refused {
        /// The reference table.
        table: &'static str,
        /// The file's name as given.
        file: String,
        /// Everything that is wrong with it, by line.
        problems: Vec<Problem>,
    },
}

impl ControlError {
    /// Sorts SQLite's error by what a person can do about it.
    pub(crate) fn sql(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path, doing, source },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path, doing, source },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::NotWritable { path, doing, source }
            }
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::NotADatabase { path, source },
            _ => Self::Sql { path, doing, source },
        }
    }

    /// What is wrong with the imported file; empty when the error is about something else.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Refused { problems, .. } => problems,
            _ => &[],
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    let mut text = match problems.len() {
        1 => "1 problem:".to_owned(),
        n => format!("{n} problems:"),
    };
    for problem in problems {
        text.push_str(&format!("\n  {problem}"));
    }
    text
}
