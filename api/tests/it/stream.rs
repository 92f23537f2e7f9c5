//! Events as a stream: scoped, resumed without loss or double, ended with the server.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use gpuledger_api::event::Audience;
use gpuledger_api::who::Role;
use gpuledger_control::Grant;
use gpuledger_schema::reclaim::{Case, CaseEvent, Class, EventKind};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::stand_in::{NOW_MS, Site};

/// What a stream says until it ends or falls silent.
async fn heard(site: &Site, token: &str, last: Option<&str>) -> (StatusCode, String) {
    let mut request = Request::get("/api/v1/events").header("authorization", format!("Bearer {token}"));
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let response = site.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (status, mut body) = (response.status(), response.into_body());
    let mut text = String::new();
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(Duration::from_millis(200), body.frame()).await {
        if let Ok(data) = frame.into_data() {
            text.push_str(&String::from_utf8_lossy(&data));
        }
    }
    (status, text)
}

#[tokio::test]
async fn a_stream_is_resumed_where_it_broke_off() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    for n in 1..=3 {
        site.app.events().tell("cut", Audience::All, n, json!({"n": n}));
    }
    let run = site.app.events().run();
    let (status, text) = heard(&site, &token, Some(&format!("{run}-1"))).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(text.matches("event: cut").count(), 2, "{text}");
    assert!(text.contains(&format!("id: {run}-2")) && text.contains(&format!("id: {run}-3")));
    let (_, text) = heard(&site, &token, Some("1-1")).await;
    assert!(text.contains("event: reset"), "{text}");
    let (status, _) = heard(&site, &token, Some("yesterday")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn nobody_hears_of_other_teams() {
    let site = Site::new();
    let run = site.app.events().run();
    site.app.events().tell("case", Audience::Team("nlp".to_owned()), 1, json!({"case": "nlp"}));
    site.app.events().tell("case", Audience::Team("vision".to_owned()), 2, json!({"case": "vision"}));
    site.app.events().tell("audit", Audience::Staff, 3, json!({"by": "root"}));
    let since = format!("{run}-0");
    let (_, lead) = heard(&site, &site.token(Role::Lead), Some(&since)).await;
    assert!(lead.contains("nlp") && !lead.contains("vision") && !lead.contains("root"), "{lead}");
    let (_, all) = heard(&site, &site.token(Role::Operator), Some(&since)).await;
    assert!(all.contains("vision") && all.contains("root"));
    assert_eq!(heard(&site, &site.token(Role::Node), None).await.0, StatusCode::FORBIDDEN);
}

/// What a case of Ada's job in team nlp is about.
fn facts() -> String {
    let nothing = Value::Null;
    json!({
        "allocation_id": 7, "nodes": ["gpu01"], "device_ids": [1], "gpu_units": 840,
        "identity": {"kind": "slurm", "cluster": "alpha", "job_raw": "4711", "array": nothing, "het": nothing, "user": "ada",
            "start_ms": 0},
        "owner": {"user": "ada", "account": nothing, "team": "nlp", "contact": nothing},
        "work": {"task_type": "train", "queue": nothing, "qos": nothing, "name": nothing, "pool": "h100", "model": nothing,
            "priority": nothing, "preemptible": nothing, "borrowed": false, "limit_ms": nothing, "max_ms": nothing,
            "checkpoint_ms": nothing},
        "judgement": {"policy": "default", "verdict": "idle", "reasons": [], "classes": ["idle_since"], "alerts": [],
            "rest_from_ms": nothing, "active_from_ms": nothing, "newest_ms": nothing, "coverage_ppm": nothing,
            "peak_ppm": nothing, "power_mw": nothing, "floor_mw": nothing, "mean_ppm": nothing},
    })
    .to_string()
}

#[tokio::test]
async fn whoever_may_see_a_case_hears_that_it_moved() {
    let site = Site::new();
    let mut control = site.control();
    let fence = control.lead("here", NOW_MS, 60_000).unwrap().unwrap();
    let opened = CaseEvent::of(NOW_MS, "engine", EventKind::Opened);
    let case = Case::opened(7, Class::IdleSince, "default", facts(), &opened);
    control.open_case(fence, &case, &opened).unwrap();
    // what stood before anybody listened is on the pages
    site.app.tell_moved_cases().await.unwrap();
    let warned = CaseEvent::of(NOW_MS + 1, "engine", EventKind::Warned);
    let case = control.move_case(Some(fence), case.case_id, case.seq, &warned).unwrap();
    site.app.tell_moved_cases().await.unwrap();
    // nothing moved since
    site.app.tell_moved_cases().await.unwrap();
    let recovered = CaseEvent::of(NOW_MS + 2, "engine", EventKind::Recovered);
    control.move_case(Some(fence), case.case_id, case.seq, &recovered).unwrap();
    site.app.tell_moved_cases().await.unwrap();
    site.app.tell_moved_cases().await.unwrap();
    let since = format!("{}-0", site.app.events().run());
    let (_, lead) = heard(&site, &site.token(Role::Lead), Some(&since)).await;
    let states: Vec<&str> = lead.matches("warned").chain(lead.matches("active_again")).collect();
    assert_eq!((lead.matches("event: case").count(), states), (2, vec!["warned", "active_again"]), "{lead}");
    let (_, member) = heard(&site, &site.token(Role::Member), Some(&since)).await;
    assert_eq!(member.matches("event: case").count(), 2, "{member}");
    let other = Grant {
        name: "of vision".to_owned(),
        role: "lead".to_owned(),
        teams: ["vision".to_owned()].into(),
        user: None,
        node: None,
    };
    let (_, other) = heard(&site, &site.grant(&other, 9), Some(&since)).await;
    assert!(!other.contains("event: case"), "{other}");
}

#[tokio::test]
async fn a_stream_ends_when_the_server_does() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    let request = Request::get("/api/v1/events").header("authorization", format!("Bearer {token}"));
    let response = site.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    site.app.stop().now();
    let ended = tokio::time::timeout(Duration::from_secs(2), response.into_body().collect()).await;
    assert!(ended.is_ok_and(|body| body.is_ok()));
}
