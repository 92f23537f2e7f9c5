//! `idle`: who holds GPUs, and whether they are used.

use std::sync::Arc;

use chrono_tz::Tz;
use gpuledger_aggregator::idle::idle_report;
use gpuledger_aggregator::report::{Format, Lang};
use gpuledger_collector::input;
use gpuledger_reclaim::policy::Book;

use super::quote::instant;
use super::show;
use crate::args::{Idle, Loose};
use crate::clock::{self, WallClock};
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::reclaim::{Advice, LakeWorld, book_in_force};

pub(super) async fn run(place: &Place, asked: &Idle, format: Format) -> anyhow::Result<Outcome> {
    let lang: Lang = asked.lang.parse().map_err(|e| usage(format!("--lang: {e}")))?;
    let zone = place.zone(asked.zone.as_deref())?.unwrap_or(Tz::UTC);
    let lake = place.lake()?;
    let book = match &asked.policy {
        Some(file) => book_of(file)?,
        None => book_in_force(place.control(&lake)?.as_ref())?.0,
    };
    let advice = advice(&asked.advice)?;
    let control = place.control_path(&lake)?;
    let mut world = LakeWorld::new(lake, place.partitions(), control, Arc::new(WallClock), false, book);
    let rules = world.rules(advice);
    let seen = match &asked.at {
        Some(at) => world.past(instant("--at", at, zone)?, &[], &rules).await?,
        None if advice.is_any() => world.past(clock::now_ms(), &[], &rules).await?,
        None => world.now().await?,
    };
    let mut report = idle_report(&seen, &rules, zone, lang);
    if advice.is_any() {
        report.notes.push(advice_note(&rules));
    }
    show(&report, format)?;
    Ok(Outcome::Done)
}

/// What stands below everything that was judged more loosely than what is acted upon.
pub(super) fn advice_note(rules: &gpuledger_aggregator::idle::Rules) -> String {
    format!(
        "advice only: witnesses {}, holes up to {} min; by this nothing is ever told or acted upon",
        rules.witnesses,
        rules.hole_ms / 60_000
    )
}

/// A policy file as it was typed.
pub(super) fn book_of(file: &str) -> anyhow::Result<Book> {
    let read = input::read(file, &mut std::io::stdin().lock())?;
    let text = String::from_utf8(read.bytes).map_err(|_| usage(format!("{}: not text", read.name)))?;
    Book::read(&text).map_err(|e| usage(format!("{}: {e}", read.name)))
}

/// What may be looser, checked.
pub(super) fn advice(asked: &Loose) -> anyhow::Result<Advice> {
    if asked.witnesses.is_some_and(|n| !(1..=2).contains(&n)) {
        return Err(usage("--witnesses is 1 or 2"));
    }
    if asked.hole_minutes.is_some_and(|n| !(1..=60).contains(&n)) {
        return Err(usage("--hole-minutes is from 1 to 60"));
    }
    Ok(Advice { witnesses: asked.witnesses, hole_ms: asked.hole_minutes.map(|m| m * 60_000) })
}
