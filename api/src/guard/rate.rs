//! How often somebody may ask: a bucket of tokens a name, and few tries an address without a token that counts.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::who::Role;

/// Names and addresses that are kept count of.
const KEPT: usize = 16_384;
/// A try costs a minute's share of those that are allowed in one.
const MINUTE_MS: i64 = 60_000;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Thousandths of a request that are left.
    left: i64,
    at_ms: i64,
}

impl Bucket {
    /// Takes one, where there is one.
    fn take(&mut self, per_second: i64, burst: i64, now_ms: i64) -> bool {
        let passed = (now_ms - self.at_ms).max(0);
        self.left = self.left.saturating_add(passed.saturating_mul(per_second)).min(burst * 1_000);
        self.at_ms = now_ms;
        let there = self.left >= 1_000;
        if there {
            self.left -= 1_000;
        }
        there
    }
}

/// Limits and what is left of them.
#[derive(Debug)]
pub struct Rates {
    per_second: i64,
    burst: i64,
    tries_a_minute: i64,
    names: Mutex<HashMap<String, Bucket>>,
    failures: Mutex<HashMap<IpAddr, (i64, i64)>>,
}

impl Default for Rates {
    fn default() -> Self {
        Self::new(50, 200, 20)
    }
}

impl Rates {
    /// So many requests a second and at once a name, and so many tries a minute an address that name nobody.
    pub fn new(per_second: i64, burst: i64, tries_a_minute: i64) -> Self {
        Self { per_second, burst, tries_a_minute, names: Mutex::default(), failures: Mutex::default() }
    }

    /// Whether a name may ask now. Nodes share no limit but that of their own name.
    pub(super) fn may(&self, name: &str, role: Role, now_ms: i64) -> bool {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= KEPT {
            names.retain(|_, b| now_ms - b.at_ms < MINUTE_MS);
        }
        let key = format!("{role}/{name}");
        let full = Bucket { left: self.burst * 1_000, at_ms: now_ms };
        names.entry(key).or_insert(full).take(self.per_second, self.burst, now_ms)
    }

    /// Whether an address may still try to say who it is.
    pub(super) fn may_try(&self, peer: IpAddr, now_ms: i64) -> bool {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.get(&peer).is_none_or(|(n, since)| *n < self.tries_a_minute || now_ms - since >= MINUTE_MS)
    }

    /// An address said it was somebody, and was not.
    pub(super) fn failed(&self, peer: IpAddr, now_ms: i64) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= KEPT {
            failures.retain(|_, (_, since)| now_ms - *since < MINUTE_MS);
        }
        let found = failures.entry(peer).or_insert((0, now_ms));
        if now_ms - found.1 >= MINUTE_MS {
            *found = (0, now_ms);
        }
        found.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_burst_and_then_its_rate() {
        let rates = Rates::new(2, 3, 5);
        let asked = |ms: i64| rates.may("ada", Role::Member, ms);
        assert_eq!([asked(0), asked(0), asked(0), asked(0)], [true, true, true, false]);
        assert_eq!([asked(499), asked(500), asked(501)], [false, true, false]);
        assert!(rates.may("grace", Role::Member, 0));
        // a clock that is put back gives nothing and breaks nothing
        assert!(!asked(0));
    }

    #[test]
    fn who_guesses_waits_a_minute() {
        let rates = Rates::new(2, 3, 2);
        let peer = IpAddr::from([10, 0, 0, 1]);
        rates.failed(peer, 0);
        assert!(rates.may_try(peer, 1));
        rates.failed(peer, 1);
        assert!(!rates.may_try(peer, 59_999) && rates.may_try(peer, 60_000));
        assert!(rates.may_try(IpAddr::from([10, 0, 0, 2]), 1));
    }
}
