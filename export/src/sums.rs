//! Sums of lines: of time and of minor units. Money is added here and never divided.

use std::collections::BTreeMap;

use gpuledger_schema::bill::{Bill, LineKind};
use gpuledger_schema::table::StatementLineRow;

/// Sums of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Lines.
    pub(crate) lines: usize,
    /// Priced, ms.
    pub(crate) quantity_ms: i128,
    /// Held, ms.
    pub(crate) held_ms: i128,
    /// Busy, ms.
    pub(crate) busy_ms: i128,
    /// Held and measured idle, ms.
    pub(crate) held_idle_ms: i128,
    /// Held and not measured, ms.
    pub(crate) held_unmeasured_ms: i128,
    /// Measured part of held, ms.
    pub(crate) covered_ms: i128,
    /// Measured energy of the lines that have any, mJ; absent: none was measured.
    pub(crate) energy_mj: Option<i128>,
    /// Billed, minor units.
    pub(crate) amount: i128,
    /// Of it waste, minor units.
    pub(crate) waste: i128,
    /// At list price, minor units.
    pub(crate) list: i128,
}

impl Sums {
    /// Sums of lines.
    pub(crate) fn of<'a>(lines: impl IntoIterator<Item = &'a StatementLineRow>) -> Self {
        let mut out = Self::default();
        lines.into_iter().for_each(|line| out.add(line));
        out
    }

    fn add(&mut self, line: &StatementLineRow) {
        self.lines += 1;
        self.quantity_ms += i128::from(line.quantity_ms);
        self.held_ms += i128::from(line.held_ms);
        self.busy_ms += i128::from(line.busy_ms);
        self.held_idle_ms += i128::from(line.held_idle_ms);
        self.held_unmeasured_ms += i128::from(line.held_unmeasured_ms);
        self.covered_ms += i128::from(line.covered_ms);
        if let Some(mj) = line.energy_mj {
            self.energy_mj = Some(self.energy_mj.unwrap_or(0) + i128::from(mj));
        }
        self.amount += i128::from(line.amount_minor);
        self.waste += i128::from(line.waste_minor);
        self.list += i128::from(line.list_minor);
    }

    /// Adds other sums.
    pub(crate) fn plus(&mut self, other: &Self) {
        self.lines += other.lines;
        self.quantity_ms += other.quantity_ms;
        self.held_ms += other.held_ms;
        self.busy_ms += other.busy_ms;
        self.held_idle_ms += other.held_idle_ms;
        self.held_unmeasured_ms += other.held_unmeasured_ms;
        self.covered_ms += other.covered_ms;
        self.energy_mj = match (self.energy_mj, other.energy_mj) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        self.amount += other.amount;
        self.waste += other.waste;
        self.list += other.list;
    }

    /// Whether time was held of which nothing was measured: busy and idle are then unknown, not zero.
    pub(crate) fn unknown_use(&self) -> bool {
        self.held_ms > 0 && self.covered_ms == 0
    }
}

/// Whether a line's busy and idle time are unknown: held, and nothing of it measured.
pub(crate) fn unknown_use(line: &StatementLineRow) -> bool {
    line.held_ms > 0 && line.covered_ms == 0
}

/// Whether a line has GPU time at all; one that a person wrote has not.
pub(crate) fn has_time(line: &StatementLineRow) -> bool {
    !matches!(line.kind.parse(), Ok(LineKind::Credit | LineKind::Adjustment | LineKind::Rounding | LineKind::SharedOut))
}

/// Lines that teams pay, by team.
pub(crate) fn statements(bill: &Bill) -> BTreeMap<&str, Vec<&StatementLineRow>> {
    let mut out: BTreeMap<&str, Vec<&StatementLineRow>> = BTreeMap::new();
    for line in bill.lines.iter().filter(|l| !l.platform) {
        out.entry(&line.team).or_default().push(line);
    }
    out
}

/// Lines that the platform bears, by kind in the order of kinds.
pub(crate) fn platform(bill: &Bill) -> Vec<(LineKind, Sums)> {
    let mut out: BTreeMap<LineKind, Sums> = BTreeMap::new();
    for line in bill.lines.iter().filter(|l| l.platform) {
        if let Ok(kind) = line.kind.parse() {
            out.entry(kind).or_default().add(line);
        }
    }
    out.into_iter().collect()
}

/// Lines grouped by a key, with their sums.
pub(crate) fn by<'a, K: Ord>(
    lines: impl IntoIterator<Item = &'a StatementLineRow>,
    key: impl Fn(&'a StatementLineRow) -> K,
) -> BTreeMap<K, Sums> {
    let mut out: BTreeMap<K, Sums> = BTreeMap::new();
    for line in lines {
        out.entry(key(line)).or_default().add(line);
    }
    out
}
