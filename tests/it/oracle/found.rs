//! GPUs held by count, found by the processes that ran on them: a day of a run at a time.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::unit::{CARD_UNITS, DAY_MS};

use super::Facts;
use super::holding::{Holdings, Named, Unnamed};
use super::tick::{Tick, Version};

/// A day (or part of one) in which a run holds GPUs of a node by count, and what would be its own.
struct Piece {
    of: Unnamed,
    found: Vec<Named>,
}

/// Devices and instances of the node on which ticks of the piece saw the run, with the best evidence.
fn seen(u: &Unnamed, ticks: &BTreeMap<i64, Vec<Tick>>, versions: &[Version]) -> BTreeMap<(i64, i64), i64> {
    let mut out = BTreeMap::new();
    for (device, ticks) in ticks {
        for t in ticks.iter().filter(|t| t.healthy) {
            let Some((at, _)) = t.kept.filter(|k| u.from <= k.0 && k.0 < u.to) else { continue };
            let there = versions.iter().any(|v| {
                v.device == *device && v.cluster == u.cluster && v.node == u.node && v.from <= at && at < v.to
            });
            for (instance, evidence) in t.did.get(&u.holder).filter(|_| there).map_or(&[][..], |d| &d.seen) {
                let rank = if evidence == "cgroup" || evidence == "kubelet" || evidence == "slurm" { 1 } else { 3 };
                let best = out.entry((*device, *instance)).or_insert(rank);
                *best = rank.min(*best);
            }
        }
    }
    out
}

/// What each would be, where they are no more than what was granted.
fn fitting(facts: &Facts, u: &Unnamed, seen: BTreeMap<(i64, i64), i64>) -> Vec<Named> {
    let mut out = Vec::new();
    for ((device, instance), rank) in seen {
        let of = facts.device.iter().filter(|d| d.device_id == instance && d.parent_id.is_some());
        let slices = of.filter_map(|d| Some(d.compute_slices? * CARD_UNITS / d.card_slices?)).min();
        let share = match (instance, slices) {
            (0, _) => u.share.min(CARD_UNITS),
            (_, Some(share)) => share,
            (_, None) => return Vec::new(),
        };
        let instance = Some(instance).filter(|i| *i != 0);
        out.push(Named { holder: u.holder, start: u.start, device, instance, rank, share, from: u.from, to: u.to });
    }
    if out.iter().map(|n| n.share).sum::<i64>() > u.share { Vec::new() } else { out }
}

/// Holdings with what processes tell.
pub(super) fn holdings(
    facts: &Facts,
    told: Holdings,
    ticks: &BTreeMap<i64, Vec<Tick>>,
    versions: &[Version],
) -> Holdings {
    let mut pieces = Vec::new();
    let mut out = Holdings { named: told.named, unnamed: Vec::new(), ways: told.ways };
    for u in told.unnamed {
        if u.node.is_empty() {
            out.unnamed.push(u);
            continue;
        }
        let mut from = u.from;
        while from < u.to {
            let to = u.to.min((from / DAY_MS + 1) * DAY_MS);
            let of = Unnamed { from, to, ..u.clone() };
            let known = |n: &Named| versions.iter().any(|v| v.device == n.device && v.from <= from && to <= v.to);
            let mut found = fitting(facts, &of, seen(&of, ticks, versions));
            found.retain(known);
            pieces.push(Piece { of, found });
            from = to;
        }
    }
    let all: Vec<(usize, Named)> =
        pieces.iter().enumerate().flat_map(|(i, p)| p.found.iter().map(move |n| (i, n.clone()))).collect();
    let records = out.named.clone();
    for (i, p) in pieces.into_iter().enumerate() {
        let devices: BTreeSet<i64> = p.found.iter().map(|n| n.device).collect();
        let mut share = p.of.share;
        for device in devices {
            let meets = |n: &&Named| n.device == device && n.from < p.of.to && n.to > p.of.from;
            let own = records.iter().filter(meets).any(|n| n.holder == p.of.holder);
            let crowd: i64 = records.iter().filter(meets).map(|n| n.share).sum::<i64>()
                + all.iter().map(|(_, n)| n).filter(meets).map(|n| n.share).sum::<i64>();
            if own || crowd > CARD_UNITS {
                continue;
            }
            for n in all.iter().filter(|(k, n)| *k == i && n.device == device).map(|(_, n)| n.clone()) {
                share -= n.share;
                out.named.push(n);
            }
        }
        if share > 0 {
            out.unnamed.push(Unnamed { share, ..p.of });
        }
    }
    out
}
