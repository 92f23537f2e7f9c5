//! Mail over a real server: with and without TLS, with a password, with every answer that a server has.

use std::time::{Duration, Instant};

use gpuledger_control::{Attachment, MessageState, NewMessage};
use gpuledger_notify::{Courier, Round, Store};

use crate::server::{Server, header, raw, unbase64};
use crate::{MINUTE, Post, T0, read, to_mail};

#[tokio::test]
async fn many_mails_go_over_one_connection() {
    let Some(server) = Server::start("many_mails_go_over_one_connection", &[]) else { return };
    let post = Post::new();
    post.post((0..30).map(|n| to_mail(&format!("m{n}"), &format!("user{n}@example.org"))).collect()).await;
    let round = post.courier(&server.config("")).round().await.unwrap();
    assert_eq!(round, Round { delivered: 30, ..Round::default() });
    let mails = server.mails();
    assert_eq!(mails.len(), 30);
    let peers: std::collections::BTreeSet<i64> = mails.iter().map(|m| m["peer"].as_i64().unwrap()).collect();
    assert_eq!(peers.len(), 1, "connections: {peers:?}");
    assert_eq!(post.of("m0").await, (MessageState::Delivered, "250 2.0.0 taken".into()));
    // nothing is sent twice
    assert_eq!(post.courier(&server.config("")).round().await.unwrap(), Round::default());
    assert_eq!(server.mails().len(), 30);
}

#[tokio::test]
async fn tls_protects_the_mail_and_the_password() {
    let test = "tls_protects_the_mail_and_the_password";
    for (tls, secret) in [("starttls", "geheim"), ("implicit", "geheim")] {
        let Some(server) = Server::start(test, &["--tls", tls, "--auth", "gpu:geheim"]) else { return };
        let post = Post::new();
        let path = post.folder.path().join("password");
        std::fs::write(&path, format!("{secret}\n")).unwrap();
        let auth = format!("tls = \"{tls}\"\nuser = \"gpu\"\npassword_file = \"{}\"", path.display());
        post.post(vec![to_mail("a", "user@example.org")]).await;
        assert_eq!(post.courier(&server.config(&auth)).round().await.unwrap().delivered, 1, "{tls}");
        let mail = &server.mails()[0];
        assert_eq!((&mail["tls"], mail["user"].as_str()), (&true.into(), Some("gpu")), "{tls}");
        // a wrong password is our fault, not the recipient's: the mail waits
        std::fs::write(&path, "falsch").unwrap();
        post.post(vec![to_mail("b", "user@example.org")]).await;
        assert_eq!(post.courier(&server.config(&auth)).round().await.unwrap().later, 1, "{tls}");
        let (state, answer) = post.of("b").await;
        assert_eq!(state, MessageState::Waiting);
        assert!(answer.contains("authentication") && answer.contains("535") && !answer.contains("falsch"), "{answer}");
        // and it goes out once the file is right
        std::fs::write(&path, secret).unwrap();
        post.pass(5 * MINUTE);
        assert_eq!(post.courier(&server.config(&auth)).round().await.unwrap().delivered, 1, "{tls}");
    }
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_gets_nothing() {
    let test = "a_server_that_nobody_vouches_for_gets_nothing";
    let Some(server) = Server::start(test, &["--tls", "starttls"]) else { return };
    let post = Post::new();
    post.post(vec![to_mail("a", "user@example.org")]).await;
    let stranger = server.config("").replace("ca_file", "# ca_file");
    assert_eq!(post.courier(&stranger).round().await.unwrap().later, 1);
    let (_, answer) = post.of("a").await;
    assert!(answer.contains("TLS") && answer.contains("certificate"), "{answer}");
    // a certificate of another name
    let other = server.config("").replace("host = \"localhost\"", "host = \"127.0.0.1\"");
    post.pass(5 * MINUTE);
    assert_eq!(post.courier(&other).round().await.unwrap().later, 1);
    // and where TLS is wanted, a server without it gets nothing either
    let Some(plain) = Server::start(test, &[]) else { return };
    let wanted = plain.config("").replace("tls = \"none\"", "tls = \"starttls\"");
    post.pass(5 * MINUTE);
    assert_eq!(post.courier(&wanted).round().await.unwrap().later, 1);
    assert!(server.mails().is_empty() && plain.mails().is_empty());
}

#[tokio::test]
async fn one_bad_address_stops_nobody_else() {
    let Some(server) = Server::start("one_bad_address_stops_nobody_else", &[]) else { return };
    let post = Post::new();
    let people = ["code550", "first", "code450", "data552", "code421", "second", "data450", "gone", "third", "王五"];
    let messages = people.iter().map(|p| to_mail(p, &format!("{p}@example.org"))).collect();
    post.post(messages).await;
    let round = post.courier(&server.config("")).round().await.unwrap();
    assert_eq!(round, Round { delivered: 4, later: 3, failed: 2, doubts: 1, ..Round::default() });
    for (key, state, answer) in [
        ("first", MessageState::Delivered, "250"),
        ("second", MessageState::Delivered, "250"),
        ("third", MessageState::Delivered, "250"),
        ("王五", MessageState::Delivered, "250"),
        ("code550", MessageState::Failed, "550"),
        ("data552", MessageState::Failed, "552"),
        ("code450", MessageState::Waiting, "450"),
        ("code421", MessageState::Waiting, "421"),
        ("data450", MessageState::Waiting, "450"),
        ("gone", MessageState::Waiting, ""),
    ] {
        let (was, said) = post.of(key).await;
        assert_eq!(was, state, "{key}: {said}");
        assert!(said.contains(answer), "{key}: {said}");
    }
    // what was taken and not answered comes a second time, under the same identity
    post.pass(5 * MINUTE);
    post.courier(&server.config("")).round().await.unwrap();
    let twice: Vec<String> = server
        .mails()
        .iter()
        .filter(|m| m["to"][0] == "gone@example.org")
        .map(|m| header(m, "Message-ID").to_owned())
        .collect();
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0], twice[1]);
    let doubts = post.messages().await.iter().find(|m| m.key == "gone").unwrap().doubts;
    assert_eq!(doubts, 2, "each is counted");
}

