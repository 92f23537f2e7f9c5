//! States of nodes, and when looks at a scheduler prove them.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::table::NodeStateRow;
use gpuledger_schema::window::day_of;

use super::Facts;

/// Holes between looks that prove nothing, whatever is usual.
const HOLE_MAX_MS: i64 = 3_600_000;

/// A node in service, or not, for a while.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) cluster: String,
    pub(super) node: String,
    pub(super) up: bool,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// Instants of good looks at a scheduler's source.
pub(super) fn looks(facts: &Facts, cluster: &str, source: &str) -> BTreeSet<i64> {
    let of =
        facts.reading.iter().filter(|r| r.ok && r.kind == "scheduler" && r.cluster == cluster && r.source == source);
    of.map(|r| r.to_ms).collect()
}

/// The middle one of the holes that begin on a day.
fn usual(looks: &[i64], day: i64) -> i64 {
    let pairs = looks.windows(2).filter(|p| day_of(p[0]) == day);
    let mut holes: Vec<i64> = pairs.map(|p| p[1] - p[0]).collect();
    holes.sort_unstable();
    holes[(holes.len() - 1) / 2]
}

/// Stretches of looks that follow each other closely.
fn watched(looks: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let looks: Vec<i64> = looks.iter().copied().collect();
    let mut out: Vec<(i64, i64)> = Vec::new();
    for pair in looks.windows(2) {
        let hole = pair[1] - pair[0];
        if hole > HOLE_MAX_MS || hole > 3 * usual(&looks, day_of(pair[0])) {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.1 == pair[0] => last.1 = pair[1],
            _ => out.push((pair[0], pair[1])),
        }
    }
    out
}

/// Every state, by the newest reading of its interval.
pub(super) fn states(facts: &Facts, as_of: &BTreeMap<String, i64>) -> Vec<State> {
    let live = |s: &NodeStateRow| !looks(facts, &s.cluster, &s.source).is_empty();
    let same_source = |a: &NodeStateRow, b: &NodeStateRow| match (live(a), live(b)) {
        (true, true) => a.source == b.source,
        (one, other) => one == other,
    };
    let mut out = Vec::new();
    for s in &facts.node_state {
        let Some(known_to) = as_of.get(&s.cluster) else { continue };
        let mut others =
            facts.node_state.iter().filter(|o| o.cluster == s.cluster && o.node == s.node && same_source(s, o));
        if others.clone().any(|o| o.from_ms == s.from_ms && o.as_of_ms > s.as_of_ms) {
            continue;
        }
        let row = |from: i64, to: i64| State {
            cluster: s.cluster.clone(),
            node: s.node.clone(),
            up: s.state == "up",
            from,
            to: to.min(*known_to),
        };
        if !live(s) {
            out.push(row(s.from_ms, s.to_ms.unwrap_or(*known_to)));
            continue;
        }
        let looks = looks(facts, &s.cluster, &s.source);
        let newest = looks.last().copied().unwrap_or(s.from_ms);
        let next = others.by_ref().map(|o| o.from_ms).filter(|from| *from > s.from_ms).min();
        let to = s.to_ms.unwrap_or_else(|| next.unwrap_or(newest).min(newest)).min(*known_to);
        if s.state == "up" {
            out.extend(watched(&looks).into_iter().map(|(from, end)| row(s.from_ms.max(from), to.min(end))));
        } else {
            out.push(row(s.from_ms, to));
        }
    }
    out.retain(|s| s.from < s.to);
    out
}
