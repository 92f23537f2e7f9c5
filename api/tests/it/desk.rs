//! A page is shown with what is there: what takes longer is worked on, and is there when the page is asked again.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use gpuledger_api::answer::Report;
use gpuledger_api::who::Role;

use crate::stand_in::Site;

const COMPUTED: &str = "http-equiv=\"refresh\"";

async fn page(site: &Site, token: &str, path: &str) -> String {
    let head = format!("Bearer {token}");
    let request = Request::get(path).header("authorization", head).body(Body::empty()).unwrap();
    let (status, _, bytes) = site.send(request).await;
    assert_eq!(status, StatusCode::OK);
    String::from_utf8(bytes).unwrap()
}

fn times(site: &Site, of: fn(&Report) -> bool) -> usize {
    site.answers.asked.lock().unwrap().iter().filter(|what| of(what)).count()
}

const BUDGETS: fn(&Report) -> bool = |what| matches!(what, Report::Budgets { .. });

#[tokio::test(flavor = "multi_thread")]
async fn a_page_waits_for_nothing_and_is_whole_when_it_is_asked_again() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    let held = site.answers.gate.write().await;
    let began = std::time::Instant::now();
    assert!(page(&site, &token, "/?month=2026-03").await.contains(COMPUTED));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "no question was answered, and the page was shown");
    // nobody begins anew what is worked on
    assert!(page(&site, &token, "/?month=2026-03").await.contains(COMPUTED));
    assert_eq!(times(&site, BUDGETS), 1);
    drop(held);
    let mut again = page(&site, &token, "/?month=2026-03").await;
    while again.contains(COMPUTED) {
        again = page(&site, &token, "/?month=2026-03").await;
    }
    // the clock of this place stands: the answer is fresh
    assert_eq!(times(&site, BUDGETS), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_did_is_seen_on_the_next_page() {
    let site = Site::new();
    let token = site.token(Role::Finance);
    assert!(!page(&site, &token, "/?month=2026-03").await.contains(COMPUTED));
    assert!(!page(&site, &token, "/?month=2026-03").await.contains(COMPUTED));
    assert_eq!(times(&site, BUDGETS), 1);
    let body = r#"{"confirm": "2026-03"}"#;
    let (status, ..) = site.ask(&token, "POST", "/api/v1/periods/2026-03/close", body).await;
    assert_eq!(status, StatusCode::OK);
    // an answer from before is not shown, however long the next one takes
    let held = site.answers.gate.write().await;
    assert!(page(&site, &token, "/?month=2026-03").await.contains(COMPUTED));
    drop(held);
    assert_eq!(times(&site, BUDGETS), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_shown_what_was_answered_to_somebody_else() {
    let site = Site::new();
    let (finance, lead) = (site.token(Role::Finance), site.token(Role::Lead));
    page(&site, &finance, "/?month=2026-03").await;
    page(&site, &lead, "/?month=2026-03").await;
    assert_eq!(times(&site, BUDGETS), 2, "another scope is another question");
}