#[tokio::test]
async fn what_is_not_taken_is_tried_less_and_less_often_and_then_given_up() {
    let test = "what_is_not_taken_is_tried_less_and_less_often_and_then_given_up";
    let Some(server) = Server::start(test, &[]) else { return };
    let post = Post::new();
    post.post(vec![to_mail("a", "code450@example.org")]).await;
    let mut tried = Vec::new();
    for minute in 0..=70 {
        if post.courier(&server.config("")).round().await.unwrap() != Round::default() {
            tried.push(minute);
        }
        post.pass(MINUTE);
    }
    assert_eq!(tried, [0, 1, 3, 7, 15, 31, 60], "minutes");
    let (state, answer) = post.of("a").await;
    assert_eq!(state, MessageState::Failed);
    assert!(answer.starts_with("given up after 7 tries: ") && answer.contains("450"), "{answer}");
}

#[tokio::test]
async fn a_slow_server_is_left_after_the_deadline() {
    let Some(server) = Server::start("a_slow_server_is_left_after_the_deadline", &[]) else { return };
    let post = Post::new();
    post.post(vec![to_mail("a", "slow@example.org"), to_mail("b", "user@example.org")]).await;
    let start = Instant::now();
    let round = post.courier(&server.config("timeout_seconds = 3")).round().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!((round.doubts, round.delivered), (1, 1), "the next one goes over a new connection");
    assert!(post.of("a").await.1.contains("no answer within 3 s"));
    // a server that takes connections and says nothing
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let config =
        server.config("timeout_seconds = 1").replace(&format!("port = {}", server.port), &format!("port = {port}"));
    post.post(vec![to_mail("c", "user@example.org"), to_mail("d", "user@example.org")]).await;
    let start = Instant::now();
    assert_eq!(post.courier(&config).round().await.unwrap().later, 2);
    assert!(start.elapsed() < Duration::from_secs(5), "one wait for the whole batch: {:?}", start.elapsed());
}

