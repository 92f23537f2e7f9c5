//! Why a document could not be written, and what a reader of one has to be told.

use std::fmt;
use std::io;

/// Why a document could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The place that it is written to failed.
    #[error("cannot write the {document}")]
    Write {
        /// What was written.
        document: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// CSV failed.
    #[error("cannot write the {document} as CSV")]
    Csv {
        /// What was written.
        document: &'static str,
        /// The cause.
        #[source]
        source: csv::Error,
    },
    /// JSON failed.
    #[error("cannot write the bill as JSON")]
    Json(#[source] serde_json::Error),
    /// A spreadsheet failed.
    #[error("cannot write the spreadsheet")]
    Xlsx(#[source] rust_xlsxwriter::XlsxError),
    /// Parquet failed.
    #[error("cannot write the {document} as Parquet")]
    Parquet {
        /// What was written.
        document: &'static str,
        /// The cause.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// Columns do not fit together.
    #[error("cannot lay out the columns of the {document}")]
    Arrow {
        /// What was written.
        document: &'static str,
        /// The cause.
        #[source]
        source: arrow_schema::ArrowError,
    },
    /// A PDF failed.
    #[error("cannot write the statement as PDF: {0}")]
    Pdf(String),
    /// No font that has letters.
    #[error(
        "no font is installed that a statement can be set in (looked for {looked_for}): install one, on Debian \
         `apt-get install fonts-dejavu-core`, with Chinese names also `fonts-noto-cjk`"
    )]
    NoFont {
        /// Families that were looked for.
        looked_for: String,
    },
    /// No lines of this team.
    #[error("the bill of {period} has no lines of team `{team}`; it has: {teams}")]
    NoTeam {
        /// Period of the bill.
        period: String,
        /// Team that was asked for.
        team: String,
        /// Teams that are in it.
        teams: String,
    },
    /// Several bills do not make one.
    #[error("bills of {first} and {second} do not make one: {why}")]
    Apart {
        /// Period of one.
        first: String,
        /// Period of the other.
        second: String,
        /// What does not fit.
        why: &'static str,
    },
    /// No bill was given.
    #[error("there is no bill to write")]
    NoBill,
    /// An instant that no calendar has.
    #[error("{0} ms is no instant that can be written as a date")]
    NoDate(i64),
    /// A zone that no table has.
    #[error("`{0}` is not a zone (an IANA name such as Europe/Berlin)")]
    NoZone(String),
    /// A number that a cell of a spreadsheet would round.
    #[error("{what} of {amount} has more than 15 digits: a cell of a spreadsheet would round it; use CSV or JSON")]
    TooManyDigits {
        /// Which number.
        what: &'static str,
        /// The number.
        amount: String,
    },
    /// A row of charges that is not of the shape of table `charge`.
    #[error("the charges have no column `{0}` of the type that table `charge` has")]
    Charges(&'static str),
    /// A charge whose line the bill does not have.
    #[error("the charges name line {0}, which the bill does not have")]
    NoLine(i64),
    /// A number beyond what the file's format holds.
    #[error("{what} is {amount}, beyond what {document} holds")]
    Beyond {
        /// Which number.
        what: &'static str,
        /// The number.
        amount: String,
        /// The document.
        document: &'static str,
    },
}

/// What a document could not show as it is, or what a reader should look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// No font has this character; the statement shows `\u{fffd}` in its place.
    NoGlyph {
        /// The character.
        character: char,
        /// Package that has it, where one is known.
        package: Option<&'static str>,
    },
    /// Costs of a team that no cost centre bears.
    NoCostCenter {
        /// The team.
        team: String,
        /// Amount, with the currency.
        amount: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGlyph { character, package } => {
                let code = u32::from(*character);
                write!(f, "no font has U+{code:04X}; the statement shows \u{fffd} in its place")?;
                package.map_or(Ok(()), |p| write!(f, " (on Debian: apt-get install {p})"))
            }
            Self::NoCostCenter { team, amount } => {
                write!(
                    f,
                    "{amount} of team `{team}` have no cost centre: give the team one in owners, or post it by hand"
                )
            }
        }
    }
}
