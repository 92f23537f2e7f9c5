//! Closing a billing month: what stands against it, its final lines and charges, corrections of months closed before, the proof
//! that it can be derived again, and the way from a line down to its charges.
//!
//! A period is closed when its document `closes/<period>.json` is there (see [`Manifest`]). Rows of `charge` and
//! `statement_line` carry the id of the close that wrote them and count only through such a document, so that a close that dies or
//! loses a race leaves rows that nobody reads. Closed is final: what becomes known later is a correction in a later period.

use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow};

use crate::engine::EngineError;
use crate::lake::LakeError;
use crate::ledger::LedgerError;
use crate::report::ReportError;
use crate::rows::Misshapen;

mod bill;
mod commit;
mod correct;
mod draft;
mod explain;
mod files;
mod list;
mod m2;
mod manifest;
mod period;
mod read;
mod rows;
mod same;
mod show;
mod statement;
mod uncharged;
mod verify;

pub use bill::{Billed, bill};
pub use commit::{CloseAsk, Closed, Step, close, commit, sweep};
pub use correct::{Correction, preview};
pub use draft::Draft;
pub use explain::{explain_lines, line_of};
pub use list::{Answer, Item, Proposal, Waiver, propose};
pub use m2::m2;
pub use manifest::{DataFile, Earlier, Manifest, Waived};
pub use period::{Phase, period, periods, phase};
pub use read::closed_tables;
pub use show::{closed_text, list_text, preview_report};
pub use statement::statement;
pub use uncharged::uncharged;
pub use verify::{Verified, verify};

/// Why a period could not be closed, read or verified.
#[derive(Debug, thiserror::Error)]
pub enum CloseError {
    /// A figure could not be computed.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The period is not closed.
    #[error("{0} is not closed; `gpuledger periods` lists which are")]
    NotClosed(String),
    /// Nothing closed has that name.
    #[error("{period} has no line {line}; `gpuledger statement {period}` lists them")]
    NoLine {
        /// The period.
        period: String,
        /// The line that was asked for.
        line: String,
    },
    /// A closed period is in another currency.
    #[error("{period} was closed in {was} and cannot be corrected in {now}")]
    Currency {
        /// The closed period.
        period: String,
        /// Its currency.
        was: String,
        /// The currency of the correction.
        now: String,
    },
    /// A document names a zone or currency that this version does not know.
    #[error("`{object}` names {what}, which this version does not know")]
    Unknown {
        /// The document.
        object: String,
        /// What it names.
        what: String,
    },
    /// A data file that a table names is not there.
    #[error("data file `{0}` is not there: the lake is damaged")]
    Gone(String),
    /// Another period was closed between the proposal and its document.
    #[error("another period was closed while {0} was: nothing was closed; run it again")]
    Meanwhile(String),
    /// Hashing was stopped.
    #[error("data files were not hashed to their end")]
    Stopped(#[source] Box<tokio::task::JoinError>),
}

impl From<Misshapen> for CloseError {
    fn from(found: Misshapen) -> Self {
        Self::Report(found.into())
    }
}

/// Tables of the lake that have the rows of closes, under the names that statements read them by.
const WRITTEN: [(gpuledger_schema::table::Table, &str); 2] =
    [(StatementLineRow::TABLE, "written_line"), (ChargeRow::TABLE, "written_charge")];
