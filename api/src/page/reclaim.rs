//! Idle and reclaim: what is switched on, what stops it, its bounds, and every case with state, deadline and evidence.

use serde::Serialize;
use serde_json::Value as Json;

use super::Body;
use super::answer::{Answers, Report};
use super::case;
use super::part::part;
use super::template::value;
use super::view::View;

/// A switch as it stands.
#[derive(Debug, Serialize)]
struct Switch {
    word: String,
    name: String,
    is_on: bool,
    says: String,
    by: Option<String>,
    alarm: bool,
}

/// The four switches, from `{"switches": [{"which", "is_on", "by", "actor", "reason", "at"}]}`.
fn switches(view: &View, report: Report<'_>) -> Option<Vec<Switch>> {
    let all = report.document().get("switches")?.as_array()?;
    let text = |of: &Json, name: &str| of.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let switch = |s: &Json| {
        let word = text(s, "which");
        let is_on = s.get("is_on").and_then(Json::as_bool).unwrap_or(false);
        let says = match (word.as_str(), is_on) {
            ("kill", true) => "switch.kill_on",
            ("kill", false) => "switch.kill_off",
            ("breaker", true) => "switch.breaker_on",
            ("breaker", false) => "switch.breaker_off",
            ("act", true) => "switch.act_on",
            ("act", false) => "switch.act_off",
            (_, true) => "switch.notify_on",
            (_, false) => "switch.notify_off",
        };
        let actor = text(s, "actor");
        let args = [("actor", actor.as_str()), ("at", &text(s, "at")), ("reason", &text(s, "reason"))];
        Switch {
            name: super::words::listed(view.lang, "switch_name", &word),
            alarm: is_on && ["kill", "breaker"].contains(&word.as_str()),
            is_on,
            says: view.word(says),
            by: match text(s, "by").as_str() {
                "policy" => Some(view.word("switch.by_policy")),
                "file" => Some(view.word("switch.by_file")),
                "person" => Some(view.say("switch.by", &args)),
                _ => None,
            },
            word,
        }
    };
    Some(all.iter().map(switch).collect())
}

/// Caps, each with what is used of it: `{"bounds": [{"name", "used", "limit"}]}`.
fn bounds(view: &View, report: Report<'_>) -> Option<Vec<(String, String)>> {
    let all = report.document().get("bounds")?.as_array()?;
    let shown = |b: &Json| {
        let name = b.get("name").and_then(Json::as_str)?;
        let limit = b.get("limit").and_then(Json::as_i64)?.to_string();
        let says = match b.get("used").and_then(Json::as_i64) {
            Some(used) => view.say("reclaim.bound", &[("used", &used.to_string()), ("limit", &limit)]),
            None => view.say("reclaim.at_most", &[("limit", &limit)]),
        };
        Some((super::words::listed(view.lang, "bound", name), says))
    };
    Some(all.iter().filter_map(shown).collect::<Vec<_>>()).filter(|b| !b.is_empty())
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let fields = minijinja::context! {
        switches => value(part(answers, "reclaim", |r| switches(view, r))),
        bounds => value(part(answers, "reclaim", |r| bounds(view, r))),
        open => value(part(answers, "cases", |r| case::table(view, r, "open", 200))),
        over => value(part(answers, "over", |r| case::table(view, r, "over", 50))),
        may_operate => view.may().operate,
        here => view.here(&[]),
    };
    Body { template: "reclaim.html", sentence: sentence(view, answers), fields }
}

fn sentence(view: &View, answers: &Answers) -> Option<String> {
    let rows = answers.report("cases")?.rows();
    let asked = |state: &str| rows.iter().filter(|r| r.word("state") == state).count();
    if rows.is_empty() {
        return Some(view.word("reclaim.sentence_none"));
    }
    let warned = asked("warned") + asked("final");
    let due = asked("due") + asked("approved") + asked("acting");
    let operator = asked("needs_operator") + asked("failed");
    let args = [
        ("open", rows.len().to_string()),
        ("warned", warned.to_string()),
        ("due", due.to_string()),
        ("operator", operator.to_string()),
    ];
    Some(view.say("reclaim.sentence", &args.each_ref().map(|(n, v)| (*n, v.as_str()))))
}
