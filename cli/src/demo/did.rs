//! What happens on a card in a tick, as numbers that add up.

/// What a process (or all of them) did in a tick.
#[derive(Clone, Copy, Default)]
pub(super) struct Did {
    /// Time in which its kernels ran.
    pub(super) busy_ms: i64,
    /// SM, DRAM and tensor activity in percent.
    pub(super) parts: [i64; 3],
    /// Memory in MiB.
    pub(super) memory_mib: i64,
    /// Busy time and SM activity as the power supply feels them.
    pub(super) felt: [i64; 2],
}

impl Did {
    /// Both together, on one card.
    pub(super) fn and(self, other: Self) -> Self {
        let [a, b, c] = self.parts;
        let [d, e, f] = other.parts;
        Self {
            busy_ms: self.busy_ms + other.busy_ms,
            parts: [a + d, b + e, c + f],
            memory_mib: self.memory_mib + other.memory_mib,
            felt: [self.felt[0] + other.felt[0], self.felt[1] + other.felt[1]],
        }
    }
}
