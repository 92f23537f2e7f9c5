//! How the process is asked to end.

/// Ends when the process is asked to end.
pub(crate) async fn stopped() {
    let mut terminated = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(signal) => signal,
        Err(e) => {
            tracing::error!(error = %e, "signals cannot be waited for");
            return std::future::pending().await;
        }
    };
    tokio::select! {
        _ = terminated.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
