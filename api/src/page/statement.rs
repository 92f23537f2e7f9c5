//! A statement's lines, with accept and dispute while it is a draft; and what a line is made of, down to its runs.

use serde::Serialize;
use serde_json::Value as Json;

use super::Body;
use super::answer::{Answers, Report};
use super::chargeback::exports;
use super::part::part;
use super::table::{Cell, Col, Kind, Shown, Table};
use super::template::value;
use super::view::View;

const LINES: [Col; 11] = [
    Col::new("line_id", "head.line", Kind::Text)
        .to(|v, r| Some(v.link("/chargeback/line", &[("line", &r.word("line_id"))]))),
    Col::new("kind", "head.kind", Kind::Word("line_kind")),
    Col::new("pool", "head.pool", Kind::Text),
    Col::new("model", "head.model", Kind::Text),
    Col::new("task_type", "head.task_type", Kind::Word("task")),
    Col::new("price", "head.price", Kind::Text),
    Col::new("quantity_hours", "head.hours", Kind::Hours),
    Col::new("busy_hours", "head.busy", Kind::Hours),
    Col::new("amount", "head.amount", Kind::Money),
    Col::new("waste", "head.waste", Kind::Money),
    Col::new("corrects", "head.corrects", Kind::Text),
];

/// Whether the month is final, as its periods say.
pub(super) fn is_closed(view: &View, answers: &Answers) -> bool {
    let periods = answers.report("place").map(|p| p.rows()).unwrap_or_default();
    periods.iter().any(|p| p.word("period") == view.month && p.word("state").eq_ignore_ascii_case("closed"))
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let team = view.chosen("team").unwrap_or_default().to_owned();
    let closed = is_closed(view, answers);
    let fields = minijinja::context! {
        team => team.clone(),
        month => view.month.clone(),
        draft => !closed,
        may_answer => view.may().dispute && !closed,
        tabled => value(part(answers, "statement", |r| Some(lines(view, r, &team)))),
        reasons => value(part(answers, "statement", |r| Some(reasons(r)))),
        exports => value(exports(view, Some(&team))),
        here => view.here(&[]),
        back => view.link("/chargeback", &[]),
    };
    let sentence = answers.report("statement").and_then(|r| {
        let total = r.total()?;
        let key = if closed { "statement.sentence_closed" } else { "statement.sentence_draft" };
        let args = [
            ("team", team.as_str()),
            ("month", &view.month_words()),
            ("amount", &total.number("amount")?.show_all()),
            ("currency", r.currency()?),
            ("lines", &r.rows().len().to_string()),
        ];
        Some(view.say(key, &args))
    });
    Body { template: "statement.html", sentence, fields }
}

fn lines(view: &View, report: Report<'_>, team: &str) -> Table {
    let shown = Shown { id: "lines", caption: "statement.table", empty: "empty.lines", columns: &LINES, most: 300 };
    let path = format!("/periods/{}/statement", view.month);
    let csv = View::api(&path, &[("tz", &view.zone), ("team", team), ("format", "csv")]);
    let mut rows = report.rows();
    super::table::sort(view, "lines", &LINES, &mut rows);
    let mut table = Table::made(view, &rows, report.total(), report.currency(), shown, Some(csv));
    let answers = rows.iter().map(|r| Cell { raw: Some(r.word("line_id")), ..Cell::text(r.word("answer")) });
    table.push(view, "head.answer", answers.collect(), Cell::default());
    table
}

/// Why lines are there that a person or a correction made.
fn reasons(report: Report<'_>) -> Vec<String> {
    let told = report.rows().into_iter().filter_map(|r| {
        let reason = r.text("reason").filter(|t| !t.is_empty() && t != "-")?;
        Some(format!("{}: {reason}", r.word("line_id")))
    });
    told.collect()
}

/// A part of an explanation as a table.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    heading: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    cut: Option<String>,
}

/// Rows of a section at most.
const SECTION_MAX: usize = 200;

/// The sections of an explanation (`explain --format json`), of every run of that name.
pub(super) fn sections(view: &View, document: &Json) -> Vec<Section> {
    let texts = |v: &Json| v.as_array().map(|a| a.iter().map(text).collect::<Vec<_>>()).unwrap_or_default();
    let each = document.as_array().map(Vec::as_slice).unwrap_or_default();
    let all = each.iter().filter_map(|told| told.get("sections")?.as_array()).flatten();
    let section = |s: &Json| {
        let rows = s.get("rows").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let kept = rows.len().min(SECTION_MAX);
        Section {
            heading: s.get("heading").map(text).unwrap_or_default(),
            header: s.get("header").map(texts).unwrap_or_default(),
            rows: rows[..kept].iter().map(texts).collect(),
            cut: (kept < rows.len())
                .then(|| view.say("table.cut", &[("shown", &kept.to_string()), ("all", &rows.len().to_string())])),
        }
    };
    all.map(section).collect()
}

fn text(v: &Json) -> String {
    v.as_str().map_or_else(|| v.to_string(), str::to_owned)
}

/// What a line is made of.
pub(super) fn line(view: &View, answers: &Answers) -> Body {
    let line = view.chosen("line").unwrap_or_default().to_owned();
    let fields = minijinja::context! {
        line => line.clone(),
        sections => value(part(answers, "line", |r| {
            Some(sections(view, r.document())).filter(|s| !s.is_empty())
        })),
        back => view.link("/chargeback", &[]),
    };
    let sentence = Some(view.say("line.sentence", &[("line", &line), ("month", &view.month_words())]));
    Body { template: "line.html", sentence, fields }
}
