//! `reclaim cases` and `reclaim proof`: what there is, what happened, and what proves it.

use anyhow::Context;
use gpuledger_aggregator::report::Format;
use gpuledger_control::Control;
use gpuledger_reclaim::policy::Book;
use gpuledger_reclaim::proof::{export, told};
use gpuledger_schema::reclaim::Case;
use gpuledger_schema::window::show_ms;

use super::super::{print, sql::text_table};
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::reclaim::{book_in_force, case_of, facts};

fn control(place: &Place) -> anyhow::Result<Option<Control>> {
    place.control(&place.lake()?)
}

pub(super) fn run(
    place: &Place,
    case: Option<&str>,
    all: bool,
    zone: Option<&str>,
    format: Format,
) -> anyhow::Result<Outcome> {
    let zone = super::zone(place, zone)?;
    let control = control(place)?;
    if let Some(typed) = case {
        let control = control.context("there is no case yet")?;
        let case = case_of(&control, typed)?;
        return story(&control, &case, format);
    }
    let cases: Vec<Case> = match &control {
        None => Vec::new(),
        Some(c) if all => c.cases_since(i64::MIN)?,
        Some(c) => c.open_cases()?,
    };
    let mut cases: Vec<(Case, Option<gpuledger_schema::reclaim::Allocation>)> = cases
        .into_iter()
        .map(|c| {
            let a = facts(&c);
            (c, a)
        })
        .collect();
    // what is due first stands first; what is never due by itself, last
    cases.sort_by_key(|(c, _)| (c.state.is_over(), c.deadline_ms.unwrap_or(i64::MAX), c.case_id));
    if matches!(format, Format::Json) {
        let rows: Vec<_> = cases.iter().map(|(c, a)| serde_json::json!({"case": c, "facts": a})).collect();
        print(format!("{:#}\n", serde_json::json!(rows)).as_bytes())?;
        return Ok(Outcome::Done);
    }
    if !matches!(format, Format::Table) {
        return Err(usage("cases are listed as a table, or as json"));
    }
    if cases.is_empty() {
        print(b"no case is open\n")?;
        return Ok(Outcome::Done);
    }
    let header = ["case", "what", "user", "team", "class", "state", "since", "due"].map(str::to_owned);
    let instant = |ms: Option<i64>| ms.map_or_else(|| "-".to_owned(), |ms| show_ms(ms, zone));
    let rows: Vec<Vec<String>> = cases
        .iter()
        .map(|(c, a)| {
            let of =
                |f: fn(&gpuledger_schema::reclaim::Allocation) -> String| a.as_ref().map_or_else(|| "-".to_owned(), f);
            let held = if c.held.is_some() { " (held)" } else { "" };
            vec![
                c.case_id.to_string(),
                of(|a| a.identity.shown()),
                of(|a| a.owner.user.clone()),
                of(|a| a.owner.team.clone()),
                c.class.to_string(),
                format!("{}{held}", c.state),
                instant(Some(c.since_ms)),
                instant(c.deadline_ms),
            ]
        })
        .collect();
    print(text_table(&header, &rows).as_bytes())?;
    Ok(Outcome::Done)
}

fn story(control: &Control, case: &Case, format: Format) -> anyhow::Result<Outcome> {
    let events = control.case_events(case.case_id)?;
    if matches!(format, Format::Json) {
        let document = serde_json::json!({"case": case, "facts": facts(case), "events": events});
        print(format!("{document:#}\n").as_bytes())?;
        return Ok(Outcome::Done);
    }
    let mut out = vec![match facts(case) {
        Some(a) => format!(
            "{} of {} ({}) on {}: {} by policy {}",
            a.identity.shown(),
            a.owner.user,
            a.owner.team,
            a.nodes.join(","),
            case.class,
            case.policy
        ),
        None => format!("case {}: {} by policy {}", case.case_id, case.class, case.policy),
    }];
    out.extend(events.iter().map(|e| format!("  {}", told(e))));
    out.push(String::new());
    print(out.join("\n").as_bytes())?;
    Ok(Outcome::Done)
}

/// The policy of a proof is the one whose plan opened the case; where nobody kept it, the one in force.
pub(super) fn proof(place: &Place, typed: &str) -> anyhow::Result<Outcome> {
    let control = control(place)?.context("there is no case yet")?;
    let case = case_of(&control, typed)?;
    let events = control.case_events(case.case_id)?;
    let book: Book = match control.policies_used()?.iter().rev().find(|p| p.at_ms <= case.opened_ms) {
        Some(used) => Book::read(&control.policy_text(&used.hash)?.unwrap_or_default())?,
        None => book_in_force(Some(&control))?.0,
    };
    let (text, hash) = export(&case, &events, &book)?;
    print(format!("{text}\n").as_bytes())?;
    eprintln!("sha256 of the document: {hash}");
    Ok(Outcome::Done)
}
