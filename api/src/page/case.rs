//! Cases of reclaiming: rows with state, deadline and evidence; and one case with what was seen, what happened, and the answers.

use serde::Serialize;

use super::Body;
use super::answer::{Answers, Report, Row};
use super::number::Decimal;
use super::part::part;
use super::table::{Cell, Head, Line, Table};
use super::template::value;
use super::view::View;

/// Milliseconds in a minute.
const MINUTE: i64 = 60_000;

/// When something is due by itself: of what is kept or exempt when that ends, of what is over nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Due(i64),
    Until(i64),
    Never,
}

fn when(row: Row<'_>) -> When {
    match row.word("state").as_str() {
        "freed" | "active_again" => When::Never,
        "kept" | "exempt" => instant(row, "until_ms").map_or(When::Never, When::Until),
        _ => instant(row, "deadline_ms").map_or(When::Never, When::Due),
    }
}

/// How long until an instant, or since, in words.
fn remaining(view: &View, when: When) -> Option<String> {
    let (at_ms, ahead_word) = match when {
        When::Due(at_ms) => (at_ms, "case.in"),
        When::Until(at_ms) => (at_ms, "case.for"),
        When::Never => return None,
    };
    let minutes = (at_ms - view.now_ms).div_euclid(MINUTE);
    let (ahead, minutes) = if minutes < 0 { (false, -minutes) } else { (true, minutes) };
    let (hours, rest) = (minutes / 60, minutes % 60);
    let args = [("hours", hours.to_string()), ("minutes", format!("{rest:02}"))];
    let args = args.each_ref().map(|(n, v)| (*n, v.as_str()));
    Some(view.say(if ahead { ahead_word } else { "case.ago" }, &args))
}

fn instant(row: Row<'_>, column: &str) -> Option<i64> {
    row.word(column).parse().ok()
}

/// What was seen, in one line.
fn evidence(view: &View, row: Row<'_>) -> String {
    let unknown = || view.word("unknown");
    let ppm = |column: &str| row.number(column).map_or_else(unknown, |n| Decimal::parts(n, 1_000_000).percent());
    let watt = |column: &str| row.number(column).map_or_else(unknown, |n| Decimal::parts(n, 1000).show(0));
    let args = [
        ("peak", ppm("peak_ppm")),
        ("power", watt("power_mw")),
        ("floor", watt("floor_mw")),
        ("coverage", ppm("coverage_ppm")),
    ];
    view.say("case.evidence", &args.each_ref().map(|(n, v)| (*n, v.as_str())))
}

/// What somebody may do about a case, and where on its page.
fn doings(view: &View) -> Vec<(&'static str, &'static str)> {
    let may = view.may();
    let own = [("case.keep", "keep"), ("case.release", "release")].into_iter().filter(|_| may.own);
    own.chain([("case.exempt", "operate")].into_iter().filter(|_| may.operate)).collect()
}

/// The table of cases, those that are due first.
pub(super) fn table(view: &View, report: Report<'_>, id: &'static str, most: usize) -> Option<Table> {
    let caption = match id {
        "open" => "reclaim.open",
        "over" => "reclaim.over",
        _ => "overview.cases",
    };
    let mut rows = report.rows();
    rows.sort_by_key(|r| (instant(*r, "deadline_ms").unwrap_or(i64::MAX), r.word("case_id")));
    let mut heads =
        vec!["head.run", "head.who", "head.gpus", "head.class", "head.state", "head.deadline", "head.evidence"];
    let doings = doings(view).into_iter().filter(|_| id == "open").collect::<Vec<_>>();
    heads.extend((!doings.is_empty()).then_some("head.answers"));
    let line = |row: &Row<'_>| {
        let id = row.word("case_id");
        let deadline = remaining(view, when(*row));
        let state = Cell {
            class: Some(state_class(&row.word("state"))),
            ..Cell::text(listed(view, "case_state", *row, "state"))
        };
        let mut cells = vec![
            Cell { href: Some(view.link("/reclaim/case", &[("case", &id)])), ..Cell::text(row.word("what")) },
            Cell::text(format!("{} \u{b7} {}", row.word("team"), row.word("user"))),
            Cell { number: true, ..Cell::text(row.word("gpus")) },
            Cell::text(listed(view, "case_class", *row, "class")),
            state,
            Cell {
                title: match when(*row) {
                    When::Due(_) => row.text("deadline"),
                    When::Until(_) => row.text("until"),
                    When::Never => None,
                },
                ..Cell::text(deadline.unwrap_or_else(|| view.word("case.no_deadline")))
            },
            Cell::text(evidence(view, *row)),
        ];
        if !doings.is_empty() {
            let to = |anchor: &str| format!("{}#{anchor}", view.link("/reclaim/case", &[("case", &id)]));
            let links = doings.iter().map(|(word, anchor)| (view.word(word), to(anchor))).collect();
            cells.push(Cell { links, ..Cell::default() });
        }
        Line { cells, more: None }
    };
    let cut = (rows.len() > most)
        .then(|| view.say("table.cut", &[("shown", &most.to_string()), ("all", &rows.len().to_string())]));
    (!rows.is_empty()).then(|| Table {
        id,
        caption: view.word(caption),
        heads: heads.into_iter().map(|h| Head::plain(view.word(h), h == "head.gpus")).collect(),
        rows: rows.iter().take(most).map(line).collect(),
        empty: view.word("empty.cases"),
        cut,
        ..Table::default()
    })
}

