//! A run on one screen: its facts, asked against used, a strip a card, curves on one axis, what it cost, what should change.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;
use serde_json::Value as Json;

use super::Body;
use super::answer::{Answers, Report};
use super::chart::{self, Class, Column, Curve, Series};
use super::number::Decimal;
use super::part::{Part, part};
use super::statement::sections;
use super::template::value;
use super::view::View;

mod curves;

use curves::curves;

/// Asked against used, of one thing.
#[derive(Debug, Serialize)]
struct Against {
    name: String,
    asked: String,
    used: String,
    asked_bar: i128,
    used_bar: i128,
    known: bool,
}

/// A run.
#[derive(Debug, Serialize)]
struct Run {
    title: String,
    lines: Vec<(String, String)>,
    against: Vec<Against>,
    explain: String,
    minutes: String,
}

fn fact(job: &Json, name: &str) -> Option<Decimal> {
    Decimal::read(job.get("facts")?.get(name)?.as_str()?)
}

/// Bars of what was asked and what was used, on one scale each: thousandths of the greater.
fn against(view: &View, job: &Json) -> Vec<Against> {
    let make = |name: &str, pair: (Option<Decimal>, Option<Decimal>), show: fn(Decimal) -> String| {
        let (asked, used) = pair;
        let top = [asked, used].into_iter().flatten().max_by(|a, b| a.order(*b));
        let bar = |v: Option<Decimal>| v.zip(top).map_or(0, |(v, top)| v.per_mille_of(top));
        let text = |v: Option<Decimal>| v.map_or_else(|| view.word("unknown"), show);
        Against {
            name: view.word(name),
            asked: text(asked),
            used: text(used),
            asked_bar: bar(asked),
            used_bar: bar(used),
            known: asked.is_some() && used.is_some(),
        }
    };
    let card = |d: Decimal| Decimal::parts(d, 72_072_000).show(2);
    let gib = |d: Decimal| format!("{} GiB", Decimal::parts(d, 1 << 30).show(1));
    let hours = |d: Decimal| format!("{} h", Decimal::parts(d, 3_600_000).show(1));
    let gpus = fact(job, "gpus_used").map(|n| n.times(72_072_000));
    vec![
        make("job.gpus", (fact(job, "gpu_units"), gpus), card),
        make("job.memory", (fact(job, "quota_bytes"), fact(job, "mem_peak_bytes")), gib),
        make("job.time", (fact(job, "time_limit_ms"), fact(job, "run_ms")), hours),
        make("job.compute", (fact(job, "judged_ms"), fact(job, "effective_ms")), hours),
    ]
}

fn runs(view: &View, report: Report<'_>) -> Option<Vec<Run>> {
    let run = |job: &Json| {
        let name = job.get("facts").and_then(|f| f.get("holder")).and_then(Json::as_str).unwrap_or_default();
        let lines = job.get("lines").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let text = |v: Option<&Json>| v.and_then(Json::as_str).unwrap_or_default().to_owned();
        Run {
            title: text(job.get("title")),
            lines: lines.iter().map(|l| (text(l.get(0)), text(l.get(1)))).collect(),
            against: against(view, job),
            explain: view.link("/job/explain", &[("run", name)]),
            minutes: view.link("/job/explain", &[("run", name), ("depth", "minutes")]),
        }
    };
    let all: Vec<Run> = report.document().as_array()?.iter().map(run).collect();
    Some(all).filter(|a| !a.is_empty())
}

/// A strip of one card: classes over time.
#[derive(Debug, Serialize)]
struct Strip {
    card: String,
    ends: String,
    svg: Value,
    table: Vec<(String, String, String, String, String)>,
}

/// The section of an explanation that begins with a word, of every run: its rows by column.
fn named<'a>(document: &'a Json, heading: &str) -> Vec<BTreeMap<&'a str, &'a str>> {
    let each = document.as_array().map(Vec::as_slice).unwrap_or_default();
    let all = each.iter().filter_map(|t| t.get("sections")?.as_array()).flatten();
    let mut out = Vec::new();
    for s in all.filter(|s| s.get("heading").and_then(Json::as_str).is_some_and(|h| h.starts_with(heading))) {
        let words = |v: &'a Json| v.as_array().map(|a| a.iter().filter_map(Json::as_str).collect::<Vec<_>>());
        let header = s.get("header").and_then(words).unwrap_or_default();
        for row in s.get("rows").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default() {
            out.push(header.iter().copied().zip(words(row).unwrap_or_default()).collect());
        }
    }
    out
}

/// Steps of a strip at most: more cells are added up.
const STEPS: usize = 62;

