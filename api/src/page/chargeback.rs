//! Chargeback: who pays what, compared with another month, down to lines, runs and minutes; and the line that proves that
//! nothing is missing.

use std::collections::BTreeMap;

use serde::Serialize;

use super::answer::{Answers, Report, Row};
use super::number::Decimal;
use super::part::part;
use super::table::{Cell, Col, Kind, Shown, Table};
use super::template::value;
use super::view::{View, month_before, month_words};
use super::{Body, chart};

/// What charges can be grouped by here; the first is what is shown unasked.
pub(super) const BY: [&str; 9] =
    ["team", "cost_center", "account", "user", "model", "pool", "tier", "task_type", "cluster"];
/// What held time is charged for.
pub(super) const BASIS: [&str; 4] = ["", "held", "busy", "effective"];
/// Who bears what nobody used.
pub(super) const UNALLOCATED: [&str; 5] = ["", "separate", "even", "by_held", "by_quota"];

/// A choice of a closed list.
#[derive(Debug, Serialize)]
pub(super) struct Choice {
    name: &'static str,
    label: String,
    options: Vec<(String, String, bool)>,
}

/// A choice with its words from a list of messages.
pub(super) fn choice(view: &View, name: &'static str, label: &str, words: &[&str], list: &str) -> Choice {
    let chosen = view.one_of(name, words);
    let option = |w: &&str| {
        let key = if w.is_empty() { "as_terms" } else { w };
        ((*w).to_owned(), super::words::listed(view.lang, list, key), *w == chosen)
    };
    Choice { name, label: view.word(label), options: words.iter().map(option).collect() }
}

/// The month that is compared with.
pub(super) fn compared(view: &View) -> Option<String> {
    let asked = view.chosen("compare").filter(|m| super::view::month_days(m).is_some());
    asked.map(str::to_owned).or_else(|| month_before(&view.month))
}

fn name_of(by: &str) -> &'static str {
    BY.iter().copied().find(|b| *b == by).unwrap_or(BY[0])
}

/// Columns of the table for a dimension.
fn columns(by: &'static str) -> Vec<Col> {
    let key = match by {
        "cost_center" => "head.cost_center",
        "account" => "head.account",
        "user" => "head.user",
        "model" => "head.model",
        "pool" => "head.pool",
        "tier" => "head.tier",
        "task_type" => "head.task_type",
        "cluster" => "head.cluster",
        _ => "head.team",
    };
    let first = Col::new(by, key, Kind::Text);
    let first = if by == "team" {
        first.to(|v, r| Some(v.link("/chargeback/statement", &[("team", &r.word("team"))])))
    } else {
        first
    };
    // a team's numbers lead to its lines, and its waste to the findings
    let lines = |col: Col| if by == "team" { Col { link: first.link, ..col } } else { col };
    let found = |col: Col| {
        if by == "team" { col.to(|v, r| Some(v.link("/waste", &[("team", &r.word("team"))]))) } else { col }
    };
    vec![
        first,
        lines(Col::new("held_hours", "head.held", Kind::Hours)),
        lines(Col::new("busy_hours", "head.busy", Kind::Hours)),
        found(Col::new("held_idle_hours", "head.waste_hours", Kind::Hours)),
        lines(Col::new("held_unmeasured_hours", "head.unmeasured", Kind::Hours)),
        Col::new("coverage", "head.coverage", Kind::Percent),
        lines(Col::new("charge", "head.charge", Kind::Money)),
        found(Col::new("waste", "head.waste", Kind::Money)),
    ]
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let by = name_of(view.one_of("by", &BY));
    let before = compared(view);
    let choices = vec![
        choice(view, "by", "choose.by", &BY, "by"),
        choice(view, "basis", "choose.basis", &BASIS, "basis"),
        choice(view, "unallocated", "choose.unallocated", &UNALLOCATED, "unallocated"),
    ];
    let fields = minijinja::context! {
        choices_list => value(choices),
        month => view.month.clone(),
        compare => before.clone().unwrap_or_default(),
        tabled => value(part(answers, "charges", |r| table(view, answers, r, by, before.as_deref()))),
        conservation => value(part(answers, "charges", |r| conservation(view, r))),
        uncharged => value(part(answers, "uncharged", |r| uncharged(view, r))),
        links => value(links(view)),
        exports => value(exports(view, None)),
        posting => View::api(&format!("/exports/{}", view.month), &[]),
    };
    Body { template: "chargeback.html", sentence: sentence(view, answers), fields }
}

