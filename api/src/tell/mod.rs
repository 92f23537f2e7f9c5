//! What is told to whom and when: reports by mail, digests, alerts.

use crate::state::App;

/// Runs the loops that tell and deliver, until the server stops.
pub async fn run(app: App) {
    app.stop().wait().await;
}
