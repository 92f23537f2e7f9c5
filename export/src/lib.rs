//! Documents of a bill: a table for a terminal, JSON, CSV, a spreadsheet, statements as PDF, a posting file, Parquet and
//! FOCUS. All are made of one [`Bill`](gpuledger_schema::bill::Bill), so that they agree to the minor unit.
//!
//! Nothing here computes money: what is written was rounded before it came, and sums are sums of minor units. Nothing here
//! reads a clock: documents carry the time of the close, and the same bill gives the same bytes.

mod error;
mod head;
mod number;
mod sentence;
mod sums;
mod text;

pub mod csv;
pub mod focus;
pub mod json;
pub mod parquet;
pub mod pdf;
pub mod posting;
pub mod rollup;
pub mod table;
pub mod xlsx;

pub use error::{ExportError, Warning};
pub use text::{Lang, UnknownLang};
