//! The statements of `sql/`: each file once, with the header that says what it reads, takes and gives.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use gpuledger_schema::hash::hex;
use sha2::{Digest, Sha256};

/// A statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// Folder and name, e.g. `ledger/31_grant`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

/// What the header of a statement declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Tables it reads.
    pub inputs: Vec<String>,
    /// Parameters with their SQL type.
    pub parameters: BTreeMap<String, String>,
    /// Table it gives.
    pub output: String,
}

/// A header that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sql/{statement}.sql: {reason}")]
pub struct HeaderError {
    statement: String,
    reason: String,
}

impl Statement {
    /// Reads the header: `-- inputs:`, `-- parameters:`, `-- output:` lines before the statement.
    pub fn header(&self) -> Result<Header, HeaderError> {
        let fail = |reason: String| HeaderError { statement: self.name.to_owned(), reason };
        let mut header = Header::default();
        for line in self.text.lines().take_while(|l| l.starts_with("--")) {
            let line = line.trim_start_matches("--").trim();
            if let Some(list) = line.strip_prefix("inputs:") {
                header.inputs.extend(words(list).map(str::to_owned));
            } else if let Some(list) = line.strip_prefix("parameters:") {
                for item in words(list).filter(|w| *w != "none") {
                    let (name, kind) =
                        item.split_once(' ').ok_or_else(|| fail(format!("parameter `{item}` has no type")))?;
                    header.parameters.insert(name.to_owned(), kind.trim().to_owned());
                }
            } else if let Some(name) = line.strip_prefix("output:") {
                header.output = name.split_whitespace().next().unwrap_or_default().to_owned();
            }
        }
        if header.output.is_empty() {
            return Err(fail("the header names no output".to_owned()));
        }
        Ok(header)
    }
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|w| !w.is_empty())
}

macro_rules! statements {
    ($($name:literal),+ $(,)?) => {
        /// Every statement, in the order of folders and numbers.
        pub const ALL: &[Statement] = &[
            $(Statement { name: $name, text: include_str!(concat!("../../sql/", $name, ".sql")) },)+
        ];
    };
}

include!("statement_list.rs");

static READ: OnceLock<Vec<Statement>> = OnceLock::new();

/// Every statement: those of the binary, unless [`read_from`] came first.
pub fn all() -> &'static [Statement] {
    READ.get().map_or(ALL, Vec::as_slice)
}

/// For tests: takes the statements from a folder of files as they are now, so that a rule can be changed and tried
/// without building anything. Only the first call counts, and it must come before any statement runs.
pub fn read_from(folder: &Path) -> std::io::Result<()> {
    let mut found = Vec::new();
    for below in std::fs::read_dir(folder)? {
        let below = below?.path();
        for file in std::fs::read_dir(&below)? {
            let file = file?.path();
            if file.extension().is_some_and(|e| e == "sql") {
                let name = file.strip_prefix(folder).unwrap_or(&file).with_extension("").to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&file)?;
                found.push(Statement { name: name.leak(), text: text.leak() });
            }
        }
    }
    found.sort_by_key(|s| s.name);
    READ.get_or_init(|| found);
    Ok(())
}

/// A statement by name.
pub fn find(name: &str) -> Option<Statement> {
    all().iter().copied().find(|s| s.name == name)
}

/// Hash of every rule under the given folders: two ledgers made with equal hashes were made by equal rules.
pub fn rules_hash(folders: &[&str]) -> String {
    let mut hash = Sha256::new();
    for s in all().iter().filter(|s| folders.iter().any(|f| s.name.starts_with(&format!("{f}/")))) {
        hash.update(s.name.as_bytes());
        hash.update([0]);
        hash.update(s.text.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())
}