#[tokio::test]
async fn two_senders_on_one_outbox_send_each_mail_once() {
    let Some(server) = Server::start("two_senders_on_one_outbox_send_each_mail_once", &[]) else { return };
    let post = Post::new();
    post.post((0..60).map(|n| to_mail(&format!("m{n}"), "user@example.org")).collect()).await;
    let path = post.folder.path().join("control.sqlite");
    let senders: Vec<Courier> = (0..3)
        .map(|n| {
            let store = Store::new(gpuledger_control::Control::open(&path).unwrap());
            Courier::new(store, read(&server.config("")), format!("sender {n}"), post.clock())
        })
        .collect();
    let rounds = futures::future::join_all(senders.iter().map(Courier::round)).await;
    let delivered: Vec<usize> = rounds.into_iter().map(|r| r.unwrap().delivered).collect();
    assert_eq!(delivered.iter().sum::<usize>(), 60, "{delivered:?}");
    let ids: std::collections::BTreeSet<String> =
        server.mails().iter().map(|m| header(m, "Message-ID").to_owned()).collect();
    assert_eq!((server.mails().len(), ids.len()), (60, 60));
}

#[tokio::test]
async fn subjects_and_names_arrive_as_they_were() {
    let Some(server) = Server::start("subjects_and_names_arrive_as_they_were", &[]) else { return };
    let post = Post::new();
    let titles = [
        "算法组 2026年3月 GPU 账单：超支 12%",
        "Équipe été : dépassement, coût réparti à 12 % sur l'année, à vérifier dès que possible s'il vous plaît, merci û",
        "a plain subject",
        "训练 <script>alert(1)</script> =?utf-8?q?x?= ends  with two  blanks inside",
        "\"quoted\", comma; semicolon",
    ];
    let file =
        |name: &str| Attachment { name: name.into(), media_type: "text/csv".into(), bytes: "团队,金额\r\n".into() };
    for (n, title) in titles.iter().enumerate() {
        let attachments = vec![file("三月账单.csv"), file("nlp-2026-10-statement.pdf"), file("relevé de février.csv")];
        let message =
            NewMessage { title: (*title).into(), attachments, ..to_mail(&format!("m{n}"), "user@example.org") };
        post.post(vec![message]).await;
    }
    assert_eq!(post.courier(&server.config("")).round().await.unwrap().delivered, titles.len());
    for (mail, title) in server.mails().iter().zip(titles) {
        assert_eq!(mail["defects"], serde_json::json!([]), "{title}");
        assert_eq!(header(mail, "Subject"), title);
        assert_eq!(header(mail, "From"), "GPU-Abrechnung é 算力 <gpu@example.org>");
        let names: Vec<&str> = mail["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["三月账单.csv", "nlp-2026-10-statement.pdf", "relevé de février.csv"]);
        assert_eq!(unbase64(mail["files"][0]["bytes"].as_str().unwrap()), "团队,金额\r\n".as_bytes());
        assert_eq!(mail["texts"]["text/plain"].as_str().unwrap().trim(), "Node gpu01 is late.");
        assert_eq!(mail["texts"]["text/html"].as_str().unwrap().trim(), "<p>Node gpu01 is late.</p>");
        assert_eq!(header(mail, "Auto-Submitted"), "auto-generated");
        check_lines(&raw(mail));
    }
}

/// Encoded words have at most 75 characters, lines at most 998 and in headers 78, and nothing is left of 8 bits.
fn check_lines(raw: &[u8]) {
    let text = std::str::from_utf8(raw).unwrap();
    assert!(text.is_ascii());
    let head = text.split("\r\n\r\n").next().unwrap();
    for line in head.lines() {
        assert!(line.len() <= 78 || !line.trim_start().contains(' '), "{line}");
        for word in line.split_whitespace().filter(|w| w.contains("=?")) {
            assert!(word.len() <= 75, "{word}");
        }
    }
    assert!(text.lines().all(|l| l.len() <= 998));
}

#[tokio::test]
async fn nobody_writes_into_the_headers() {
    let Some(server) = Server::start("nobody_writes_into_the_headers", &[]) else { return };
    let post = Post::new();
    let evil = "job a\r\nBcc: victim@example.org\r\n\r\n<script>alert(1)</script>";
    let titled = NewMessage {
        title: evil.into(),
        body_text: "=cmd|' /C calc'!A0\n.\nQUIT\n".into(),
        ..to_mail("a", "user@example.org")
    };
    let addressed = to_mail("b", "user@example.org>\r\nRCPT TO:<victim@example.org");
    let file = Attachment { name: "a\r\nX: y.csv".into(), media_type: "text/csv".into(), bytes: Vec::new() };
    let attached = NewMessage { attachments: vec![file], ..to_mail("c", "user@example.org") };
    post.post(vec![titled, addressed, attached]).await;
    let round = post.courier(&server.config("")).round().await.unwrap();
    assert_eq!((round.delivered, round.failed), (1, 2));
    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0]["to"], serde_json::json!(["user@example.org"]));
    assert_eq!(header(&mails[0], "Subject"), "job a  Bcc: victim@example.org    <script>alert(1)</script>");
    assert!(!mails[0]["headers"].as_array().unwrap().iter().any(|h| h[0] == "Bcc"));
    // a line with a full stop alone does not end the mail
    let text = mails[0]["texts"]["text/plain"].as_str().unwrap().replace("\r\n", "\n");
    assert!(text.contains("A0\n.\nQUIT"), "{text:?}");
}

