//! Reference tables: dated rows that a person maintains, kept with their history in one SQLite file.
//!
//! A table changes only by importing a CSV file. An import is all or nothing: the file is read, compared with what
//! is there, and either everything it says is done or nothing is and every problem is listed. Rows are never
//! deleted or rewritten; the one edit of an existing row is to end it (see [`Control::import`]).
//! The CSV columns of each table are described in `table/` and shown in `examples/reference/`.
//!
//! This crate knows no lake, no DataFusion and no HTTP, and reads no clock.

// A test that unwraps says where it failed.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod case;
mod case_engine;
mod cell;
mod control;
mod csv_file;
mod decimal;
mod error;
mod host_list;
mod import;
mod kind;
mod list;
mod open;
mod pattern;
mod plan;
mod table;

pub use case::CaseError;
pub use case_engine::{Switch, Switched};
pub use control::{Control, Edit};
pub use error::{ControlError, Problem};
pub use import::{ImportOptions, ImportReport};
pub use list::Listing;
pub use table::spec::default_specs;
pub use table::threshold::{RULES, default_thresholds};
pub use table::weight::default_task_weights;
pub use table::{ReferenceRow, ReferenceTable, UnknownTable};