fn strips(view: &View, report: Report<'_>) -> Option<Vec<Strip>> {
    let mut cards: BTreeMap<&str, Vec<BTreeMap<&str, &str>>> = BTreeMap::new();
    for cell in named(report.document(), "cells") {
        cards.entry(cell.get("place").copied().unwrap_or_default()).or_default().push(cell);
    }
    let strip = |(n, (card, cells)): (usize, (&str, Vec<BTreeMap<&str, &str>>))| {
        let together = cells.len().div_ceil(STEPS).max(1);
        let columns: Vec<Column> = cells.chunks(together).map(|c| column(view, c)).collect();
        let table = columns.iter().map(|c| c.says.as_str()).filter(|_| columns.len() <= 24);
        let told = table.collect::<Vec<_>>().join("; ");
        let title = view.say("job.strip", &[("card", card)]);
        let svg = chart::strip(&format!("strip-{n}"), &columns, &title, &told);
        let end = |cell: Option<&BTreeMap<&str, &str>>, name: &str| {
            cell.and_then(|c| c.get(name)).copied().unwrap_or_default().to_owned()
        };
        let (from, to) = (end(cells.first(), "from_ms"), end(cells.last(), "to_ms"));
        let ends = view.say("job.strip_ends", &[("from", &from), ("to", &to)]);
        Strip {
            card: card.to_owned(),
            ends,
            svg: Value::from_safe_string(svg),
            table: cells.chunks(together).map(rows).collect(),
        }
    };
    let all: Vec<Strip> = cards.into_iter().take(16).enumerate().map(strip).collect();
    Some(all).filter(|a| !a.is_empty())
}

const MS: [(Class, &str); 4] = [
    (Class::Busy, "busy_ms"),
    (Class::Idle, "held_idle_ms"),
    (Class::Unmeasured, "held_unmeasured_ms"),
    (Class::Unavailable, "unavailable_ms"),
];

fn sum(cells: &[BTreeMap<&str, &str>], name: &str) -> i128 {
    cells.iter().filter_map(|c| c.get(name)?.parse::<i128>().ok()).sum()
}

fn column(view: &View, cells: &[BTreeMap<&str, &str>]) -> Column {
    let from = cells.first().and_then(|c| c.get("from_ms")).copied().unwrap_or_default();
    let mut sizes = [0; 6];
    let mut told = vec![from.to_owned()];
    for (class, name) in MS {
        let ms = sum(cells, name);
        if let Some(at) = Class::ALL.iter().position(|c| *c == class) {
            sizes[at] = ms;
        }
        if ms > 0 {
            let hours = Decimal::hours_of(i64::try_from(ms).unwrap_or(i64::MAX)).show(2);
            let name = super::words::listed(view.lang, "class", class.word());
            told.push(view.say("class.says", &[("class", &name), ("hours", &hours)]));
        }
    }
    Column { label: from.get(5..16).unwrap_or(from).to_owned(), sizes, says: told.join(", ") }
}

fn rows(cells: &[BTreeMap<&str, &str>]) -> (String, String, String, String, String) {
    let from = cells.first().and_then(|c| c.get("from_ms")).copied().unwrap_or_default().to_owned();
    let hours = |name: &str| Decimal::hours_of(i64::try_from(sum(cells, name)).unwrap_or(i64::MAX)).show(2);
    (from, hours("busy_ms"), hours("held_idle_ms"), hours("held_unmeasured_ms"), hours("unavailable_ms"))
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let run = view.chosen("run").unwrap_or_default().to_owned();
    let parts = part(answers, "job", |r| runs(view, r));
    let fields = minijinja::context! {
        run => run.clone(),
        runs => value(&parts),
        strips => value(part(answers, "explain", |r| strips(view, r))),
        curves => value(part(answers, "explain", |r| curves(view, r.document()))),
        kept => value(view.query.iter().filter(|(k, _)| k != "run").collect::<Vec<_>>()),
    };
    Body { template: "job.html", sentence: sentence(view, answers, &parts, &run), fields }
}

fn sentence(view: &View, answers: &Answers, parts: &Part<Vec<Run>>, run: &str) -> Option<String> {
    parts.of.as_ref()?;
    let job = answers.document("job")?.as_array()?.first()?;
    let hours = |name: &str| fact(job, name).map(|ms| Decimal::parts(ms, 3_600_000).show(1));
    let (held, idle) = (hours("held_ms")?, hours("held_idle_ms"));
    let known = fact(job, "covered_ms").is_some_and(|c| !c.is_zero());
    Some(match idle.filter(|_| known) {
        Some(idle) => view.say("job.sentence", &[("run", run), ("held", &held), ("idle", &idle)]),
        None => view.say("job.sentence_unmeasured", &[("run", run), ("held", &held)]),
    })
}

/// From a charge of a run down to its minutes.
pub(super) fn explain(view: &View, answers: &Answers) -> Body {
    let run = view.chosen("run").unwrap_or_default().to_owned();
    let fields = minijinja::context! {
        run => run.clone(),
        sections => value(part(answers, "explain", |r| {
            Some(sections(view, r.document())).filter(|s| !s.is_empty())
        })),
        minutes => view.here(&[("depth", "minutes")]),
        deep => view.chosen("depth") == Some("minutes"),
        back => view.link("/job", &[("run", &run)]),
    };
    Body { template: "explain.html", sentence: Some(view.say("explain.sentence", &[("run", &run)])), fields }
}
