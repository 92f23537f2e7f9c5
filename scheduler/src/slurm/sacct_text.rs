//! `sacct --parsable2` and `--parsable` text, delimited by `|` or by `|#`.
//!
//! Records are delimited by their number of fields, because a field (a comment, a submit line) may hold line breaks.
//! A line with the right number of fields is a record of its own and is never taken into another, so that one bad
//! record costs itself and nothing else.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::job_id::job_id;
use super::problem::{Problem, Read};
use super::sacct_record::{Columns, SacctRecord};

/// Most lines that one record may span.
const RECORD_LINES_MAX: usize = 200;

/// Why nothing in a text can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SacctTextError {
    /// Neither a header nor a list of fields.
    #[error("line 1 is no header with a JobID column, and no list of fields is given")]
    NoHeader,
    /// The list of fields has no job id.
    #[error("the list of fields has no JobID")]
    NoJobId,
    /// The file has a header that says otherwise than the list of fields.
    #[error("the header says `{header}`, the list of fields says `{fields}`")]
    FieldsDisagree {
        /// Names in the file.
        header: String,
        /// Names given.
        fields: String,
    },
}

/// A text read: its records and what could not be read, with the columns of its (first) header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SacctText {
    /// Columns; absent in an empty text.
    pub columns: Option<Arc<Columns>>,
    /// Records and problems.
    pub read: Read<SacctRecord>,
}

/// Reads a text whose columns are those of its header or, where it has none, of `fields`.
pub fn read(bytes: &[u8], fields: Option<&[String]>) -> Result<SacctText, SacctTextError> {
    let lines = lines(bytes);
    let mut out = SacctText { columns: None, read: Read::default() };
    let Some(first) = lines.iter().find(|l| !l.is_empty()) else { return Ok(out) };
    let mut layout = match (Layout::of_header(&first.text), fields) {
        (Some(header), Some(names)) => header.agreeing(names)?,
        (Some(header), None) => header,
        (None, Some(names)) => Layout::of_fields(names, &first.text)?,
        (None, None) => return Err(SacctTextError::NoHeader),
    };
    out.columns = Some(Arc::clone(&layout.columns));
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if line.is_empty() {
            at += 1;
        } else if let Some(header) = Layout::of_header(&line.text) {
            // Outputs put one after the other bring their headers along.
            layout = match fields {
                Some(names) => header.agreeing(names)?,
                None => header,
            };
            at += 1;
        } else {
            let used = layout.take(&lines[at..]);
            match layout.record(&lines[at..at + used]) {
                Ok(record) => out.read.facts.push(record),
                Err(problem) => out.read.problems.push(problem),
            }
            at += used;
        }
    }
    Ok(out)
}

#[derive(Debug)]
struct Line<'a> {
    number: i64,
    text: Cow<'a, str>,
    is_utf8: bool,
}

impl Line<'_> {
    fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }
}

fn lines(bytes: &[u8]) -> Vec<Line<'_>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut out = Vec::new();
    for (number, line) in (1i64..).zip(bytes.split(|b| *b == b'\n')) {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        let is_utf8 = matches!(text, Cow::Borrowed(_));
        out.push(Line { number, text, is_utf8 });
    }
    out
}

#[derive(Debug)]
struct Layout {
    columns: Arc<Columns>,
    delimiter: &'static str,
    /// Whether every line ends with a delimiter (`--parsable`).
    trailing: bool,
    job_id_at: usize,
}

