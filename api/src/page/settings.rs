//! Settings: reference tables as dated rows with their history and a form that shows what a change would do before it is saved;
//! tokens; the audit log; and the page that asks who somebody is.

use serde::Serialize;
use serde_json::Value as Json;

use super::Body;
use super::answer::{Answers, Report};
use super::part::part;
use super::table::{Cell, Col, Head, Kind, Line, Shown, Table};
use super::template::value;
use super::view::View;

/// Reference tables by the question that they answer; the words of commands.
const GROUPS: [(&str, &[&str]); 4] = [
    ("settings.money", &["rates", "discounts", "terms", "energy-prices", "cost-pools", "budgets", "manual-lines"]),
    ("settings.people", &["owners", "cost-centers", "contacts", "quotas"]),
    ("settings.machines", &["inventory", "pools", "tiers"]),
    ("settings.work", &["rules", "weights", "thresholds", "specs", "finding-notes"]),
];

/// A reference table as an entry.
#[derive(Debug, Serialize)]
struct Entry {
    word: &'static str,
    name: String,
    href: String,
}

/// Whether there is a reference table of that word.
pub(super) fn is_table(word: &str) -> bool {
    GROUPS.iter().any(|(_, tables)| tables.contains(&word))
}

pub(super) fn body(view: &View) -> Body {
    let entry = |word: &&'static str| Entry {
        word,
        name: super::words::listed(view.lang, "table_name", word),
        href: view.link("/settings/table", &[("table", word)]),
    };
    let groups: Vec<(String, Vec<Entry>)> =
        GROUPS.iter().map(|(name, tables)| (view.word(name), tables.iter().map(entry).collect())).collect();
    let fields = minijinja::context! {
        groups => value(groups),
        tokens => view.may().admin.then(|| view.link("/settings/tokens", &[])),
        audit => view.may().see_all.then(|| view.link("/settings/audit", &[])),
    };
    Body { template: "settings.html", sentence: Some(view.word("settings.sentence")), fields }
}

/// The rows of a reference table: `{"table", "version", "columns", "rows"}`.
fn rows(view: &View, report: Report<'_>, word: &str) -> Option<Table> {
    let document = report.document();
    let columns: Vec<&str> = match document.get("columns").and_then(Json::as_array) {
        Some(all) => all.iter().filter_map(column_name).collect(),
        None => report.rows().first()?.0.keys().map(String::as_str).collect(),
    };
    let all = report.rows();
    let cells = |row: &super::answer::Row<'_>| Line {
        cells: columns.iter().map(|c| Cell::text(row.word(c))).collect(),
        more: None,
    };
    let most = 300;
    let csv = View::api(&format!("/reference/{word}"), &[("format", "csv")]);
    Some(Table {
        id: "rows",
        caption: view.say("settings.rows", &[("table", &super::words::listed(view.lang, "table_name", word))]),
        heads: columns.iter().map(|c| Head::plain(*c, false)).collect(),
        rows: all.iter().take(most).map(cells).collect(),
        csv: Some(csv),
        empty: view.word("empty.rows"),
        cut: (all.len() > most)
            .then(|| view.say("table.cut", &[("shown", &most.to_string()), ("all", &all.len().to_string())])),
        ..Table::default()
    })
}

fn column_name(column: &Json) -> Option<&str> {
    column.as_str().or_else(|| column.get("name")?.as_str())
}

/// The header of a table and its newest rows as a person would type them: where a form begins.
fn example(report: Report<'_>) -> String {
    let Some(columns) = report.document().get("columns").and_then(Json::as_array) else { return String::new() };
    let names: Vec<&str> = columns.iter().filter_map(column_name).collect();
    format!("{}\n", names.join(","))
}

const HISTORY: [Col; 7] = [
    Col::new("at", "head.at", Kind::Text),
    Col::new("actor", "head.actor", Kind::Text),
    Col::new("action", "head.action", Kind::Text),
    Col::new("subject", "head.subject", Kind::Text),
    Col::new("reason", "head.reason", Kind::Text),
    Col::new("before", "head.before", Kind::Text),
    Col::new("after", "head.after", Kind::Text),
];

