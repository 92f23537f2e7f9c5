//! Which questions a page asks: the same that routes of the API ask, for the same roles.

use super::Page;
use super::chargeback::{BASIS, BY, UNALLOCATED, compared};
use super::services;
use super::view::View;
use super::words::Lang;
use crate::answer::Report as Question;
use crate::ask::{self, Ask};

/// A question and the name under which the page looks for its answer.
#[derive(Debug, Clone)]
pub(super) struct Want {
    /// The name.
    pub(super) slot: &'static str,
    /// The route that asks the same: who may ask it, may see the answer here.
    pub(super) route: &'static str,
    /// Window, grouping, selection.
    pub(super) ask: Ask,
    /// The question.
    pub(super) what: Question,
}

/// Findings that a page of them asks for.
const FINDINGS: usize = 40;
/// Findings of services.
const SERVICE_FINDINGS: usize = 40;

fn want(slot: &'static str, route: &'static str, ask: Ask, what: Question) -> Want {
    Want { slot, route, ask, what }
}

fn findings(rules: Vec<String>, top: Option<usize>) -> Question {
    Question::Findings { rules, top }
}

/// The questions of a page; `base` has its window, zone and language.
pub(super) fn wants(page: Page, view: &View, base: &Ask) -> Vec<Want> {
    let ask = || base.clone();
    let by = |keys: &[&'static str]| base.clone().by(keys);
    let usage = || want("usage", "/api/v1/usage", ask(), Question::Usage);
    let mut out = match page {
        Page::Overview => vec![
            want("daily", "/api/v1/charges", by(&["day"]), Question::Charges),
            want("teams", "/api/v1/charges", by(&["team"]), Question::Charges),
            want("budgets", "/api/v1/budgets", unwindowed(base), Question::Budgets { at_ms: None }),
            want("findings", "/api/v1/findings", ask(), findings(Vec::new(), Some(5))),
            want("watch", "/api/v1/watch", unwindowed(base), Question::Watch { at_ms: None }),
        ],
        Page::Chargeback => chargeback(view, base),
        Page::Statement => vec![want("statement", STATEMENT, unwindowed(base), statement(view, view.chosen("team")))],
        Page::Line => {
            let line = view.chosen("line").unwrap_or_default().to_owned();
            let what = Question::ExplainLine { period: view.month.clone(), line };
            vec![want("line", "/api/v1/explain/lines/{period}/{line}", unwindowed(base), what)]
        }
        Page::Close => vec![
            want("periods", "/api/v1/periods", unwindowed(base), Question::Periods),
            want("statement", STATEMENT, unwindowed(base), statement(view, None)),
            want(
                "close",
                "/api/v1/periods/{period}/close",
                unwindowed(base),
                Question::CloseList { period: view.month.clone() },
            ),
        ],
        Page::Corrections => vec![
            want("periods", "/api/v1/periods", unwindowed(base), Question::Periods),
            want("corrections", "/api/v1/corrections", unwindowed(base), Question::Corrections { period: None }),
        ],
        Page::Waste => waste(view, base),
        Page::Fleet => fleet(view, base),
        Page::Services => {
            let of = |keys: &[&'static str]| by(keys).only("task_type", "infer");
            let rules = vec!["resident_service".to_owned()];
            vec![
                want("services", "/api/v1/charges", of(&services::BY), Question::Charges),
                want("replicas", "/api/v1/charges", of(&services::RUNS_BY), Question::Charges),
                want("limits", "/api/v1/gaps", of(&services::RUNS_BY), Question::Gaps { top: None }),
                want("week", "/api/v1/usage/week", ask().only("task_type", "infer"), Question::RunWeek),
                want("findings", "/api/v1/findings", ask(), findings(rules, Some(SERVICE_FINDINGS))),
            ]
        }
        Page::Health => vec![want("health", "/api/v1/health", ask(), Question::Health { period: period(base) })],
        Page::Reference => {
            let table = view.chosen("table").unwrap_or_default().to_owned();
            let audit = Question::Audit { table: Some(table.clone()) };
            return vec![
                want("reference", "/api/v1/reference/{table}", unwindowed(base), Question::Reference { table }),
                want("audit", "/api/v1/audit", unwindowed(base), audit),
            ];
        }
        Page::Audit => return vec![want("audit", "/api/v1/audit", unwindowed(base), Question::Audit { table: None })],
        // a run's questions depend on one another, and cases, tokens and switches are not the ledger's
        Page::Job | Page::Explain => Vec::new(),
        Page::Reclaim | Page::Case | Page::Settings | Page::Tokens | Page::SignIn => return Vec::new(),
    };
    out.push(usage());
    out
}

const STATEMENT: &str = "/api/v1/periods/{period}/statement";

fn statement(view: &View, team: Option<&str>) -> Question {
    Question::Statement { period: view.month.clone(), team: team.map(str::to_owned) }
}

/// The same without a window: for questions that name their month, or none.
fn unwindowed(base: &Ask) -> Ask {
    Ask { window: None, month: None, ..base.clone() }
}

/// A month is judged among months, another window among windows as long.
fn period(base: &Ask) -> String {
    if base.month.is_some() { "month" } else { "window" }.to_owned()
}

fn chargeback(view: &View, base: &Ask) -> Vec<Want> {
    let by = view.one_of("by", &BY);
    let basis = ask::Basis::read("basis", view.one_of("basis", &BASIS)).ok();
    let unallocated = ask::Unallocated::read("unallocated", view.one_of("unallocated", &UNALLOCATED)).ok();
    let charged = |keys: &[&'static str]| Ask { basis, unallocated, ..base.clone().by(keys) };
    let mut out = vec![
        want("charges", "/api/v1/charges", charged(&[by]), Question::Charges),
        want("daily_by", "/api/v1/charges", charged(&[by, "day"]), Question::Charges),
        want("usage_by", "/api/v1/usage", base.clone().by(&[by]), Question::Usage),
        want("uncharged", "/api/v1/uncharged", base.clone(), Question::Uncharged),
    ];
    let before = compared(view).and_then(|m| Ask::month(&m, base.tz()).ok());
    if let Some(before) = before {
        let ask = Ask { basis, unallocated, lang: base.lang, ..before.by(&[by]) };
        out.push(want("before", "/api/v1/charges", ask, Question::Charges));
    }
    if by == BY[0] {
        out.push(want("statement", STATEMENT, unwindowed(base), statement(view, None)));
    }
    out
}

fn waste(view: &View, base: &Ask) -> Vec<Want> {
    let rules: Vec<String> = view.chosen("rule").map(str::to_owned).into_iter().collect();
    let of = |ask: Ask| match view.chosen("team") {
        Some(team) => ask.only("team", team),
        None => ask,
    };
    vec![
        want("findings", "/api/v1/findings", of(base.clone()), findings(rules, Some(FINDINGS))),
        want("rules", "/api/v1/findings", of(base.clone().by(&["rule"])), findings(Vec::new(), None)),
        want("found_teams", "/api/v1/findings", base.clone().by(&["team"]), findings(Vec::new(), None)),
        want("verified", "/api/v1/findings/verified", unwindowed(base), Question::Verified),
    ]
}

fn fleet(view: &View, base: &Ask) -> Vec<Want> {
    let ask = || base.clone();
    let of_node = |ask: Ask| match view.chosen("node") {
        Some(node) => ask.only("node", node),
        None => ask,
    };
    vec![
        want("fleet", "/api/v1/fleet", ask().by(&["pool"]), Question::Fleet { split: None }),
        want("usage_day", "/api/v1/usage", ask().by(&["day"]), Question::Usage),
        want("cards", "/api/v1/usage", of_node(ask().by(&["node", "device", "day"])), Question::Usage),
        want("hours", "/api/v1/fleet/hours", ask(), Question::CardHours),
        want("fragmentation", "/api/v1/fleet/fragmentation", ask(), Question::Fragmentation),
        want("quota", "/api/v1/fleet/quota", ask(), Question::Quota { runs: false }),
        want("assets", "/api/v1/fleet/assets", unwindowed(base), Question::Assets { at_ms: None }),
        want("census", "/api/v1/fleet/census", unwindowed(base), Question::Census { hours: false }),
        want("week", "/api/v1/fleet/census", unwindowed(base), Question::Census { hours: true }),
        want("watch", "/api/v1/watch", unwindowed(base), Question::Watch { at_ms: None }),
    ]
}

/// The language of an ask.
pub(super) const fn language(lang: Lang) -> ask::Lang {
    match lang {
        Lang::En => ask::Lang::En,
        Lang::Zh => ask::Lang::Zh,
    }
}
