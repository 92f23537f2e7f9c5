//! The numbered invariants. The same id stands in `sql/check/<id>.sql`, tests, documents and counters.

/// An invariant: its id and the sentence that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invariant {
    /// Short id, e.g. `L1`.
    pub id: &'static str,
    /// What it says.
    pub says: &'static str,
}

/// Every invariant that this version checks, in the order in which it reports them.
pub const INVARIANTS: &[Invariant] = &[
    Invariant {
        id: "L1",
        says: "per device or stand-in and cell the six classes add up to the time it was known there",
    },
    Invariant { id: "L2", says: "sum by team = by account = by node = by device = unfiltered" },
    Invariant { id: "L3", says: "no device is held longer than the local day's length by the calendar" },
    Invariant { id: "L4", says: "granted shares add up to at most the card; what was not granted is listed" },
    Invariant { id: "L5", says: "every expected minute is a tick, an estimate or on the gap list" },
    Invariant { id: "L6", says: "no run, tick or sample is in the lake twice" },
    Invariant { id: "L7", says: "every device is in exactly one pool at any time" },
    Invariant { id: "M1", says: "lines add up to the period's total, to the cent" },
    Invariant {
        id: "M2",
        says: "what was billed for closed periods, with corrections, is a fresh computation over all data",
    },
    Invariant { id: "M3", says: "the same statement gives the same rows with 1 and 16 partitions" },
    Invariant { id: "M4", says: "unpriced, unowned, unmeasured and unobserved time is listed" },
    Invariant { id: "bounds", says: "prices and usage rows lie within the bounds that keep exact sums from wrapping" },
];
