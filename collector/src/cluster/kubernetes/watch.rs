//! Following a kind of objects: listed page by page, then watched from there on.
//!
//! A watch that breaks is taken up where its last event or bookmark was; one that the server no longer remembers (410) is
//! listed again. How long ago the server was last heard of is kept for the looks: an event, a bookmark, or the end of a
//! watch in good order says that nothing was missed so far. That a watch opens does not: its first word may be that too much
//! was forgotten. The client library's own watcher passes bookmarks over, so that its silence could not be
//! told from a server that is gone; hence the loop is here, over that library's connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Request;
use gpuledger_schema::id::id63;
use http_body_util::BodyExt;
use kube::Client;
use kube::api::{ListParams, WatchParams};
use serde::Deserialize;
use serde_json::Value;

use super::ask::{self, AskError, METADATA, METADATA_LIST, Status, WHOLE};
use super::lean::{Lean, page};
use crate::node::seen::Clock;

/// Most bytes of one event.
const EVENT_BYTES_MAX: usize = 8 << 20;
/// First pause after a failure; doubled with each, up to [`PAUSE_MAX_MS`].
const PAUSE_FIRST_MS: u64 = 500;
/// Longest pause after a failure.
const PAUSE_MAX_MS: u64 = 30_000;
/// Least time between two openings of a watch that the server ends in good order.
const REOPEN_MS: u64 = 1_000;
/// Failures in a row after which everything is listed again.
const FAILURES_MAX: u32 = 5;
/// Beyond the time after which the server ends a watch, so long nothing may come before the connection counts as dead.
const SILENT: Duration = Duration::from_secs(10);

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    /// What it is called in logs, errors and metrics.
    pub(super) name: &'static str,
    /// Where it is asked for.
    pub(super) path: &'static str,
    /// Which of the objects, by fields.
    pub(super) fields: Option<&'static str>,
    /// Names, labels and owners are enough.
    pub(super) metadata_only: bool,
}

/// Where objects go.
pub(super) trait Sink: Send {
    /// A list begins.
    fn begin(&mut self);
    /// An object of it.
    fn listed(&mut self, object: Value, now_ms: i64);
    /// The list is whole: what it did not hold is gone.
    fn end(&mut self, now_ms: i64);
    /// An object is new or changed.
    fn changed(&mut self, object: Value, now_ms: i64);
    /// An object was deleted; this is how it was.
    fn deleted(&mut self, object: Value, now_ms: i64);
    /// The server said that everything up to now was told.
    fn heard(&mut self, now_ms: i64);
    /// What is wrong at the moment.
    fn trouble(&mut self, why: String);
}

/// Follows a subject.
pub(super) struct Watch<S> {
    pub(super) client: Client,
    pub(super) subject: Subject,
    pub(super) sink: S,
    pub(super) clock: Arc<dyn Clock>,
    /// Requests made.
    pub(super) calls: Arc<AtomicU64>,
    /// Objects of a page.
    pub(super) page_size: u32,
    /// Seconds after which the server is asked to end a watch, so that one in which nothing happens proves itself by its end.
    pub(super) window_s: u32,
}

/// How a watch ended in good order.
enum End {
    /// The server ended it, or said nothing for too long.
    Closed,
    /// The server no longer remembers so far back.
    Gone,
}

#[derive(Deserialize)]
struct EventText {
    #[serde(rename = "type")]
    kind: String,
    object: Lean,
}

impl<S: Sink> Watch<S> {
    /// Follows for ever; whoever started it aborts it.
    pub(super) async fn run(mut self) {
        let mut failures = 0;
        loop {
            match self.list().await {
                Ok(version) => {
                    failures = 0;
                    self.follow(version).await;
                }
                Err(e) => {
                    failures += 1;
                    self.failed(&e, failures).await;
                }
            }
        }
    }

    /// Watches, and again where the last watch ended, until everything has to be listed again.
    async fn follow(&mut self, mut version: String) {
        let mut failures = 0;
        while failures < FAILURES_MAX {
            let before = version.clone();
            match self.watch(&mut version).await {
                Ok(End::Gone) => return,
                Err(e) if e.is_gone() => return,
                Ok(End::Closed) => {
                    failures = 0;
                    tokio::time::sleep(Duration::from_millis(REOPEN_MS)).await;
                }
                Err(e) => {
                    failures = if version == before { failures + 1 } else { 1 };
                    self.failed(&e, failures).await;
                }
            }
        }
    }

    async fn failed(&mut self, error: &AskError, failures: u32) {
        tracing::warn!(error = error as &dyn std::error::Error, "{}: failure {failures}", self.subject.name);
        self.sink.trouble(format!("{}: {error}", self.subject.name));
        let doubled = PAUSE_FIRST_MS.saturating_mul(1 << (failures.saturating_sub(1)).min(10)).min(PAUSE_MAX_MS);
        // the second half by the name, so that the watches of a process do not come back in the same instant
        let spread = id63("pause", &[self.subject.name, &failures.to_string()]).unsigned_abs();
        let own = doubled / 2 + spread % (doubled / 2 + 1);
        tokio::time::sleep(Duration::from_millis(error.pause_ms().unwrap_or(0).max(own))).await;
    }

