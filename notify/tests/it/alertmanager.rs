//! Alerts that stand, told to a receiver as an Alertmanager takes them.

use gpuledger_notify::alertmanager::{TellError, alert, tell};
use gpuledger_notify::{Language, Notice, Texts};
use serde_json::Value;

use crate::receiver::{Answer, Receiver};
use crate::{MINUTE, Post, T0, examples, read};

fn hung() -> Notice {
    examples::all().into_iter().find(|n| n.name() == "hung").unwrap()
}

async fn stand(post: &Post, config: &str, notices: Vec<Notice>, now_ms: i64) {
    let texts = Texts::new().unwrap();
    let config = read(config);
    let alerts: Vec<_> = notices.iter().map(|n| alert(&texts, &config, n, Language::En).unwrap()).collect();
    post.store.call(move |control| control.set_alerts(&["hung"], &alerts, now_ms)).await.unwrap();
}

#[tokio::test]
async fn an_alert_is_told_while_it_stands_and_its_end_until_it_was_taken() {
    let receiver = Receiver::start().await;
    let post = Post::new();
    let secret = post.folder.path().join("token");
    std::fs::write(&secret, "tok").unwrap();
    let text = format!(
        "[alertmanager]\nurl = \"{}/prefix/\"\nallow_http = true\npassword_file = \"{}\"",
        receiver.url,
        secret.display()
    );
    let config = read(&text).alertmanager.unwrap();
    let told = |n: usize| -> Vec<Value> { receiver.told()[n].json().as_array().unwrap().clone() };

    stand(&post, &text, vec![hung()], T0).await;
    assert_eq!(tell(&post.store, &config, T0).await.unwrap(), 1);
    assert_eq!(receiver.told()[0].path, "/prefix/api/v2/alerts");
    assert_eq!(receiver.told()[0].header("authorization"), "Bearer tok");
    let first = &told(0)[0];
    assert_eq!(first["labels"]["alertname"], "gpuledger_hung");
    assert_eq!(first["labels"]["severity"], "critical");
    assert_eq!(first["labels"]["job"], "2447150");
    assert_eq!(first["startsAt"], "2026-11-04T02:00:00.000Z");
    assert_eq!(first["endsAt"], "2026-11-04T02:05:00.000Z");
    assert!(first["annotations"]["summary"].as_str().unwrap().contains("seems to hang"));
    assert!(first["generatorURL"].as_str().unwrap().starts_with("https://"));
    let all = receiver.told()[0].json().to_string();
    assert!(!all.contains("alice") && !all.contains("<script>"), "no names unless allowed: {all}");

    // it stands: told again, and the alert manager knows it is the same by its labels and start
    stand(&post, &text, vec![hung()], T0 + MINUTE).await;
    tell(&post.store, &config, T0 + MINUTE).await.unwrap();
    assert_eq!((&told(1)[0]["labels"], &told(1)[0]["startsAt"]), (&first["labels"], &first["startsAt"]));
    assert_eq!(told(1)[0]["endsAt"], "2026-11-04T02:06:00.000Z");

    // it ends while the alert manager is down: its end is told until it was taken
    stand(&post, &text, vec![], T0 + 2 * MINUTE).await;
    receiver.answers(Answer::of(503, "starting"));
    let refused = tell(&post.store, &config, T0 + 2 * MINUTE).await.unwrap_err();
    assert!(matches!(refused, TellError::Refused { .. }) && refused.to_string().contains("503"), "{refused}");
    receiver.answers(Answer::of(200, ""));
    assert_eq!(tell(&post.store, &config, T0 + 3 * MINUTE).await.unwrap(), 1);
    assert_eq!(told(3)[0]["endsAt"], "2026-11-04T02:02:00.000Z");
    assert_eq!(tell(&post.store, &config, T0 + 4 * MINUTE).await.unwrap(), 0);
    assert_eq!(receiver.told().len(), 4);
}

#[tokio::test]
async fn names_are_told_where_they_are_allowed() {
    let receiver = Receiver::start().await;
    let post = Post::new();
    let text = format!("[alertmanager]\nurl = \"{}\"\nallow_http = true\n", receiver.url);
    stand(&post, &text, vec![hung()], T0).await;
    tell(&post.store, &read(&text).alertmanager.unwrap(), T0).await.unwrap();
    // a name in a label would be a new alert for each: there is none, allowed or not
    assert!(!receiver.told()[0].json()[0]["labels"].to_string().contains("alice"));
}

