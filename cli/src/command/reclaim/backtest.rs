//! `reclaim backtest`: a policy over stored history, a look at a time. Nothing of it reaches the store.

use std::io::IsTerminal;
use std::sync::Arc;

use gpuledger_aggregator::report::Format;
use gpuledger_reclaim::backtest::Backtest;
use gpuledger_schema::reclaim::{Allocation, Case};
use gpuledger_schema::window::show_ms;

use super::super::idle::{advice, advice_note, book_of};
use super::super::quote::instant;
use super::super::{print, sql::text_table};
use crate::args;
use crate::clock::WallClock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::reclaim::{LakeWorld, facts};

/// Most looks of one backtest: a year, four an hour.
const LOOKS_MAX: i64 = 40_000;

pub(super) async fn run(place: &Place, asked: &args::Backtest, format: Format) -> anyhow::Result<Outcome> {
    let zone = super::zone(place, asked.zone.as_deref())?;
    let (from_ms, to_ms) = (instant("--from", &asked.from, zone)?, instant("--to", &asked.to, zone)?);
    if from_ms >= to_ms || asked.every < 1 {
        return Err(usage("--from lies before --to, and looks are at least a minute apart"));
    }
    let every_ms = asked.every * 60_000;
    if (to_ms - from_ms) / every_ms > LOOKS_MAX {
        return Err(usage(format!("more than {LOOKS_MAX} looks: look less often (--every MINUTES)")));
    }
    let book = book_of(&asked.policy)?;
    let advice = advice(&asked.advice)?;
    let lake = place.lake()?;
    let control = place.control_path(&lake)?;
    let mut world = LakeWorld::new(lake, place.partitions(), control, Arc::new(WallClock), false, book.clone());
    let rules = world.rules(advice);
    let mut backtest = Backtest::default();
    let (mut looks, mut unknown) = (0_i64, 0_i64);
    for at_ms in (from_ms..to_ms).step_by(usize::try_from(every_ms).unwrap_or(usize::MAX)) {
        let known: Vec<(i64, i64)> = backtest.known();
        let seen = world.past(at_ms, &known, &rules).await?;
        let none = |a: &&Allocation| a.judgement.verdict == gpuledger_schema::reclaim::Verdict::Unknown;
        unknown += i64::try_from(seen.snapshot.allocations.iter().filter(none).count()).unwrap_or(0);
        backtest.look(seen.snapshot, &book);
        looks += 1;
        if std::io::stderr().is_terminal() {
            eprint!("\r{} ", show_ms(at_ms, zone));
        }
    }
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
    let note = advice.is_any().then(|| advice_note(&rules));
    let cases = backtest.cases();
    match format {
        Format::Json => {
            let rows: Vec<_> = cases.iter().map(|c| serde_json::json!({"case": c, "facts": facts(c)})).collect();
            let document = serde_json::json!({
                "policy_hash": book.hash, "looks": looks, "unknown_verdicts": unknown, "note": note, "cases": rows,
            });
            print(format!("{document:#}\n").as_bytes())?;
        }
        Format::Table => {
            let head = format!(
                "policy {} over {looks} looks: {} cases; {unknown} verdicts were unknown",
                &book.hash[..12],
                cases.len()
            );
            print(
                format!("{head}\n{}{}", table(&cases, zone), note.map_or_else(String::new, |n| format!("{n}\n")))
                    .as_bytes(),
            )?;
        }
        _ => return Err(usage("a backtest is a table for people, or json")),
    }
    Ok(Outcome::Done)
}

fn table(cases: &[&Case], zone: chrono_tz::Tz) -> String {
    if cases.is_empty() {
        return String::new();
    }
    let header = ["what", "user", "team", "class", "opened", "state", "since", "due"].map(str::to_owned);
    let rows: Vec<Vec<String>> = cases
        .iter()
        .map(|c| {
            let a = facts(c);
            let of = |f: fn(&Allocation) -> String| a.as_ref().map_or_else(|| "-".to_owned(), f);
            vec![
                of(|a| a.identity.shown()),
                of(|a| a.owner.user.clone()),
                of(|a| a.owner.team.clone()),
                c.class.to_string(),
                show_ms(c.opened_ms, zone),
                c.state.to_string(),
                show_ms(c.since_ms, zone),
                c.deadline_ms.map_or_else(|| "-".to_owned(), |ms| show_ms(ms, zone)),
            ]
        })
        .collect();
    text_table(&header, &rows)
}
