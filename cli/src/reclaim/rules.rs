//! What runs are judged by, of a policy book: windows and freshness in the shape that statements read.

use gpuledger_aggregator::idle::{IdlePolicy, PowerFloor, Rules};
use gpuledger_reclaim::policy::Book;
use gpuledger_schema::reclaim::Class;

/// Two minutes without a look start the clock again.
const HOLE_MS: i64 = 120_000;
/// The polls of the processes, and the power of the card.
const WITNESSES: i64 = 2;

/// What may be looser where only the past is asked about, for advice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// Witnesses that are enough.
    pub(crate) witnesses: Option<i64>,
    /// Holes that do not start the clock again, ms.
    pub(crate) hole_ms: Option<i64>,
}

impl Advice {
    /// Whether anything is looser than what would be acted upon.
    pub(crate) fn is_any(self) -> bool {
        self.witnesses.is_some_and(|w| w < WITNESSES) || self.hole_ms.is_some_and(|h| h > HOLE_MS)
    }
}

/// The rules of a book.
pub(crate) fn rules(book: &Book, advice: Advice) -> Rules {
    let policy = |p: &gpuledger_reclaim::policy::Policy| {
        // what is idle begins with its first warning
        let warned = |class| p.settings.windows(class).map_or(i64::MAX, |w| w.warned_ms);
        IdlePolicy {
            policy: p.name.clone(),
            cluster: p.scope.cluster.clone(),
            pool: p.scope.pool.clone(),
            task_type: p.scope.task_type.clone(),
            queue: p.scope.queue.clone(),
            team: p.scope.team.clone(),
            from_ms: p.from_ms,
            to_ms: p.to_ms,
            never_ms: warned(Class::NeverTouched),
            idle_ms: warned(Class::IdleSince),
            active_ms: p.settings.active_ms,
            low_use_ppm: p.settings.low_use_ppm,
        }
    };
    Rules {
        policies: book.policies.iter().map(policy).collect(),
        floors: book
            .power_floor_mw
            .iter()
            .map(|(model, mw)| PowerFloor { model: model.clone(), floor_mw: *mw })
            .collect(),
        tick_ms: book.fresh.tick_ms,
        reading_ms: book.fresh.reading_ms,
        coverage_ppm: book.fresh.coverage_ppm,
        hole_ms: advice.hole_ms.unwrap_or(HOLE_MS),
        witnesses: advice.witnesses.unwrap_or(WITNESSES),
        policy_hash: book.hash.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_book_in_the_shape_of_statements() {
        let book = Book::read("").unwrap();
        let rules = rules(&book, Advice::default());
        let windows = |name: &str| {
            let p = rules.policies.iter().find(|p| p.policy == name).unwrap();
            (p.never_ms / 60_000, p.idle_ms / 60_000)
        };
        assert_eq!((windows("default"), windows("train")), ((60, 240), (60, 1440)));
        assert_eq!((rules.witnesses, rules.hole_ms, rules.coverage_ppm), (2, 120_000, 900_000));
        assert!(Advice { witnesses: Some(1), hole_ms: None }.is_any() && !Advice::default().is_any());
    }
}
