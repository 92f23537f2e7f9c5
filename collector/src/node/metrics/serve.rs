//! The three pages, on loopback: `/metrics`, `/ready`, `/live`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use super::NodeMetrics;
use crate::node::seen::Clock;

/// What the format is called, so that Prometheus parses it as OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone)]
struct Shared {
    metrics: Arc<NodeMetrics>,
    clock: Arc<dyn Clock>,
}

/// The pages of `metrics`, as of `clock`.
pub fn pages(metrics: Arc<NodeMetrics>, clock: Arc<dyn Clock>) -> Router {
    Router::new()
        .route("/metrics", get(page))
        .route("/ready", get(ready))
        .route("/live", get(live))
        .with_state(Shared { metrics, clock })
}

/// Serves the pages until the future is dropped. The configuration has checked that the address may be served.
pub async fn serve(address: SocketAddr, metrics: Arc<NodeMetrics>, clock: Arc<dyn Clock>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    axum::serve(listener, pages(metrics, clock)).await
}

async fn page(State(shared): State<Shared>) -> impl IntoResponse {
    match shared.metrics.page(shared.clock.now()) {
        Ok(page) => (StatusCode::OK, [(header::CONTENT_TYPE, OPEN_METRICS)], page).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn ready(State(shared): State<Shared>) -> (StatusCode, String) {
    match shared.metrics.readiness(shared.clock.now()) {
        Ok(words) => (StatusCode::OK, format!("{words}\n")),
        Err(words) => (StatusCode::SERVICE_UNAVAILABLE, format!("{words}\n")),
    }
}

/// That it answers is the answer. A hung GPU is no reason to restart: the others are still read.
async fn live() -> &'static str {
    "live\n"
}
