//! What stands before every request: who asks, from where, how often; and what every response says to a browser.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use gpuledger_control::{Control, Token};
use gpuledger_schema::hash::sha256_hex;

use crate::problem::Problem;
use crate::state::{App, chain};
use crate::who::{Role, Who};

mod proxy;
mod rate;

pub use proxy::{Grant, Proxy, ProxyError};
pub use rate::Rates;

/// Name of the cookie.
pub const COOKIE: &str = "gpuledger";
/// How long a token that was looked up is not looked up again, in ms; what revokes one in this process forgets all at once.
const REMEMBERED_MS: i64 = 5_000;
/// Tokens that are remembered at a time.
const REMEMBERED: usize = 4_096;
/// Paths that need nobody.
const OPEN_PATHS: &[&str] = &["/sign-in", "/enter", "/healthz", "/favicon.ico"];
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                   font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// How the guard is set.
#[derive(Debug, Clone, Default)]
pub struct GuardSettings {
    /// Whoever reaches the port may do everything; refused where the port is not one of the loopback.
    pub open: bool,
    /// A proxy in front that says who asks.
    pub proxy: Option<Proxy>,
    /// The code that `/enter` takes, printed at the start; absent: there is none.
    pub code: Option<String>,
    /// Names under which people may reach the server, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Requests go over TLS.
    pub tls: bool,
}

struct Remembered {
    who: Option<Who>,
    until_ms: i64,
    /// How often tokens had changed when it was looked up.
    changed: u64,
}

/// The guard; cheap to clone.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    settings: GuardSettings,
    remembered: Mutex<HashMap<String, Remembered>>,
    rates: Rates,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

impl Guard {
    /// A guard.
    pub fn new(settings: GuardSettings, rates: Rates) -> Self {
        Self(Arc::new(Inner { settings, remembered: Mutex::default(), rates }))
    }

    /// How it is set.
    pub fn settings(&self) -> &GuardSettings {
        &self.0.settings
    }

    /// Who bears a secret: the code of this start, or a token of the control file.
    ///
    /// # Errors
    /// The control file cannot be read: 503, and nobody is let in.
    pub async fn bearer(&self, app: &App, secret: &str) -> Result<Option<Who>, Problem> {
        let hash = sha256_hex(secret.as_bytes());
        if self.0.settings.code.as_ref().is_some_and(|code| sha256_hex(code.as_bytes()) == hash) {
            return Ok(Some(Who::of("the one who started the server", Role::Admin)));
        }
        let (now_ms, changed) = (app.now_ms(), app.tokens_changed());
        {
            let remembered = self.0.remembered.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = remembered.get(&hash).filter(|r| now_ms < r.until_ms && r.changed == changed) {
                return Ok(found.who.clone());
            }
        }
        let (path, text) = (app.control_path().to_owned(), secret.to_owned());
        let found = tokio::task::spawn_blocking(move || -> Result<Option<Token>, Problem> {
            if !path.exists() {
                return Ok(None);
            }
            let control = Control::open_read_only(&path).map_err(|e| Problem::unavailable(chain(&e)))?;
            control.token_of(&text, now_ms).map_err(|e| Problem::unavailable(chain(&e)))
        });
        let token =
            found.await.map_err(|_| Problem::fault("a look for a token was stopped by a fault of its own"))??;
        let until_ms = token.as_ref().map_or(i64::MAX, |t| t.expires_ms).min(now_ms + REMEMBERED_MS);
        let who = token.as_ref().and_then(who_of);
        let mut remembered = self.0.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(hash, Remembered { who: who.clone(), until_ms, changed });
        Ok(who)
    }

    async fn identify(&self, app: &App, peer: IpAddr, headers: &HeaderMap) -> Result<(Option<Who>, bool), Problem> {
        if let Some(proxy) = self.0.settings.proxy.as_ref().filter(|p| p.trusts(peer)) {
            let who = proxy.who(headers)?;
            if who.is_some() {
                return Ok((who, true));
            }
        }
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let secret = value.to_str().ok().and_then(|v| v.strip_prefix("Bearer "));
            let secret = secret.ok_or_else(Problem::unknown)?;
            return Ok((Some(self.bearer(app, secret.trim()).await?.ok_or_else(Problem::unknown)?), false));
        }
        if let Some(secret) = cookie(headers) {
            return Ok((self.bearer(app, &secret).await?, true));
        }
        let open = self.0.settings.open.then(|| Who::of("anybody (the server is open)", Role::Admin));
        Ok((open, true))
    }
}

/// The value of our cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value.to_owned()).filter(|v| !v.is_empty())
}

fn who_of(token: &Token) -> Option<Who> {
    let grant = &token.grant;
    Some(Who {
        name: grant.name.clone(),
        role: grant.role.parse().ok()?,
        teams: grant.teams.clone(),
        user: grant.user.clone(),
        node: grant.node.clone(),
    })
}

