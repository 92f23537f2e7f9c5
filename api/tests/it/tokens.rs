//! Tokens over the API: made, used, rotated, taken back.

use axum::http::StatusCode;
use gpuledger_api::who::Role;

use super::stand_in::Site;

#[tokio::test]
async fn a_token_is_made_used_rotated_and_taken_back_at_once() {
    let site = Site::new();
    let admin = site.token(Role::Admin);
    let body = r#"{"name": "grace", "role": "lead", "teams": ["nlp"], "days": 30}"#;
    let (status, _, made) = site.ask(&admin, "POST", "/api/v1/tokens", body).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let (secret, id) = (made["secret"].as_str().unwrap().to_owned(), made["id"].as_str().unwrap().to_owned());
    let (_, _, me) = site.ask(&secret, "GET", "/api/v1/me", "").await;
    assert_eq!((me["name"].as_str(), me["teams"][0].as_str()), (Some("grace"), Some("nlp")));
    let (status, _, new) =
        site.ask(&admin, "POST", &format!("/api/v1/tokens/{id}/rotate"), r#"{"days": 30, "hours": 1}"#).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(new["rotates"], id.as_str());
    // both count for the hour
    assert_eq!(site.ask(&secret, "GET", "/api/v1/me", "").await.0, StatusCode::OK);
    let new_id = new["id"].as_str().unwrap();
    assert_eq!(site.ask(&admin, "DELETE", &format!("/api/v1/tokens/{new_id}"), "").await.0, StatusCode::OK);
    assert_eq!(site.ask(new["secret"].as_str().unwrap(), "GET", "/api/v1/me", "").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(site.ask(&admin, "DELETE", "/api/v1/tokens/000000000000", "").await.0, StatusCode::NOT_FOUND);
    let (_, _, list) = site.ask(&admin, "GET", "/api/v1/tokens", "").await;
    let text = list.to_string();
    assert_eq!(list["rows"].as_array().unwrap().len(), 3);
    assert!(!text.contains(secret.rsplit('_').next().unwrap()) && !text.contains("sha256"));
}

#[tokio::test]
async fn a_wrong_grant_is_refused_with_its_reason() {
    let site = Site::new();
    let admin = site.token(Role::Admin);
    for (body, says) in [
        (r#"{"name": "x", "role": "lead", "days": 30}"#, "a lead needs teams"),
        (r#"{"name": "x", "role": "king", "days": 30}"#, "is not one of"),
        (r#"{"name": "x", "role": "admin", "days": 0}"#, "366 days"),
        (r#"{"name": "x", "role": "admin", "days": 30, "sudo": true}"#, "unknown field"),
    ] {
        let (status, _, told) = site.ask(&admin, "POST", "/api/v1/tokens", body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(told["detail"].as_str().unwrap().contains(says), "{told}");
    }
}
