//! `reclaim policy`: what a policy means, and which one is in force.

use gpuledger_aggregator::report::Format;
use gpuledger_collector::input;
use gpuledger_control::PolicyUse;
use gpuledger_reclaim::Lang;
use gpuledger_reclaim::policy::{Book, dangers, in_words};
use gpuledger_schema::window::show_ms;

use super::super::reference::actor;
use super::super::{print, sql::text_table};
use crate::args::Policy;
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(super) fn run(place: &Place, what: Policy, format: Format) -> anyhow::Result<Outcome> {
    match what {
        Policy::Check { file, lang } => check(&file, &lang),
        Policy::Import { file } => import(place, &file),
        Policy::List { zone } => list(place, zone.as_deref(), format),
        Policy::Show { hash } => show(place, hash.as_deref()),
    }
}

fn read(file: &str) -> anyhow::Result<(String, Book)> {
    let read = input::read(file, &mut std::io::stdin().lock())?;
    let text = String::from_utf8(read.bytes).map_err(|_| usage(format!("{}: not text", read.name)))?;
    let book = Book::read(&text).map_err(|e| usage(format!("{}: {e}", read.name)))?;
    Ok((read.name, book))
}

/// What nobody gave a reason for.
fn refused(book: &Book) -> Vec<String> {
    dangers(book).iter().filter(|d| d.forced.is_none()).map(ToString::to_string).collect()
}

fn check(file: &str, lang: &str) -> anyhow::Result<Outcome> {
    let lang: Lang = lang.parse().map_err(|e| usage(format!("--lang: {e}")))?;
    let (_, book) = read(file)?;
    print(format!("{}\n", in_words(&book, lang)).as_bytes())?;
    Ok(if refused(&book).is_empty() { Outcome::Done } else { Outcome::Failed })
}

fn import(place: &Place, file: &str) -> anyhow::Result<Outcome> {
    let (name, book) = read(file)?;
    let refused = refused(&book);
    if !refused.is_empty() {
        eprintln!("gpuledger: {name} is refused; a policy that must be so says why in its `force`");
        refused.iter().for_each(|d| eprintln!("  {d}"));
        return Ok(Outcome::Failed);
    }
    let lake = place.lake_to_write()?;
    let mut control = place.control_to_write(&lake)?;
    let of = PolicyUse { at_ms: clock::now_ms(), actor: actor(), file: name, hash: book.hash.clone() };
    control.use_policy(&of, &book.text)?;
    print(format!("policy {} is in force\n", &book.hash[..12]).as_bytes())?;
    Ok(Outcome::Done)
}

fn list(place: &Place, zone: Option<&str>, format: Format) -> anyhow::Result<Outcome> {
    let zone = super::zone(place, zone)?;
    let lake = place.lake()?;
    let all = place.control(&lake)?.map(|c| c.policies_used()).transpose()?.unwrap_or_default();
    let header = ["hash", "from", "by", "file", "state"].map(str::to_owned);
    let last = all.len().saturating_sub(1);
    let state = |i: usize| if i == last { "in force" } else { "before" };
    let rows: Vec<Vec<String>> = all
        .iter()
        .enumerate()
        .map(|(i, p)| {
            vec![p.hash[..12].to_owned(), show_ms(p.at_ms, zone), p.actor.clone(), p.file.clone(), state(i).to_owned()]
        })
        .collect();
    match format {
        Format::Json => {
            let rows: Vec<_> = all
                .iter()
                .enumerate()
                .map(|(i, p)| {
                    serde_json::json!({"hash": p.hash, "from_ms": p.at_ms, "by": p.actor, "file": p.file, "state": state(i)})
                })
                .collect();
            print(format!("{:#}\n", serde_json::json!(rows)).as_bytes())?;
        }
        _ if rows.is_empty() => print(b"no policy was imported: the built-in one is in force\n")?,
        _ => print(text_table(&header, &rows).as_bytes())?,
    }
    Ok(Outcome::Done)
}

fn show(place: &Place, hash: Option<&str>) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let control = place.control(&lake)?;
    let all = control.as_ref().map(|c| c.policies_used()).transpose()?.unwrap_or_default();
    let found = match hash {
        Some(hash) => all.iter().rev().find(|p| p.hash.starts_with(hash)),
        None => all.last(),
    };
    let Some((found, control)) = found.zip(control.as_ref()) else {
        return Err(usage(match hash {
            Some(hash) => format!("no policy was imported whose hash begins with `{hash}`"),
            None => "no policy was imported: the built-in one is in force".to_owned(),
        }));
    };
    print(control.policy_text(&found.hash)?.unwrap_or_default().as_bytes())?;
    Ok(Outcome::Done)
}
