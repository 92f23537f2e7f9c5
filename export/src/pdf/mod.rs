//! Statements as PDF: one page that says what a team pays and why, and an annex of every line. A4, fonts of the machine.

use std::io::Write;

use gpuledger_schema::bill::Bill;
use krilla::metadata::Metadata;

use crate::error::{ExportError, Warning};
use crate::head;
use crate::table::lines_of;
use crate::text::Lang;

mod canvas;
mod chart;
mod color;
mod face;
mod fonts;
mod measure;
mod page;
mod statement;

pub use fonts::Fonts;

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Team of the statement.
    pub team: String,
    /// Language of texts.
    pub lang: Lang,
}

/// Writes the statement of a team; gives what it could not show. The same bill and fonts give the same bytes.
///
/// # Errors
/// Where the bill has no such team, where no font has letters and digits, where the zone or an instant of the bill cannot be
/// read, and where `out` fails.
pub fn write(bill: &Bill, options: &Options, fonts: &Fonts, out: &mut dyn Write) -> Result<Vec<Warning>, ExportError> {
    let lines = lines_of(bill, &options.team)?;
    fonts.check()?;
    fonts.take_missing();
    let statement = statement::Statement { bill, team: &options.team, lines, lang: options.lang };
    let pages = statement::pages(&statement, fonts)?;
    let title = options.lang.fill("statement.title", &[("team", &options.team), ("period", &bill.period)]);
    let metadata = Metadata::new()
        .title(title)
        .authors(vec![bill.issuer.clone()])
        .creator("gpuledger".to_owned())
        .language(options.lang.code().to_owned())
        .creation_date(canvas::time(head::utc(head::document_ms(bill))?));
    let bytes = canvas::draw(&pages, fonts, metadata)?;
    out.write_all(&bytes).map_err(|source| ExportError::Write { document: "statement", source })?;
    Ok(fonts.take_missing())
}
