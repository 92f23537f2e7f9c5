//! The three pages, on loopback: `/metrics`, `/ready`, `/live`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use crate::node::seen::{Clock, Moment};

/// What the format is called, so that Prometheus parses it as OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a collector has to say of itself.
pub trait Pages: Send + Sync + 'static {
    /// The page of `/metrics` at `now`.
    fn page(&self, now: Moment) -> Result<String, std::fmt::Error>;
    /// Whether it does its work, and if not, why.
    fn readiness(&self, now: Moment) -> Result<String, String>;
}

type Shared<M> = (Arc<M>, Arc<dyn Clock>);

/// The pages of `metrics`, as of `clock`.
pub fn pages<M: Pages>(metrics: Arc<M>, clock: Arc<dyn Clock>) -> Router {
    Router::new()
        .route("/metrics", get(page::<M>))
        .route("/ready", get(ready::<M>))
        .route("/live", get(live))
        .with_state((metrics, clock))
}

/// Serves the pages until the future is dropped. The configuration has checked that the address may be served.
pub async fn serve<M: Pages>(address: SocketAddr, metrics: Arc<M>, clock: Arc<dyn Clock>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    axum::serve(listener, pages(metrics, clock)).await
}

async fn page<M: Pages>(State((metrics, clock)): State<Shared<M>>) -> impl IntoResponse {
    match metrics.page(clock.now()) {
        Ok(page) => (StatusCode::OK, [(header::CONTENT_TYPE, OPEN_METRICS)], page).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn ready<M: Pages>(State((metrics, clock)): State<Shared<M>>) -> (StatusCode, String) {
    match metrics.readiness(clock.now()) {
        Ok(words) => (StatusCode::OK, format!("{words}\n")),
        Err(words) => (StatusCode::SERVICE_UNAVAILABLE, format!("{words}\n")),
    }
}

/// That it answers is the answer. A hung GPU or a scheduler that is away is no reason to restart.
async fn live() -> &'static str {
    "live\n"
}
