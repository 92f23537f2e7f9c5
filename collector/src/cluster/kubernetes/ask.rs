//! Questions to the API server: one request, its answer or why there is none.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{ACCEPT, RETRY_AFTER};
use axum::http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;

/// Most bytes of an answer. A page of 1000 pods of 30 KiB each has half of it.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Most bytes of a refusal that are read for its message.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// How long an answer may take, or the beginning of one that goes on.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest pause that a server may ask for.
const PAUSE_MAX_MS: u64 = 300_000;

/// Asks for names, labels and owners alone: what is not sent cannot be read.
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// The same for lists.
pub(super) const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// Whole objects.
pub(super) const WHOLE: &str = "application/json";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// The server refused.
    #[error("the API server answers {code}: {message}")]
    Refused {
        /// Status.
        code: u16,
        /// What it says.
        message: String,
        /// How long it wants to be left alone.
        pause_ms: Option<u64>,
    },
    /// No connection, or it broke.
    #[error("the API server cannot be reached: {0}")]
    Away(String),
    /// Nothing came in time.
    #[error("the API server took longer than {} s", PATIENCE.as_secs())]
    Late,
    /// More than is read.
    #[error("an answer is longer than {0} bytes")]
    TooLong(usize),
    /// Something else than was asked for.
    #[error("an answer cannot be read: {0}")]
    Unreadable(String),
}

impl AskError {
    /// The server does not remember so far back, or not these pages: everything is to be listed again.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { code: 410, .. })
    }

    /// How long the server wants to be left alone.
    pub(super) fn pause_ms(&self) -> Option<u64> {
        match self {
            Self::Refused { pause_ms, .. } => *pause_ms,
            _ => None,
        }
    }
}

/// What a server writes where it refuses, and in an ERROR of a watch.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) code: u16,
    pub(super) message: String,
    pub(super) reason: String,
}

impl Status {
    /// The refusal in it. Some servers say `Expired` without a number.
    pub(super) fn refusal(self) -> AskError {
        let code = if self.reason == "Expired" || self.reason == "Gone" { 410 } else { self.code };
        let message = if self.message.is_empty() { self.reason } else { self.message };
        AskError::Refused { code, message: short(&message), pause_ms: None }
    }
}

/// The whole answer to a request.
pub(super) async fn whole(client: &Client, request: Request<Vec<u8>>, accept: &str) -> Result<Bytes, AskError> {
    let answer = async {
        let response = open(client, request, accept).await?;
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
        match body.collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(e) if e.is::<LengthLimitError>() => Err(AskError::TooLong(ANSWER_BYTES_MAX)),
            Err(e) => Err(AskError::Away(chain(&*e))),
        }
    };
    tokio::time::timeout(PATIENCE, answer).await.map_err(|_| AskError::Late)?
}

/// The beginning of an answer that may go on for long.
pub(super) async fn open(
    client: &Client,
    mut request: Request<Vec<u8>>,
    accept: &str,
) -> Result<Response<Body>, AskError> {
    let accept = HeaderValue::from_str(accept).map_err(|e| AskError::Unreadable(e.to_string()))?;
    request.headers_mut().insert(ACCEPT, accept);
    let sent = tokio::time::timeout(PATIENCE, client.send(request.map(Body::from))).await;
    let response = sent.map_err(|_| AskError::Late)?.map_err(|e| AskError::Away(chain(&e)))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let code = response.status().as_u16();
    let after = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    let pause_ms = after.map(|s| s.saturating_mul(1_000).min(PAUSE_MAX_MS));
    let said = Limited::new(response.into_body(), REFUSAL_BYTES_MAX).collect();
    let said = tokio::time::timeout(PATIENCE, said).await.ok().and_then(Result::ok);
    let said = said.map(|b| b.to_bytes()).unwrap_or_default();
    let message = match serde_json::from_slice::<Status>(&said) {
        Ok(status) if !status.message.is_empty() => status.message,
        _ => String::from_utf8_lossy(&said).into_owned(),
    };
    Err(AskError::Refused { code, message: short(&message), pause_ms })
}

/// The first line, and not too much of it.
fn short(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().take(300).collect()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !out.contains(&cause_text) {
            out.push_str(": ");
            out.push_str(&cause_text);
        }
        source = cause.source();
    }
    short(&out)
}
