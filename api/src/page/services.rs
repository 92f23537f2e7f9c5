//! Services: long-lived allocations that serve, sorted by the money that is held and not used.

use std::collections::BTreeMap;

use super::Body;
use super::answer::{Answers, Report, Row};
use super::chart::{self, Heat};
use super::number::Decimal;
use super::part::part;
use super::table::{Cell, Col, Drawn, Head, Kind, Line, Shown, Table};
use super::template::value;
use super::view::View;

const SERVICES: [Col; 9] = [
    Col::new("account", "head.account", Kind::Text),
    Col::new("team", "head.team", Kind::Text),
    Col::new("user", "head.owner", Kind::Text),
    Col::new("model", "head.model", Kind::Text),
    Col::new("pool", "head.pool", Kind::Text),
    Col::new("held_hours", "head.held", Kind::Hours).to(|v, r| {
        let mut of = BY.map(|key| (key, r.word(key))).to_vec();
        of.push(("task_type", "infer".to_owned()));
        Some(v.rows_of("/charges", "cluster,job", &of))
    }),
    Col::new("busy_hours", "head.busy", Kind::Hours),
    Col::new("charge", "head.charge", Kind::Money),
    Col::new("waste", "head.waste", Kind::Money),
];

const FINDINGS: [Col; 6] = [
    Col::new("rule", "head.rule", Kind::Word("rule")),
    Col::new("subject", "head.service", Kind::Text),
    Col::new("idle_hours", "head.idle", Kind::Hours),
    Col::new("waste", "head.waste", Kind::Money),
    Col::new("evidence", "head.evidence", Kind::Text),
    Col::new("note", "head.note", Kind::Word("note")),
];

const RUNS: [Col; 7] = [
    Col::new("job", "head.job", Kind::Text)
        .to(|v, r| Some(v.link("/job", &[("run", &format!("{}/{}", r.word("cluster"), r.word("job")))]))),
    Col::new("cluster", "head.cluster", Kind::Text),
    Col::new("team", "head.team", Kind::Text),
    Col::new("held_hours", "head.held", Kind::Hours),
    Col::new("busy_hours", "head.busy", Kind::Hours),
    Col::new("charge", "head.charge", Kind::Money),
    Col::new("waste", "head.waste", Kind::Money),
];

fn by_waste<'a>(report: Report<'a>) -> Vec<Row<'a>> {
    let mut rows = report.rows();
    rows.sort_by(|a, b| {
        let of = |r: &Row<'_>| r.number("waste").unwrap_or(Decimal::ZERO);
        of(b).order(of(a)).then_with(|| a.word("account").cmp(&b.word("account")))
    });
    rows
}

/// The rows of a table in their order: as somebody sorted them, else by waste.
fn in_order<'a>(view: &View, report: Report<'a>, shown: Shown<'_>) -> Vec<Row<'a>> {
    let mut rows = by_waste(report);
    super::table::sort(view, shown.id, shown.columns, &mut rows);
    rows
}

