//! Signing in and out of the pages: the cookie holds the token itself, readable by no script and sent to no other site.

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};

use crate::guard::{COOKIE, Guard};
use crate::problem::Problem;
use crate::state::App;

/// How long a browser keeps the cookie; a token may expire before.
const COOKIE_S: u32 = 30 * 24 * 3_600;
/// A form has at most so many bytes.
const FORM_BYTES: usize = 16 << 10;

/// `POST /sign-in`, `POST /sign-out`, `GET /enter?code=`.
pub fn routes(guard: Guard) -> Router<App> {
    let with = guard.clone();
    Router::new()
        .route("/sign-in", post(move |app, body| sign_in(app, with, body)))
        .route("/sign-out", post(sign_out))
        .route("/enter", get(move |app, query| enter(app, guard, query)))
        .route("/healthz", get(|| async { "ok\n" }))
}

async fn sign_in(State(app): State<App>, guard: Guard, body: Body) -> Result<Response, Problem> {
    let bytes = axum::body::to_bytes(body, FORM_BYTES).await;
    let bytes = bytes.map_err(|_| Problem::parameter("token", "the form is too large"))?;
    let (mut token, mut next) = (String::new(), "/".to_owned());
    for (name, value) in url::form_urlencoded::parse(&bytes) {
        match &*name {
            "token" => token = value.trim().to_owned(),
            "next" => next = value.into_owned(),
            other => return Err(Problem::parameter(other, format!("the form has no field `{other}`"))),
        }
    }
    admitted(&app, &guard, &token, &next).await
}

async fn enter(State(app): State<App>, guard: Guard, RawQuery(raw): RawQuery) -> Result<Response, Problem> {
    let mut query = crate::ask::Query::read(raw.as_deref());
    let code = query.needed("code")?;
    query.done()?;
    admitted(&app, &guard, &code, "/").await
}

async fn admitted(app: &App, guard: &Guard, secret: &str, next: &str) -> Result<Response, Problem> {
    if guard.bearer(app, secret).await?.is_none() || !plain(secret) {
        return Ok(Redirect::to("/sign-in?wrong=true").into_response());
    }
    let mut response = Redirect::to(own(next)).into_response();
    set(&mut response, secret, COOKIE_S, guard.settings().tls);
    Ok(response)
}

async fn sign_out() -> Response {
    let mut response = Redirect::to("/sign-in").into_response();
    set(&mut response, "", 0, false);
    response
}

/// What a cookie may hold.
fn plain(secret: &str) -> bool {
    !secret.is_empty() && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A path of this server; anything else is the first page.
fn own(next: &str) -> &str {
    let ours = next.starts_with('/') && !next.starts_with("//") && !next.contains(['\\', '\r', '\n']);
    if ours { next } else { "/" }
}

fn set(response: &mut Response, value: &str, seconds: u32, tls: bool) {
    let secure = if tls { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for (next, to) in [
            ("/waste?month=2026-03", "/waste?month=2026-03"),
            ("//evil.example.org", "/"),
            ("https://evil.example.org", "/"),
            ("/\\evil.example.org", "/"),
            ("", "/"),
        ] {
            assert_eq!(own(next), to, "{next}");
        }
    }
}
