//! Who bears what nobody used: weights of teams by pool and method, and whole milliseconds divided by them.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::window::Window;

use super::Facts;
use super::money::{Piece, at};

/// Divides `ms` by weights, by largest remainder; of equal remainders to the one that stands first.
pub(super) fn divide(ms: i64, weights: &[i128]) -> Vec<i64> {
    let whole: i128 = weights.iter().sum();
    let product = |w: &i128| i128::from(ms) * w;
    let mut out: Vec<i64> = weights.iter().map(|w| (product(w) / whole) as i64).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| (-(product(&weights[*i]) % whole), *i));
    let left = (ms - out.iter().sum::<i64>()) as usize;
    for i in order.into_iter().take(left) {
        out[i] += 1;
    }
    out
}

/// Teams that bear a pool's unused time by a method, in order, with their weights.
pub(super) fn weights(
    facts: &Facts,
    pieces: &[Piece],
    pool: &str,
    method: &str,
    window: Window,
) -> BTreeMap<String, i128> {
    let here = || pieces.iter().filter(|p| p.of.pool == pool);
    let mut held: BTreeMap<String, i128> = BTreeMap::new();
    for p in here().filter(|p| p.held() > 0) {
        if let Some(team) = p.of.team.as_ref().filter(|t| *t != "foreign") {
            *held.entry(team.clone()).or_default() += i128::from(p.held());
        }
    }
    let quotas = facts.quota.iter().filter(|q| q.pool == pool && q.from_ms < window.to_ms);
    let quotas: Vec<_> = quotas.filter(|q| q.to_ms.is_none_or(|to| to > window.from_ms)).collect();
    match method {
        "held" => held,
        "even" => {
            let teams: BTreeSet<String> = held.into_keys().chain(quotas.iter().map(|q| q.team.clone())).collect();
            teams.into_iter().map(|t| (t, 1)).collect()
        }
        "quota" => {
            let mut out: BTreeMap<String, i128> = BTreeMap::new();
            for q in quotas {
                let (from, to) = (q.from_ms.max(window.from_ms), q.to_ms.unwrap_or(i64::MAX).min(window.to_ms));
                let weight = match q.gpus {
                    Some(gpus) => i128::from(gpus) * i128::from(to - from) * 1_000_000,
                    None => {
                        let all = here().filter(|p| at(q.from_ms, q.to_ms, p.epoch)).map(|p| p.ms.iter().sum::<i64>());
                        all.map(i128::from).sum::<i128>() * i128::from(q.pool_share_ppm.unwrap_or(0))
                    }
                };
                *out.entry(q.team.clone()).or_default() += weight;
            }
            out.retain(|_, w| *w > 0);
            out
        }
        _ => BTreeMap::new(),
    }
}

#[test]
fn what_is_divided_adds_up() {
    assert_eq!(divide(100, &[1, 1, 1]), [34, 33, 33]);
    assert_eq!(divide(100, &[25, 75]), [25, 75]);
    assert_eq!(divide(0, &[1, 2]), [0, 0]);
}