fn table(view: &View, rows: &[Row<'_>], report: Report<'_>, shown: Shown<'_>, by: &str) -> Option<Table> {
    let asked = [
        ("month", view.month.as_str()),
        ("tz", &view.zone),
        ("by", by),
        ("filter", "task_type=infer"),
        ("format", "csv"),
    ];
    let csv = View::api("/charges", &asked);
    (!rows.is_empty()).then(|| Table::made(view, rows, report.total(), report.currency(), shown, Some(csv)))
}

/// The services with how many replicas each had.
fn counted(view: &View, answers: &Answers, report: Report<'_>, shown: Shown<'_>) -> Option<Table> {
    let rows = in_order(view, report, shown);
    let mut out = table(view, &rows, report, shown, &BY.join(","))?;
    let Some(replicas) = answers.report("replicas") else { return Some(out) };
    let key = |row: Row<'_>| BY.map(|k| row.word(k));
    let mut counts: BTreeMap<[String; 5], usize> = BTreeMap::new();
    replicas.rows().into_iter().for_each(|r| *counts.entry(key(r)).or_default() += 1);
    let cell = |count: Option<&usize>| Cell::number(view, count.map(ToString::to_string));
    let cells = rows.iter().map(|r| cell(counts.get(&key(*r)))).collect();
    let total = counts.values().sum();
    out.push(view, "head.replicas", cells, cell(Some(&total)));
    Some(out)
}

/// What was granted to a replica, and the most that it used of it.
const LIMITS: [(&str, &str); 3] = [
    ("time_limit_hours", "head.time_limit"),
    ("gpu_mem_quota_gib", "head.mem_granted"),
    ("gpu_mem_peak_gib", "head.mem_peak"),
];

/// The replicas with their limits.
fn limited(view: &View, answers: &Answers, report: Report<'_>, shown: Shown<'_>) -> Option<Table> {
    let rows = in_order(view, report, shown);
    let mut out = table(view, &rows, report, shown, &RUNS_BY.join(","))?;
    let Some(limits) = answers.report("limits") else { return Some(out) };
    let key = |row: Row<'_>| RUNS_BY.map(|k| row.word(k));
    let of: BTreeMap<[String; 7], Row<'_>> = limits.rows().into_iter().map(|r| (key(r), r)).collect();
    for (name, head) in LIMITS {
        let cell = |row: Option<&Row<'_>>| Cell::number(view, row.and_then(|r| r.number(name)).map(|n| n.show(1)));
        let cells = rows.iter().map(|r| cell(of.get(&key(*r)))).collect();
        // limits of several runs are no limit of all of them
        out.push(view, head, cells, Cell::text(String::new()));
    }
    Some(out)
}

/// Services of the chart of the week at most: more have the file alone.
const WEEKS: usize = 40;

/// When in the week each was busy; the table beside has a character an hour.
fn week(view: &View, report: Report<'_>) -> Option<Drawn> {
    let rows = report.rows();
    let name = |r: &Row<'_>| {
        let job = r.word("job");
        let tail: String = job.chars().skip(job.chars().count().saturating_sub(9)).collect();
        format!("{} {tail}", r.word("account"))
    };
    let line = |r: &Row<'_>| (name(r), r.word("hours").chars().map(Heat::told).collect::<Vec<_>>());
    let drawn: Vec<(String, Vec<Option<Heat>>)> = rows.iter().take(WEEKS).map(line).collect();
    let day = |n: usize| super::words::listed(view.lang, "weekday", &(n + 1).to_string());
    let labels: Vec<(usize, String)> = (0..7).map(|n| (24 * n, day(n))).collect();
    let says = view.say("services.week_says", &[("count", &rows.len().to_string())]);
    let svg = chart::heat("week-map", &drawn, &labels, &view.word("services.week"), &says);
    let mut heads = vec![Head::plain(view.word("head.job"), false), Head::plain(view.word("head.team"), false)];
    heads.push(Head::plain(view.word("head.held"), true));
    heads.extend((0..7).map(|n| Head::plain(day(n), false)));
    let cells = |r: &Row<'_>| {
        let run = format!("{}/{}", r.word("cluster"), r.word("job"));
        let hours: Vec<char> = r.word("hours").chars().collect();
        let mut cells = vec![Cell { href: Some(view.link("/job", &[("run", &run)])), ..Cell::text(r.word("job")) }];
        cells.push(Cell::text(r.word("team")));
        cells.push(Cell::number(view, r.number("held_hours").map(|h| h.show(1))));
        cells.extend(hours.chunks(24).map(|of_day| Cell::text(of_day.iter().collect::<String>())));
        Line { cells, more: None }
    };
    let asked = [("month", view.month.as_str()), ("tz", &view.zone), ("filter", "task_type=infer"), ("format", "csv")];
    let cut = (rows.len() > WEEKS)
        .then(|| view.say("table.cut", &[("shown", &WEEKS.to_string()), ("all", &rows.len().to_string())]));
    let table = Table {
        id: "week",
        caption: view.word("services.week_table"),
        heads,
        rows: rows.iter().take(WEEKS).map(cells).collect(),
        csv: Some(View::api("/usage/week", &asked)),
        cut,
        ..Table::default()
    };
    (!rows.is_empty()).then(|| Drawn { svg: minijinja::Value::from_safe_string(svg), table })
}

/// What the services are grouped by.
pub(super) const BY: [&str; 5] = ["account", "team", "user", "model", "pool"];
/// What their replicas are grouped by.
pub(super) const RUNS_BY: [&str; 7] = ["cluster", "job", "account", "team", "user", "model", "pool"];

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let services =
        Shown { id: "services", caption: "services.table", empty: "empty.services", columns: &SERVICES, most: 80 };
    let runs =
        Shown { id: "replicas", caption: "services.replicas", empty: "empty.services", columns: &RUNS, most: 80 };
    let found =
        Shown { id: "found", caption: "services.findings", empty: "empty.findings", columns: &FINDINGS, most: 40 };
    let fields = minijinja::context! {
        services => value(part(answers, "services", |r| counted(view, answers, r, services))),
        replicas => value(part(answers, "replicas", |r| limited(view, answers, r, runs))),
        week => value(part(answers, "week", |r| week(view, r))),
        shades => value(chart::shades()),
        findings => value(part(answers, "findings", |r| {
            (!r.rows().is_empty()).then(|| Table::of(view, r, found, None))
        })),
    };
    Body { template: "services.html", sentence: sentence(view, answers), fields }
}

fn sentence(view: &View, answers: &Answers) -> Option<String> {
    let report = answers.report("services")?;
    let total = report.total()?;
    let word = |n: Option<Decimal>, show: fn(Decimal) -> String| n.map_or_else(|| view.word("unknown"), show);
    let args = [
        ("month", view.month_words()),
        ("count", report.rows().len().to_string()),
        ("held", total.number("held_hours")?.show(1)),
        ("idle", word(total.number("held_idle_hours"), |h| h.show(1))),
        ("waste", word(total.number("waste"), Decimal::show_all)),
        ("currency", report.currency().unwrap_or("-").to_owned()),
    ];
    Some(view.say("services.sentence", &args.each_ref().map(|(n, v)| (*n, v.as_str()))))
}
