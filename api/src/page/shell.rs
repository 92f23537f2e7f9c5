//! What is around every page: navigation, the strip with period, zone, state and coverage, the sentence, what was just done.

use minijinja::Value;
use serde::Serialize;

use super::answer::Answers;
use super::chart::DEFS;
use super::template::{self, PageError, value};
use super::view::{Told, View};
use super::words::Lang;
use super::{Body, Page, asset};

/// An entry of the navigation, or another link.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Link {
    /// In words.
    pub(super) text: String,
    /// Where to.
    pub(super) href: String,
    /// Whether it is where the reader is.
    pub(super) here: bool,
}

/// The pages of the navigation.
const AREAS: [Page; 8] = [
    Page::Overview,
    Page::Chargeback,
    Page::Waste,
    Page::Fleet,
    Page::Services,
    Page::Health,
    Page::Reclaim,
    Page::Settings,
];

/// What the layout uses.
#[derive(Debug, Serialize)]
struct Shell {
    html_lang: &'static str,
    theme: Option<String>,
    title: String,
    site: String,
    style: &'static str,
    script: &'static str,
    defs: Value,
    nav: Vec<Link>,
    languages: Vec<Link>,
    viewer: Option<String>,
    role: String,
    strip: Option<Strip>,
    sentence: Option<String>,
    told: Option<(bool, String)>,
    building: bool,
    reload: String,
    now: String,
}

/// Period, zone, state, coverage: at the top of every page, always in the same place.
#[derive(Debug, Serialize)]
struct Strip {
    months: Vec<(String, String, bool)>,
    kept: Vec<(String, String)>,
    range: String,
    zone: String,
    state: Option<String>,
    state_word: String,
    hash: Option<String>,
    coverage: Option<String>,
}

/// The whole page.
pub(super) fn render(page: Page, view: &View, answers: &Answers, body: Body) -> Result<String, PageError> {
    let shell = Shell {
        title: view.word(page.title()),
        strip: strip(page, view, answers),
        sentence: body.sentence,
        // a page that shows what somebody typed is not asked for again
        building: answers.building() && answers.get("preview").is_none(),
        ..shell(Some(page), view)
    };
    let fields = minijinja::context! { page => value(shell), ..body.fields };
    template::render(view.lang, body.template, fields)
}

/// A page that says why there is none.
pub(super) fn refused(view: &View, status: u16, detail: &str) -> Result<String, PageError> {
    let kind = match status {
        401 => "unknown",
        403 => "forbidden",
        404 => "absent",
        400 | 409 | 422 => "wrong",
        503 => "unavailable",
        _ => "fault",
    };
    let key = match kind {
        "unknown" => "refused.unknown",
        "forbidden" => "refused.forbidden",
        "absent" => "refused.absent",
        "wrong" => "refused.wrong",
        "unavailable" => "refused.unavailable",
        _ => "refused.fault",
    };
    let shell = Shell { title: view.word(key), ..shell(None, view) };
    let home = view.link("/", &[]);
    let fields = minijinja::context! {
        page => value(shell), kind => kind, status => status, detail => detail, home => home,
    };
    template::render(view.lang, "refused.html", fields)
}

/// The frame of a page that is no page of the navigation.
pub(super) fn plain(view: &View, title: &str) -> impl Serialize {
    Shell { title: view.word(title), ..shell(None, view) }
}

fn shell(page: Option<Page>, view: &View) -> Shell {
    let area = page.map(Page::area);
    let nav = AREAS.iter().map(|p| Link {
        text: view.word(p.title()),
        href: view.link(p.path(), &[]),
        here: area == Some(*p),
    });
    let languages = [(Lang::En, "English"), (Lang::Zh, "\u{4e2d}\u{6587}")].map(|(lang, text)| Link {
        text: text.to_owned(),
        href: view.here(&[("lang", lang.word())]),
        here: view.lang == lang,
    });
    Shell {
        html_lang: view.lang.html(),
        theme: view.chosen("theme").filter(|t| ["light", "dark"].contains(t)).map(str::to_owned),
        title: String::new(),
        site: view.site.clone(),
        style: asset::STYLE.path,
        script: asset::SCRIPT.path,
        defs: Value::from_safe_string(DEFS.to_owned()),
        nav: if view.viewer.is_some() { nav.collect() } else { Vec::new() },
        languages: languages.into(),
        viewer: view.viewer.as_ref().map(|v| v.name.clone()),
        role: view.viewer.as_ref().map(|v| super::words::listed(view.lang, "role", &v.role)).unwrap_or_default(),
        strip: None,
        sentence: None,
        told: view.told.as_ref().map(|Told { done, text }| (*done, text.clone())),
        building: false,
        reload: view.here(&[]),
        now: view.now.clone(),
    }
}

/// Pages that speak of no month.
const fn is_timeless(page: Page) -> bool {
    matches!(
        page,
        Page::SignIn | Page::Tokens | Page::Settings | Page::Reference | Page::Audit | Page::Reclaim | Page::Case
    )
}

fn strip(page: Page, view: &View, answers: &Answers) -> Option<Strip> {
    if is_timeless(page) || view.month.is_empty() {
        return None;
    }
    let periods = answers.report("place");
    let rows = periods.map(|p| p.rows()).unwrap_or_default();
    let mut months: Vec<String> = rows.iter().map(|r| r.word("period")).collect();
    if !months.contains(&view.month) {
        months.push(view.month.clone());
    }
    months.sort();
    months.reverse();
    let own = rows.iter().find(|r| r.word("period") == view.month);
    let state = own.map(|r| r.word("state").to_lowercase());
    let days = view.days().map(|(_, last)| chrono::Datelike::day(&last).to_string()).unwrap_or_default();
    let state_word = match (state.as_deref(), view.day_today()) {
        (Some("open"), Some(day)) => view.say("state.open_day", &[("day", &day.to_string()), ("days", &days)]),
        (Some(word), _) => super::words::listed(view.lang, "period", word),
        (None, _) => view.word("state.unknown"),
    };
    let coverage = ["usage", "fleet", "charges", "daily"].iter().find_map(|name| {
        let whole = answers.report(name)?.whole()?;
        Some(whole.number("coverage")?.percent())
    });
    let kept = view.query.iter().filter(|(k, _)| k != "month").cloned().collect();
    Some(Strip {
        months: months
            .into_iter()
            .map(|m| (m.clone(), super::view::month_words(view.lang, &m), m == view.month))
            .collect(),
        kept,
        range: view.range_words(),
        zone: view.zone.clone(),
        state,
        state_word,
        hash: own.and_then(|r| r.text("output_sha256")).filter(|h| !h.is_empty() && h != "-"),
        coverage,
    })
}
