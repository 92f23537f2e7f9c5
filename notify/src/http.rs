//! Posting over HTTP: no redirects, no proxy that was not configured, a deadline, and of the answer no more than is read.
//! No URL is in an error: of a chat it is the key.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Proxy};

use crate::config;

/// Most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest wait that a server may ask for, ms.
const RETRY_AFTER_MS_MAX: i64 = 3_600_000;

/// How a server is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) timeout: Duration,
    pub(crate) allow_http: bool,
    pub(crate) proxy: Option<&'a str>,
    pub(crate) ca_file: Option<&'a Path>,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The beginning of the body.
    pub(crate) body: String,
    /// How long to wait, where the server says so, ms.
    pub(crate) retry_after_ms: Option<i64>,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing was sent.
    NotSent(String),
    /// It may have arrived.
    Unknown(String),
}

/// A client for one server.
pub(crate) fn client(way: &Way<'_>) -> Result<Client, String> {
    let mut builder = Client::builder()
        .redirect(Policy::none())
        .timeout(way.timeout)
        .connect_timeout(way.timeout)
        .https_only(!way.allow_http)
        .user_agent(concat!("gpuledger/", env!("CARGO_PKG_VERSION")));
    builder = match way.proxy {
        Some(proxy) => builder.proxy(Proxy::all(proxy).map_err(in_words)?),
        None => builder.no_proxy(),
    };
    if let Some(path) = way.ca_file {
        let pem = config::certificates("ca_file", path).map_err(|e| e.to_string())?;
        builder = builder.tls_certs_merge(Certificate::from_pem_bundle(&pem).map_err(in_words)?);
    }
    builder.build().map_err(in_words)
}

/// Posts JSON.
pub(crate) async fn post(
    client: &Client,
    url: url::Url,
    headers: &[(&'static str, String)],
    body: Vec<u8>,
) -> Result<Answer, Fault> {
    let mut request = client.post(url).header("content-type", "application/json; charset=utf-8").body(body);
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).map_err(|_| Fault::NotSent(format!("{name} cannot be a header")))?;
        request = request.header(HeaderName::from_static(name), value);
    }
    let mut response = request.send().await.map_err(|e| {
        // no connection, or a URL that is not allowed: otherwise it may have arrived
        let not_sent = e.is_connect() || e.is_builder();
        if not_sent { Fault::NotSent(in_words(e)) } else { Fault::Unknown(in_words(e)) }
    })?;
    let status = response.status().as_u16();
    let retry_after =
        response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<i64>().ok());
    let mut bytes = Vec::new();
    // A body that breaks off changes nothing: the status was said.
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk[..chunk.len().min(ANSWER_BYTES_MAX - bytes.len())]);
        if bytes.len() >= ANSWER_BYTES_MAX {
            break;
        }
    }
    Ok(Answer {
        status,
        body: String::from_utf8_lossy(&bytes).into_owned(),
        retry_after_ms: retry_after.map(|s| s.clamp(1, RETRY_AFTER_MS_MAX / 1000) * 1000),
    })
}

/// An error with its causes, without the URL.
pub(crate) fn in_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        words = format!("{words}: {e}");
        cause = e.source();
    }
    words
}
