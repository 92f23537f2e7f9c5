//! Webhooks: a message as the chat system of a configured URL wants it, signed, and what its answer means.
//!
//! The generic shape is one JSON object, signed so that the receiver knows who sent it and that it is fresh:
//!
//! - `X-Gpuledger-Timestamp`: seconds since 1970, now;
//! - `X-Gpuledger-Signature`: `v1=` and the HMAC-SHA256, in hex, of the timestamp, a full stop and the body;
//! - `X-Gpuledger-Delivery`: identity of the message, the same when it is sent again: what arrives twice can be dropped.
//!
//! Chat robots get what they document: Slack blocks of plain text, Feishu a post, DingTalk and WeCom text. None of them reads
//! a name as markup: every text is sent as text.

mod shape;

use std::fmt;

use gpuledger_control::Message;
use gpuledger_schema::hash::hex;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::config::{self, Shape, WebhookConfig};
use crate::http::{self, Answer, Fault, Way};

pub use shape::{Body, body};

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It was taken: an answer 2xx, and of a robot its code 0.
    Taken(String),
    /// Not now; with how long to wait, ms, where the server says so.
    Later(String, Option<i64>),
    /// Never.
    Refused(String),
    /// It may have been taken.
    Unknown(String),
}

/// HMAC-SHA256.
pub(crate) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // A key of any length is one.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

/// The signature of the generic shape.
pub fn signature(secret: &str, timestamp_s: i64, body: &[u8]) -> String {
    let mac = hmac_sha256(secret.as_bytes(), &[timestamp_s.to_string().as_bytes(), b".", body]);
    format!("v1={}", hex(&mac))
}

/// A configured webhook, ready to be told messages: its files were read, its client is built. Made anew for each round, so that
/// secrets can be rotated.
pub struct Hook<'a> {
    config: &'a WebhookConfig,
    url: url::Url,
    secret: Option<config::Secret>,
    client: reqwest::Client,
}

impl fmt::Debug for Hook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // of a chat the URL is the key
        f.debug_struct("Hook").field("shape", &self.config.shape).finish_non_exhaustive()
    }
}

impl<'a> Hook<'a> {
    /// Reads its files and builds its client; nothing is sent.
    ///
    /// # Errors
    ///
    /// What is wrong with the keys or the files, in words without a secret.
    pub fn open(name: &str, config: &'a WebhookConfig) -> Result<Self, String> {
        config.check(name).map_err(|e| e.to_string())?;
        let secret = config.secret_file.as_deref().map(|path| config::secret("secret_file", path)).transpose();
        let secret = secret.map_err(|e| e.to_string())?;
        let url = config.url(name).map_err(|e| e.to_string())?;
        let way = Way {
            timeout: config.timeout(),
            allow_http: config.allow_http,
            proxy: config.proxy.as_deref(),
            ca_file: config.ca_file.as_deref(),
        };
        Ok(Self { config, url, secret, client: http::client(&way)? })
    }

    /// Tells a message.
    pub async fn tell(&self, message: &Message, now_ms: i64) -> Told {
        let secret = self.secret.as_ref().map(|s| s.0.as_str());
        let Body { url, headers, bytes } = body(self.config, self.url.clone(), secret, message, now_ms);
        match http::post(&self.client, url, &headers, bytes).await {
            Ok(answer) => judge(self.config.shape, &answer),
            Err(Fault::NotSent(reason)) => Told::Later(reason, None),
            Err(Fault::Unknown(reason)) => Told::Unknown(reason),
        }
    }
}

/// What an answer means. A robot says 200 and its own code; everything but 0 is a refusal.
fn judge(shape: Shape, answer: &Answer) -> Told {
    let said = format!("{} {}", answer.status, beginning(&answer.body)).trim().to_owned();
    if !answer.is_success() {
        return match answer.status {
            408 | 425 | 429 | 500..=599 => Told::Later(said, answer.retry_after_ms),
            300..=399 => Told::Refused(format!("{said} (redirects are not followed: configure the URL it leads to)")),
            _ => Told::Refused(said),
        };
    }
    let (field, too_often): (&str, &[i64]) = match shape {
        Shape::Generic | Shape::Slack => return Told::Taken(said),
        Shape::Feishu => ("code", &[9_499, 11_232]),
        Shape::Dingtalk => ("errcode", &[130_101, 410_100]),
        Shape::Wecom => ("errcode", &[45_009, 45_033, -1]),
    };
    let json: Option<serde_json::Value> = serde_json::from_str(&answer.body).ok();
    let of = |name: &str| json.as_ref().and_then(|j| j.get(name)).and_then(serde_json::Value::as_i64);
    // An older answer of Feishu has its code under another name.
    match of(field).or_else(|| of("StatusCode")) {
        Some(0) => Told::Taken(said),
        Some(code) if too_often.contains(&code) => Told::Later(said, None),
        Some(_) => Told::Refused(said),
        None => Told::Refused(format!("{said} (this is not an answer of the configured shape)")),
    }
}

/// The beginning of an answer, in one line.
fn beginning(body: &str) -> String {
    let line: String = body.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, body: body.to_owned(), retry_after_ms: None }
    }

    #[test]
    fn a_robot_that_says_200_and_an_error_took_nothing() {
        let judged = |shape, body| judge(shape, &answer(200, body));
        assert!(matches!(judged(Shape::Feishu, r#"{"code":0,"msg":"success"}"#), Told::Taken(_)));
        assert!(matches!(judged(Shape::Feishu, r#"{"StatusCode":0,"StatusMessage":"success"}"#), Told::Taken(_)));
        assert!(matches!(judged(Shape::Feishu, r#"{"code":19021,"msg":"sign match fail"}"#), Told::Refused(_)));
        assert!(matches!(judged(Shape::Feishu, r#"{"code":11232,"msg":"frequency limited"}"#), Told::Later(..)));
        assert!(matches!(judged(Shape::Dingtalk, r#"{"errcode":0,"errmsg":"ok"}"#), Told::Taken(_)));
        assert!(matches!(judged(Shape::Dingtalk, r#"{"errcode":310000,"errmsg":"sign not match"}"#), Told::Refused(_)));
        assert!(matches!(judged(Shape::Dingtalk, r#"{"errcode":130101,"errmsg":"too fast"}"#), Told::Later(..)));
        assert!(matches!(judged(Shape::Wecom, r#"{"errcode":45009,"errmsg":"freq"}"#), Told::Later(..)));
        assert!(matches!(judged(Shape::Wecom, "<html>proxy</html>"), Told::Refused(_)));
        assert!(matches!(judged(Shape::Slack, "ok"), Told::Taken(_)));
    }

    #[test]
    fn a_status_decides_whether_it_is_tried_again() {
        for (status, again) in
            [(429, true), (500, true), (503, true), (408, true), (400, false), (404, false), (410, false)]
        {
            assert_eq!(matches!(judge(Shape::Generic, &answer(status, "")), Told::Later(..)), again, "{status}");
        }
        let Told::Refused(why) = judge(Shape::Generic, &answer(302, "")) else { panic!("a redirect is a refusal") };
        assert!(why.contains("not followed"));
        assert!(matches!(judge(Shape::Generic, &answer(204, "")), Told::Taken(_)));
    }

    #[test]
    fn the_signature_is_that_of_the_documentation() {
        // echo -n '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
        let expected = "v1=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03";
        assert_eq!(signature("key", 1_700_000_000, br#"{"a":1}"#), expected);
    }
}
