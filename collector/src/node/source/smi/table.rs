//! `nvidia-smi --query-...=... --format=csv`: a heading with units, then rows.

use super::{SmiError, said};

/// Separates cells. Nothing is quoted, so a process name that holds it makes a row longer than its heading.
const SEPARATOR: &str = ", ";
/// The only column whose text comes from users.
const FREE_TEXT: &str = "process_name";

/// A query's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads the answer of a query: every row has a cell for each heading.
    pub fn parse(text: &str) -> Result<Self, SmiError> {
        let mut lines = said(text);
        let (_, head) = lines.next().ok_or_else(|| SmiError::new(0, "nothing was printed"))?;
        // `memory.total [MiB]` is the column `memory.total`; cells repeat the unit.
        let heads: Vec<String> = head.split(SEPARATOR).map(|h| name(h).to_owned()).collect();
        let free = heads.iter().position(|h| h == FREE_TEXT);
        let mut rows = Vec::new();
        for (at, line) in lines {
            let mut cells: Vec<String> = line.split(SEPARATOR).map(|c| c.trim().to_owned()).collect();
            if let (Some(free), Some(over)) = (free, cells.len().checked_sub(heads.len())) {
                let whole = cells[free..=free + over].join(SEPARATOR);
                cells.splice(free..=free + over, [whole]);
            }
            if cells.len() != heads.len() {
                return Err(SmiError::new(at, format!("{} cells under {} headings", cells.len(), heads.len())));
            }
            rows.push(cells);
        }
        Ok(Self { heads, rows })
    }

    /// The names of its columns.
    pub fn heads(&self) -> &[String] {
        &self.heads
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has no rows: an idle card, and no failure.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A cell as printed; none where there is no such column or row.
    pub fn cell(&self, row: usize, column: &str) -> Option<&str> {
        let at = self.heads.iter().position(|h| h == column)?;
        self.rows.get(row)?.get(at).map(String::as_str)
    }
}

/// A heading without its unit.
fn name(head: &str) -> &str {
    head.trim().split_once(" [").map_or(head.trim(), |(name, _)| name)
}
