//! The HTTP request: one page, with a deadline and a bound on its size.

use std::time::Duration;

use axum::http::Uri;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ScrapeError {
    /// Not an address.
    #[error("`{url}` is no address of an exporter: write http://127.0.0.1:9400/metrics")]
    Address {
        /// The address as given.
        url: String,
    },
    /// Nothing answered.
    #[error("no answer from dcgm-exporter")]
    NoAnswer {
        /// What the connection said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Too slow.
    #[error("dcgm-exporter did not answer within {deadline_ms} ms")]
    Late {
        /// The deadline.
        deadline_ms: u64,
    },
    /// It answered something else than 200.
    #[error("dcgm-exporter answered {status}")]
    Status {
        /// HTTP status.
        status: u16,
    },
    /// Too much.
    #[error("the page of dcgm-exporter has more than {bytes_max} bytes")]
    TooLong {
        /// The bound.
        bytes_max: usize,
    },
    /// Not UTF-8.
    #[error("the page of dcgm-exporter is no text")]
    NoText,
}

/// An exporter, and how patient we are with it.
#[derive(Debug, Clone)]
pub struct Scraper {
    uri: Uri,
    deadline: Duration,
    bytes_max: usize,
    client: Client<HttpConnector, Empty<axum::body::Bytes>>,
}

impl Scraper {
    /// An exporter at `url` (plain http).
    pub fn new(url: &str, deadline: Duration, bytes_max: usize) -> Result<Self, ScrapeError> {
        let wrong = || ScrapeError::Address { url: url.to_owned() };
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        if uri.scheme_str() != Some("http") || uri.host().is_none() {
            return Err(wrong());
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(deadline));
        // Two pages a minute: a connection kept between them is one more thing that can be half dead.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { uri, deadline, bytes_max, client })
    }

    /// One page, whole or not at all.
    pub async fn page(&self) -> Result<String, ScrapeError> {
        match tokio::time::timeout(self.deadline, self.fetch()).await {
            Ok(page) => page,
            Err(_) => {
                Err(ScrapeError::Late { deadline_ms: u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX) })
            }
        }
    }

    async fn fetch(&self) -> Result<String, ScrapeError> {
        let answer = self.client.get(self.uri.clone()).await;
        let answer = answer.map_err(|source| ScrapeError::NoAnswer { source: Box::new(source) })?;
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(ScrapeError::Status { status });
        }
        let body = Limited::new(answer.into_body(), self.bytes_max).collect().await.map_err(|source| {
            if source.downcast_ref::<LengthLimitError>().is_some() {
                ScrapeError::TooLong { bytes_max: self.bytes_max }
            } else {
                ScrapeError::NoAnswer { source }
            }
        })?;
        String::from_utf8(body.to_bytes().to_vec()).map_err(|_| ScrapeError::NoText)
    }
}