fn sentence(view: &View, answers: &Answers) -> Option<String> {
    let report = answers.report("charges")?;
    let total = report.whole()?;
    let (charge, currency) = (total.number("charge")?.show_all(), report.currency()?);
    let (held, month) = (total.number("held_hours")?.show(1), view.month_words());
    let Some(waste) = total.number("waste") else {
        let args = [("month", month.as_str()), ("charge", &charge), ("currency", currency), ("held", &held)];
        return Some(view.say("chargeback.sentence_unmeasured", &args));
    };
    let idle = total.number("held_idle_hours")?.show(1);
    let args = [
        ("month", month.as_str()),
        ("charge", &charge),
        ("currency", currency),
        ("held", &held),
        ("waste", &waste.show_all()),
        ("idle", &idle),
    ];
    Some(view.say("chargeback.sentence", &args))
}

fn table(view: &View, answers: &Answers, report: Report<'_>, by: &'static str, before: Option<&str>) -> Option<Table> {
    let mut cols = columns(by);
    let there = |column: &str| report.rows().iter().any(|r| r.number(column).is_some_and(|n| !n.is_zero()));
    for (column, head) in
        [("shared", "head.shared"), ("reserved_hours", "head.reserved"), ("unbilled", "head.unbilled")]
    {
        if there(column) {
            let kind = if column.ends_with("_hours") { Kind::Hours } else { Kind::Money };
            cols.push(Col::new(column, head, kind));
        }
    }
    // free time is nobody's: a row without held time and charge is the platform's, below
    let mut rows: Vec<Row<'_>> =
        report.rows().into_iter().filter(|r| !r.word(by).is_empty() && r.word(by) != "-").collect();
    super::table::sort(view, "charges", &cols, &mut rows);
    let shown = Shown { id: "charges", caption: "chargeback.table", empty: "empty.charges", columns: &cols, most: 200 };
    let basis = view.one_of("basis", &BASIS);
    let unallocated = view.one_of("unallocated", &UNALLOCATED);
    let asked = [
        ("month", view.month.as_str()),
        ("tz", &view.zone),
        ("by", by),
        ("basis", basis),
        ("unallocated", unallocated),
    ];
    let csv = View::api("/charges", &[asked.as_slice(), &[("format", "csv")]].concat());
    let mut out = Table::made(view, &rows, report.total(), report.currency(), shown, Some(csv));
    let order: Vec<String> = rows.iter().map(|r| r.word(by)).collect();
    if let Some(effective) = answers.report("usage_by") {
        let of = by_key(effective, by, "effective_hours");
        let cells = order.iter().map(|k| hours_cell(view, of.get(k).copied().flatten())).collect();
        let total = hours_cell(view, effective.whole().and_then(|t| t.number("effective_hours")));
        out.push(view, "head.effective", cells, total);
    }
    if let Some(corrections) = answers.report("statement").filter(|_| by == "team") {
        let (cells, total) = corrected(view, corrections, &order);
        out.push(view, "head.corrections", cells, total);
    }
    if let (Some(month), Some(before)) = (before, answers.report("before")) {
        let cells = against(view, report, before, by, &order, month);
        out.push(view, "head.against", cells, Cell::default());
    }
    if let Some(daily) = answers.report("daily_by") {
        let cells = sparks(view, daily, by, &order);
        out.push(view, "head.by_day", cells, Cell::default());
    }
    Some(out)
}

fn by_key<'a>(report: Report<'a>, by: &str, column: &str) -> BTreeMap<String, Option<Decimal>> {
    report.rows().into_iter().map(|r| (r.word(by), r.number(column))).collect()
}

fn hours_cell(view: &View, hours: Option<Decimal>) -> Cell {
    let text = hours.map_or_else(|| view.word("unknown"), |h| h.show(1));
    let title = hours.is_none().then(|| view.word("unknown.why"));
    Cell { text, title, number: true, unknown: hours.is_none(), ..Cell::default() }
}

/// Corrections of earlier months, by team.
fn corrected(view: &View, statement: Report<'_>, order: &[String]) -> (Vec<Cell>, Cell) {
    let mut sums: BTreeMap<String, Decimal> = BTreeMap::new();
    for line in statement.rows().into_iter().filter(|l| l.word("kind") == "correction") {
        if let Some(amount) = line.number("amount") {
            let sum = sums.entry(line.word("team")).or_insert(Decimal::ZERO);
            *sum = sum.plus(amount);
        }
    }
    let cell = |team: &String| {
        let text = sums.get(team).map_or_else(|| "0".to_owned(), |s| s.show_all());
        let href = Some(view.link("/chargeback/statement", &[("team", team)]));
        Cell { text, number: true, href, ..Cell::default() }
    };
    let all = sums.values().copied().fold(Decimal::ZERO, Decimal::plus);
    (order.iter().map(cell).collect(), Cell { number: true, ..Cell::text(all.show_all()) })
}

