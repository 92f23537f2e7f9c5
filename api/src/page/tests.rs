//! Every page in every state and both languages: it renders, says what is missing, and takes no name for markup.

use serde_json::{Value, json};

use super::*;

/// A name that tries to be markup, in every way that a page could be careless.
const EVIL: &str = "\"><script>alert('x')</script><b onload=x>";

fn view(page: Page, lang: Lang, role: &str) -> View {
    let all = role == "admin";
    let may = May { see_all: all, bill: all, answer: all, dispute: all, own: true, operate: all, admin: all };
    let query = [("run", "alpha/4711"), ("team", EVIL), ("line", "7"), ("table", "rates"), ("case", "9")];
    let viewer = Viewer { name: EVIL.to_owned(), role: role.to_owned(), teams: vec![EVIL.to_owned()], may };
    View {
        lang,
        path: page.path().to_owned(),
        query: query.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        month: "2026-03".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        now: "2026-03-29 10:00:00".to_owned(),
        now_ms: 1_774_770_000_000,
        site: "gpuledger".to_owned(),
        viewer: (page != Page::SignIn).then_some(viewer),
        told: None,
    }
}

/// Every name under which any page looks for an answer.
const SLOTS: [&str; 36] = [
    "place",
    "periods",
    "usage",
    "daily",
    "teams",
    "budgets",
    "findings",
    "cases",
    "loops",
    "charges",
    "usage_by",
    "statement",
    "before",
    "daily_by",
    "uncharged",
    "line",
    "close",
    "corrections",
    "rules",
    "found_teams",
    "verified",
    "job",
    "explain",
    "fleet",
    "usage_day",
    "cards",
    "hours",
    "fragmentation",
    "quota",
    "assets",
    "census",
    "services",
    "replicas",
    "health",
    "reclaim",
    "over",
];

fn all(answer: &Answer) -> Answers {
    let more = ["case", "reference", "audit", "preview", "tokens", "watch", "typed"];
    Answers(SLOTS.into_iter().chain(more).map(|slot| (slot, answer.clone())).collect())
}

fn made(page: Page, lang: Lang, role: &str, answers: &Answers) -> String {
    let html = render(page, &view(page, lang, role), answers).unwrap_or_else(|e| {
        let why = std::error::Error::source(&e).map(|s| format!("{s:#}")).unwrap_or_default();
        panic!("{page:?} {lang:?}: {e} {why}")
    });
    assert!(!html.contains("[there is no message"), "{page:?}: a message is missing: {}", near(&html, "[there is"));
    assert!(!html.contains("style=\""), "{page:?}: a style attribute: {}", near(&html, "style=\""));
    assert!(!html.contains(" onload=x>") && !html.contains("<script>"), "{page:?}: {}", near(&html, "<script>"));
    html
}

fn near<'h>(html: &'h str, word: &str) -> &'h str {
    let at = html.find(word).unwrap_or(0);
    let floor = html.floor_char_boundary(at.saturating_sub(80));
    &html[floor..html.ceil_char_boundary((at + 160).min(html.len()))]
}

#[test]
fn every_page_says_what_is_not_there() {
    let states = [
        (Answer::Building, "is still being computed", "仍在计算"),
        (Answer::Forbidden("finance".to_owned()), "You may not see this", "无权查看"),
        (Answer::Failed("the disk is on fire".to_owned()), "the disk is on fire", "the disk is on fire"),
    ];
    let of_their_own = [Page::Settings, Page::SignIn];
    for (answer, en, zh) in &states {
        for page in Page::ALL.into_iter().filter(|p| !of_their_own.contains(p)) {
            for (lang, said) in [(Lang::En, en), (Lang::Zh, zh)] {
                let html = made(page, lang, "admin", &all(answer));
                assert!(html.contains(said), "{page:?} {lang:?} does not say `{said}`");
                assert!(html.contains(&format!("lang=\"{}\"", lang.html())), "{page:?}");
            }
        }
    }
}

#[test]
fn every_page_is_made_of_nothing() {
    for page in Page::ALL {
        for lang in [Lang::En, Lang::Zh] {
            for role in ["admin", "member"] {
                made(page, lang, role, &Answers::default());
                made(page, lang, role, &all(&Answer::Ready(json!({}))));
                made(page, lang, role, &all(&Answer::Ready(json!([]))));
                made(page, lang, role, &all(&Answer::Absent(EVIL.to_owned())));
            }
        }
    }
}

