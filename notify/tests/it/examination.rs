//! The doctor, on configurations that work and on those that do not.

use chrono_tz::Tz;
use gpuledger_notify::doctor::{Examination, Finding, Health, examine};
use gpuledger_notify::{At, Texts};
use gpuledger_schema::table::ContactRow;

use crate::receiver::{Answer, Receiver};
use crate::server::{Server, header};
use crate::{Post, T0, read};

fn contact(kind: &str, name: &str, channel: &str, address: &str, calendar: Option<&str>) -> ContactRow {
    ContactRow {
        kind: kind.into(),
        name: name.into(),
        channel: channel.into(),
        address: address.into(),
        language: "en".into(),
        calendar: calendar.map(str::to_owned),
        from_ms: 0,
        to_ms: None,
    }
}

async fn findings(config: &str, contacts: &[ContactRow], send: bool) -> Vec<Finding> {
    let now = At { ms: T0, zone: Tz::Asia__Shanghai };
    examine(&Texts::new().unwrap(), &read(config), Examination { contacts, now, send }).await
}

fn roles() -> Vec<ContactRow> {
    ["on-call", "finance", "operator"].map(|r| contact("role", r, "mail", "x@example.org", None)).to_vec()
}

#[tokio::test]
async fn what_works_is_good_and_a_test_message_arrives() {
    let Some(server) = Server::start("what_works_is_good_and_a_test_message_arrives", &["--tls", "starttls"]) else {
        return;
    };
    let (hook, alerts) = (Receiver::start().await, Receiver::start().await);
    let config = format!(
        "site = \"Example Labs\"\n{}\n[webhook.bus]\nurl = \"{}\"\nallow_http = true\n[alertmanager]\nurl = \"{}\"\nallow_http = true\n",
        server.config(""),
        hook.url,
        alerts.url
    );
    let found = findings(&config, &roles(), true).await;
    assert!(found.iter().all(|f| f.health == Health::Good), "{found:#?}");
    assert_eq!(header(&server.mails()[0], "Subject"), "gpuledger: a test message");
    assert_eq!(server.mails()[0]["to"][0], "gpu@example.org");
    assert_eq!(hook.told().len(), 1);
    assert_eq!(alerts.told()[0].body, b"[]");
    // without being asked to, nothing is sent
    findings(&config, &roles(), false).await;
    assert_eq!((server.mails().len(), hook.told().len()), (1, 1));
}

#[tokio::test]
async fn what_does_not_work_says_what_and_what_to_do() {
    let post = Post::new();
    let path = post.folder.path().join("secret");
    std::fs::write(&path, "s").unwrap();
    let hook = Receiver::start().await;
    hook.answers(Answer::of(404, "no such hook"));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "[mail]\nhost = \"127.0.0.1\"\nport = {port}\nfrom = \"a@b.example\"\n\
         [webhook.gone]\nurl = \"{url}\"\nallow_http = true\n\
         [webhook.open]\nurl = \"{url}\"\nallow_http = true\nsecret_file = \"{secret}\"\n\
         [webhook.none]\nurl_file = \"{folder}/none\"\n\
         [webhook.plain]\nurl = \"{url}\"\n\
         [alertmanager]\nurl = \"http://127.0.0.1:{port}\"\nallow_http = true\n",
        url = hook.url,
        secret = path.display(),
        folder = post.folder.path().display(),
    );
    let contacts = [
        contact("role", "finance", "webhook", "nowhere", None),
        contact("lead", "nlp", "mail", "a@b.example", Some("office")),
    ];
    let found = findings(&config, &contacts, true).await;
    let of = |what: &str, words: &str| {
        let hit = found.iter().find(|f| f.what == what && f.found.contains(words));
        hit.unwrap_or_else(|| panic!("{what}: {words}\n{found:#?}"))
    };
    assert!(of("[notify.mail]", "connecting").advice.as_ref().unwrap().contains("firewall"));
    assert_eq!(of("[notify.webhook.gone]", "404").health, Health::Bad);
    assert!(of("[notify.webhook.open]", "everybody").advice.as_ref().unwrap().starts_with("chmod 640"));
    assert_eq!(of("[notify.webhook.none]", "cannot read url_file").health, Health::Bad);
    assert_eq!(of("configuration", "[notify.webhook.plain]").health, Health::Bad);
    assert_eq!(of("[notify.alertmanager]", "").health, Health::Bad);
    assert!(of("contacts", "nowhere").advice.as_ref().unwrap().contains("[notify.webhook.nowhere]"));
    assert_eq!(of("contacts", "office").health, Health::Doubtful);
    assert_eq!(of("contacts", "role on-call").health, Health::Doubtful);
    assert!(found.iter().filter(|f| f.health != Health::Good).all(|f| f.advice.is_some()));
}

#[test]
fn the_example_of_a_configuration_is_right() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/notify.toml");
    let whole: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let config: gpuledger_notify::config::NotifyConfig = whole["notify"].clone().try_into().unwrap();
    let (calendars, wrong) = config.check();
    assert!(wrong.is_empty() && calendars.contains_key("office"), "{wrong:?}");
    assert!(config.mail.is_some() && config.webhook.contains_key("ops") && config.alertmanager.is_some());
}
