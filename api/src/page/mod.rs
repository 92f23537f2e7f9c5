//! Pages for people.

use axum::Router;

use crate::state::App;

/// Routes of the pages: `/`, `/chargeback`, ... and `/static/...`. The guard has put [`crate::who::Who`] into each request.
pub fn routes() -> Router<App> {
    Router::new()
}
