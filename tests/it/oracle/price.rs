//! Prices: the most specific rate, and the multipliers that are open at a local time of the week.

use chrono::{Datelike, TimeZone, Timelike};
use chrono_tz::Tz;
use gpuledger_schema::table::money::{DiscountRow, TermsRow};
use gpuledger_schema::table::reference::RateRow;
use gpuledger_schema::unit::CELL_MS;

use super::Facts;
use super::money::{Use, at};
use super::who::fits;

/// Kinds of multipliers, in the order of their names on a line.
const KINDS: [&str; 4] = ["off_peak", "borrowed", "preemptible", "discount"];

/// A price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Price {
    pub(super) rate: i64,
    pub(super) list: i64,
    pub(super) price: i64,
    pub(super) discount: Option<String>,
}

/// How a pool is billed at an instant.
pub(super) fn terms(facts: &Facts, pool: &str, ms: i64) -> (String, [String; 3]) {
    let fits = |t: &&TermsRow| t.pool == pool && at(t.from_ms, t.to_ms, ms);
    facts.terms.iter().find(fits).map_or_else(
        || ("held".to_owned(), ["none", "none", "none"].map(str::to_owned)),
        |t| {
            let shares = [&t.share_unallocated, &t.share_unavailable, &t.share_unobserved];
            (t.mode.clone(), shares.map(Clone::clone))
        },
    )
}

/// Whether a multiplier is open at the quarter of an hour that an instant lies in.
fn open(d: &DiscountRow, ms: i64, zone: Tz) -> bool {
    let local = zone.timestamp_millis_opt(ms.div_euclid(CELL_MS) * CELL_MS).single().expect("an instant");
    let minute = i64::from(local.hour() * 60 + local.minute());
    let today = i64::from(local.weekday().num_days_from_monday());
    let on = |day: i64| d.day_mask & (1 << day.rem_euclid(7)) != 0;
    if d.from_minute < d.to_minute {
        return on(today) && (d.from_minute..d.to_minute).contains(&minute);
    }
    (on(today) && minute >= d.from_minute) || (on(today - 1) && minute < d.to_minute)
}

/// The price of a use at an instant; none: unpriced.
pub(super) fn price(facts: &Facts, of: &Use, ms: i64, borrowed: bool, zone: Tz) -> Option<Price> {
    let (held, reserved) = (of.team.is_some(), of.task_type.is_none());
    let team = |t: &Option<String>| t.is_none() || (held && *t == of.team);
    let task = |t: &Option<String>| t.is_none() || (held && !reserved && *t == of.task_type);
    let place = |pool: &Option<String>, model: &Option<String>, tier: &Option<String>| {
        pool.as_ref().is_none_or(|p| *p == of.pool)
            && fits(model.as_ref(), of.model.as_ref())
            && fits(tier.as_ref(), of.tier.as_ref())
    };
    let rate = facts
        .rate
        .iter()
        .filter(|r| at(r.from_ms, r.to_ms, ms) && team(&r.team) && task(&r.task_type))
        .filter(|r| place(&r.pool, &r.model, &r.tier))
        .max_by_key(|r: &&RateRow| {
            (r.team.is_some(), r.task_type.is_some(), r.pool.is_some(), r.model.is_some(), r.tier.is_some())
        })?;
    let mut factors: i128 = 1;
    let mut names: Vec<&str> = Vec::new();
    for kind in KINDS {
        let applies = held
            && match kind {
                "off_peak" => !reserved,
                "borrowed" => !reserved && borrowed,
                "preemptible" => !reserved && of.preemptible,
                _ => true,
            };
        let best = facts
            .discount
            .iter()
            .filter(|d| applies && d.kind == kind && at(d.from_ms, d.to_ms, ms) && open(d, ms, zone))
            .filter(|d| team(&d.team) && task(&d.task_type) && place(&d.pool, &d.model, &d.tier))
            .max_by_key(|d| {
                (d.team.is_some(), d.task_type.is_some(), d.pool.is_some(), d.model.is_some(), d.tier.is_some())
            });
        factors *= i128::from(best.map_or(10_000, |d| d.factor_e4));
        names.extend(best.map(|d| d.name.as_str()));
    }
    let whole = 10_000_i128.pow(4);
    let price = (i128::from(rate.price_micros) * factors * 2 + whole) / (2 * whole);
    Some(Price {
        rate: rate.rate_id,
        list: rate.price_micros,
        price: price as i64,
        discount: Some(names.join(",")).filter(|n| !n.is_empty()),
    })
}