impl Layout {
    /// The layout that a header line declares; absent if the line is no header.
    fn of_header(line: &str) -> Option<Self> {
        let has_name = |l: &str| ["JobID", "jobid", "JOBID"].iter().any(|n| l.contains(n));
        let is_name = |n: &str| n.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '%' | '-' | ' '));
        if !has_name(line) {
            return None;
        }
        let delimiter = delimiter(line);
        let mut names: Vec<&str> = line.split(delimiter).map(str::trim).collect();
        let trailing = names.len() > 1 && names.last() == Some(&"");
        if trailing {
            names.pop();
        }
        if !names.iter().all(|n| is_name(n)) {
            return None;
        }
        let columns = Columns::of(names);
        let job_id_at = columns.position("jobid")?;
        Some(Self { columns: Arc::new(columns), delimiter, trailing, job_id_at })
    }

    /// The layout of given fields; how they are delimited shows in the first line.
    fn of_fields(names: &[String], first: &str) -> Result<Self, SacctTextError> {
        let columns = Columns::of(names);
        let job_id_at = columns.position("jobid").ok_or(SacctTextError::NoJobId)?;
        let delimiter = delimiter(first);
        let trailing = first.matches(delimiter).count() == names.len() && first.ends_with(delimiter);
        Ok(Self { columns: Arc::new(columns), delimiter, trailing, job_id_at })
    }

    fn agreeing(self, names: &[String]) -> Result<Self, SacctTextError> {
        let given = Columns::of(names);
        if *self.columns == given {
            return Ok(self);
        }
        Err(SacctTextError::FieldsDisagree { header: self.columns.0.join(","), fields: given.0.join(",") })
    }

    fn expected(&self) -> usize {
        self.columns.0.len() + usize::from(self.trailing)
    }

    fn fields(&self, line: &str) -> usize {
        line.matches(self.delimiter).count() + 1
    }

    /// How many of the lines make up the record that starts with the first one.
    fn take(&self, lines: &[Line<'_>]) -> usize {
        let mut fields = self.fields(&lines[0].text);
        for (used, next) in (2..).zip(lines[1..].iter().take(RECORD_LINES_MAX - 1)) {
            let more = self.fields(&next.text);
            let is_other = more == self.expected() || Layout::of_header(&next.text).is_some();
            // Only who chose `|#` did so because of line breaks; elsewhere a line that starts like a record is one.
            let looks_like_one = self.delimiter == "|" && self.starts_record(&next.text);
            if fields >= self.expected() || is_other || looks_like_one {
                break;
            }
            fields += more - 1;
            if fields == self.expected() {
                let text = joined(&lines[..used]);
                return if self.starts_record(&text) { used } else { 1 };
            }
        }
        1
    }

    fn starts_record(&self, line: &str) -> bool {
        line.split(self.delimiter).nth(self.job_id_at).is_some_and(|id| job_id(id).is_ok())
    }

    fn record(&self, lines: &[Line<'_>]) -> Result<SacctRecord, Problem> {
        let (number, text) = (lines[0].number, joined(lines));
        if !lines.iter().all(|l| l.is_utf8) {
            return Err(Problem::of_record(number, "the record is not UTF-8", &text));
        }
        let mut spans = spans(&text, self.delimiter);
        let shown = spans.len() - usize::from(self.trailing && spans.len() == self.expected());
        let ends_as_all_do = !self.trailing || spans.last().is_some_and(|last| last.is_empty());
        if spans.len() != self.expected() || !ends_as_all_do {
            let reason = format!("{shown} fields where {} are expected", self.columns.0.len());
            return Err(Problem::of_record(number, reason, &text));
        }
        spans.truncate(self.columns.0.len());
        let record = SacctRecord::of_text(number, &self.columns, text, spans);
        match record.conflict().map(str::to_owned) {
            None => Ok(record),
            Some(field) => {
                Err(Problem::of_field(number, &field, "the field stands twice with different values", record.raw()))
            }
        }
    }
}

/// `|#` if every field after the first starts with `#`, else `|`.
fn delimiter(line: &str) -> &'static str {
    let mut rest = line.split('|').skip(1).peekable();
    if rest.peek().is_some() && rest.all(|field| field.starts_with('#')) { "|#" } else { "|" }
}

fn joined(lines: &[Line<'_>]) -> String {
    lines.iter().map(|l| l.text.as_ref()).collect::<Vec<_>>().join("\n")
}

fn spans(text: &str, delimiter: &str) -> Vec<Range<usize>> {
    let (mut out, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices(delimiter) {
        out.push(from..at);
        from = at + delimiter.len();
    }
    out.push(from..text.len());
    out
}

#[cfg(test)]
mod tests;
