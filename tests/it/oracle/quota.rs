//! What is held above quotas, in every part of a cell between two changes: on the runs that started last.

use std::collections::{BTreeMap, BTreeSet};

use super::Facts;
use super::money::{Piece, at};
use super::price::terms;
use super::split::telescope;

/// What a pool's quotas come to in a slice.
#[derive(Debug, Clone, Default)]
pub(super) struct Reserve {
    pub(super) pool: String,
    pub(super) slice: i64,
    pub(super) epoch: i64,
    pub(super) day: i32,
    /// By team: quota.
    pub(super) quota: BTreeMap<String, i64>,
    /// What teams leave of their quotas.
    pub(super) spare: i64,
    /// Unallocated, unavailable, unobserved that is nobody's.
    pub(super) free: [i64; 3],
}

/// Divides pieces into what is within and what is above the quota. Gives the quotas of pools that are billed by them.
pub(super) fn borrow(facts: &Facts, pieces: &mut Vec<Piece>) -> Vec<Reserve> {
    let mut places: BTreeMap<(String, i64), Vec<usize>> = BTreeMap::new();
    for (i, p) in pieces.iter().enumerate() {
        places.entry((p.of.pool.clone(), p.slice)).or_default().push(i);
    }
    let mut out = Vec::new();
    let mut above: Vec<Piece> = Vec::new();
    for ((pool, slice), here) in places {
        let by_quota = terms(facts, &pool, slice).0 == "quota";
        let valid: Vec<_> = facts.quota.iter().filter(|q| q.pool == pool && at(q.from_ms, q.to_ms, slice)).collect();
        let cheaper = facts.discount.iter().any(|d| {
            d.kind == "borrowed" && at(d.from_ms, d.to_ms, slice) && d.pool.as_ref().is_none_or(|p| *p == pool)
        });
        if !by_quota && (valid.is_empty() || !cheaper) {
            continue;
        }
        let one = &pieces[here[0]];
        let length = one.slice_to - slice;
        let capacity: i64 = here.iter().map(|i| pieces[*i].ms.iter().sum::<i64>()).sum();
        let mut reserve = Reserve { pool: pool.clone(), slice, epoch: one.epoch, day: one.day, ..Reserve::default() };
        for i in here.iter().filter(|i| pieces[**i].holder == 0) {
            for k in 0..3 {
                reserve.free[k] += pieces[*i].ms[k + 3];
            }
        }
        for q in valid.iter().filter(|_| capacity > 0) {
            let share = |ppm: i64| (i128::from(capacity) * i128::from(ppm) / 1_000_000) as i64;
            let ms = q.gpus.map_or_else(|| share(q.pool_share_ppm.unwrap_or(0)), |gpus| gpus * length);
            *reserve.quota.entry(q.team.clone()).or_default() += ms;
        }
        let teams: BTreeSet<String> = here.iter().filter_map(|i| pieces[*i].of.team.clone()).collect();
        for team in teams.union(&reserve.quota.keys().cloned().collect()) {
            let quota = reserve.quota.get(team).copied().or(by_quota.then_some(0));
            let own: Vec<usize> = here.iter().copied().filter(|i| pieces[*i].of.team.as_ref() == Some(team)).collect();
            let held: i64 = own.iter().map(|i| pieces[*i].held()).sum();
            let Some(quota) = quota else { continue };
            reserve.spare += (quota - held).max(0);
            above.extend(take(pieces, own, held - quota));
        }
        if by_quota {
            out.push(reserve);
        }
    }
    pieces.extend(above);
    out
}

/// Takes what a team holds above its quota off its runs, the last started first. Gives what was taken, as pieces.
fn take(pieces: &mut [Piece], own: Vec<usize>, mut above: i64) -> Vec<Piece> {
    let mut runs: BTreeMap<(i64, i64), Vec<usize>> = BTreeMap::new();
    for i in own {
        runs.entry((-pieces[i].start, -pieces[i].holder)).or_default().push(i);
    }
    let mut out = Vec::new();
    for (_, mut rows) in runs {
        let all: i64 = rows.iter().map(|i| pieces[*i].held()).sum();
        let part = above.min(all);
        if part <= 0 {
            continue;
        }
        above -= part;
        rows.sort_by_key(|i| (pieces[*i].unit, pieces[*i].from, pieces[*i].of.cost_center.clone()));
        let mut upto = 0;
        for i in rows {
            let held = pieces[i].held();
            let taken = telescope(part, upto, upto + held, all);
            upto += held;
            if taken == 0 {
                continue;
            }
            let [busy, idle, ..] = pieces[i].ms;
            let (a, b) = (telescope(taken, 0, busy, held), telescope(taken, 0, busy + idle, held));
            let mut lent = pieces[i].clone();
            lent.borrowed = true;
            lent.ms = [a, b - a, taken - b, 0, 0, 0];
            for k in 0..3 {
                pieces[i].ms[k] -= lent.ms[k];
            }
            out.push(lent);
        }
    }
    out
}
