//! Values and rows as the control file holds them.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Value, ValueRef};

/// A stored value: nothing, an integer in the column's unit, or text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cell {
    Absent,
    Int(i64),
    Text(String),
}

impl Cell {
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(*v),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(v) => Some(v),
            _ => None,
        }
    }
}

impl rusqlite::ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Absent => ToSqlOutput::Owned(Value::Null),
            Self::Int(v) => ToSqlOutput::Owned(Value::Integer(*v)),
            Self::Text(v) => ToSqlOutput::Borrowed(ValueRef::Text(v.as_bytes())),
        })
    }
}

impl FromSql for Cell {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Null => Ok(Self::Absent),
            ValueRef::Integer(v) => Ok(Self::Int(v)),
            ValueRef::Text(_) => value.as_str().map(|s| Self::Text(s.to_owned())),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// A row: one cell per CSV column of its table, in that order. The last two are always `from` and `to`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Record(pub(crate) Vec<Cell>);

impl Record {
    /// The start; 0 is from the beginning.
    pub(crate) fn start_ms(&self) -> i64 {
        self.0[self.0.len() - 2].int().unwrap_or(0)
    }

    /// The end, absent when open.
    pub(crate) fn end_ms(&self) -> Option<i64> {
        self.0[self.0.len() - 1].int()
    }

    pub(crate) fn end_at(&mut self, end_ms: i64) {
        let last = self.0.len() - 1;
        self.0[last] = Cell::Int(end_ms);
    }

    pub(crate) fn start_at(&mut self, start_ms: i64) {
        let from = self.0.len() - 2;
        self.0[from] = Cell::Int(start_ms);
    }

    /// Whether the two intervals share an instant.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        let before_end = |t: i64, end: Option<i64>| end.is_none_or(|end| t < end);
        before_end(self.start_ms(), other.end_ms()) && before_end(other.start_ms(), self.end_ms())
    }

    /// Whether the two differ at most in where they end.
    pub(crate) fn same_but_to(&self, other: &Self) -> bool {
        self.0[..self.0.len() - 1] == other.0[..other.0.len() - 1]
    }
}
