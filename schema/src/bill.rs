//! A bill: what one period costs whom. Every document (table, spreadsheet, PDF, posting file, FOCUS) is made of this one
//! value, so that they agree to the minor unit. Money in it was rounded before; sums of it are sums of minor units.
//! The exact money behind the lines is table `charge`, whose rows name their line.

use std::fmt;
use std::str::FromStr;

use crate::table::StatementLineRow;

/// Name of the payer of what no team pays.
pub const PLATFORM: &str = "(platform)";
/// `close_id` of rows that no close wrote.
pub const DRAFT: &str = "draft";

/// Kinds of lines, in the order in which a statement shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineKind {
    /// Time of the team's runs, as the pool's mode bills it.
    Use,
    /// Reserved capacity within the team's quota (mode quota), used or not.
    Reserved,
    /// Time above the quota (mode quota).
    Overage,
    /// The team's share of what nobody used.
    SharedUnallocated,
    /// The team's share of what was out of order.
    SharedUnavailable,
    /// The team's share of what nobody saw.
    SharedUnobserved,
    /// Manual credit: negative.
    Credit,
    /// Manual adjustment, of either sign.
    Adjustment,
    /// Difference that became known after a period was closed.
    Correction,
    /// Platform: held time that the mode does not bill.
    UnbilledHeld,
    /// Platform: held, not measured, in mode busy: to be settled by hand.
    ToSettle,
    /// Platform: nobody's, in service.
    Unallocated,
    /// Platform: failed, drained, down.
    Unavailable,
    /// Platform: nobody's, and nobody looked.
    Unobserved,
    /// Platform: what teams took over of the three above, negative.
    SharedOut,
    /// Platform: cents that rounding leaves.
    Rounding,
}

/// Not a kind of line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of statement line")]
pub struct UnknownKind(String);

impl LineKind {
    /// Every kind, in order.
    pub const ALL: [Self; 16] = [
        Self::Use,
        Self::Reserved,
        Self::Overage,
        Self::SharedUnallocated,
        Self::SharedUnavailable,
        Self::SharedUnobserved,
        Self::Credit,
        Self::Adjustment,
        Self::Correction,
        Self::UnbilledHeld,
        Self::ToSettle,
        Self::Unallocated,
        Self::Unavailable,
        Self::Unobserved,
        Self::SharedOut,
        Self::Rounding,
    ];

    /// The word in tables and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Reserved => "reserved",
            Self::Overage => "overage",
            Self::SharedUnallocated => "shared_unallocated",
            Self::SharedUnavailable => "shared_unavailable",
            Self::SharedUnobserved => "shared_unobserved",
            Self::Credit => "credit",
            Self::Adjustment => "adjustment",
            Self::Correction => "correction",
            Self::UnbilledHeld => "unbilled_held",
            Self::ToSettle => "to_settle",
            Self::Unallocated => "unallocated",
            Self::Unavailable => "unavailable",
            Self::Unobserved => "unobserved",
            Self::SharedOut => "shared_out",
            Self::Rounding => "rounding",
        }
    }
}

impl fmt::Display for LineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LineKind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|k| k.as_str() == word).ok_or_else(|| UnknownKind(word.to_owned()))
    }
}

/// What a bill is of: a period that still changes, or one that is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not closed: the figures as of a cut of the lake.
    Draft {
        /// The cut.
        cut: u64,
        /// Nothing after this instant is in it, epoch ms.
        as_of_ms: i64,
    },
    /// Closed: the figures are final.
    Closed {
        /// Id of the close.
        close_id: String,
        /// When it was closed, epoch ms. Documents carry this time, not the time of their making, so that bytes repeat.
        closed_ms: i64,
        /// Hash of the lines, as the manifest has it.
        output_sha256: String,
    },
}

/// Classes of time of the whole fleet in the period, ms, and what they cost, in minor units. The six add up to the capacity,
/// and their money to the fleet's cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Conservation {
    /// Held and the kernels of the holder ran.
    pub busy_ms: i64,
    /// Held, measured, nothing ran.
    pub held_idle_ms: i64,
    /// Held, not measured.
    pub held_unmeasured_ms: i64,
    /// Nobody's, in service.
    pub unallocated_ms: i64,
    /// Out of order.
    pub unavailable_ms: i64,
    /// Nobody's, not seen.
    pub unobserved_ms: i64,
    /// Held without a price: in no amount.
    pub unpriced_ms: i64,
    /// Billed to teams, minor units.
    pub billed_minor: i64,
    /// Held and not billed (modes busy, quota, showback), minor units.
    pub unbilled_held_minor: i64,
    /// Held, unmeasured, to settle, minor units.
    pub to_settle_minor: i64,
    /// Unallocated, minor units, before anything is shared out.
    pub unallocated_minor: i64,
    /// Unavailable, minor units, before anything is shared out.
    pub unavailable_minor: i64,
    /// Unobserved, minor units, before anything is shared out.
    pub unobserved_minor: i64,
    /// Of the three above, what teams took over, minor units.
    pub shared_out_minor: i64,
    /// What the whole fleet cost in the period, minor units.
    pub fleet_minor: i64,
}

/// A node of the tree of cost centres.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CostCenter {
    /// Code, as owners name it.
    pub code: String,
    /// Name for people.
    pub name: String,
    /// Code of the one above; absent: the top.
    pub parent: Option<String>,
}

/// A bill of one period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    /// Who issues it, for headings and FOCUS.
    pub issuer: String,
    /// Billing month, YYYY-MM.
    pub period: String,
    /// First instant of the period, epoch ms.
    pub from_ms: i64,
    /// First instant after it, epoch ms.
    pub to_ms: i64,
    /// Zone in which its days and months are cut (IANA name).
    pub zone: String,
    /// ISO 4217 code.
    pub currency: String,
    /// Digits of the currency's minor unit: 0, 2 or 3.
    pub digits: u32,
    /// Draft or closed.
    pub state: State,
    /// The lines, ordered by platform, team, cost centre, kind (order of `LineKind::ALL`), pool, model, task type, line_id.
    pub lines: Vec<StatementLineRow>,
    /// Classes and money of the fleet.
    pub conservation: Conservation,
    /// Cost centres valid at the end of the period; codes that lines name and this list lacks stand alone at the top.
    pub cost_centers: Vec<CostCenter>,
    /// What a reader has to know, in sentences: unpriced, unmeasured, waived.
    pub notes: Vec<String>,
}
