//! The routes of the pages: who looks and at what is read from the request, the answers are asked for side by side, and the
//! page is made of whatever came.

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chrono_tz::Tz;
use futures::future::join_all;
use gpuledger_schema::window::{self, show_ms};
use serde_json::{Value, json};

use super::want::{Want, language, wants};
use super::{Answer, Answers, Lang, May, Page, View, Viewer, asset, desk, render};
use crate::answer::{Lasts, Place, Report as Question};
use crate::ask::Ask;
use crate::problem::Problem;
use crate::route;
use crate::state::{App, chain};
use crate::who::{Role, Who};

mod form;
mod kept;

/// Minutes of cards that a page of a run asks for at most: more are one click away.
const MINUTES_MAX: i128 = 7 * 24 * 60;
/// How long a browser remembers a language, seconds.
const LANGUAGE_S: u32 = 365 * 24 * 3_600;
/// What an address of a page may say.
const KNOWN: [&str; 23] = [
    "month",
    "from",
    "to",
    "zone",
    "tz",
    "lang",
    "theme",
    "sort",
    "by",
    "basis",
    "unallocated",
    "compare",
    "team",
    "line",
    "rule",
    "note",
    "run",
    "depth",
    "node",
    "table",
    "case",
    "next",
    "wrong",
];

/// The routes of every page, of what their forms send, and of style and script.
pub fn routes() -> Router<App> {
    let mut all = form::routes().route("/static/{name}", get(file));
    for page in Page::ALL {
        let show = move |State(app): State<App>,
                         RawQuery(raw): RawQuery,
                         head: HeaderMap,
                         who: Option<axum::Extension<Who>>| async move {
            let who = who.map(|axum::Extension(who)| who);
            shown(&app, page, raw.as_deref(), &head, who, Vec::new()).await
        };
        all = all.route(page.path(), get(show));
    }
    all
}

/// Answers what the first page of the newest month asks, so that it is there when somebody comes.
///
/// # Errors
/// A question that cannot be answered.
pub async fn warm(app: &App) -> Result<(), Problem> {
    let place = app.answers().place().await;
    let (Some(month), Some(zone)) = (place.months.last(), app.settings().zone) else { return Ok(()) };
    let who = Who::of("gpuledger", Role::Admin);
    let view = View { month: month.month.clone(), zone: zone.name().to_owned(), ..View::default() };
    // once for each cut: what the clock decides too would be made anew in every round, also where nobody looks
    let asked = wants(Page::Overview, &view, &base(&view)?);
    for want in asked.into_iter().filter(|want| want.what.lasts() == Lasts::Cut) {
        app.answers().document(&who, &want.ask, &want.what).await?;
    }
    Ok(())
}

async fn file(Path(name): Path<String>) -> Result<Response, Problem> {
    let found =
        asset(&format!("/static/{name}")).ok_or_else(|| Problem::absent(format!("there is no file `{name}`")))?;
    let kind = [(header::CONTENT_TYPE, found.media), (header::CACHE_CONTROL, "public, max-age=300")];
    Ok((kind, found.text).into_response())
}