/// Stands before every route.
pub async fn before(State((app, guard)): State<(App, Guard)>, mut request: Request, next: Next) -> Response {
    let began_ms = app.now_ms();
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map_or(IpAddr::from([127, 0, 0, 1]), |c| c.0.0.ip());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let api = path.starts_with("/api/") || path == "/metrics";
    let admitted = admit(&app, &guard, peer, &mut request).await;
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(problem) if problem.status == 401 && !api && method == Method::GET => {
            sign_in(request.uri().path_and_query())
        }
        Err(problem) => problem.into_response(),
    };
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
        // neither token nor query: a query can name people
        tracing::warn!(%peer, %method, path, status = status.as_u16(), "refused");
    }
    app.served().count(&path, status.as_u16(), app.now_ms() - began_ms);
    dress(response.headers_mut(), guard.settings().tls);
    response
}

async fn admit(app: &App, guard: &Guard, peer: IpAddr, request: &mut Request) -> Result<(), Problem> {
    let settings = guard.settings();
    let headers = request.headers();
    known_host(headers, &settings.hosts)?;
    let now_ms = app.now_ms();
    if !guard.0.rates.may_try(peer, now_ms) {
        return Err(too_many("too many requests without a token that counts; wait a minute"));
    }
    let path = request.uri().path();
    let found = guard.identify(app, peer, headers).await;
    if found.as_ref().is_err_and(|p| p.status == 401) {
        guard.0.rates.failed(peer, now_ms);
    }
    let needs_nobody = OPEN_PATHS.contains(&path) || path.starts_with("/static/");
    let (who, by_browser) = match found {
        Err(_) if needs_nobody => (None, true),
        other => other?,
    };
    if who.is_none() && !needs_nobody {
        return Err(Problem::unknown());
    }
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if is_change && by_browser {
        same_origin(headers)?;
    }
    match who {
        Some(who) => {
            let may = guard.0.rates.may(&who.name, who.role, now_ms);
            request.extensions_mut().insert(who);
            if may { Ok(()) } else { Err(too_many("too many requests; slow down")) }
        }
        None => Ok(()),
    }
}

fn too_many(detail: &str) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, detail)
}

/// A page of another site that a name was pointed at us must not speak for somebody here.
fn known_host(headers: &HeaderMap, hosts: &[String]) -> Result<(), Problem> {
    let Some(host) = headers.get(header::HOST).and_then(|h| h.to_str().ok()) else { return Ok(()) };
    let name = host_name(host);
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    if is_address || name == "localhost" || hosts.iter().any(|h| h.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let text = format!("this server is not known as `{name}`: set server.public_url or server.hosts");
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, text))
}

fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// A form of another site must not do anything in the name of who is signed in here.
fn same_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: HeaderName| headers.get(name).and_then(|v| v.to_str().ok());
    let other = || Problem::forbidden("the request comes from another site");
    if let Some(site) = text(HeaderName::from_static("sec-fetch-site")) {
        return if matches!(site, "same-origin" | "none") { Ok(()) } else { Err(other()) };
    }
    match (text(header::ORIGIN), text(header::HOST)) {
        (Some(origin), Some(host)) => {
            let named = origin.split_once("://").map_or(origin, |(_, rest)| rest);
            if named == host { Ok(()) } else { Err(other()) }
        }
        (None, _) => {
            Err(Problem::forbidden("a change by a browser says where it comes from (Origin); programs send a token"))
        }
        (Some(_), None) => Err(other()),
    }
}

fn sign_in(to: Option<&axum::http::uri::PathAndQuery>) -> Response {
    let to = to.map_or("/", axum::http::uri::PathAndQuery::as_str);
    let next: String = url::form_urlencoded::byte_serialize(to.as_bytes()).collect();
    Redirect::to(&format!("/sign-in?next={next}")).into_response()
}

/// What every response tells a browser.
fn dress(headers: &mut HeaderMap, tls: bool) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, CSP);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "same-origin");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=()");
    set(header::CACHE_CONTROL, "no-store");
    if tls {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    #[test]
    fn a_name_that_nobody_configured_is_not_ours() {
        let hosts = vec!["gpu.example.org".to_owned()];
        for (host, known) in [
            ("127.0.0.1:8787", true),
            ("[::1]:8787", true),
            ("localhost:8787", true),
            ("GPU.example.org", true),
            ("evil.example.org:8787", false),
            ("localhost.evil.example.org", false),
        ] {
            assert_eq!(known_host(&headers(&[("host", host)]), &hosts).is_ok(), known, "{host}");
        }
    }

    #[test]
    fn a_form_of_another_site_does_nothing() {
        for (pairs, same) in [
            (vec![("sec-fetch-site", "same-origin")], true),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "http://a"), ("host", "a")], false),
            (vec![("sec-fetch-site", "same-site")], false),
            (vec![("origin", "http://a:1"), ("host", "a:1")], true),
            (vec![("origin", "http://b"), ("host", "a")], false),
            (vec![("origin", "null"), ("host", "a")], false),
            (vec![("host", "a")], false),
        ] {
            assert_eq!(same_origin(&headers(&pairs)).is_ok(), same, "{pairs:?}");
        }
    }

    #[test]
    fn our_cookie_is_found_among_others() {
        assert_eq!(cookie(&headers(&[("cookie", "a=1; gpuledger=glt_x; b=2")])), Some("glt_x".to_owned()));
        assert_eq!(cookie(&headers(&[("cookie", "xgpuledger=1; gpuledger=")])), None);
    }
}
