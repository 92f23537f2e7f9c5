//! What the API answered to a page: a report, or why there is none. A page is made of whatever came, and says what did not.

use serde_json::{Map, Value};

use super::number::Decimal;

/// The answer to one of a page's questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The document, equal to the command line's `--format json`.
    Ready(Value),
    /// It is being computed: the page can be asked again.
    Building,
    /// The reader may not see it.
    Forbidden(String),
    /// There is no such thing.
    Absent(String),
    /// It failed: in words.
    Failed(String),
}

/// A row of a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Row<'a> {
    /// The text of a column; a number as its digits. Absent where nothing is known.
    pub(super) fn text(self, column: &str) -> Option<String> {
        match self.0.get(column)? {
            Value::String(s) => Some(s.clone()),
            Value::Number(n) => Some(n.to_string()),
            Value::Bool(b) => Some(b.to_string()),
            _ => None,
        }
    }

    /// The text of a column, or nothing.
    pub(super) fn word(self, column: &str) -> String {
        self.text(column).unwrap_or_default()
    }

    /// The number of a column.
    pub(super) fn number(self, column: &str) -> Option<Decimal> {
        Decimal::read(&self.text(column)?)
    }

    /// The number of a column for geometry, in thousandths.
    pub(super) fn size(self, column: &str) -> i128 {
        self.number(column).map_or(0, |n| n.scaled(3))
    }
}

/// A report: rows, a total, notes, a currency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report<'a>(&'a Value);

impl<'a> Report<'a> {
    /// The rows.
    pub(super) fn rows(self) -> Vec<Row<'a>> {
        list(self.0, "rows").into_iter().filter_map(Value::as_object).map(Row).collect()
    }

    /// The total.
    pub(super) fn total(self) -> Option<Row<'a>> {
        self.0.get("total").and_then(Value::as_object).map(Row)
    }

    /// The total; where there is none, the only row.
    pub(super) fn whole(self) -> Option<Row<'a>> {
        self.total().or_else(|| Some(self.rows()).filter(|r| r.len() == 1).and_then(|r| r.into_iter().next()))
    }

    /// Lines below the table.
    pub(super) fn notes(self) -> Vec<&'a str> {
        list(self.0, "notes").into_iter().filter_map(Value::as_str).collect()
    }

    /// The code of the currency; `-` is none.
    pub(super) fn currency(self) -> Option<&'a str> {
        self.0.get("currency").and_then(Value::as_str).filter(|c| *c != "-")
    }

    /// The document.
    pub(super) const fn document(self) -> &'a Value {
        self.0
    }
}

fn list<'a>(of: &'a Value, name: &str) -> Vec<&'a Value> {
    of.get(name).and_then(Value::as_array).map(|a| a.iter().collect()).unwrap_or_default()
}

/// Every answer to a page, by the name under which it was asked.
#[derive(Debug, Clone, Default)]
pub struct Answers(pub Vec<(&'static str, Answer)>);

impl Answers {
    /// The answer under a name.
    pub(super) fn get(&self, name: &str) -> Option<&Answer> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, a)| a)
    }

    /// The report under a name, if it came.
    pub(super) fn report(&self, name: &str) -> Option<Report<'_>> {
        match self.get(name) {
            Some(Answer::Ready(document)) => Some(Report(document)),
            _ => None,
        }
    }

    /// The document under a name, if it came.
    pub(super) fn document(&self, name: &str) -> Option<&Value> {
        self.report(name).map(Report::document)
    }

    /// Whether anything is still being computed.
    pub(super) fn building(&self) -> bool {
        self.0.iter().any(|(_, a)| *a == Answer::Building)
    }
}
