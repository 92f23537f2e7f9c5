//! A sender that is killed: between claiming and sending nothing is lost or doubled, while sending one mail may come twice,
//! under one identity.

use std::process::{Child, Command, Stdio};

use gpuledger_control::Control;
use gpuledger_notify::{Courier, Store};

use crate::server::{Server, header};
use crate::{MINUTE, Post, read, to_mail};

/// Where a killed sender finds its outbox, and its configuration.
const OUTBOX: &str = "GPULEDGER_TEST_OUTBOX";
const CONFIG: &str = "GPULEDGER_TEST_CONFIG";
const NOW: &str = "GPULEDGER_TEST_NOW";

/// The sender that is killed: this same program, told by its environment to be one.
#[tokio::test]
async fn sender_of_another_process() {
    let (Ok(outbox), Ok(config), Ok(now)) = (std::env::var(OUTBOX), std::env::var(CONFIG), std::env::var(NOW)) else {
        return;
    };
    let now: i64 = now.parse().unwrap();
    let store = Store::new(Control::open(outbox.as_ref()).unwrap());
    let courier = Courier::new(store, read(&config), "killed".into(), std::sync::Arc::new(move || now));
    courier.round().await.unwrap();
}

fn sender(post: &Post, config: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::sender_of_another_process"])
        .env(OUTBOX, post.folder.path().join("control.sqlite"))
        .env(CONFIG, config)
        .env(NOW, (post.clock())().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_sender_killed_while_it_sends_repeats_that_one_mail_and_no_other() {
    let test = "a_sender_killed_while_it_sends_repeats_that_one_mail_and_no_other";
    let Some(server) = Server::start(test, &[]) else { return };
    let post = Post::new();
    let people = ["first", "slow", "third", "fourth"];
    post.post(people.iter().map(|p| to_mail(p, &format!("{p}@example.org"))).collect()).await;
    let mut killed = sender(&post, &server.config(""));
    server.wait_for("slow"); // the server has the whole mail, and has not answered
    killed.kill().unwrap();
    killed.wait().unwrap();
    // nobody else takes them while the lease holds
    let config = server.config("");
    assert_eq!(post.courier(&config).round().await.unwrap().delivered, 0);
    // the server takes what it had
    crate::server::wait_until(|| server.mails().len() == 2);
    post.pass(10 * MINUTE);
    assert_eq!(post.courier(&config).round().await.unwrap().delivered, 3);
    let mails = server.mails();
    let of = |person: &str| {
        let to = format!("{person}@example.org");
        mails.iter().filter(|m| m["to"][0] == to.as_str()).map(|m| header(m, "Message-ID")).collect::<Vec<_>>()
    };
    for person in ["first", "third", "fourth"] {
        assert_eq!(of(person).len(), 1, "{person}");
    }
    let twice = of("slow");
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0], twice[1]);
    let all = post.messages().await;
    let doubts: Vec<i64> = all.iter().map(|m| m.doubts).collect();
    assert_eq!(doubts, [0, 1, 0, 0]);
}

#[tokio::test]
async fn a_sender_killed_before_it_sends_leaves_no_doubt() {
    let test = "a_sender_killed_before_it_sends_leaves_no_doubt";
    let Some(server) = Server::start(test, &[]) else { return };
    let post = Post::new();
    post.post(vec![to_mail("a", "user@example.org"), to_mail("b", "user@example.org")]).await;
    // a server that takes the connection and says nothing: everything is claimed, nothing is sent
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let dead = server.config("").replace(&format!("port = {}", server.port), &format!("port = {port}"));
    let mut killed = sender(&post, &dead);
    let (_connection, _) = silent.accept().unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(post.courier(&server.config("")).round().await.unwrap().delivered, 0, "they are still leased");
    post.pass(10 * MINUTE);
    assert_eq!(post.courier(&server.config("")).round().await.unwrap().delivered, 2);
    assert_eq!(server.mails().len(), 2);
    assert_eq!(post.messages().await.iter().map(|m| m.doubts).sum::<i64>(), 0);
}
