//! Waste: findings ranked by money, each with who, since when, evidence, one remedy, and what somebody says of it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Body;
use super::answer::{Answers, Report, Row};
use super::number::Decimal;
use super::part::part;
use super::table::{Cell, Col, Kind, Line, Shown, Table};
use super::template::value;
use super::view::View;
use super::words::Lang;

/// A finding as a card.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    rule: String,
    name: String,
    subject: String,
    href: String,
    who: String,
    since: String,
    hours: String,
    money: String,
    measured: String,
    evidence: String,
    remedy: String,
    note: String,
    reason: String,
}

/// Findings on one page at most.
const MOST: usize = 40;

fn job_link(view: &View, row: Row<'_>) -> String {
    let run = row.word("subject");
    // a service has no page of a run: its findings lead to the services
    if run.matches('/').count() > 1 { view.link("/services", &[]) } else { view.link("/job", &[("run", &run)]) }
}

fn remedy(view: &View, row: Row<'_>) -> String {
    row.word(match view.lang {
        Lang::En => "remedy_en",
        Lang::Zh => "remedy_zh",
    })
}

/// Idle money and the money of what was asked for too much, of which a finding has one.
fn worth(row: Row<'_>) -> Option<Decimal> {
    let (waste, gap) = (row.number("waste"), row.number("gap_cost"));
    waste.filter(|w| !w.is_zero()).or(gap).or(waste)
}

fn lost(row: Row<'_>) -> Option<Decimal> {
    let (idle, gap) = (row.number("idle_hours"), row.number("gap_hours"));
    idle.filter(|h| !h.is_zero()).or(gap).or(idle)
}

fn found(view: &View, row: Row<'_>) -> Found {
    let unknown = || view.word("unknown");
    let team = row.word("team");
    let user = row.word("user");
    Found {
        rule: row.word("rule"),
        name: super::words::listed(view.lang, "rule", &row.word("rule")),
        subject: row.word("subject"),
        href: job_link(view, row),
        who: if user.is_empty() { team } else { format!("{team} \u{b7} {user}") },
        since: row.text("first_seen").filter(|t| !t.is_empty()).unwrap_or_else(|| row.word("from")),
        hours: lost(row).map_or_else(unknown, |h| h.show(1)),
        money: worth(row).map_or_else(unknown, Decimal::show_all),
        measured: row.number("coverage").map_or_else(unknown, Decimal::percent),
        evidence: row.word("evidence"),
        remedy: remedy(view, row),
        note: row.word("note"),
        reason: row.word("reason"),
    }
}

/// The table of the overview: what, who, money, remedy.
pub(super) fn short(view: &View, report: Report<'_>) -> Option<Table> {
    let rows = report.rows();
    let line = |row: &Row<'_>| {
        let f = found(view, *row);
        let money =
            Cell { number: true, title: report.currency().map(|c| format!("{} {c}", f.money)), ..Cell::text(f.money) };
        let what =
            Cell { href: Some(f.href), title: Some(f.evidence), ..Cell::text(format!("{} {}", f.name, f.subject)) };
        Line { cells: vec![what, Cell::text(f.who), money, Cell::text(f.remedy)], more: None }
    };
    let heads = [("head.what", false), ("head.who", false), ("head.worth", true), ("head.remedy", false)];
    (!rows.is_empty()).then(|| Table {
        id: "wastes",
        caption: view.word("overview.wastes"),
        heads: heads.into_iter().map(|(head, number)| super::table::Head::plain(view.word(head), number)).collect(),
        rows: rows.iter().take(5).map(line).collect(),
        empty: view.word("empty.findings"),
        ..Table::default()
    })
}

const BY_RULE: [Col; 6] = [
    Col::new("rule", "head.rule", Kind::Word("rule")).to(|v, r| Some(v.here(&[("rule", &r.word("rule"))]))),
    Col::new("findings", "head.findings", Kind::Count),
    Col::new("idle_hours", "head.idle", Kind::Hours),
    Col::new("waste", "head.waste", Kind::Money),
    Col::new("gap_hours", "head.gap", Kind::Hours),
    Col::new("gap_cost", "head.gap_cost", Kind::Money),
];

