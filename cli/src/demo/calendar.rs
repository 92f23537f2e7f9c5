//! When which slot is taken: nothing is handed out twice.

/// Time a scheduler needs between two holders of a slot.
const CLEAN_UP_MS: i64 = 4_000;

/// Taken intervals per slot, sorted and disjoint.
#[derive(Debug)]
pub(super) struct Calendar {
    taken: Vec<Vec<(i64, i64)>>,
}

impl Calendar {
    /// An empty calendar.
    pub(super) fn new(slots: usize) -> Self {
        Self { taken: vec![Vec::new(); slots] }
    }

    /// Takes a slot for `[from, to)` and the time to clean up after it.
    pub(super) fn take(&mut self, slot: usize, from: i64, to: i64) {
        let list = &mut self.taken[slot];
        let at = list.partition_point(|t| t.0 < from);
        list.insert(at, (from, to + CLEAN_UP_MS));
    }

    /// Whether a slot is free all through `[from, to)`.
    pub(super) fn is_free(&self, slot: usize, from: i64, to: i64) -> bool {
        let list = &self.taken[slot];
        let at = list.partition_point(|t| t.0 < to);
        at == 0 || list[at - 1].1 <= from
    }

    /// The first instant in `[from, latest]` at which every node of `nodes` (its slots) has `count` slots free for
    /// `length_ms`, with these slots.
    pub(super) fn earliest(
        &self,
        nodes: &[Vec<usize>],
        count: usize,
        from: i64,
        length_ms: i64,
        latest: i64,
    ) -> Option<(i64, Vec<usize>)> {
        let mut at = from;
        while at <= latest {
            let free = |slots: &Vec<usize>| -> Vec<usize> {
                slots.iter().copied().filter(|s| self.is_free(*s, at, at + length_ms)).take(count).collect()
            };
            let found: Vec<Vec<usize>> = nodes.iter().map(free).collect();
            if found.iter().all(|f| f.len() == count) {
                return Some((at, found.concat()));
            }
            at = nodes.iter().flatten().filter_map(|s| self.next_end(*s, at)).min()?;
        }
        None
    }

    /// The next end of something that is there at `at` or later.
    fn next_end(&self, slot: usize, at: i64) -> Option<i64> {
        let list = &self.taken[slot];
        list.get(list.partition_point(|t| t.1 <= at)).map(|t| t.1)
    }
}