#[tokio::test]
async fn what_is_not_urgent_waits_for_working_hours() {
    let Some(server) = Server::start("what_is_not_urgent_waits_for_working_hours", &[]) else { return };
    let post = Post::new();
    let calendar = "[calendar.office]\nzone = \"Asia/Shanghai\"\ndays = [\"mon\", \"tue\", \"wed\", \"thu\", \"fri\"]\n\
                    from = \"09:00\"\nto = \"18:00\"\n";
    let config = format!("{}\n{calendar}", server.config(""));
    let office = |key: &str| NewMessage { calendar: Some("office".into()), ..to_mail(key, "user@example.org") };
    // Friday, 22:00
    post.pass(2 * 24 * 60 * MINUTE + 12 * 60 * MINUTE);
    post.post(vec![office("a"), NewMessage { urgent: true, ..office("b") }]).await;
    let round = post.courier(&config).round().await.unwrap();
    assert_eq!((round.deferred, round.delivered), (1, 1));
    // Monday, 08:59 and 09:00
    post.pass(2 * 24 * 60 * MINUTE + 10 * 60 * MINUTE + 59 * MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap(), Round::default());
    post.pass(MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap().delivered, 1);
}

#[tokio::test]
async fn without_a_server_mails_wait_and_say_why() {
    let post = Post::new();
    post.post(vec![to_mail("a", "user@example.org")]).await;
    assert_eq!(post.courier("").round().await.unwrap().later, 1);
    assert!(post.of("a").await.1.contains("no mail server is configured"));
    // a port that nobody listens on
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!("[mail]\nhost = \"127.0.0.1\"\nport = {port}\ntls = \"none\"\nfrom = \"gpu@example.org\"\n");
    post.pass(5 * MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap().later, 1);
    assert!(post.of("a").await.1.contains("connecting"), "{}", post.of("a").await.1);
    // the time of a message runs from its first try, also where there is no server at all
    post.pass(61 * MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap().later, 1);
    assert_eq!(post.of("a").await.0, MessageState::Failed);
    assert_eq!(post.messages().await[0].give_up_ms, Some(T0 + 60 * MINUTE));
}
