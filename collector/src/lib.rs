//! What happened: importers of other tools' records, and the writer of segments.
//!
//! Knows no prices, budgets, SQL or other nodes. An importer is a pure function from the bytes of its inputs to
//! [`import::Imported`]; nothing here reads a clock.

pub mod cluster;
pub mod import;
pub mod input;
pub mod node;
pub mod segment;
