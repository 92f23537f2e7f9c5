//! A tick's rows, as they go into the journal together.

use gpuledger_schema::table::{DeviceClaimRow, DeviceMinuteRow, DeviceRow, ProcessMinuteRow, ReadingRow};
use serde::{Deserialize, Serialize};

/// Everything that one tick of the collector has to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// Versions of devices that were seen for the first time or have changed.
    pub devices: Vec<DeviceRow>,
    /// A row a device.
    pub minutes: Vec<DeviceMinuteRow>,
    /// A row a process and device.
    pub processes: Vec<ProcessMinuteRow>,
    /// Looks at sources, gaps among them.
    pub readings: Vec<ReadingRow>,
    /// Who was given which device. A journal of a version that knew none has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<DeviceClaimRow>,
}

/// Which tick it is: a boot and the number in it. The same key twice is the same tick twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Boot of the node.
    pub boot_id: i64,
    /// Number of the tick in that boot.
    pub seq: i64,
}

/// The time, by the wall clock, that rows speak of, and how many ticks they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Start, epoch ms.
    pub from_ms: i64,
    /// End, epoch ms.
    pub to_ms: i64,
    /// Ticks that have device rows.
    pub ticks: u64,
}

impl Tick {
    /// Which tick it is, where it has a row that says so.
    pub fn key(&self) -> Option<Key> {
        let minute = self.minutes.first().map(|r| Key { boot_id: r.boot_id, seq: r.seq });
        minute.or_else(|| self.processes.first().map(|r| Key { boot_id: r.boot_id, seq: r.seq }))
    }

    /// The time it speaks of; `None` where it has no row.
    ///
    /// Failed looks count: a gap that is dropped on its way must be covered by the gap that says so. Successful looks
    /// count only where there is nothing better, because a look at a scheduler may speak of a whole day.
    pub fn span(&self) -> Option<Span> {
        let minutes = self.minutes.iter().map(|r| (r.tick_ms, r.tick_ms.saturating_add(r.dur_ms)));
        let processes = self.processes.iter().map(|r| (r.tick_ms, r.tick_ms.saturating_add(r.covered_ms)));
        let failed = self.readings.iter().filter(|r| !r.ok).map(|r| (r.from_ms, r.to_ms));
        let looks = self.readings.iter().map(|r| (r.from_ms, r.to_ms));
        let devices = self.devices.iter().map(|r| (r.first_seen_ms, r.first_seen_ms));
        let claims = self.claims.iter().map(|r| (r.as_of_ms, r.as_of_ms));
        let (from_ms, to_ms) = hull(minutes.chain(processes).chain(failed))
            .or_else(|| hull(looks))
            .or_else(|| hull(devices.chain(claims)))?;
        Some(Span { from_ms, to_ms, ticks: u64::from(self.key().is_some()) })
    }
}

impl Span {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            from_ms: self.from_ms.min(other.from_ms),
            to_ms: self.to_ms.max(other.to_ms),
            ticks: self.ticks.saturating_add(other.ticks),
        }
    }
}

/// The smallest stretch that holds all of them.
fn hull(stretches: impl Iterator<Item = (i64, i64)>) -> Option<(i64, i64)> {
    stretches.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}