fn listed(view: &View, list: &str, row: Row<'_>, column: &str) -> String {
    super::words::listed(view.lang, list, &row.word(column))
}

/// How a state looks: calm, waiting, urgent, over.
fn state_class(state: &str) -> &'static str {
    match state {
        "warned" | "observed" => "st-waiting",
        "final" | "due" | "approved" | "acting" => "st-urgent",
        "failed" | "needs_operator" => "st-bad",
        _ => "st-calm",
    }
}

/// A case as it is.
#[derive(Debug, Serialize)]
struct Shown {
    id: String,
    what: String,
    state: String,
    class: &'static str,
    state_word: String,
    deadline: Option<String>,
    remaining: Option<String>,
    /// Whether the deadline lies before now.
    passed: bool,
    evidence: String,
    facts: Vec<(String, String)>,
    run: Option<String>,
    open: bool,
}

fn shown(view: &View, report: Report<'_>) -> Option<Shown> {
    let document = report.document().get("case")?.as_object()?;
    let row = Row(document);
    let fact = |head: &str, column: &str| {
        let text = row.text(column).filter(|t| !t.is_empty())?;
        Some((view.word(head), text))
    };
    let facts = [
        ("head.user", "user"),
        ("head.team", "team"),
        ("head.cluster", "cluster"),
        ("head.nodes", "nodes"),
        ("head.gpus", "gpus"),
        ("head.model", "model"),
        ("head.pool", "pool"),
        ("head.policy", "policy"),
        ("case.rest_from", "rest_from"),
        ("case.warned_at", "warned"),
        ("case.final_at", "final"),
        ("case.until", "until"),
        ("case.held_by", "held"),
        ("case.approved_by", "approved_by"),
    ];
    let state = row.word("state");
    Some(Shown {
        id: row.word("case_id"),
        what: row.word("what"),
        class: state_class(&state),
        state_word: listed(view, "case_state", row, "state"),
        deadline: row.text("deadline").filter(|_| matches!(when(row), When::Due(_))),
        remaining: remaining(view, when(row)),
        passed: matches!(when(row), When::Due(at_ms) if at_ms < view.now_ms),
        evidence: evidence(view, row),
        facts: facts.into_iter().filter_map(|(h, c)| fact(h, c)).collect(),
        run: row.text("run").map(|r| view.link("/job", &[("run", &r)])),
        open: !["freed", "active_again"].contains(&state.as_str()),
        state,
    })
}

/// Something that happened to a case.
#[derive(Debug, Serialize)]
struct Event {
    at: String,
    actor: String,
    kind: String,
    reason: String,
    proof: String,
}

fn events(view: &View, report: Report<'_>) -> Option<Vec<Event>> {
    let all = report.document().get("events")?.as_array()?;
    let event = |e: &serde_json::Value| {
        let row = Row(e.as_object()?);
        Some(Event {
            at: row.word("at"),
            actor: row.word("actor"),
            kind: listed(view, "case_event", row, "kind"),
            reason: row.word("reason"),
            proof: row.word("proof"),
        })
    };
    Some(all.iter().filter_map(event).collect())
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let case = part(answers, "case", |r| shown(view, r));
    let sentence = case.of.as_ref().map(|c| {
        let args = [("what", c.what.as_str()), ("state", &c.state_word)];
        let key = match (&c.deadline, c.passed) {
            (Some(_), true) => "case.sentence_passed",
            (Some(_), false) => "case.sentence_deadline",
            (None, _) => "case.sentence_until",
        };
        match &c.remaining {
            Some(at) => view.say(key, &[args.as_slice(), &[("at", at)]].concat()),
            None => view.say("case.sentence", &args),
        }
    });
    let fields = minijinja::context! {
        case => value(case),
        events => value(part(answers, "case", |r| events(view, r))),
        may_answer => view.may().own,
        may_operate => view.may().operate,
        here => view.here(&[]),
        back => view.link("/reclaim", &[]),
    };
    Body { template: "case.html", sentence, fields }
}
