//! What a parser gives back: facts, and beside them what could not be read.

/// A record, or a field of one, that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line the record starts on, from 1; absent where the whole text is meant.
    pub line: Option<i64>,
    /// Field at fault, as the format names it.
    pub field: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// The record as it was.
    pub raw: String,
}

impl Problem {
    /// A problem of one field of the record at `line`.
    pub fn of_field(line: i64, field: &str, reason: impl ToString, raw: &str) -> Self {
        Self { line: Some(line), field: Some(field.to_owned()), reason: reason.to_string(), raw: raw.to_owned() }
    }

    /// A problem of the whole record at `line`.
    pub fn of_record(line: i64, reason: impl ToString, raw: &str) -> Self {
        Self { line: Some(line), field: None, reason: reason.to_string(), raw: raw.to_owned() }
    }
}

/// The facts of a text and the problems found on the way. A problem never hides a good record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "unread problems are lost records"]
pub struct Read<T> {
    /// What could be read, in the order of the text.
    pub facts: Vec<T>,
    /// What could not.
    pub problems: Vec<Problem>,
}

impl<T> Default for Read<T> {
    fn default() -> Self {
        Self { facts: Vec::new(), problems: Vec::new() }
    }
}
