//! Webhooks over real HTTP: what is told, what an answer does, and what never happens.

use std::time::{Duration, Instant};

use gpuledger_control::MessageState;
use gpuledger_notify::Round;
use gpuledger_notify::webhook::signature;

use crate::receiver::{Answer, Receiver};
use crate::{MINUTE, Post, T0, to_webhook};

fn config(name: &str, url: &str, more: &str) -> String {
    format!("[webhook.{name}]\nurl = \"{url}\"\nallow_http = true\n{more}\n")
}

#[tokio::test]
async fn a_message_is_signed_and_a_receiver_can_check_it() {
    let receiver = Receiver::start().await;
    let post = Post::new();
    let secret = post.folder.path().join("secret");
    std::fs::write(&secret, "s3cret\n").unwrap();
    let config = config("bus", &receiver.url, &format!("secret_file = \"{}\"", secret.display()));
    post.post(vec![to_webhook("a", "bus")]).await;
    assert_eq!(post.courier(&config).round().await.unwrap(), Round { delivered: 1, ..Round::default() });
    let told = &receiver.told()[0];
    let timestamp: i64 = told.header("x-gpuledger-timestamp").parse().unwrap();
    assert_eq!(timestamp, T0 / 1000);
    assert_eq!(told.header("x-gpuledger-signature"), signature("s3cret", timestamp, &told.body));
    assert_eq!(told.header("content-type"), "application/json; charset=utf-8");
    assert_eq!(told.json()["title"], "message a");
    assert_eq!(post.of("a").await, (MessageState::Delivered, "200 ok".into()));
}

#[tokio::test]
async fn every_shape_is_taken_by_the_code_of_its_system() {
    let receiver = Receiver::start().await;
    let post = Post::new();
    for (shape, taken, refused) in [
        ("slack", "ok", None),
        ("feishu", r#"{"code":0,"msg":"success"}"#, Some(r#"{"code":19024,"msg":"Key Words Not Found"}"#)),
        ("dingtalk", r#"{"errcode":0,"errmsg":"ok"}"#, Some(r#"{"errcode":310000,"errmsg":"sign not match"}"#)),
        ("wecom", r#"{"errcode":0,"errmsg":"ok"}"#, Some(r#"{"errcode":93000,"errmsg":"invalid webhook url"}"#)),
    ] {
        let config = config("chat", &receiver.url, &format!("shape = \"{shape}\""));
        receiver.answers(Answer::of(200, taken));
        post.post(vec![to_webhook(&format!("{shape} good"), "chat")]).await;
        assert_eq!(post.courier(&config).round().await.unwrap().delivered, 1, "{shape}");
        if let Some(refused) = refused {
            receiver.answers(Answer::of(200, refused));
            post.post(vec![to_webhook(&format!("{shape} bad"), "chat")]).await;
            assert_eq!(post.courier(&config).round().await.unwrap().failed, 1, "{shape}");
            let (state, answer) = post.of(&format!("{shape} bad")).await;
            assert_eq!(state, MessageState::Failed);
            assert!(answer.contains("err") || answer.contains("Key Words"), "{answer}");
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_no_secret_url_is_told() {
    let receiver = Receiver::start().await;
    let elsewhere = Receiver::start().await;
    let redirect = Answer { headers: vec![("location", elsewhere.url.clone())], ..Answer::of(307, "") };
    receiver.answers(redirect);
    let post = Post::new();
    let url = format!("{}/services/T0/B0/geheim", receiver.url);
    post.post(vec![to_webhook("a", "bus")]).await;
    assert_eq!(post.courier(&config("bus", &url, "")).round().await.unwrap().failed, 1);
    assert!(elsewhere.told().is_empty());
    let (_, answer) = post.of("a").await;
    assert!(answer.starts_with("307") && !answer.contains("geheim"), "{answer}");
    // a host that is not there: the reason does not hold the URL either
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    post.post(vec![to_webhook("b", "bus")]).await;
    let config = config("bus", &format!("http://{dead}/services/geheim"), "");
    assert_eq!(post.courier(&config).round().await.unwrap().later, 1);
    let (_, answer) = post.of("b").await;
    assert!(!answer.contains("geheim") && !answer.is_empty(), "{answer}");
    assert_eq!(post.messages().await[1].doubts, 0, "nothing was sent");
}

#[tokio::test]
async fn an_http_url_is_refused_unless_it_is_allowed() {
    let receiver = Receiver::start().await;
    let post = Post::new();
    post.post(vec![to_webhook("a", "bus")]).await;
    let refused = format!("[webhook.bus]\nurl = \"{}\"\n", receiver.url);
    assert_eq!(post.courier(&refused).round().await.unwrap().later, 1);
    assert!(receiver.told().is_empty());
    assert!(post.of("a").await.1.contains("https"));
}

#[tokio::test]
async fn a_server_that_is_asked_too_often_says_how_long_to_wait() {
    let receiver = Receiver::start().await;
    receiver.answers(Answer { headers: vec![("retry-after", "600".into())], ..Answer::of(429, "slow down") });
    let post = Post::new();
    let config = config("bus", &receiver.url, "");
    post.post(vec![to_webhook("a", "bus"), to_webhook("b", "bus")]).await;
    assert_eq!(post.courier(&config).round().await.unwrap().later, 2);
    assert_eq!(receiver.told().len(), 1, "the second is not even asked");
    receiver.answers(Answer::of(200, "ok"));
    post.pass(9 * MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap(), Round::default());
    post.pass(MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap().delivered, 2);
}

#[tokio::test]
async fn a_slow_webhook_holds_up_no_other_and_is_a_doubt_under_one_identity() {
    let (slow, quick) = (Receiver::start().await, Receiver::start().await);
    slow.answers(Answer { after: Duration::from_secs(8), ..Answer::of(200, "ok") });
    let post = Post::new();
    let config = format!(
        "{}{}",
        config("slow", &slow.url, "timeout_seconds = 1"),
        config("quick", &quick.url, "timeout_seconds = 1")
    );
    post.post(vec![
        to_webhook("a", "slow"),
        to_webhook("b", "quick"),
        to_webhook("c", "none"),
        to_webhook("d", "slow"),
    ])
    .await;
    let start = Instant::now();
    let round = post.courier(&config).round().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!((round.delivered, round.doubts, round.later), (1, 1, 2));
    assert_eq!(slow.told().len(), 1, "after a doubt the next is not even sent: it would be one more");
    assert_eq!(post.messages().await.iter().map(|m| m.doubts).sum::<i64>(), 1);
    assert!(post.of("c").await.1.contains("[notify.webhook.none]"));
    slow.answers(Answer::of(200, "ok"));
    post.pass(5 * MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap().delivered, 2);
    let told = slow.told();
    assert_eq!(told.len(), 3);
    assert_eq!(told[0].header("x-gpuledger-delivery"), told[1].header("x-gpuledger-delivery"));
}

#[tokio::test]
async fn of_a_long_answer_only_the_beginning_is_read() {
    let receiver = Receiver::start().await;
    receiver.answers(Answer::of(500, &format!("error\n{}", "x".repeat(8 << 20))));
    let post = Post::new();
    post.post(vec![to_webhook("a", "bus")]).await;
    assert_eq!(post.courier(&config("bus", &receiver.url, "")).round().await.unwrap().later, 1);
    let (_, answer) = post.of("a").await;
    assert!(answer.starts_with("500 error x") && answer.len() < 400, "{}", answer.len());
}
