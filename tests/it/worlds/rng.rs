//! A tiny seeded generator: the same seed gives the same world on every machine.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `[from, to)`; `from` where that is empty.
    pub(crate) fn range(&mut self, from: i64, to: i64) -> i64 {
        if to <= from { from } else { from + (self.next() % (to - from) as u64) as i64 }
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.range(0, 100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.range(0, from.len() as i64) as usize]
    }

    /// Something, in so many of a hundred cases.
    pub(crate) fn maybe(&mut self, percent: i64, from: i64, to: i64) -> Option<i64> {
        let value = self.range(from, to);
        self.chance(percent).then_some(value)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.range(0, i as i64 + 1) as usize);
        }
    }
}