#[test]
fn a_person_or_an_address_is_no_label() {
    let texts = Texts::new().unwrap();
    let config = read("");
    for notice in examples::all().iter().filter(|n| n.subject_is_somebody()) {
        let made = alert(&texts, &config, notice, Language::En).unwrap();
        let labels: Value = serde_json::from_str(&made.labels).unwrap();
        let subject = labels["subject"].as_str().unwrap();
        assert!(subject.len() == 32 && !made.labels.contains(&notice.subject()), "{}: {}", notice.name(), made.labels);
        let again = alert(&texts, &config, notice, Language::Zh).unwrap();
        assert_eq!(made.labels, again.labels, "the same label whenever it is told");
    }
    let node = examples::all().into_iter().find(|n| n.name() == "late_node").unwrap();
    assert!(alert(&texts, &config, &node, Language::En).unwrap().labels.contains("alpha/gpu01"));
}

/// Debian's Alertmanager on a port of its own; ends with the test.
struct Manager {
    child: std::process::Child,
    _folder: tempfile::TempDir,
    url: String,
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Manager {
    /// Starts one, or says which test is skipped for want of it.
    async fn start(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("alertmanager.yml");
        std::fs::write(&config, "route:\n  receiver: none\nreceivers:\n  - name: none\n").unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let spawned = std::process::Command::new("prometheus-alertmanager")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.path={}", folder.path().display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(["--cluster.listen-address=", "--log.level=error"])
            .spawn();
        let Ok(child) = spawned else {
            println!("skipped: {test}: prometheus-alertmanager is not installed");
            return None;
        };
        let manager = Self { child, _folder: folder, url: format!("http://127.0.0.1:{port}") };
        for _ in 0..600 {
            let ready = reqwest::get(format!("{}/-/ready", manager.url)).await;
            if ready.is_ok_and(|answer| answer.status().is_success()) {
                return Some(manager);
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the Alertmanager did not become ready within a minute");
    }

    async fn active(&self) -> Vec<Value> {
        let answer = reqwest::get(format!("{}/api/v2/alerts?active=true", self.url)).await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }
}

#[tokio::test]
async fn a_real_alertmanager_takes_what_stands_and_hears_of_its_end() {
    let Some(manager) = Manager::start("a_real_alertmanager_takes_what_stands_and_hears_of_its_end").await else {
        return;
    };
    let post = Post::new();
    let text = format!("[alertmanager]\nurl = \"{}\"\nallow_http = true\n", manager.url);
    let config = read(&text).alertmanager.unwrap();
    // it has a clock of its own: alerts of another time would have ended long ago
    let now_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    let notices: Vec<Notice> = examples::all();
    let texts = Texts::new().unwrap();
    let whole = read(&text);
    let kinds: Vec<&'static str> = notices.iter().map(Notice::name).collect();
    let alerts: Vec<_> = notices.iter().map(|n| alert(&texts, &whole, n, Language::Zh).unwrap()).collect();
    let (of_kinds, made) = (kinds.clone(), alerts);
    post.store.call(move |control| control.set_alerts(&of_kinds, &made, now_ms - MINUTE)).await.unwrap();
    assert_eq!(
        tell(&post.store, &config, now_ms).await.unwrap(),
        notices.len(),
        "it takes every kind, whatever is in its texts"
    );
    let active = manager.active().await;
    assert_eq!(active.len(), notices.len());
    let hung = active.iter().find(|a| a["labels"]["alertname"] == "gpuledger_hung").unwrap();
    assert_eq!((&hung["labels"]["severity"], &hung["labels"]["job"]), (&"critical".into(), &"2447150".into()));
    // all of it ends, and it hears of that
    post.store.call(move |control| control.set_alerts(&kinds, &[], now_ms)).await.unwrap();
    assert_eq!(tell(&post.store, &config, now_ms).await.unwrap(), notices.len());
    assert!(manager.active().await.is_empty(), "{:?}", manager.active().await);
}
