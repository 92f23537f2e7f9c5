//! A record of `sacct`, whatever its syntax: named text values. JSON is put into the same fields as text, so that one
//! reading of the values ([`super::sacct_job`]) serves both.

use std::ops::Range;
use std::sync::Arc;

/// The columns of a table: lower-case names in the order of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(pub Vec<String>);

impl Columns {
    /// Columns of these names, whatever their case; a width such as `%30` is dropped.
    pub fn of<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let name = |n: S| n.as_ref().split('%').next().unwrap_or_default().trim().to_ascii_lowercase();
        Self(names.into_iter().map(name).collect())
    }

    /// Whether a column of this (lower-case) name is there.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|n| n == name)
    }

    /// Where the first column of this (lower-case) name stands.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|n| n == name)
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SacctRecord {
    /// Line it starts on, from 1.
    pub line: i64,
    /// Its columns.
    pub columns: Arc<Columns>,
    values: String,
    spans: Vec<Range<usize>>,
    raw: Option<String>,
}

impl SacctRecord {
    /// A record of a text: `text` is the record as it was, `spans` where its values lie in it.
    pub(crate) fn of_text(line: i64, columns: &Arc<Columns>, text: String, spans: Vec<Range<usize>>) -> Self {
        Self { line, columns: Arc::clone(columns), values: text, spans, raw: None }
    }

    /// A record of another syntax: its values, and its source text.
    pub(crate) fn of_values(line: i64, columns: &Arc<Columns>, values: &[String], raw: &str) -> Self {
        let (mut text, mut spans) = (String::new(), Vec::with_capacity(values.len()));
        for value in values {
            let from = text.len();
            text.push_str(value);
            spans.push(from..text.len());
        }
        Self { line, columns: Arc::clone(columns), values: text, spans, raw: Some(raw.to_owned()) }
    }

    /// A value by its lower-case column name: absent if there is no such column, empty if it says nothing.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.value(self.columns.position(name)?)
    }

    /// The record as it was.
    pub fn raw(&self) -> &str {
        self.raw.as_deref().unwrap_or(&self.values)
    }

    /// A column that stands twice with different values.
    pub(crate) fn conflict(&self) -> Option<&str> {
        self.columns.0.iter().enumerate().find_map(|(at, name)| {
            let first = self.columns.position(name)?;
            (self.value(first) != self.value(at)).then_some(name.as_str())
        })
    }

    fn value(&self, at: usize) -> Option<&str> {
        self.values.get(self.spans.get(at)?.clone())
    }
}
