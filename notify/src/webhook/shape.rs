//! The bodies of webhooks, as their systems document them. Pure functions: the same message at the same time gives the same
//! bytes.

use chrono::{DateTime, SecondsFormat};
use gpuledger_control::Message;
use serde_json::{Value, json};

use super::{hmac_sha256, signature};
use crate::base64;
use crate::config::{Shape, WebhookConfig};
use crate::mail::identity;

/// Longest header of Slack, in characters.
const SLACK_HEADER_CHARS: usize = 150;
/// Longest block of Slack, in characters.
const SLACK_BLOCK_CHARS: usize = 3_000;
/// Longest text of WeCom, in bytes.
const WECOM_BYTES: usize = 2_048;
/// Longest text that Feishu and DingTalk take, in bytes, with room for the rest of the body.
const ROBOT_BYTES: usize = 15_000;

/// What is posted where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The URL, with a signature where the system wants it there.
    pub url: url::Url,
    /// Headers beside those of every post.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub bytes: Vec<u8>,
}

/// The body of a message in a shape.
pub fn body(config: &WebhookConfig, mut url: url::Url, secret: Option<&str>, message: &Message, now_ms: i64) -> Body {
    let shape = config.shape;
    let now_s = now_ms.div_euclid(1000);
    let mut headers = Vec::new();
    let json = match shape {
        Shape::Generic => generic(message, config.names),
        Shape::Slack => slack(message),
        Shape::Feishu => feishu(message, secret, now_s),
        Shape::Dingtalk => {
            if let Some(secret) = secret {
                let mac = hmac_sha256(secret.as_bytes(), &[format!("{now_ms}\n{secret}").as_bytes()]);
                url.query_pairs_mut()
                    .append_pair("timestamp", &now_ms.to_string())
                    .append_pair("sign", &base64::encode(&mac));
            }
            json!({"msgtype": "text", "text": {"content": plain(message, ROBOT_BYTES)}, "at": {"isAtAll": false}})
        }
        Shape::Wecom => json!({"msgtype": "text", "text": {"content": plain(message, WECOM_BYTES)}}),
    };
    let bytes = json.to_string().into_bytes();
    if shape == Shape::Generic {
        headers.push(("x-gpuledger-delivery", identity(&message.key)));
        if let Some(secret) = secret {
            headers.push(("x-gpuledger-timestamp", now_s.to_string()));
            headers.push(("x-gpuledger-signature", signature(secret, now_s, &bytes)));
        }
    }
    Body { url, headers, bytes }
}

fn generic(message: &Message, names: bool) -> Value {
    // Texts come with their names hidden; these fields are for machines and would tell them.
    let shown = |text: &str| (names || !text.starts_with("user:") && !text.contains('@')).then(|| text.to_owned());
    let created =
        DateTime::from_timestamp_millis(message.created_ms).map(|t| t.to_rfc3339_opts(SecondsFormat::Millis, true));
    json!({
        "version": 1,
        "id": identity(&message.key),
        "kind": message.kind,
        "subject": shown(&message.subject),
        "cause": message.cause,
        "person": shown(&message.person),
        "language": message.language,
        "urgent": message.urgent,
        "created": created,
        "title": message.title,
        "text": message.body_text,
        "link": message.link,
    })
}

fn slack(message: &Message) -> Value {
    let text = |text: &str, most: usize| json!({"type": "plain_text", "text": cut_chars(text, most), "emoji": false});
    let mut blocks = vec![
        json!({"type": "header", "text": text(&message.title, SLACK_HEADER_CHARS)}),
        json!({"type": "section", "text": text(&message.body_text, SLACK_BLOCK_CHARS)}),
    ];
    if let Some(link) = &message.link {
        let link = link.replace('|', "%7C").replace('>', "%3E").replace('<', "%3C").replace('&', "&amp;");
        blocks.push(json!({"type": "section", "text": {"type": "mrkdwn", "text": format!("<{link}>")}}));
    }
    // What a notification shows. Escaped, else a name could call a channel.
    let shown = message.title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    json!({"text": shown, "blocks": blocks})
}

fn feishu(message: &Message, secret: Option<&str>, now_s: i64) -> Value {
    let mut lines: Vec<Value> = vec![json!([{"tag": "text", "text": cut_bytes(&message.body_text, ROBOT_BYTES)}])];
    if let Some(link) = &message.link {
        lines.push(json!([{"tag": "a", "text": link, "href": link}]));
    }
    let language = if message.language == "zh" { "zh_cn" } else { "en_us" };
    let mut post =
        json!({"msg_type": "post", "content": {"post": {language: {"title": message.title, "content": lines}}}});
    if let Some(secret) = secret {
        let mac = hmac_sha256(format!("{now_s}\n{secret}").as_bytes(), &[]);
        post["timestamp"] = json!(now_s.to_string());
        post["sign"] = json!(base64::encode(&mac));
    }
    post
}

/// Title, sentence and link as text; where that is too long the sentence is cut, never the link.
fn plain(message: &Message, most: usize) -> String {
    let link = message.link.as_deref().map_or_else(String::new, |link| format!("\n{link}"));
    let head = format!("{}\n", message.title);
    let room = most.saturating_sub(head.len() + link.len());
    format!("{head}{}{link}", cut_bytes(&message.body_text, room))
}

fn cut_chars(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn cut_bytes(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests;
