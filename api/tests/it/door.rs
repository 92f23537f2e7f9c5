//! What stands before every request: browsers, forms of other sites, names, rates; and how answers are sent.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use gpuledger_api::guard::{GuardSettings, Proxy, Rates};
use gpuledger_api::who::Role;
use serde_json::Value;

use super::stand_in::Site;

#[tokio::test]
async fn every_answer_tells_a_browser_to_be_careful() {
    let site = Site::new();
    for path in ["/api/v1/place", "/nothing", "/sign-in", "/healthz"] {
        let (_, headers, _) = site.send(Request::get(path).body(Body::empty()).unwrap()).await;
        assert!(headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"), "{path}");
        assert!(!headers["content-security-policy"].to_str().unwrap().contains("unsafe"), "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["x-frame-options"], "DENY");
        assert_eq!(headers["cache-control"], "no-store");
    }
}

#[tokio::test]
async fn a_page_sends_nobody_to_sign_in_and_back() {
    let site = Site::new();
    let (status, headers, _) = site.send(Request::get("/waste?month=2026-03").body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert_eq!(headers["location"], "/sign-in?next=%2Fwaste%3Fmonth%3D2026-03");
    let token = site.token(Role::Finance);
    let form = |token: &str, origin: &str| {
        let body = format!("token={token}&next=%2Fwaste");
        let request = Request::post("/sign-in").header("host", "127.0.0.1:8787").header("origin", origin);
        request.body(Body::from(body)).unwrap()
    };
    let (status, headers, _) = site.send(form(&token, "http://127.0.0.1:8787")).await;
    assert_eq!((status, headers["location"].to_str().unwrap()), (StatusCode::SEE_OTHER, "/waste"));
    let cookie = headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let (_, headers, _) = site.send(form("glt_wrong", "http://127.0.0.1:8787")).await;
    assert_eq!(headers["location"], "/sign-in?wrong=true");
    let (status, ..) = site.send(form(&token, "http://evil.example.org")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    // the cookie is who they are, and no form of another site may use it
    let pair = cookie.split(';').next().unwrap().to_owned();
    let me = Request::get("/api/v1/me").header("cookie", &pair).body(Body::empty()).unwrap();
    let (status, _, body) = site.send(me).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["role"], "finance");
    let close = |origin: Option<&str>| {
        let mut request =
            Request::post("/api/v1/periods/2026-03/close").header("cookie", &pair).header("host", "localhost");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.body(Body::from(r#"{"confirm": "2026-03"}"#)).unwrap()
    };
    assert_eq!(site.send(close(Some("https://evil.example.org"))).await.0, StatusCode::FORBIDDEN);
    assert_eq!(site.send(close(None)).await.0, StatusCode::FORBIDDEN);
    assert_eq!(site.send(close(Some("http://localhost"))).await.0, StatusCode::OK);
}

#[tokio::test]
async fn the_code_of_the_start_lets_in_and_no_other() {
    let guard = GuardSettings { code: Some("c0de".repeat(16)), ..GuardSettings::default() };
    let site = Site::with(guard, Rates::default());
    let enter = |code: &str| Request::get(format!("/enter?code={code}")).body(Body::empty()).unwrap();
    let (status, headers, _) = site.send(enter(&"c0de".repeat(16))).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert!(headers["set-cookie"].to_str().unwrap().starts_with("gpuledger=c0de"));
    let (_, headers, _) = site.send(enter("other")).await;
    assert_eq!(headers["location"], "/sign-in?wrong=true");
    assert!(!headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn a_name_that_is_not_ours_is_misdirected() {
    let site = Site::with(GuardSettings { open: true, ..GuardSettings::default() }, Rates::default());
    let ask = |host: &str| Request::get("/api/v1/place").header("host", host).body(Body::empty()).unwrap();
    assert_eq!(site.send(ask("127.0.0.1:8787")).await.0, StatusCode::OK);
    assert_eq!(site.send(ask("rebound.example.org")).await.0, StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn who_asks_too_often_waits() {
    let site = Site::with(GuardSettings::default(), Rates::new(1, 3, 2));
    let token = site.token(Role::Finance);
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(site.ask(&token, "GET", "/api/v1/place", "").await.0.as_u16());
    }
    assert_eq!(seen, [200, 200, 200, 429]);
    // another is not held up by it; who guesses is
    assert_eq!(site.ask(&site.token(Role::Lead), "GET", "/api/v1/place", "").await.0, StatusCode::OK);
    for _ in 0..2 {
        assert_eq!(site.ask("glt_guess", "GET", "/api/v1/place", "").await.0, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(site.ask("glt_guess", "GET", "/api/v1/place", "").await.0, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_proxy_speaks_for_people_from_its_own_address_alone() {
    let proxy = Proxy {
        addresses: vec!["127.0.0.1".parse().unwrap()],
        user_header: "x-forwarded-user".to_owned(),
        members: true,
        ..Proxy::default()
    };
    let site = Site::with(GuardSettings { proxy: Some(proxy), ..GuardSettings::default() }, Rates::default());
    let ask = |peer: &str| {
        let mut request = Request::get("/api/v1/me").header("x-forwarded-user", "ada").body(Body::empty()).unwrap();
        request.extensions_mut().insert(gpuledger_api::server::from(peer.parse().unwrap()));
        request
    };
    let (status, _, body) = site.send(ask("127.0.0.1:5000")).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["user"], "ada");
    assert_eq!(site.send(ask("10.0.0.9:5000")).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn pages_of_rows_are_named_and_bounded() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    let (status, headers, body) =
        site.ask(&token, "GET", "/api/v1/usage?month=2026-03&by=team&limit=2&offset=1", "").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["rows"].as_array().unwrap().iter().map(|r| r["n"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((headers["x-total-count"].to_str().unwrap(), headers["x-gpuledger-cut"].to_str().unwrap()), ("5", "3"));
    assert_eq!(headers["link"], "<?month=2026-03&by=team&limit=2&offset=3>; rel=\"next\"");
    let (_, headers, body) = site.ask(&token, "GET", "/api/v1/usage?month=2026-03&offset=9", "").await;
    assert_eq!(body["rows"].as_array().unwrap().len(), 0);
    assert!(!headers.contains_key("link"));
}

#[tokio::test]
async fn what_somebody_has_already_is_not_sent_again() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    let (_, headers, _) = site.ask(&token, "GET", "/api/v1/usage?month=2026-03", "").await;
    let tag = headers["etag"].clone();
    let again = Request::get("/api/v1/usage?month=2026-03")
        .header("authorization", format!("Bearer {token}"))
        .header("if-none-match", tag)
        .body(Body::empty())
        .unwrap();
    let (status, _, body) = site.send(again).await;
    assert_eq!((status, body.len()), (StatusCode::NOT_MODIFIED, 0));
}

#[tokio::test]
async fn a_wrong_parameter_is_named_on_every_kind_of_route() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    for (path, name) in [
        ("/api/v1/charges?month=2026-13", "month"),
        ("/api/v1/charges?month=2026-03&colour=red", "colour"),
        ("/api/v1/fleet/fragmentation?month=2026-03&by=team", "by"),
        ("/api/v1/gaps?month=2026-03&top=-1", "top"),
        ("/api/v1/quote?gpus=0&model=x&for=1d&start=2026-03-01&team=nlp", "gpus"),
        ("/api/v1/quote?gpus=1", "model"),
        ("/api/v1/explain/runs/7?cells=maybe", "cells"),
        ("/api/v1/fleet/assets?at=yesterday", "at"),
        ("/api/v1/exports/2026-03", "as"),
        ("/api/v1/usage?month=2026-03&format=csv&limit=3", "limit"),
    ] {
        let (status, headers, body) = site.ask(&token, "GET", path, "").await;
        assert_eq!((status, body["parameter"].as_str()), (StatusCode::BAD_REQUEST, Some(name)), "{path}: {body}");
        assert_eq!(headers["content-type"], "application/problem+json");
    }
}

#[tokio::test]
async fn a_file_is_named_for_every_client() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    let (status, headers, _) = site.ask(&token, "GET", "/api/v1/exports/2026-03?as=pdf&team=x", "").await;
    assert_eq!(status, StatusCode::OK);
    let named = headers["content-disposition"].to_str().unwrap();
    assert_eq!(named, "attachment; filename=\"---2026-03.pdf\"; filename*=UTF-8''%E7%AE%97%E6%B3%95-2026-03.pdf");
    let (_, headers, _) = site.ask(&token, "GET", "/api/v1/usage?month=2026-03&format=csv", "").await;
    assert_eq!(headers["content-type"], "text/csv; charset=utf-8");
}

#[tokio::test]
async fn a_body_has_its_limit() {
    let site = Site::new();
    let token = site.token(Role::Admin);
    let body = format!("{{\"csv\": \"{}\"}}", "x".repeat(70 << 10));
    let (status, ..) = site.ask(&token, "POST", "/api/v1/reference/rates", &body).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}
