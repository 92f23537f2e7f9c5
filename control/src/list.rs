//! A reference table as its CSV: what is listed can be imported again and changes nothing.

use std::io;

use chrono_tz::Tz;

use crate::cell::Record;
use crate::table::Spec;

/// A table's rows as a person would type them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// CSV columns.
    pub header: Vec<&'static str>,
    /// Rows, in a total order; an absent value is an empty text.
    pub rows: Vec<Vec<String>>,
}

impl Listing {
    pub(crate) fn of(spec: &Spec, records: &[Record], zone: Tz) -> Self {
        let show = |record: &Record| {
            spec.columns.iter().zip(&record.0).map(|(column, cell)| column.kind.show(cell, zone)).collect()
        };
        Self { header: spec.header(), rows: records.iter().map(show).collect() }
    }

    /// Writes the listing as a CSV file that the import reads back.
    pub fn write_csv(&self, out: impl io::Write) -> io::Result<()> {
        // With a comment character set, a cell that starts with `#` is quoted.
        let mut writer = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(out);
        writer.write_record(&self.header)?;
        for row in &self.rows {
            writer.write_record(row)?;
        }
        writer.flush()
    }
}
