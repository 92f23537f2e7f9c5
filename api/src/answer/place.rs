//! What a place is, for the head of every page.

use serde::Serialize;

/// What this place is and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Place {
    /// Name of the billing zone, where one is configured.
    pub zone: Option<String>,
    /// Currency, where one is known.
    pub currency: Option<String>,
    /// The newest cut; absent: nothing was ever taken in.
    pub cut: Option<u64>,
    /// End of what is known, epoch ms.
    pub known_to_ms: Option<i64>,
    /// First day that is known, epoch ms.
    pub known_from_ms: Option<i64>,
    /// Months that are known, oldest first, with their states (`open`, `collecting`, `closed`).
    pub months: Vec<Month>,
    /// Segments that wait to be taken in; absent: not known.
    pub waiting_segments: Option<u64>,
    /// Why the data cannot be read now; absent: it can.
    pub trouble: Option<String>,
}

/// A month and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Month {
    /// `YYYY-MM`.
    pub month: String,
    /// `open`, `collecting` or `closed`.
    pub state: String,
    /// Hash of the output of its close.
    pub hash: Option<String>,
}