/// The difference to another month.
fn against(view: &View, now: Report<'_>, before: Report<'_>, by: &str, order: &[String], month: &str) -> Vec<Cell> {
    let (now, then) = (by_key(now, by, "charge"), by_key(before, by, "charge"));
    let words = month_words(view.lang, month);
    let cell = |key: &String| {
        let (Some(a), b) = (now.get(key).copied().flatten(), then.get(key).copied().flatten()) else {
            return Cell::number(view, None);
        };
        let Some(b) = b else {
            let title = view.say("chargeback.not_then", &[("month", &words)]);
            return Cell { text: view.word("chargeback.new"), title: Some(title), number: true, ..Cell::default() };
        };
        let change = a.less(b);
        let sign = if change.is_negative() || change.is_zero() { "" } else { "+" };
        let title = view.say("chargeback.then", &[("month", &words), ("amount", &b.show_all())]);
        Cell { text: format!("{sign}{}", change.show_all()), title: Some(title), number: true, ..Cell::default() }
    };
    order.iter().map(cell).collect()
}

/// The charge by day as a small curve.
fn sparks(view: &View, daily: Report<'_>, by: &str, order: &[String]) -> Vec<Cell> {
    let days = view.days().map_or(31, |(_, last)| chrono::Datelike::day(&last) as usize);
    let mut curves: BTreeMap<String, Vec<Option<i128>>> = BTreeMap::new();
    for row in daily.rows() {
        let day: Option<usize> = row.word("day").get(8..10).and_then(|d| d.parse().ok());
        let curve = curves.entry(row.word(by)).or_insert_with(|| vec![None; days]);
        if let Some(place) = day.and_then(|d| d.checked_sub(1)).and_then(|d| curve.get_mut(d)) {
            *place = row.number("charge").map(|c| c.scaled(2));
        }
    }
    order.iter().map(|k| Cell::svg(curves.get(k).map(|c| chart::spark(c)).unwrap_or_default())).collect()
}

/// What adds up to what the fleet cost.
#[derive(Debug, Serialize)]
struct Conservation {
    parts: Vec<(String, String)>,
    sum: String,
    currency: String,
    lost: Option<String>,
}

fn conservation(view: &View, report: Report<'_>) -> Option<Conservation> {
    let total = report.whole()?;
    let mut sum = Decimal::ZERO;
    let mut parts = Vec::new();
    for (column, word, always) in [
        ("charge", "sum.charged", true),
        ("unbilled", "sum.unbilled", false),
        ("to_settle", "sum.to_settle", false),
        ("unallocated_cost", "sum.unallocated", true),
        ("unavailable_cost", "sum.unavailable", true),
        ("unobserved_cost", "sum.unobserved", true),
        ("shared_out", "sum.shared_out", false),
    ] {
        let Some(amount) = total.number(column) else { continue };
        sum = sum.plus(amount);
        if always || !amount.is_zero() {
            parts.push((view.word(word), amount.show_all()));
        }
    }
    let lost = total.number("lost_card_hours").filter(|h| !h.is_zero()).map(|h| h.show(2));
    Some(Conservation { parts, sum: sum.show_all(), currency: report.currency()?.to_owned(), lost })
}

const UNCHARGED: [Col; 5] = [
    Col::new("why", "head.why", Kind::Word("uncharged")),
    Col::new("place", "head.where", Kind::Text),
    Col::new("hours", "head.hours", Kind::Hours),
    Col::new("list_value", "head.list_value", Kind::Money),
    Col::new("runs", "head.runs", Kind::Text),
];

fn uncharged(view: &View, report: Report<'_>) -> Option<Table> {
    let shown = Shown {
        id: "uncharged",
        caption: "chargeback.uncharged",
        empty: "empty.uncharged",
        columns: &UNCHARGED,
        most: 40,
    };
    let csv = View::api("/uncharged", &[("month", &view.month), ("tz", &view.zone), ("format", "csv")]);
    Some(Table::of(view, report, shown, Some(csv)))
}

fn links(view: &View) -> Vec<(String, String)> {
    let mut out = Vec::new();
    if view.may().see_all {
        out.push((view.word("title.close"), view.link("/chargeback/close", &[])));
        out.push((view.word("title.corrections"), view.link("/chargeback/corrections", &[])));
    }
    out
}

/// The documents of a month, of all teams or one.
pub(super) fn exports(view: &View, team: Option<&str>) -> Vec<(String, String)> {
    let path = format!("/exports/{}", view.month);
    let lang = view.lang.word();
    let each: &[(&str, &str)] = match team {
        Some(_) => &[("pdf", "PDF")],
        None => &[("xlsx", "XLSX"), ("csv", "CSV"), ("json", "JSON"), ("parquet", "Parquet"), ("focus", "FOCUS")],
    };
    if team.is_none() && !view.may().see_all {
        return Vec::new();
    }
    let link = |(document, text): &(&str, &str)| {
        let text = (*text).to_owned();
        let team = team.unwrap_or_default();
        (text, View::api(&path, &[("as", document), ("team", team), ("lang", lang)]))
    };
    each.iter().map(link).collect()
}
