//! What a report can be grouped by: a closed list.

use std::fmt;
use std::str::FromStr;

/// A word that is no dimension or step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of: {known}")]
pub struct UnknownDimension {
    word: String,
    known: String,
}

macro_rules! dimensions {
    ($($variant:ident = $word:literal),+ $(,)?) => {
        /// A dimension.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the words say it")]
        pub enum Dimension { $($variant,)+ }

        impl Dimension {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Its word, which is its column.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

dimensions! {
    Team = "team", CostCenter = "cost_center", Account = "account", User = "user", TaskType = "task_type", Pool = "pool",
    Tier = "tier", Queue = "queue", Qos = "qos", Model = "model", Gpus = "gpus", Cluster = "cluster", Node = "node",
    Device = "device", Job = "job", State = "state", Kind = "kind", WorkloadKind = "workload_kind", Day = "day",
    Month = "month", Mode = "mode", Rule = "rule", Layer = "layer", Cause = "cause", Note = "note",
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Dimension {
    type Err = UnknownDimension;

    fn from_str(word: &str) -> Result<Self, UnknownDimension> {
        // a few words that people type for the same thing
        let plain = match word {
            "type" => "task_type",
            "partition" => "queue",
            "namespace" | "project" => "account",
            "unit" => "device",
            w => w,
        };
        Self::ALL.iter().copied().find(|d| d.word() == plain).ok_or_else(|| UnknownDimension {
            word: word.to_owned(),
            known: Self::ALL.iter().map(|d| d.word()).collect::<Vec<_>>().join(", "),
        })
    }
}

/// Rows per local day or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Per local day.
    Day,
    /// Per local month.
    Month,
}

impl Step {
    /// The dimension it adds.
    pub const fn dimension(self) -> Dimension {
        match self {
            Self::Day => Dimension::Day,
            Self::Month => Dimension::Month,
        }
    }
}

impl FromStr for Step {
    type Err = UnknownDimension;

    fn from_str(word: &str) -> Result<Self, UnknownDimension> {
        match word {
            "day" => Ok(Self::Day),
            "month" => Ok(Self::Month),
            _ => Err(UnknownDimension { word: word.to_owned(), known: "day, month".to_owned() }),
        }
    }
}