/// A page for somebody; `more` are answers that are there already.
async fn shown(
    app: &App,
    page: Page,
    raw: Option<&str>,
    head: &HeaderMap,
    who: Option<Who>,
    more: Vec<(&'static str, Answer)>,
) -> Response {
    let place = app.answers().place().await;
    let mut view = view_of(app, page, raw, head, who.as_ref(), &place);
    let made = made(app, page, &mut view, who.as_ref(), &place, more).await;
    let (status, text) = match made {
        Ok(text) => (StatusCode::OK, Ok(text)),
        Err(problem) => (problem.code(), super::refused(&view, problem.status, &problem.detail)),
    };
    html(&view, status, text)
}

async fn made(
    app: &App,
    page: Page,
    view: &mut View,
    who: Option<&Who>,
    place: &Place,
    more: Vec<(&'static str, Answer)>,
) -> Result<String, Problem> {
    checked(view)?;
    let fault = |e: super::PageError| Problem::fault(chain(&e));
    let Some(who) = who else {
        return if page == Page::SignIn {
            render(page, view, &Answers::default()).map_err(fault)
        } else {
            Err(Problem::unknown())
        };
    };
    if page == Page::Reference && !super::settings::is_table(view.chosen("table").unwrap_or_default()) {
        let table = view.chosen("table").unwrap_or_default();
        return Err(Problem::absent(format!("there is no reference table `{table}`")));
    }
    let base = base(view)?;
    let mut answers = more;
    answers.push(("place", Answer::Ready(months(place))));
    let asked = wants(page, view, &base);
    let questions = join_all(asked.into_iter().map(|w| answered(app, who, place, w)));
    let of_run = async {
        match page {
            Page::Job | Page::Explain => run(app, who, place, page, view, &base).await,
            _ => Vec::new(),
        }
    };
    let (asked, of_run) = futures::join!(questions, of_run);
    answers.extend(asked.into_iter().chain(of_run));
    answers.extend(kept::answers(app, who, page, view).await);
    if let Some(why) = &place.trouble {
        view.told = view.told.take().or_else(|| Some(super::Told { done: false, text: why.clone() }));
    }
    render(page, view, &Answers(answers)).map_err(fault)
}

fn html(view: &View, status: StatusCode, text: Result<String, super::PageError>) -> Response {
    let (status, text) = match text {
        Ok(text) => (status, text),
        Err(e) => {
            tracing::error!(error = %chain(&e), path = view.path, "a page cannot be made");
            return Problem::fault("the page cannot be made; the log says why").into_response();
        }
    };
    let mut response = (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response();
    let chosen = view.chosen("lang").and_then(Lang::of);
    let cookie = chosen.map(|l| format!("lang={}; Path=/; SameSite=Lax; Max-Age={LANGUAGE_S}", l.word()));
    if let Some(cookie) = cookie.and_then(|c| HeaderValue::from_str(&c).ok()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response.headers_mut().insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(view.lang.html()));
    response
}

/// What nobody understands is said, and not passed over.
fn checked(view: &View) -> Result<(), Problem> {
    for (name, value) in &view.query {
        if !KNOWN.contains(&name.as_str()) {
            return Err(Problem::parameter(name, format!("`{name}` is not a parameter of a page")));
        }
        if name == "lang" && Lang::of(value).is_none() {
            return Err(Problem::parameter(name, format!("`{value}` is not one of: en, zh")));
        }
    }
    Ok(())
}

/// Parameters as mails and people write them: `filter=team=nlp` is `team=nlp`, `job` is `run`.
fn pairs(raw: Option<&str>) -> Vec<(String, String)> {
    let read = url::form_urlencoded::parse(raw.unwrap_or_default().as_bytes());
    let plain =
        |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| match (&*name, value.split_once('=')) {
            ("filter", Some((dimension, word))) => (dimension.to_owned(), word.to_owned()),
            ("job", _) => ("run".to_owned(), value.into_owned()),
            _ => (name.into_owned(), value.into_owned()),
        };
    read.map(plain).filter(|(_, value)| !value.is_empty()).collect()
}

fn view_of(app: &App, page: Page, raw: Option<&str>, head: &HeaderMap, who: Option<&Who>, place: &Place) -> View {
    let query = pairs(raw);
    let chosen = |name: &str| query.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    let text = |name| head.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let kept = text(header::COOKIE).split(';').find_map(|c| c.trim().strip_prefix("lang=").map(str::to_owned));
    let lang = chosen("lang").or(kept).and_then(|l| Lang::of(&l));
    let zone: Option<Tz> = chosen("zone").or_else(|| chosen("tz")).and_then(|z| z.parse().ok());
    let zone = zone.or(app.settings().zone).unwrap_or(chrono_tz::UTC);
    let now_ms = app.now_ms();
    let newest = || place.months.last().map(|m| m.month.clone());
    let begun = chosen("from").and_then(|f| f.get(..7).map(str::to_owned));
    View {
        lang: lang.unwrap_or_else(|| Lang::accepted(text(header::ACCEPT_LANGUAGE))),
        path: page.path().to_owned(),
        month: chosen("month").or(begun).or_else(newest).unwrap_or_else(|| window::month_of(now_ms, zone)),
        query,
        zone: zone.name().to_owned(),
        now: show_ms(now_ms, zone).replace('T', " "),
        now_ms,
        site: "gpuledger".to_owned(),
        viewer: who.map(viewer),
        told: None,
    }
}

/// Who looks, and what of the pages' forms is for them.
fn viewer(who: &Who) -> Viewer {
    let may = May {
        see_all: who.is(&[Role::Admin, Role::Finance]),
        bill: who.is(&[Role::Admin, Role::Finance]),
        answer: who.is(&[Role::Admin, Role::Finance, Role::Lead, Role::Operator]),
        dispute: who.is(&[Role::Admin, Role::Finance, Role::Lead]),
        own: who.is(&[Role::Admin, Role::Finance, Role::Lead, Role::Member, Role::Operator]),
        operate: who.is(&[Role::Admin, Role::Operator]),
        admin: who.is(&[Role::Admin]),
    };
    Viewer { name: who.name.clone(), role: who.role.word().to_owned(), teams: who.teams.iter().cloned().collect(), may }
}

/// The window of a page: a month, or what `from` and `to` say.
fn base(view: &View) -> Result<Ask, Problem> {
    let zone: Tz = view.zone.parse().unwrap_or(chrono_tz::UTC);
    if let Some(typed) = view.chosen("zone").or_else(|| view.chosen("tz")).filter(|z| z.parse::<Tz>().is_err()) {
        return Err(Problem::parameter("zone", format!("`{typed}` is not an IANA zone")));
    }
    let ask = match (view.chosen("from"), view.chosen("to")) {
        (Some(from), Some(to)) => {
            let instant = |name, text| window::instant(text, zone).map_err(|e| Problem::parameter(name, e.to_string()));
            let (from_ms, to_ms) = (instant("from", from)?, instant("to", to)?);
            if to_ms <= from_ms {
                return Err(Problem::parameter("to", window::WindowError::Empty.to_string()));
            }
            Ask { window: Some((from_ms, to_ms)), ..Ask::in_zone(zone) }
        }
        (Some(_), None) => return Err(Problem::parameter("to", "`to` is needed beside `from`")),
        (None, Some(_)) => return Err(Problem::parameter("from", "`from` is needed beside `to`")),
        (None, None) => Ask::month(&view.month, zone)?,
    };
    Ok(Ask { lang: language(view.lang), ..ask })
}

/// Months with their states, as the head of every page shows them.
fn months(place: &Place) -> Value {
    let rows: Vec<Value> =
        place.months.iter().map(|m| json!({"period": m.month, "state": m.state, "output_sha256": m.hash})).collect();
    json!({"rows": rows})
}

/// Whether a role may ask what a route asks.
fn may(who: &Who, path: &str) -> Result<(), String> {
    let roles = route::table().find(|r| r.path == path && r.method == "GET").map(|r| r.roles);
    match roles {
        Some(roles) if who.is(roles) => Ok(()),
        Some(roles) => Err(roles.iter().map(|r| r.word()).collect::<Vec<_>>().join(", ")),
        None => Ok(()),
    }
}

async fn answered(app: &App, who: &Who, place: &Place, want: Want) -> (&'static str, Answer) {
    (want.slot, answer(app, who, place, want.route, &want.ask, &want.what).await)
}

async fn answer(app: &App, who: &Who, place: &Place, path: &str, ask: &Ask, what: &Question) -> Answer {
    if let Err(roles) = may(who, path) {
        return Answer::Forbidden(roles);
    }
    desk::answer(app, who, place.cut, ask, what).await
}

/// A run: first what it is, then its cells, and its minutes where they are few enough to draw.
async fn run(app: &App, who: &Who, place: &Place, page: Page, view: &View, base: &Ask) -> Vec<(&'static str, Answer)> {
    let Some(name) = view.chosen("run").map(str::to_owned) else { return Vec::new() };
    let ask = Ask { window: None, month: None, ..base.clone() };
    let explain = |cells, minutes| Question::Explain { run: name.clone(), cells, minutes };
    let path = "/api/v1/explain/runs/{job}";
    if page == Page::Explain {
        let what = explain(true, view.chosen("depth") == Some("minutes"));
        return vec![("explain", answer(app, who, place, path, &ask, &what).await)];
    }
    let job = answer(app, who, place, "/api/v1/jobs/{job}", &ask, &Question::Job(name.clone())).await;
    let few = match &job {
        Answer::Ready(body) => held_minutes(body).is_some_and(|m| m <= MINUTES_MAX),
        _ => return vec![("job", job)],
    };
    let explained = answer(app, who, place, path, &ask, &explain(true, few)).await;
    vec![("job", job), ("explain", explained)]
}

/// Minutes of cards that runs of a name held.
fn held_minutes(jobs: &Value) -> Option<i128> {
    let each = jobs.as_array()?.iter();
    let held = each.map(|j| j.get("facts")?.get("held_ms")?.as_str()?.parse::<i128>().ok());
    Some(held.map(|ms| ms.unwrap_or(0)).sum::<i128>() / 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_mails_are_understood() {
        let read = pairs(Some("month=2026-03&filter=team%3Dnlp&job=alpha%2F4711&compare="));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(read, [pair("month", "2026-03"), pair("team", "nlp"), pair("run", "alpha/4711")]);
    }

    #[test]
    fn every_question_of_a_page_is_one_of_a_route() {
        let view = View { month: "2026-03".to_owned(), zone: "UTC".to_owned(), ..View::default() };
        let ask = base(&view).expect("a month");
        for page in Page::ALL {
            for want in wants(page, &view, &ask) {
                assert!(route::table().any(|r| r.path == want.route), "{page:?} asks {}", want.route);
            }
        }
    }

    #[test]
    fn what_a_route_refuses_a_role_its_page_refuses_too() {
        let member = Who { user: Some("ada".to_owned()), ..Who::of("ada", Role::Member) };
        assert!(may(&member, "/api/v1/fleet").is_err());
        assert!(may(&member, "/api/v1/charges").is_ok());
    }
}
