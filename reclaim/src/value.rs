//! What reclaiming was worth in a month: GPU-time won back (an estimate), how long freeing took, and false alarms. Money is made of
//! it where prices are known.

use std::collections::BTreeMap;

use gpuledger_schema::reclaim::{Allocation, Case, CaseEvent, CaseState, Class, EventKind};
use gpuledger_schema::unit::CARD_UNITS;
use serde::Serialize;

use crate::plan::facts;

/// What is won back is never counted beyond this, ms.
const WON_MAX_MS: i64 = 72 * 3_600_000;
/// Busy again within this after the warning is a false alarm, ms.
const AGAIN_MS: i64 = 3_600_000;

/// A case with its events.
#[derive(Debug, Clone)]
pub struct History {
    /// The case.
    pub case: Case,
    /// Its events, oldest first.
    pub events: Vec<CaseEvent>,
}

/// What was won back by one case: an estimate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Won {
    /// The case.
    pub case_id: i64,
    /// Kind of waste.
    pub class: Class,
    /// Team.
    pub team: String,
    /// Pool, by which it is priced.
    pub pool: String,
    /// Model, by which it is priced.
    pub model: Option<String>,
    /// When the GPUs were seen free, epoch ms.
    pub freed_ms: i64,
    /// GPU-time from then to the run's limit, else its type's longest, at most 72 h; absent: nobody says how long it would have
    /// gone on.
    pub gpu_ms: Option<i64>,
}

/// A line of a month.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Cases opened.
    pub opened: i64,
    /// Cases freed by the engine, or given back by their owner when asked.
    pub freed: i64,
    /// Cases that ended by themselves.
    pub ended: i64,
    /// GPU-time won back, an estimate, ms.
    pub gpu_ms: i64,
    /// Freed cases whose gain nobody can estimate.
    pub not_estimated: i64,
    /// From the last moment of work to the GPUs seen free, added up over freed cases, ms.
    pub time_to_free_ms: i64,
    /// Kept by the owner, or busy again within an hour of the warning.
    pub false_alarms: i64,
    /// Actions that failed.
    pub failures: i64,
}

/// The month: by class and team, and what each freed case won.
pub fn month(histories: &[History], from_ms: i64, to_ms: i64) -> (BTreeMap<(String, String), Line>, Vec<Won>) {
    let mut lines: BTreeMap<(String, String), Line> = BTreeMap::new();
    let mut won = Vec::new();
    let inside = |at: i64| (from_ms..to_ms).contains(&at);
    for h in histories {
        let Some(a) = facts(&h.case) else { continue };
        let line = lines.entry((h.case.class.to_string(), a.owner.team.clone())).or_default();
        line.opened += i64::from(inside(h.case.opened_ms));
        let warned = first(h, EventKind::Warned);
        let kept = first(h, EventKind::Kept).or_else(|| first(h, EventKind::Normal));
        let again = first(h, EventKind::Recovered).filter(|at| warned.is_some_and(|w| at - w <= AGAIN_MS));
        line.false_alarms += i64::from(kept.or(again).is_some_and(inside));
        let failed = h.events.iter().filter(|e| e.kind == EventKind::Failed && inside(e.at_ms)).count();
        line.failures += i64::try_from(failed).unwrap_or(i64::MAX);
        let Some(freed_ms) = first(h, EventKind::Freed).filter(|at| inside(*at)) else { continue };
        if !is_ours(h) {
            line.ended += 1;
            continue;
        }
        line.freed += 1;
        line.time_to_free_ms += freed_ms - h.case.rest_from_ms.unwrap_or(h.case.opened_ms);
        let gpu_ms = gain(&a, freed_ms);
        line.gpu_ms += gpu_ms.unwrap_or(0);
        line.not_estimated += i64::from(gpu_ms.is_none());
        won.push(Won {
            case_id: h.case.case_id,
            class: h.case.class,
            team: a.owner.team.clone(),
            pool: a.work.pool.clone(),
            model: a.work.model.clone(),
            freed_ms,
            gpu_ms,
        });
    }
    (lines, won)
}

fn first(h: &History, kind: EventKind) -> Option<i64> {
    h.events.iter().find(|e| e.kind == kind).map(|e| e.at_ms)
}

/// Whether it was freed because somebody was asked: what ended by itself is nobody's merit.
fn is_ours(h: &History) -> bool {
    h.case.state == CaseState::Freed && (h.case.order_ms.is_some() || first(h, EventKind::Released).is_some())
}

fn gain(a: &Allocation, freed_ms: i64) -> Option<i64> {
    let would_end = a.work.limit_ms.or_else(|| a.work.max_ms.map(|max| a.identity.start_ms() + max))?;
    let ms = (would_end - freed_ms).clamp(0, WON_MAX_MS);
    let gpu_ms = i128::from(ms) * i128::from(a.gpu_units) / i128::from(CARD_UNITS);
    i64::try_from(gpu_ms).ok()
}