/// Entries of the audit log (an array, oldest first), newest first.
fn entries(view: &View, report: Report<'_>, most: usize) -> Option<Table> {
    let all = report.document().as_array()?;
    let rows: Vec<super::answer::Row<'_>> =
        all.iter().rev().filter_map(|e| Some(super::answer::Row(e.as_object()?))).collect();
    let shown = Shown { id: "audit", caption: "settings.history", empty: "empty.audit", columns: &HISTORY, most };
    let csv = View::api("/audit", &[("format", "csv")]);
    (!rows.is_empty()).then(|| Table::made(view, &rows, None, None, shown, Some(csv)))
}

/// Rows of one table, its history, and the form.
pub(super) fn reference(view: &View, answers: &Answers) -> Body {
    let word = view.chosen("table").unwrap_or_default().to_owned();
    let name = super::words::listed(view.lang, "table_name", &word);
    // what was typed comes back, so that it can be mended or saved
    let typed = |field: &str| answers.document("typed").and_then(|t| t.get(field)?.as_str()).map(str::to_owned);
    let document = answers.report("reference");
    let count = document.map_or(0, |r| r.rows().len()).to_string();
    let fields = minijinja::context! {
        word => word.clone(),
        name => name.clone(),
        tabled => value(part(answers, "reference", |r| {
            rows(view, r, &word).filter(|t| !t.rows.is_empty())
        })),
        history => value(part(answers, "audit", |r| entries(view, r, 40))),
        preview => value(part(answers, "preview", |r| {
            r.document().get("done").and_then(Json::as_str).map(str::to_owned)
        })),
        typed => typed("csv").unwrap_or_else(|| document.map(example).unwrap_or_default()),
        reason => typed("reason").unwrap_or_default(),
        may_change => view.may().admin,
        here => view.here(&[]),
        back => view.link("/settings", &[]),
    };
    let sentence = Some(view.say("settings.table_sentence", &[("table", &name), ("count", &count)]));
    Body { template: "reference.html", sentence: sentence.filter(|_| document.is_some()), fields }
}

const TOKENS: [Col; 7] = [
    Col::new("name", "head.name", Kind::Text),
    Col::new("role", "head.role", Kind::Word("role")),
    Col::new("scope", "head.scope", Kind::Text),
    Col::new("created", "head.created", Kind::Text),
    Col::new("expires", "head.expires", Kind::Text),
    Col::new("created_by", "head.actor", Kind::Text),
    Col::new("state", "head.state", Kind::Word("token")),
];

/// Who may come in.
pub(super) fn tokens(view: &View, answers: &Answers) -> Body {
    let shown = Shown { id: "tokens", caption: "tokens.table", empty: "empty.tokens", columns: &TOKENS, most: 200 };
    let count = answers.report("tokens").map(|r| r.rows().len().to_string());
    let fields = minijinja::context! {
        tabled => value(part(answers, "tokens", |r| {
            (!r.rows().is_empty()).then(|| Table::of(view, r, shown, None))
        })),
        back => view.link("/settings", &[]),
    };
    let sentence = count.map(|count| view.say("tokens.sentence", &[("count", &count)]));
    Body { template: "tokens.html", sentence, fields }
}

/// The audit log.
pub(super) fn audit(view: &View, answers: &Answers) -> Body {
    let count = answers.document("audit").and_then(Json::as_array).map(|a| a.len().to_string());
    let fields = minijinja::context! {
        tabled => value(part(answers, "audit", |r| entries(view, r, 200))),
        back => view.link("/settings", &[]),
    };
    let sentence = count.map(|count| view.say("audit.sentence", &[("count", &count)]));
    Body { template: "audit.html", sentence, fields }
}

/// Who are you?
pub(super) fn sign_in(view: &View) -> Body {
    let next = view.chosen("next").filter(|n| n.starts_with('/') && !n.starts_with("//")).unwrap_or("/").to_owned();
    let fields = minijinja::context! { next => next, wrong => view.chosen("wrong").is_some() };
    Body { template: "sign_in.html", sentence: None, fields }
}
