//! Health assessment: the period in words, six trends, what to change.

use minijinja::Value;
use serde::Serialize;

use super::Body;
use super::answer::{Answers, Report};
use super::chart;
use super::number::Decimal;
use super::part::part;
use super::table::{Col, Kind, Shown, Table};
use super::template::value;
use super::view::View;

/// A trend.
#[derive(Debug, Serialize)]
struct Trend {
    name: String,
    now: String,
    says: String,
    svg: Value,
}

const TRENDS: [(&str, &str, &str); 6] = [
    ("busy_of_service", "health.busy", "health.busy_says"),
    ("allocation_rate", "health.allocation", "health.allocation_says"),
    ("effective_rate", "health.effective", "health.effective_says"),
    ("ineffective_occupancy", "health.ineffective", "health.ineffective_says"),
    ("wait_of_run", "health.wait", "health.wait_says"),
    ("failure_rate", "health.failures", "health.failures_says"),
];

const PERIODS: [Col; 12] = [
    Col::new("from", "head.from", Kind::Text),
    Col::new("busy_of_service", "head.busy_rate", Kind::Percent),
    Col::new("allocation_rate", "head.allocated", Kind::Percent),
    Col::new("effective_rate", "head.effective_rate", Kind::Percent),
    Col::new("ineffective_occupancy", "head.ineffective", Kind::Percent),
    Col::new("card_days", "head.card_days", Kind::Count),
    Col::new("card_days_judged", "head.judged", Kind::Count),
    Col::new("card_days_under_40", "head.under", Kind::Count),
    Col::new("effective_days_under_40", "head.effective_under", Kind::Count),
    Col::new("wait_of_run", "head.wait_of_run", Kind::Percent),
    Col::new("failure_rate", "head.failed", Kind::Percent),
    Col::new("coverage", "head.coverage", Kind::Percent),
];

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let shown = Shown { id: "trend", caption: "health.table", empty: "empty.health", columns: &PERIODS, most: 24 };
    let csv = View::api("/health", &[("month", &view.month), ("tz", &view.zone), ("format", "csv")]);
    let fields = minijinja::context! {
        trends => value(part(answers, "health", |r| trends(view, r))),
        notes => value(part(answers, "health", |r| {
            Some(r.notes().into_iter().map(|n| told(view, n)).collect::<Vec<_>>()).filter(|n| !n.is_empty())
        })),
        tabled => value(part(answers, "health", |r| {
            (!r.rows().is_empty()).then(|| Table::of(view, r, shown, Some(csv)))
        })),
    };
    Body { template: "health.html", sentence: sentence(view, answers), fields }
}

fn trends(view: &View, report: Report<'_>) -> Option<Vec<Trend>> {
    let rows = report.rows();
    let last = rows.last()?;
    let trend = |(column, name, says): (&str, &str, &str)| Trend {
        name: view.word(name),
        now: last.number(column).map_or_else(|| view.word("unknown"), Decimal::percent),
        says: view.word(says),
        svg: Value::from_safe_string(chart::spark(
            &rows.iter().map(|r| r.number(column).map(|n| n.scaled(4))).collect::<Vec<_>>(),
        )),
    };
    Some(TRENDS.map(trend).into())
}

fn sentence(view: &View, answers: &Answers) -> Option<String> {
    let rows = answers.report("health")?.rows();
    let last = rows.last()?;
    let percent = |name: &str| last.number(name).map(Decimal::percent);
    let month = view.month_words();
    let judged = last.number("card_days_judged").filter(|n| !n.is_zero());
    let (Some(judged), Some(under)) = (judged, last.number("card_days_under_40")) else {
        return Some(view.say("health.sentence_unknown", &[("month", &month)]));
    };
    let busy = percent("busy_of_service").unwrap_or_else(|| view.word("unknown"));
    let failed = percent("failure_rate").unwrap_or_else(|| view.word("unknown"));
    let args = [
        ("month", month.as_str()),
        ("busy", &busy),
        ("under", &under.show(0)),
        ("judged", &judged.show(0)),
        ("failed", &failed),
    ];
    Some(view.say("health.sentence", &args))
}

/// Notes of the assessment by their shape, and the message that says each; `{}` is what differs.
const NOTES: [(&str, &str, &[&str]); 7] = [
    (
        "advice: scale out; {} of the time in service was busy, and {} GPU-hours were waited for",
        "advice.out",
        &["busy", "waited"],
    ),
    (
        "advice: scale in; busy was under 30 % in {} periods one after another; {} of the time in service is spare",
        "advice.in",
        &["periods", "spare"],
    ),
    ("advice: stay; {} of the time in service was busy", "advice.stay", &["busy"]),
    ("advice: none, because too little of the time in service is known", "advice.none", &[]),
    (
        "change {}: team {} in queue {} held {} GPU-hours and used nothing of {} of them, worth {}",
        "advice.change",
        &["number", "team", "queue", "held", "idle", "worth"],
    ),
    (
        "change {}: team {} in queue {} held {} GPU-hours and used nothing of {} of them, which has no price",
        "advice.change_unpriced",
        &["number", "team", "queue", "held", "idle"],
    ),
    ("no change would save anything that was measured", "advice.nothing", &[]),
];

/// What stands in the places of a shape, if the text has it.
fn places<'t>(shape: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut parts = shape.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut found = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let at = if parts.peek().is_none() && part.is_empty() { rest.len() } else { rest.find(part)? };
        found.push(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    rest.is_empty().then_some(found)
}

/// A note in the reader's language; one of a shape that is not known as it is.
fn told(view: &View, note: &str) -> String {
    let known = NOTES.iter().find_map(|(shape, key, names)| Some((key, names, places(shape, note)?)));
    known.map_or_else(
        || note.to_owned(),
        |(key, names, found)| view.say(key, &names.iter().copied().zip(found).collect::<Vec<_>>()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Lang;

    #[test]
    fn notes_are_said_in_the_readers_language() {
        let view = View { lang: Lang::Zh, ..View::default() };
        let note = "change 1: team nlp in queue train held 7,064.5 GPU-hours and used nothing of 1,301.4 of them, worth 3,918.86 EUR";
        let zh = told(&view, note);
        assert!(zh.contains("nlp") && zh.contains("3,918.86 EUR") && !zh.contains("used nothing"), "{zh}");
        assert!(!told(&view, "advice: stay; 44.0 % of the time in service was busy").contains("advice"));
        assert_eq!(told(&view, "something new"), "something new");
    }
}
