//! Bodies as the chat systems document them, with names that try to be more than names.

use gpuledger_control::MessageState;

use super::*;

fn message() -> Message {
    Message {
        message_id: 1,
        key: "case/1\r\nX: y".into(),
        kind: "node_lost".into(),
        subject: "alpha/gpu01".into(),
        cause: None,
        person: "user:alice".into(),
        channel: "webhook".into(),
        address: "ops".into(),
        language: "zh".into(),
        calendar: None,
        urgent: true,
        title: "节点 gpu01 <!channel> 失联".into(),
        body_text: "<script>alert(1)</script> & *bold* @all".into(),
        body_html: None,
        link: Some("https://gpu.example.org/n/gpu01?a=1&b=<x>".into()),
        created_ms: 1_790_000_000_123,
        give_up_after_ms: 1,
        state: MessageState::Sending,
        due_ms: 0,
        give_up_ms: None,
        tries: 0,
        doubts: 0,
        answer: None,
    }
}

fn config(shape: Shape) -> WebhookConfig {
    WebhookConfig {
        url: None,
        url_file: None,
        shape,
        secret_file: None,
        names: false,
        allow_http: false,
        proxy: None,
        ca_file: None,
        timeout_seconds: 10,
    }
}

fn made(shape: Shape, secret: Option<&str>) -> (Body, Value) {
    let url = url::Url::parse("https://chat.example.org/robot?token=t").unwrap();
    let body = body(&config(shape), url, secret, &message(), 1_790_000_001_999);
    let json = serde_json::from_slice(&body.bytes).unwrap();
    (body, json)
}

#[test]
fn the_generic_body_is_signed_and_tells_no_user() {
    let (body, json) = made(Shape::Generic, Some("key"));
    assert_eq!(json["title"], "节点 gpu01 <!channel> 失联");
    assert_eq!((&json["person"], &json["subject"]), (&Value::Null, &json!("alpha/gpu01")));
    assert_eq!(json["created"], "2026-09-21T14:13:20.123Z");
    let header = |name: &str| body.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone()).unwrap();
    assert_eq!(header("x-gpuledger-timestamp"), "1790000001");
    assert_eq!(header("x-gpuledger-signature"), signature("key", 1_790_000_001, &body.bytes));
    assert!(header("x-gpuledger-delivery").bytes().all(|b| b.is_ascii_hexdigit()));
    assert!(!made(Shape::Generic, None).0.headers.iter().any(|(n, _)| *n == "x-gpuledger-signature"));
}

#[test]
fn slack_reads_no_name_as_markup() {
    let (_, json) = made(Shape::Slack, None);
    assert_eq!(json["text"], "节点 gpu01 &lt;!channel&gt; 失联");
    assert_eq!(json["blocks"][0]["text"]["type"], "plain_text");
    assert_eq!(json["blocks"][1]["text"], json!({"type": "plain_text", "text": message().body_text, "emoji": false}));
    assert_eq!(json["blocks"][2]["text"]["text"], "<https://gpu.example.org/n/gpu01?a=1&amp;b=%3Cx%3E>");
    let long = Message { title: "t".repeat(400), body_text: "é".repeat(9_000), ..message() };
    let cut = slack(&long);
    assert_eq!(cut["blocks"][0]["text"]["text"].as_str().unwrap().chars().count(), SLACK_HEADER_CHARS);
    assert_eq!(cut["blocks"][1]["text"]["text"].as_str().unwrap().chars().count(), SLACK_BLOCK_CHARS);
}

#[test]
fn feishu_gets_a_post_in_its_language_with_its_signature() {
    let (_, json) = made(Shape::Feishu, Some("demo"));
    assert_eq!(json["msg_type"], "post");
    let post = &json["content"]["post"]["zh_cn"];
    assert_eq!(post["title"], message().title);
    assert_eq!(post["content"][0][0], json!({"tag": "text", "text": message().body_text}));
    assert_eq!(post["content"][1][0]["href"], message().link.unwrap());
    assert_eq!(json["timestamp"], "1790000001");
    // python: base64(hmac.new(b"1790000001\ndemo", b"", sha256).digest())
    assert_eq!(json["sign"], "oIPovwjs3wbcJl2x7WOkBFYme2rf6EkyQqNAiqYRI7A=");
    assert!(made(Shape::Feishu, None).1.get("sign").is_none());
}

#[test]
fn dingtalk_is_signed_in_the_url_and_calls_nobody() {
    let (body, json) = made(Shape::Dingtalk, Some("SECdemo"));
    let query: Vec<(String, String)> = body.url.query_pairs().into_owned().collect();
    // python: base64(hmac.new(b"SECdemo", b"1790000001999\nSECdemo", sha256).digest())
    let expected =
        [("token", "t"), ("timestamp", "1790000001999"), ("sign", "0NfXh8Wx55QcvWzk6RpFVMIxxX51Byg6tL1gpYPJuSw=")];
    assert_eq!(query, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    assert_eq!(json["at"]["isAtAll"], false);
    assert_eq!(json["msgtype"], "text");
}

#[test]
fn wecom_keeps_the_link_where_the_text_is_too_long() {
    let (_, json) = made(Shape::Wecom, None);
    assert!(json["text"]["content"].as_str().unwrap().starts_with("节点 gpu01 <!channel> 失联\n<script>"));
    let long = Message { body_text: "长".repeat(3_000), ..message() };
    let text = plain(&long, WECOM_BYTES);
    assert!(text.len() <= WECOM_BYTES, "{}", text.len());
    assert!(text.ends_with(&format!("…\n{}", message().link.unwrap())));
}
