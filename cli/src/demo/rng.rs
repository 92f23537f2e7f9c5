//! The generator's own randomness: SplitMix64, so that a seed gives the same fleet on every machine and release.
//!
//! Two forms: [`Rng`] walks, for the plan; [`mix`] looks a number up by its place, so that any minute of any card
//! can be made alone and in any order.

/// The odd constant of SplitMix64 (2^64 divided by the golden ratio).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A walk through pseudo-random numbers.
#[derive(Debug, Clone)]
pub(super) struct Rng {
    state: u64,
}

impl Rng {
    /// A walk that depends on `seed` and on what it is for.
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        Self { state: mix(seed, purpose) }
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        scramble(self.state)
    }

    /// A number in `0..n`; 0 for an empty range.
    pub(super) fn below(&mut self, n: i64) -> i64 {
        scale(self.next(), n)
    }

    /// A number in `from..=to`.
    pub(super) fn between(&mut self, from: i64, to: i64) -> i64 {
        from + self.below(to - from + 1)
    }

    /// Whether something happens that happens in `percent` of all cases.
    pub(super) fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, each as likely as the other; `None` of none.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(usize::try_from(self.below(items.len() as i64)).ok()?).copied()
    }
}

/// The pseudo-random number that stands at place `n` of a seed.
pub(super) fn mix(seed: u64, n: u64) -> u64 {
    scramble(scramble(seed ^ STEP).wrapping_add(n.wrapping_mul(STEP)))
}

/// A number in `0..n` from the pseudo-random number at a place.
pub(super) fn mix_below(seed: u64, place: u64, n: i64) -> i64 {
    scale(mix(seed, place), n)
}

/// Multiplies and takes the high half: no modulo bias worth naming, no division.
fn scale(random: u64, n: i64) -> i64 {
    let n = u64::try_from(n).unwrap_or(0);
    ((u128::from(random) * u128::from(n)) >> 64) as i64
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
