//! Reference tables: dated rows that a person maintains, kept with their history in one SQLite file.
//!
//! A table changes by importing a CSV file, or by ending the open rows of a selector. An import is all or nothing: the file is
//! read, compared with what is there, and either everything it says is done or nothing is and every problem is listed. Rows are
//! never rewritten; the one edit of an existing row is to end it (see [`Control::import`]). Only what is forced takes a row away
//! that other rows then stand for; it stays in the audit log, and in the versions of the lake that were made with it.
//!
//! Beside the tables: the state of billing months, what their closes are waived, what leads answered to drafts, the outbox of
//! messages with its alerts and silences, the cases of reclaiming, tokens, and the audit log of what changes money.
//! The CSV columns of each table are described in `table/` and shown in `examples/reference/`.
//!
//! This crate knows no lake, no DataFusion and no HTTP, and reads no clock.

// A test that unwraps says where it failed.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod audit;
mod case;
mod case_engine;
mod cell;
mod change;
mod control;
mod csv_file;
mod decimal;
mod end;
mod error;
mod host_list;
mod import;
mod kind;
mod list;
mod open;
mod outbox;
mod pattern;
mod period;
mod plan;
mod said;
mod settled;
mod table;
mod token;
mod week;

pub use audit::{AuditCheck, AuditQuery, BrokenLink, Entry, Head, NotAHead, Who};
pub use case::CaseError;
pub use case_engine::{PolicyUse, Switch, Switched};
pub use control::{Control, Edit};
pub use error::{ControlError, Problem};
pub use import::{ImportOptions, ImportReport};
pub use list::Listing;
pub use outbox::{
    Alert, AlertChanges, Attachment, Claim, Event, Lease, Message, MessageState, NewAlert, NewMessage, NewSilence,
    Outcome, Posted, Silence, Summary,
};
pub use period::{Period, PeriodState, UnknownState};
pub use said::{LineAnswer, Verdict, Waiver};
pub use table::spec::default_specs;
pub use table::threshold::{RULES, default_thresholds};
pub use table::weight::default_task_weights;
pub use table::{ReferenceRow, ReferenceTable, UnknownTable};
pub use token::{Grant, Minted, Token};
