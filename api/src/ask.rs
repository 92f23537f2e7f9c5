//! What is asked: one window, grouping and selection for every route, read from the query of an address.
//!
//! Whatever is not understood is a [`Problem`] that names the parameter; an unknown parameter is one too.

use chrono_tz::Tz;
use gpuledger_schema::window::{self, Window};

use crate::problem::Problem;

mod query;

pub use query::Query;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Format {
    /// What the command line prints with `--format json`.
    #[default]
    Json,
    /// One header line and the rows.
    Csv,
    /// Milliseconds, minor units and bytes as integers.
    Parquet,
    /// FOCUS 1.2 as CSV: charges of a month alone.
    Focus,
}

/// The language of sentences and remedies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

/// What held time is charged for, instead of what the terms of each pool say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// All of it.
    Held,
    /// What was busy.
    Busy,
    /// What was effective.
    Effective,
}

/// Who bears what nobody used, instead of what the terms of each pool say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unallocated {
    /// The platform, as lines of its own.
    Separate,
    /// Every team the same.
    Even,
    /// Teams by what they held.
    ByHeld,
    /// Teams by their quota.
    ByQuota,
}

/// One row per local day or month besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Per local day.
    Day,
    /// Per local month.
    Month,
}

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ }) => {
        impl $type {
            /// All of them, in the order in which they are listed.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Its word in an address.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
            /// The word of an address, or a problem that lists those there are.
            ///
            /// # Errors
            /// A word that is none of them.
            pub fn read(parameter: &str, word: &str) -> Result<Self, Problem> {
                Self::ALL.iter().copied().find(|w| w.word() == word).ok_or_else(|| {
                    let known: Vec<&str> = Self::ALL.iter().map(|w| w.word()).collect();
                    Problem::parameter(parameter, format!("`{word}` is not one of: {}", known.join(", ")))
                })
            }
        }
    };
}

words!(Format { Json = "json", Csv = "csv", Parquet = "parquet", Focus = "focus" });
words!(Lang { En = "en", Zh = "zh" });
words!(Basis { Held = "held", Busy = "busy", Effective = "effective" });
words!(Unallocated { Separate = "separate", Even = "even", ByHeld = "by_held", ByQuota = "by_quota" });
words!(Step { Day = "day", Month = "month" });

/// What rows can be grouped by and filtered for.
pub const DIMENSIONS: &[&str] = &[
    "team",
    "cost_center",
    "account",
    "user",
    "task_type",
    "pool",
    "tier",
    "queue",
    "qos",
    "model",
    "gpus",
    "cluster",
    "node",
    "device",
    "job",
    "state",
    "kind",
    "workload_kind",
    "day",
    "month",
    "mode",
    "rule",
    "layer",
    "cause",
    "note",
];

/// Names of the uniform parameters.
pub const UNIFORM: &[&str] = &[
    "month",
    "from",
    "to",
    "tz",
    "by",
    "filter",
    "step",
    "basis",
    "unallocated",
    "as_of",
    "format",
    "lang",
    "limit",
    "offset",
];
/// Most rows of a page.
pub const PAGE_MAX: usize = 10_000;
/// Longest window, in days: two years and a leap day.
pub const DAYS_MAX: i64 = 731;

/// Rows of a dimension that have one of some words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Filter {
    /// The dimension, one of [`DIMENSIONS`].
    pub dimension: &'static str,
    /// Its words.
    pub words: Vec<String>,
}

/// Which rows of an answer are sent: the total stays that of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Paging {
    /// At most so many rows; absent: all.
    pub limit: Option<usize>,
    /// Rows before the first that is sent.
    pub offset: usize,
}

/// A question's window and shape, the same for every route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ask {
    /// The window, where one was given.
    pub window: Option<(i64, i64)>,
    /// The month that the window is, where it was given as one.
    pub month: Option<String>,
    /// Name of the zone of days and months.
    pub zone: String,
    /// What to group by, in order; words of [`DIMENSIONS`].
    pub by: Vec<&'static str>,
    /// Which rows.
    pub filter: Vec<Filter>,
    /// Rows per local day or month besides.
    pub step: Option<Step>,
    /// Instead of the pools' terms.
    pub basis: Option<Basis>,
    /// Instead of the pools' terms.
    pub unallocated: Option<Unallocated>,
    /// The cut of the lake to read; absent: the newest.
    pub as_of: Option<u64>,
    /// How the answer is written.
    pub format: Format,
    /// Language of its sentences.
    pub lang: Lang,
    /// Which rows are sent.
    pub paging: Paging,
}

impl Ask {
    /// A calendar month of a zone, ungrouped: what pages and mails begin with.
    ///
    /// # Errors
    /// A month that is none.
    pub fn month(month: &str, zone: Tz) -> Result<Self, Problem> {
        let window = window::month(month, zone).map_err(|e| Problem::parameter("month", e.to_string()))?;
        Ok(Self { month: Some(month.to_owned()), window: Some((window.from_ms, window.to_ms)), ..Self::in_zone(zone) })
    }

    /// No window yet.
    pub fn in_zone(zone: Tz) -> Self {
        Self {
            window: None,
            month: None,
            zone: zone.name().to_owned(),
            by: Vec::new(),
            filter: Vec::new(),
            step: None,
            basis: None,
            unallocated: None,
            as_of: None,
            format: Format::default(),
            lang: Lang::default(),
            paging: Paging::default(),
        }
    }

    /// The same, grouped.
    #[must_use]
    pub fn by(mut self, by: &[&'static str]) -> Self {
        self.by = by.to_vec();
        self
    }

    /// The same, of the rows with a word alone.
    #[must_use]
    pub fn only(mut self, dimension: &'static str, word: &str) -> Self {
        self.filter.push(Filter { dimension, words: vec![word.to_owned()] });
        self
    }

    /// The zone.
    pub fn tz(&self) -> Tz {
        self.zone.parse().unwrap_or(chrono_tz::UTC)
    }

    /// The window, which this question needs.
    ///
    /// # Errors
    /// None was given.
    pub fn needed(&self) -> Result<Window, Problem> {
        let (from_ms, to_ms) = self
            .window
            .ok_or_else(|| Problem::parameter("month", "say which time: month=YYYY-MM, or from= and to="))?;
        Ok(Window { from_ms, to_ms })
    }
}