/// A row that every table finds its columns in; names are evil.
fn row() -> Value {
    let mut row = serde_json::Map::new();
    for name in [
        "team",
        "account",
        "user",
        "model",
        "pool",
        "tier",
        "task_type",
        "cluster",
        "node",
        "device",
        "job",
        "rule",
        "subject",
        "evidence",
        "remedy_en",
        "remedy_zh",
        "note",
        "reason",
        "kind",
        "name",
        "what",
        "answer",
        "place",
        "why",
        "verdict",
        "difference",
        "scope",
        "actor",
        "action",
        "before",
        "after",
        "held",
        "policy",
        "class",
        "state",
    ] {
        row.insert(name.to_owned(), EVIL.into());
    }
    for name in [
        "held_hours",
        "busy_hours",
        "held_idle_hours",
        "held_unmeasured_hours",
        "unallocated_hours",
        "unavailable_hours",
        "unobserved_hours",
        "capacity_hours",
        "effective_hours",
        "idle_hours",
        "gap_hours",
        "hours",
        "quantity_hours",
        "fragment_hours",
        "idle_loss_hours",
        "waiting_loss_hours",
        "lost_card_hours",
        "unpriced_hours",
    ] {
        row.insert(name.to_owned(), "12345.6789".into());
    }
    for name in
        ["charge", "waste", "amount", "unallocated_cost", "unavailable_cost", "unobserved_cost", "unbilled", "budget"]
    {
        row.insert(name.to_owned(), "-1234567.89".into());
    }
    for name in ["coverage", "busy_rate", "effective_rate", "allocation_rate", "busy_of_service", "failure_rate"] {
        row.insert(name.to_owned(), "0.612345".into());
    }
    for (name, value) in
        [("day", "2026-03-05"), ("period", "2026-03"), ("line_id", "7"), ("case_id", "9"), ("from", "2026-03-01")]
    {
        row.insert(name.to_owned(), value.into());
    }
    row.insert("findings".to_owned(), 4711.into());
    row.insert("deadline_ms".to_owned(), "1774773600000".into());
    row.insert("unknown_thing".to_owned(), Value::Null);
    row.into()
}

#[test]
fn names_that_try_to_be_markup_are_shown_as_typed() {
    let report = json!({
        "sentence": EVIL, "currency": "EUR", "rows": [row(), row()], "total": row(), "notes": [EVIL],
        "case": row(), "events": [row()], "switches": [{"which": EVIL, "is_on": true, "actor": EVIL, "reason": EVIL, "at": EVIL, "by": "person"}], "bounds": [{"name": EVIL, "used": 1, "limit": 2}],
        "columns": [EVIL], "done": EVIL, "csv": EVIL,
    });
    for page in Page::ALL {
        for lang in [Lang::En, Lang::Zh] {
            let html = made(page, lang, "admin", &all(&Answer::Ready(report.clone())));
            if page != Page::SignIn {
                assert!(
                    html.contains("&lt;script&gt;") || html.contains("&lt;script&#x2f;"),
                    "{page:?} hides the name"
                );
            }
            assert!(html.len() < 200_000, "{page:?}: {} bytes", html.len());
        }
    }
}

#[test]
fn numbers_are_those_of_the_answer() {
    let report = json!({"currency": "EUR", "rows": [row()], "total": row(), "notes": []});
    let html = made(Page::Chargeback, Lang::En, "admin", &all(&Answer::Ready(report)));
    for shown in ["12,345.7", "\u{2212}1,234,567.89", "61.2 %", "EUR"] {
        assert!(html.contains(shown), "{shown}");
    }
}

#[test]
fn what_is_not_known_is_never_zero() {
    let report = json!({"currency": "EUR", "rows": [{"team": "nlp", "held_hours": "5.0000", "busy_hours": null}], "total": null});
    let html = made(Page::Chargeback, Lang::En, "admin", &all(&Answer::Ready(report)));
    let row = html.split("<tbody>").nth(1).unwrap_or_default().split("</tr>").next().unwrap_or_default();
    // that there were no corrections is known
    let zeros = row.matches(">0").count() - row.matches(">0</a>").count();
    assert!(row.matches("class=\"n unknown\"").count() > 6 && row.contains(">5.0<") && zeros == 0, "{row}");
}

#[test]
fn what_somebody_may_not_do_is_not_offered() {
    let report =
        json!({"rows": [row()], "total": row(), "case": row(), "switches": [{"which": "kill", "is_on": false}]});
    for page in [Page::Reclaim, Page::Waste, Page::Statement, Page::Close, Page::Reference] {
        let html = made(page, Lang::En, "member", &all(&Answer::Ready(report.clone())));
        let forms = html.matches("method=\"post\"").count();
        assert_eq!(forms, 1, "{page:?}: only the way out is a form");
    }
}

#[test]
fn a_refusal_says_what_to_do_next() {
    for (status, said) in [
        (403, "Ask an administrator"),
        (404, "Check the address"),
        (503, "tries again"),
        (400, "Go back"),
        (500, "stays"),
    ] {
        let html = refused(&view(Page::Overview, Lang::En, "member"), status, EVIL).expect("a page");
        assert!(html.contains(said) && html.contains("&lt;script"), "{status}: {html}");
    }
}

#[test]
fn a_table_is_sorted_as_the_address_says() {
    let rows = json!([
        {"team": "a", "held_hours": "9.0000"}, {"team": "b", "held_hours": null}, {"team": "c", "held_hours": "10.0000"},
    ]);
    let answers = all(&Answer::Ready(json!({"rows": rows, "currency": "EUR"})));
    let mut look = view(Page::Chargeback, Lang::En, "admin");
    look.query.push(("sort".to_owned(), "charges:held_hours:desc".to_owned()));
    let html = render(Page::Chargeback, &look, &answers).expect("a page");
    let table = html.split("id=\"charges\"").nth(1).unwrap_or_default();
    let place = |team: &str| table.find(&format!(">{team}</a>")).unwrap_or(usize::MAX);
    assert!(place("c") < place("a") && place("a") < place("b"), "10 before 9, and what is not known last");
    assert!(html.contains("aria-sort=\"descending\""));
}
