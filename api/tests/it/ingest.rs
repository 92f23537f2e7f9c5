//! The way in for nodes.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use gpuledger_api::who::Role;
use gpuledger_schema::hash::sha256_hex;
use serde_json::Value;

use super::stand_in::Site;

async fn bring(site: &Site, token: &str, name: &str, body: Vec<u8>) -> (StatusCode, Value) {
    let request = Request::put(format!("/api/v1/ingest/{name}")).header("authorization", format!("Bearer {token}"));
    let (status, _, bytes) = site.send(request.body(Body::from(body)).unwrap()).await;
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

fn name(writer: &str, bytes: &[u8]) -> String {
    format!("device_minute~{writer}~{}.parquet", &sha256_hex(bytes)[..32])
}

#[tokio::test]
async fn a_node_brings_segments_of_its_own_as_often_as_it_likes() {
    let site = Site::new();
    let token = site.token(Role::Node);
    let bytes = vec![7; 1 << 19];
    for _ in 0..2 {
        let (status, body) = bring(&site, &token, &name("gpu01", &bytes), bytes.clone()).await;
        assert_eq!((status, body["bytes"].as_u64()), (StatusCode::OK, Some(1 << 19)));
    }
    assert_eq!(site.answers.delivered.lock().unwrap()[0].0, "gpu01");
    let (status, _) = bring(&site, &token, &name("gpu02", &bytes), bytes.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    for role in [Role::Admin, Role::Operator, Role::Metrics] {
        assert_eq!(
            bring(&site, &site.token(role), &name("gpu01", &bytes), bytes.clone()).await.0,
            StatusCode::FORBIDDEN
        );
    }
    assert_eq!(site.answers.delivered.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_too_large_or_not_what_its_name_says_is_refused_whole() {
    let site = Site::new();
    let token = site.token(Role::Node);
    // C66: accepted up to the configured size, above it 413
    let limit = vec![1; 1 << 20];
    assert_eq!(bring(&site, &token, &name("gpu01", &limit), limit.clone()).await.0, StatusCode::OK);
    let large = vec![1; (1 << 20) + 1];
    assert_eq!(bring(&site, &token, &name("gpu01", &large), large.clone()).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    // the same without a length that announces it
    let pieces: Vec<Result<Vec<u8>, std::io::Error>> = (0..20).map(|_| Ok(vec![1; 64 << 10])).collect();
    let streamed = Request::put(format!("/api/v1/ingest/{}", name("gpu01", &large)))
        .header("authorization", format!("Bearer {token}"))
        .body(Body::from_stream(futures::stream::iter(pieces)))
        .unwrap();
    assert_eq!(site.send(streamed).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let (status, body) = bring(&site, &token, &name("gpu01", b"other"), b"these".to_vec()).await;
    assert_eq!((status, body["parameter"].as_str()), (StatusCode::BAD_REQUEST, Some("segment")));
    for odd in ["x.parquet", "..%2F..%2Fetc", "job~gpu01~zz.parquet", "job~..~00000000000000000000000000000000.parquet"]
    {
        let (status, _) = bring(&site, &token, odd, Vec::new()).await;
        assert!(matches!(status, StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN), "{odd}: {status}");
    }
    assert_eq!(site.answers.delivered.lock().unwrap().len(), 1);
}
