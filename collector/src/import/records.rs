//! Records of delimited text, each with the line it starts on and its own text.
//!
//! A quote that is opened and never closed would swallow every record after it. A record that spans lines without
//! being whole is therefore cut back to its first line, and reading goes on at the next.

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::{At, Imported};
use crate::input::Input;

/// One record.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// Line it starts on, from 1.
    pub(super) line: i64,
    /// Its text, without the line end.
    pub(super) raw: &'a [u8],
    /// Its fields.
    pub(super) fields: ByteRecord,
    /// Why it is no whole record, where it is none.
    pub(super) problem: Option<String>,
}

impl Record<'_> {
    /// Its text for people; bytes that are no UTF-8 are replaced.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.raw).into_owned()
    }
}

/// The records of some bytes, in order.
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    delimiter: u8,
    width: Option<usize>,
    reader: Reader<&'a [u8]>,
    /// Where `reader` started: byte and line.
    base: (usize, i64),
}

impl<'a> Records<'a> {
    /// Records of `width` fields; without a width any number of fields is whole.
    pub(super) fn new(bytes: &'a [u8], delimiter: u8, width: Option<usize>) -> Self {
        Self { bytes, delimiter, width, reader: reader(bytes, delimiter), base: (0, 1) }
    }

    /// Reads the next record as the header, whose number of fields is that of every record after it.
    pub(super) fn header(&mut self) -> Option<Record<'a>> {
        let header = self.next()?;
        self.width = Some(header.fields.len());
        Some(header)
    }

    fn restart(&mut self, byte: usize, line: i64) {
        self.base = (byte, line);
        self.reader = reader(&self.bytes[byte..], self.delimiter);
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let mut fields = ByteRecord::new();
        if !self.reader.read_byte_record(&mut fields).unwrap_or(false) {
            return None;
        }
        let position = fields.position()?;
        let mut start = self.base.0 + usize::try_from(position.byte()).ok()?;
        let mut line = self.base.1 + i64::try_from(position.line()).ok()? - 1;
        let end = self.base.0 + usize::try_from(self.reader.position().byte()).ok()?;
        // The reader counts blank lines before a record, and half of a CRLF, to the record itself.
        while let Some(b'\r' | b'\n') = self.bytes.get(start) {
            line += i64::from(self.bytes[start] == b'\n');
            start += 1;
        }
        let raw = self.bytes[start..end].trim_ascii_end();
        let wrong_width = self.width.filter(|w| *w != fields.len());
        let first_line = raw.iter().position(|b| *b == b'\n').filter(|_| {
            let unclosed = raw.iter().filter(|b| **b == b'"').count() % 2 == 1;
            wrong_width.is_some() || unclosed
        });
        if let Some(length) = first_line {
            self.restart(start + length + 1, line + 1);
            let problem = Some("a quote is opened in this record and not closed".to_owned());
            return Some(Record { line, raw: raw[..length].trim_ascii_end(), fields, problem });
        }
        let problem = wrong_width.map(|w| format!("{} fields where {w} are expected", fields.len()));
        Some(Record { line, raw, fields, problem })
    }
}

fn reader(bytes: &[u8], delimiter: u8) -> Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(bytes)
}

/// Refuses what an input that was cut could not give: says so once, and keeps the record that the cut fell into.
pub(super) fn refuse_cut(out: &mut Imported, input: &Input, cluster: &str) {
    let Some(problem) = &input.problem else { return };
    let (trusted, rest) = input.trusted();
    let at = At { source: &input.name, line: None, cluster: Some(cluster) };
    out.refuse(&at, None, problem, "");
    if !rest.is_empty() {
        let lines = trusted.iter().filter(|b| **b == b'\n').count();
        let at = At { line: i64::try_from(lines + 1).ok(), ..at };
        out.records += 1;
        out.refuse(&at, None, "the input ends inside this record", &String::from_utf8_lossy(rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(i64, &str, bool)]) {
        let mut records = Records::new(text.as_bytes(), b',', None);
        records.header();
        let got: Vec<_> = records.map(|r| (r.line, r.text(), r.problem.is_none())).collect();
        let got: Vec<_> = got.iter().map(|(l, t, ok)| (*l, t.as_str(), *ok)).collect();
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn every_record_knows_its_line() {
        check("a,b\n1,2\n3,4\n", &[(2, "1,2", true), (3, "3,4", true)]);
        check("a,b\r\n1,2\r\n\r\n3,4", &[(2, "1,2", true), (4, "3,4", true)]);
        check("\n\na,b\n\n1,2\n", &[(5, "1,2", true)]);
        check("a,b\n\"1\n1\",2\n3,4\n", &[(2, "\"1\n1\",2", true), (4, "3,4", true)]);
    }

    #[test]
    fn a_wrong_number_of_fields_is_that_records_problem() {
        check("a,b\n1\n1,2,3\n3,4\n", &[(2, "1", false), (3, "1,2,3", false), (4, "3,4", true)]);
    }

    #[test]
    fn an_open_quote_costs_one_record() {
        check("a,b\n\"1,2\n3,4\n5,6\n", &[(2, "\"1,2", false), (3, "3,4", true), (4, "5,6", true)]);
        check("a,b\n1,\"2\n3,4\n5,6\n", &[(2, "1,\"2", false), (3, "3,4", true), (4, "5,6", true)]);
        check("a,b\n1,2\"\n3,4\n", &[(2, "1,2\"", true), (3, "3,4", true)]);
    }

    #[test]
    fn a_cut_input_loses_only_the_record_it_was_cut_in() {
        let problem = Some("the gzip stream ends early after 9 bytes".to_owned());
        let input = Input { name: "x.csv.gz".into(), bytes: b"a,b\n1,2\n3".to_vec(), problem };
        let mut out = Imported::default();
        refuse_cut(&mut out, &input, "alpha");
        let got: Vec<_> = out.quarantine.iter().map(|q| (q.line, q.reason.as_str(), q.raw.as_str())).collect();
        let whole = (None, "the gzip stream ends early after 9 bytes", "");
        assert_eq!(got, [whole, (Some(3), "the input ends inside this record", "3")]);
    }
}
