//! The lake's numbered documents: what a batch takes in, which table versions belong together, what was built.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A batch of segments that go in together. Written create-if-absent before any table changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Segments in the batch.
    pub segments: Vec<BatchSegment>,
}

/// A segment of a batch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchSegment {
    /// Its name in the inbox.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// A set of table versions that belong together: the only thing readers and the ledger open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Delta version of every table.
    pub tables: BTreeMap<String, u64>,
    /// UTC days whose ledger this cut changed against the one before.
    pub touched_days: BTreeSet<i32>,
    /// UTC days before days with new minutes: changed only where clocks or sessions reach over midnight.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub near_days: BTreeSet<i32>,
    /// Every UTC day from this one on was changed too (a device came, a rule changed).
    pub touched_from: Option<i32>,
    /// First UTC day whose minutes are kept; absent: all are. Days before are never derived again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes_from: Option<i32>,
}

/// Derived tables and what they were made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The cut it was made from.
    pub cut: u64,
    /// Delta version of every derived table.
    pub tables: BTreeMap<String, u64>,
    /// Hash of the rules it was made with.
    pub rules: String,
    /// First and last UTC day that has usage.
    pub days: Option<(i32, i32)>,
}
