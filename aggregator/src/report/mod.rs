//! Reports: one builder for every format, so that table, CSV, JSON and Parquet are equal to the cent.

use chrono_tz::Tz;
use datafusion::error::DataFusionError;
use gpuledger_schema::window::Window;

use crate::engine::EngineError;
use crate::lake::LakeError;
use crate::ledger::LedgerError;

mod accounting;
mod assessment;
mod budgets;
mod census;
mod charge;
mod cost;
mod dimension;
mod facts;
mod findings;
mod fleet;
mod fleet_assets;
mod fleet_rows;
mod fleet_split;
mod fragment;
mod gaps;
mod grouped;
mod health;
mod invented;
mod job;
mod lang;
mod money;
mod narrow;
mod quota;
mod quote;
mod reader;
mod recovered;
mod render;
mod samples;
mod usage;
mod verified;
mod watch;

pub use accounting::accounting;
pub use assessment::assessment;
pub use census::{card_hours, census, census_hours, last_week, run_week};
pub use charge::{Charges, charge};
pub use cost::cost;
pub use dimension::{Dimension, Step, UnknownDimension};
pub use facts::prepare;
pub(crate) use facts::{Depth, price, price_facts};
pub use findings::{Asked as FindingsAsked, findings};
pub use fleet::fleet;
pub use fleet_assets::assets;
pub use fleet_split::{Split, UnknownSplit};
pub use fragment::{fragmentation, fragmented_jobs};
pub use gaps::gaps;
pub(crate) use grouped::{texts, whole};
pub use health::health;
pub use job::{JobReport, job};
pub use lang::{Lang, UnknownLang};
pub use money::{Currency, UnknownCurrency};
pub(crate) use money::{hand_down, round};
pub use narrow::{AnyOf, AskedTerms, Narrow, budgets, quota, quota_runs};
pub use quote::{MemoryAsked, QuoteAsked, memory, quote};
pub use reader::Reader;
pub use recovered::{Preempted, Won, preempted, recovered};
pub use render::{Format, RenderError, UnknownFormat, render};
pub(crate) use render::{hours, money};
pub use samples::samples;
pub use usage::usage;
pub use verified::verified;
pub use watch::{Limits as WatchLimits, watch};

/// What is asked of a report.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The window.
    pub window: Window,
    /// Zone of its local days.
    pub zone: Tz,
    /// What to group by, in order.
    pub by: Vec<Dimension>,
    /// A row per local day or month besides.
    pub step: Option<Step>,
    /// How money is written.
    pub currency: Currency,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Nothing was ever taken in.
    #[error("the lake at `{0}` holds nothing yet; import something first")]
    Empty(String),
    /// There is no such cut.
    #[error("the lake at `{at}` has no cut {wanted}; its newest is {newest}")]
    NoCut {
        /// The lake.
        at: String,
        /// The cut that was asked for.
        wanted: u64,
        /// The newest there is.
        newest: u64,
    },
    /// The cut is there, and what was built from it is not kept.
    #[error("no ledger was built of cut {0}: one is built of the newest cut, when it is first asked for")]
    NotBuilt(u64),
    /// The ledger lags behind what was taken in, and this command only reads.
    #[error("the ledger is older than what was taken in; run `gpuledger ingest` where the data folder can be written")]
    Stale,
    /// A report about everybody, asked by somebody who may select some rows alone.
    #[error("`{0}` is about the whole fleet and cannot be narrowed to some rows of it")]
    Whole(&'static str),
    /// A dimension that this report does not have.
    #[error("this report cannot be grouped by `{0}`")]
    Dimension(Dimension),
    /// Grouping failed.
    #[error("cannot group `{table}`")]
    Group {
        /// The table.
        table: String,
        /// Why.
        #[source]
        source: Box<DataFusionError>,
    },
    /// A column came back in another type than declared.
    #[error("column `{0}` came back in another type than its statement declares")]
    Shape(String),
}

/// A value of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(String),
    /// Time, in milliseconds; shown as hours.
    Ms(i128),
    /// Money in minor units.
    Money(i128),
    /// A count.
    Count(i128),
    /// A part of something, in parts per million; shown as a percentage.
    Ppm(i128),
    /// Bytes; shown as GiB.
    Bytes(i128),
    /// Not known.
    Unknown,
}

/// What kind of values a column has, and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Hours from milliseconds.
    Hours,
    /// Money.
    Money,
    /// A count.
    Count,
    /// A percentage.
    Percent,
    /// GiB from bytes.
    Gib,
}

/// A column of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name in CSV, JSON and Parquet.
    pub name: String,
    /// Heading of the table; empty: not shown there.
    pub heading: String,
    /// Kind of its values.
    pub kind: Kind,
}

impl Column {
    pub(crate) fn new(name: &str, heading: &str, kind: Kind) -> Self {
        Self { name: name.to_owned(), heading: heading.to_owned(), kind }
    }
}

/// A report: what it says in one sentence, its columns, rows and total, and what to know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The first line: the answer in a sentence.
    pub sentence: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Vec<Value>>,
    /// The total, one value per column.
    pub total: Option<Vec<Value>>,
    /// Lines below the table: what is missing, unknown, unpriced.
    pub notes: Vec<String>,
    /// Currency of its money and the number of its decimals.
    pub currency: Option<Currency>,
    /// Decimals of hours in the table (CSV and JSON have four).
    pub table_decimals: usize,
}

impl Report {
    /// Rows without a total, without money and without notes; hours with one decimal.
    pub(crate) fn table(sentence: impl Into<String>, columns: Vec<Column>, rows: Vec<Vec<Value>>) -> Self {
        Self {
            sentence: sentence.into(),
            columns,
            rows,
            total: None,
            notes: Vec::new(),
            currency: None,
            table_decimals: 1,
        }
    }
}