/// What can be chosen of findings.
fn filters(view: &View, answers: &Answers) -> Vec<(&'static str, String, Vec<(String, String, bool)>)> {
    let each = [("rule", "choose.rule"), ("team", "choose.team"), ("note", "choose.note")];
    let of = |(column, label): (&'static str, &str)| {
        let source = match column {
            "rule" => "rules",
            "team" => "found_teams",
            _ => "findings",
        };
        let rows = answers.report(source).map(|r| r.rows()).unwrap_or_default();
        let mut words: BTreeMap<String, ()> = rows.iter().map(|r| (r.word(column), ())).collect();
        words.remove("");
        let chosen = view.chosen(column);
        if let Some(c) = chosen {
            words.insert(c.to_owned(), ());
        }
        let mut options = vec![(String::new(), view.word("choose.all"), chosen.is_none())];
        options.extend(words.into_keys().map(|w| {
            let shown = match column {
                "rule" => super::words::listed(view.lang, "rule", &w),
                "note" => super::words::listed(view.lang, "note", &w),
                _ => w.clone(),
            };
            let here = chosen == Some(w.as_str());
            (w, shown, here)
        }));
        (column, view.word(label), options)
    };
    each.map(of).into()
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let wanted =
        |row: &Row<'_>| ["rule", "team", "note"].iter().all(|c| view.chosen(c).is_none_or(|word| row.word(c) == word));
    let csv = View::api("/findings", &[("month", &view.month), ("tz", &view.zone), ("format", "csv")]);
    let rule_csv =
        View::api("/findings", &[("month", &view.month), ("tz", &view.zone), ("by", "rule"), ("format", "csv")]);
    let shown = Shown { id: "rules", caption: "waste.by_rule", empty: "empty.findings", columns: &BY_RULE, most: 40 };
    let list = part(answers, "findings", |r| {
        let rows: Vec<Row<'_>> = r.rows().into_iter().filter(wanted).collect();
        let cut = (rows.len() > MOST)
            .then(|| view.say("table.cut", &[("shown", &MOST.to_string()), ("all", &rows.len().to_string())]));
        let of: Vec<Found> = rows.iter().take(MOST).map(|row| found(view, *row)).collect();
        Some((of, cut)).filter(|(of, _)| !of.is_empty())
    });
    let currency = answers.report("findings").and_then(|r| r.currency()).unwrap_or_default();
    let fields = minijinja::context! {
        list => value(list),
        rules => value(part(answers, "rules", |r| {
            (!r.rows().is_empty()).then(|| Table::of(view, r, shown, Some(rule_csv)))
        })),
        filters => value(filters(view, answers)),
        saved => value(part(answers, "verified", |r| saved(view, r))),
        may_answer => view.may().answer,
        currency => currency,
        csv => csv,
        here => view.here(&[]),
        kept => value(kept(view)),
    };
    Body { template: "waste.html", sentence: sentence(view, answers), fields }
}

/// What goes along with a choice.
fn kept(view: &View) -> Vec<(String, String)> {
    let own = ["rule", "team", "note", "sort"];
    view.query.iter().filter(|(k, _)| !own.contains(&k.as_str())).cloned().collect()
}

fn sentence(view: &View, answers: &Answers) -> Option<String> {
    // the sums by rule count every finding, also those that are not on the page
    let report = answers.report("rules")?;
    let total = report.total()?;
    let count = total.number("findings")?.show(0);
    let (idle, gap) = (total.number("idle_hours")?.show(1), total.number("gap_hours").map(|h| h.show(1)));
    let money = total.number("waste").zip(report.currency());
    let month = view.month_words();
    let gap = gap.unwrap_or_else(|| view.word("unknown"));
    let base = [("month", month.as_str()), ("count", &count), ("idle", &idle), ("gap", &gap)];
    Some(match money {
        Some((waste, currency)) => {
            let waste = waste.show_all();
            let args = [base.as_slice(), &[("waste", &waste), ("currency", currency)]].concat();
            view.say("waste.sentence", &args)
        }
        None => view.say("waste.sentence_unpriced", &base),
    })
}

const SAVED: [Col; 7] = [
    Col::new("rule", "head.rule", Kind::Word("rule")),
    Col::new("subject", "head.job", Kind::Text),
    Col::new("done", "head.done", Kind::Text),
    Col::new("idle_before_hours", "head.idle_before", Kind::Hours),
    Col::new("idle_after_hours", "head.idle_after", Kind::Hours),
    Col::new("saved_hours", "head.saved_hours", Kind::Hours),
    Col::new("saved", "head.saved", Kind::Money),
];

fn saved(view: &View, report: Report<'_>) -> Option<Table> {
    let shown = Shown { id: "saved", caption: "waste.saved", empty: "empty.saved", columns: &SAVED, most: 40 };
    (!report.rows().is_empty()).then(|| Table::of(view, report, shown, None))
}
