//! Every route by every role: who may not is told so, nobody without a role is, and scopes go on to where rows are selected.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use gpuledger_api::route;
use gpuledger_api::who::Role;
use serde_json::Value;

use super::stand_in::Site;

/// An address of a route, with its words and what it needs.
fn address(route: &route::Route) -> String {
    let words = [
        ("{period}", "2026-03"),
        ("{line}", "4"),
        ("{job}", "alpha%2F1"),
        ("{table}", "rates"),
        ("{id}", "0123456789ab"),
        ("{segment}", "job~gpu01~00000000000000000000000000000000.parquet"),
        ("{name}", "ingest"),
        ("{case}", "7"),
        ("{which}", "kill"),
    ];
    let path = words.iter().fold(route.path.to_owned(), |path, (word, value)| path.replace(word, value));
    let needed = match route.path {
        "/api/v1/quote" => "?model=H100&for=3d&start=2026-03-01&team=nlp",
        "/api/v1/exports/{period}" => "?as=pdf",
        _ => "",
    };
    format!("{path}{needed}")
}

#[tokio::test]
async fn every_route_is_for_its_roles_alone() {
    let site = Site::new();
    let mut wrong = Vec::new();
    for role in Role::ALL {
        let token = site.token(role);
        for route in route::table().filter(|r| r.path != "/api/v1/events") {
            let (status, _, body) = site.ask(&token, route.method, &address(route), "{}").await;
            let may = route.roles.contains(&role);
            if may == (status == StatusCode::FORBIDDEN) && route.path != "/api/v1/ingest/{segment}" {
                wrong.push(format!("{role} {} {}: {status} {body}", route.method, route.path));
            }
            if status == StatusCode::INTERNAL_SERVER_ERROR || status == StatusCode::METHOD_NOT_ALLOWED {
                wrong.push(format!("{role} {} {}: {status}", route.method, route.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(route::table().count() > 40);
}

#[tokio::test]
async fn nobody_is_told_to_say_who_they_are_on_every_route() {
    let site = Site::new();
    for route in route::table() {
        for value in [None, Some("Bearer glt_0"), Some("Basic YTpi"), Some("Bearer ")] {
            let mut request = Request::builder().method(route.method).uri(address(route));
            if let Some(value) = value {
                request = request.header("authorization", value);
            }
            let site = Site::new();
            let (status, headers, body) = site.send(request.body(Body::from("{}")).unwrap()).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{} {} {value:?}", route.method, route.path);
            assert_eq!(headers["content-type"], "application/problem+json");
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["status"], 401);
        }
    }
    drop(site);
}

#[tokio::test]
async fn the_scope_of_who_asks_goes_on_to_where_rows_are_selected() {
    let site = Site::new();
    for (role, scope) in [
        (Role::Lead, "Teams({\"nlp\"})"),
        (Role::Member, "User(\"ada\")"),
        (Role::Finance, "All"),
        (Role::Operator, "All"),
    ] {
        let token = site.token(role);
        for path in ["/api/v1/charges?month=2026-03&filter=team=vision", "/api/v1/findings?month=2026-03&by=team"] {
            let (status, _, body) = site.ask(&token, "GET", path, "").await;
            assert_eq!(status, StatusCode::OK);
            assert_eq!(body["rows"][0]["scope"], scope);
        }
    }
}

#[tokio::test]
async fn metrics_are_for_those_who_watch() {
    let site = Site::new();
    for role in Role::ALL {
        let (status, ..) = site.ask(&site.token(role), "GET", "/metrics", "").await;
        let may = matches!(role, Role::Admin | Role::Operator | Role::Metrics);
        assert_eq!(status == StatusCode::OK, may, "{role}");
    }
}

#[tokio::test]
async fn what_is_done_is_done_in_the_name_of_who_asks() {
    let site = Site::new();
    let lead = site.token(Role::Lead);
    let body = r#"{"disputed": true, "reason": "the node was down"}"#;
    let (status, ..) = site.ask(&lead, "POST", "/api/v1/periods/2026-03/lines/4/answer", body).await;
    assert_eq!(status, StatusCode::OK);
    let finance = site.token(Role::Finance);
    let (status, _, told) =
        site.ask(&finance, "POST", "/api/v1/periods/2026-03/close", r#"{"confirm": "2026-04"}"#).await;
    assert_eq!((status, told["parameter"].as_str()), (StatusCode::BAD_REQUEST, Some("confirm")));
    let (status, _, told) =
        site.ask(&finance, "POST", "/api/v1/periods/2026-03/close", r#"{"confirm": "2026-03", "x": 1}"#).await;
    assert_eq!((status, told["parameter"].as_str()), (StatusCode::BAD_REQUEST, Some("body")));
    let acts = site.answers.acts.lock().unwrap();
    assert_eq!(acts.len(), 1);
    assert_eq!(acts[0].0, "the lead");
}
