//! What decides an answer, besides who asks.

use super::Report;

/// For how long an answer is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// Its cut alone decides it.
    Cut,
    /// The clock, or what people do beside the ledger, decides too.
    Moment,
}

impl Report {
    /// For how long its answer is the answer.
    pub const fn lasts(&self) -> Lasts {
        match self {
            Self::Watch { .. }
            | Self::Budgets { .. }
            | Self::Periods
            | Self::Statement { .. }
            | Self::ExplainLine { .. }
            | Self::CloseList { .. }
            | Self::Verify { .. }
            | Self::Corrections { .. }
            | Self::Reference { .. }
            | Self::Audit { .. }
            | Self::Uncharged
            | Self::Check => Lasts::Moment,
            _ => Lasts::Cut,
        }
    }
}
