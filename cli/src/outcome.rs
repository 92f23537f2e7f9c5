//! Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but with quarantined input.

use std::fmt;

use gpuledger_aggregator::report::ReportError;

/// How a command that did not fail ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Done, but something was found wrong (a check that does not hold).
    Failed,
    /// Done, but some input was set aside.
    Quarantined,
}

impl Outcome {
    /// What the user typed makes no sense.
    pub(crate) const WRONG_USAGE: u8 = 2;

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Quarantined => 3,
        }
    }

    /// Done, or quarantined if anything was.
    pub(crate) fn after(quarantined: usize) -> Self {
        if quarantined == 0 { Self::Done } else { Self::Quarantined }
    }
}

/// An error in what the user typed, as against one in doing it.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A usage error as an `anyhow::Error`.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Usage(text.into()))
}

/// The exit code of an error.
pub(crate) fn code_of(e: &anyhow::Error) -> u8 {
    let asked_wrongly = |c: &(dyn std::error::Error + 'static)| {
        c.is::<Usage>() || matches!(c.downcast_ref(), Some(ReportError::Dimension(_)))
    };
    if e.chain().any(asked_wrongly) { Outcome::WRONG_USAGE } else { 1 }
}