    fn now_ms(&self) -> i64 {
        self.clock.now().wall_ms
    }

    fn request(&self) -> kube::core::Request {
        self.calls.fetch_add(1, Ordering::Relaxed);
        kube::core::Request::new(self.subject.path)
    }

    /// Lists everything and gives the version of the list.
    async fn list(&mut self) -> Result<String, AskError> {
        let mut next: Option<String> = None;
        self.sink.begin();
        loop {
            let params = ListParams {
                field_selector: self.subject.fields.map(str::to_owned),
                limit: Some(self.page_size),
                continue_token: next.take(),
                ..ListParams::default()
            };
            let request = built(self.request().list(&params))?;
            let accept = if self.subject.metadata_only { METADATA_LIST } else { WHOLE };
            let bytes = ask::whole(&self.client, request, accept).await?;
            let now_ms = self.now_ms();
            let sink = &mut self.sink;
            let meta = page(&bytes, &mut |object| sink.listed(object, now_ms))
                .map_err(|e| AskError::Unreadable(e.to_string()))?;
            if !meta.next.is_empty() {
                next = Some(meta.next);
                continue;
            }
            if meta.resource_version.is_empty() {
                return Err(AskError::Unreadable("a list without a version".to_owned()));
            }
            self.sink.end(now_ms);
            return Ok(meta.resource_version);
        }
    }

    /// Watches from a version on, which grows with what is seen.
    async fn watch(&mut self, version: &mut String) -> Result<End, AskError> {
        let params = WatchParams {
            field_selector: self.subject.fields.map(str::to_owned),
            timeout: Some(self.window_s),
            bookmarks: true,
            ..WatchParams::default()
        };
        let request = built(self.request().watch(&params, version))?;
        let accept = if self.subject.metadata_only { METADATA } else { WHOLE };
        let mut body = ask::open(&self.client, request, accept).await?.into_body();
        let patience = Duration::from_secs(u64::from(self.window_s)) + SILENT;
        let mut line = Vec::new();
        loop {
            let frame = match tokio::time::timeout(patience, body.frame()).await {
                Err(_) => return Ok(End::Closed),
                Ok(None) if line.is_empty() => {
                    self.sink.heard(self.now_ms());
                    return Ok(End::Closed);
                }
                Ok(None) => return Err(AskError::Away("the connection ended in the middle of an event".to_owned())),
                Ok(Some(frame)) => frame.map_err(|e| AskError::Away(e.to_string()))?,
            };
            let Ok(data) = frame.into_data() else { continue };
            let mut pieces = data.split(|b| *b == b'\n');
            line.extend_from_slice(pieces.next().unwrap_or_default());
            for piece in pieces {
                // a line is whole only with its end; half of one at the end of a connection is nothing
                if let Some(end) = self.event(&line, version)? {
                    return Ok(end);
                }
                line.clear();
                line.extend_from_slice(piece);
            }
            if line.len() > EVENT_BYTES_MAX {
                return Err(AskError::TooLong(EVENT_BYTES_MAX));
            }
        }
    }

    fn event(&mut self, line: &[u8], version: &mut String) -> Result<Option<End>, AskError> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let EventText { kind, object: Lean(object) } =
            serde_json::from_slice(line).map_err(|e| AskError::Unreadable(e.to_string()))?;
        let now_ms = self.now_ms();
        if kind == "ERROR" {
            let status = serde_json::from_value::<Status>(object).unwrap_or_default();
            let refusal = status.refusal();
            return if refusal.is_gone() { Ok(Some(End::Gone)) } else { Err(refusal) };
        }
        let newer = object.get("metadata").and_then(|m| m.get("resourceVersion")).and_then(Value::as_str);
        let newer = newer.filter(|v| !v.is_empty()).map(str::to_owned);
        let newer = newer.ok_or_else(|| AskError::Unreadable("an event without a version".to_owned()))?;
        match kind.as_str() {
            "ADDED" | "MODIFIED" => self.sink.changed(object, now_ms),
            "DELETED" => self.sink.deleted(object, now_ms),
            "BOOKMARK" => {}
            other => return Err(AskError::Unreadable(format!("an event of kind `{other}`"))),
        }
        *version = newer;
        self.sink.heard(now_ms);
        Ok(None)
    }
}

fn built(request: Result<Request<Vec<u8>>, kube::core::request::Error>) -> Result<Request<Vec<u8>>, AskError> {
    request.map_err(|e| AskError::Unreadable(e.to_string()))
}
