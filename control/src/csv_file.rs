//! Reading a CSV file into rows of cells in a table's order. What a cell means is decided elsewhere.
//!
//! A byte order mark, CRLF, blank lines, lines of empty cells and lines that start with `#` are accepted and skipped.

use crate::error::Problems;
use crate::table::Spec;

/// Largest file that is read.
const FILE_BYTES_MAX: usize = 64 << 20;

/// A data row: the line it starts on, and one cell per column of the table (`None`: empty, or no such column).
#[derive(Debug)]
pub(crate) struct RawRow {
    pub(crate) line: u64,
    pub(crate) cells: Vec<Option<String>>,
}

/// The data rows of a file. When the header is wrong there are none, only problems.
pub(crate) fn read(spec: &Spec, bytes: &[u8], problems: &mut Problems<'_>) -> Vec<RawRow> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.len() > FILE_BYTES_MAX {
        problems.push(1, None, format!("the file is larger than {FILE_BYTES_MAX} bytes"));
        return Vec::new();
    }
    let mut lines = Lines { bytes, at: 0, line: 1 };
    if let Err(invalid) = std::str::from_utf8(bytes) {
        let line = lines.of(invalid.valid_up_to());
        problems.push(line, None, "the line is not valid UTF-8: save the file as UTF-8");
        return Vec::new();
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let mut header: Option<Vec<usize>> = None;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                problems.push(lines.line, None, error.to_string());
                break;
            }
        };
        if record.iter().all(str::is_empty) {
            continue;
        }
        let offset = record.position().map_or(0, csv::Position::byte);
        let line = lines.of_record(usize::try_from(offset).unwrap_or(bytes.len()));
        match &header {
            None => match read_header(spec, &record, line, problems) {
                Some(columns) => header = Some(columns),
                None => return rows,
            },
            Some(columns) if columns.len() == record.len() => rows.push(row(spec, columns, &record, line)),
            Some(columns) => problems.push(
                line,
                None,
                format!("expected {} cells, as in the header, found {}", columns.len(), record.len()),
            ),
        }
    }
    if header.is_none() {
        problems.push(1, None, format!("the file has no header; the columns are {}", spec.header().join(",")));
    }
    rows
}

/// For each cell of a line, the table's column; `None` when the header names one it does not have, lacks one it
/// needs, or repeats one.
fn read_header(spec: &Spec, record: &csv::StringRecord, line: u64, problems: &mut Problems<'_>) -> Option<Vec<usize>> {
    let known = spec.header();
    let mut columns = Vec::new();
    for name in record {
        match known.iter().position(|k| *k == name) {
            Some(at) if columns.contains(&at) => problems.push(line, Some(name), "the column stands twice"),
            Some(at) => columns.push(at),
            None => problems.push(line, Some(name), format!("unknown column; the columns are {}", known.join(","))),
        }
    }
    for (at, column) in spec.columns.iter().enumerate() {
        if column.required && !columns.contains(&at) {
            problems.push(line, Some(column.name), "the column is missing");
        }
    }
    problems.is_empty().then_some(columns)
}

fn row(spec: &Spec, columns: &[usize], record: &csv::StringRecord, line: u64) -> RawRow {
    let mut cells = vec![None; spec.columns.len()];
    for (at, text) in columns.iter().zip(record) {
        cells[*at] = (!text.is_empty()).then(|| text.to_owned());
    }
    RawRow { line, cells }
}

/// Line numbers of growing offsets. The reader's own count names the comment or blank line before a record.
#[derive(Debug)]
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
}

impl Lines<'_> {
    fn of(&mut self, offset: usize) -> u64 {
        let offset = offset.clamp(self.at, self.bytes.len());
        let breaks = self.bytes[self.at..offset].iter().filter(|b| **b == b'\n').count();
        self.line += breaks as u64;
        self.at = offset;
        self.line
    }

    /// The line of the first record at or after `offset`, beyond line breaks and comments.
    fn of_record(&mut self, offset: usize) -> u64 {
        let mut start = offset.min(self.bytes.len());
        while let Some(byte) = self.bytes.get(start) {
            match byte {
                b'\n' | b'\r' => start += 1,
                b'#' => start += self.bytes[start..].iter().take_while(|b| **b != b'\n').count(),
                _ => break,
            }
        }
        self.of(start)
    }
}
