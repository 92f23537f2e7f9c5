//! The routes under `/api/v1`: one table, from which they are mounted, guarded by role and described in `openapi.json`.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use gpuledger_schema::hash::sha256_hex;
use serde_json::Value;

use crate::answer::{Document, File, Report};
use crate::ask::{Format, Paging, Query};
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Asker, Role};

mod act;
mod events;
mod export;
mod ingest;
mod place;
mod report;
mod token;

/// Words of an address that are part of its path, by name.
pub(crate) type Words = BTreeMap<String, String>;

/// A parameter of a route beside the uniform ones.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub says: &'static str,
    /// What it looks like.
    pub kind: ParameterKind,
}

/// What a parameter looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Text.
    Text,
    /// A whole number of 0 or more.
    Number,
    /// `true` or `false`.
    Flag,
    /// Text, and needed.
    Needed,
}

/// What a route takes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    None,
    /// A JSON object with these fields; those with `!` are needed, `[]` are lists of text, `?` are true or false, `#` are numbers.
    Json(&'static [&'static str]),
    /// A segment: a whole Parquet file.
    Segment,
}

/// What a route gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// A sentence, rows, a total and notes.
    Report,
    /// Any JSON.
    Json,
    /// A file.
    File,
    /// A stream of events.
    Events,
}

/// How a route is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answered {
    /// By a question to the ledger.
    Report(fn(&mut Query, &Words) -> Result<Report, Problem>),
    /// By a function of its own.
    Own(fn() -> MethodRouter<App>),
}

/// A route.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// GET, POST, PUT or DELETE.
    pub method: &'static str,
    /// Its path, with `{words}`.
    pub path: &'static str,
    /// What it is for, a sentence.
    pub says: &'static str,
    /// Who may ask.
    pub roles: &'static [Role],
    /// Which of the uniform parameters it has.
    pub uses: &'static [&'static str],
    /// Its own parameters.
    pub parameters: &'static [Parameter],
    /// What it takes in.
    pub body: Body,
    /// What it gives.
    pub gives: Gives,
    pub(crate) answered: Answered,
}

impl Route {
    fn filter(&self) -> MethodFilter {
        match self.method {
            "POST" => MethodFilter::POST,
            "PUT" => MethodFilter::PUT,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        }
    }
}

/// Every route, in the order of the document.
pub fn table() -> impl Iterator<Item = &'static Route> {
    [report::ROUTES, export::ROUTES, act::ROUTES, token::ROUTES, ingest::ROUTES, events::ROUTES, place::ROUTES]
        .into_iter()
        .flatten()
}

/// Mounts every route; each asks first whether who asks may.
pub fn routes() -> Router<App> {
    let mut router = Router::new();
    for route in table() {
        let answered = match route.answered {
            Answered::Report(make) => reporter(route, make),
            Answered::Own(make) => make(),
        };
        let guarded =
            answered.route_layer(axum::middleware::from_fn(move |asker: Asker, request: Request, next: Next| {
                may(route, asker, request, next)
            }));
        router = router.route(route.path, guarded);
    }
    router
}

async fn may(route: &'static Route, Asker(who): Asker, request: Request, next: Next) -> Response {
    if !who.is(route.roles) {
        let roles: Vec<&str> = route.roles.iter().map(|r| r.word()).collect();
        let text = format!("a {} may not ask this; it is for: {}", who.role, roles.join(", "));
        return Problem::forbidden(text).into_response();
    }
    next.run(request).await
}

fn reporter(route: &'static Route, make: fn(&mut Query, &Words) -> Result<Report, Problem>) -> MethodRouter<App> {
    let answer = move |State(app): State<App>,
                       Asker(who): Asker,
                       Path(words): Path<Words>,
                       RawQuery(raw): RawQuery,
                       head: HeaderMap| async move {
        let mut query = Query::read(raw.as_deref());
        let ask = query.ask_of(app.settings().zone, route.uses)?;
        let what = make(&mut query, &words)?;
        query.done()?;
        if ask.format != Format::Json {
            if ask.paging != Paging::default() {
                return Err(Problem::parameter("limit", "a file has every row; only format=json has pages"));
            }
            return Ok(file(app.answers().file(&who, &ask, &what).await?));
        }
        let document = app.answers().document(&who, &ask, &what).await?;
        Ok::<Response, Problem>(paged(document, ask.paging, &head, raw.as_deref()))
    };
    on(route.filter(), answer)
}

/// A document as the command line prints it, or the page of it that was asked for.
fn paged(document: Document, paging: Paging, head: &HeaderMap, raw: Option<&str>) -> Response {
    let Document { mut body, cut, .. } = document;
    let (mut link, mut all) = (None, None);
    let rows = if body.is_array() { body.as_array_mut() } else { body.get_mut("rows").and_then(Value::as_array_mut) };
    if let Some(rows) = rows {
        let count = rows.len();
        all = Some(count);
        let from = paging.offset.min(count);
        let to = paging.limit.map_or(count, |limit| (from + limit).min(count));
        rows.truncate(to);
        rows.drain(..from);
        link = (to < count).then(|| next_page(raw, to));
    }
    let mut response = json_tagged(&body, head);
    let headers = response.headers_mut();
    if let Some(count) = all {
        headers.insert("x-total-count", HeaderValue::from(count));
    }
    headers.insert("x-gpuledger-cut", HeaderValue::from(cut));
    if let Some(link) = link.and_then(|l| HeaderValue::from_str(&l).ok()) {
        headers.insert(header::LINK, link);
    }
    response
}

/// The next page: the same address with another offset.
fn next_page(raw: Option<&str>, offset: usize) -> String {
    let pairs = url::form_urlencoded::parse(raw.unwrap_or_default().as_bytes()).filter(|(k, _)| k != "offset");
    let mut out = url::form_urlencoded::Serializer::new(String::new());
    out.extend_pairs(pairs).append_pair("offset", &offset.to_string());
    format!("<?{}>; rel=\"next\"", out.finish())
}

/// JSON as the command line writes it.
pub(crate) fn json_of(body: &Value, status: StatusCode) -> Response {
    let mut response = (status, format!("{body:#}\n")).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The same under the name of its hash; who has it already gets no bytes.
fn json_tagged(body: &Value, head: &HeaderMap) -> Response {
    let text = format!("{body:#}\n");
    let tag = format!("\"{}\"", &sha256_hex(text.as_bytes())[..32]);
    let has_it = head.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains(&tag));
    let mut response =
        if has_it { StatusCode::NOT_MODIFIED.into_response() } else { (StatusCode::OK, text).into_response() };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(value) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, value);
    }
    response
}

/// A file to keep.
pub(crate) fn file(file: File) -> Response {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let ascii: String = file.name.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    let utf8: String = url::form_urlencoded::byte_serialize(file.name.as_bytes()).collect();
    let named = format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{}", utf8.replace('+', "%20"));
    let mut response = file.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media));
    if let Ok(value) = HeaderValue::from_str(&named) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    if let Some(cut) = file.cut {
        headers.insert("x-gpuledger-cut", HeaderValue::from(cut));
    }
    response
}
