//! The doctor: is what is configured right, can it be reached, and what is to be done where it cannot.

use std::collections::BTreeMap;
use std::path::Path;

use gpuledger_control::{Message, MessageState};
use gpuledger_schema::table::ContactRow;

use crate::alertmanager;
use crate::calendar::WorkCalendar;
use crate::compose::test_message;
use crate::config::{MailConfig, NotifyConfig, WebhookConfig};
use crate::http;
use crate::mail::{self, mailbox};
use crate::smtp::{Refusal, Session, Step};
use crate::texts::{Language, Texts};
use crate::value::At;
use crate::webhook::{Hook, Told};

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// As it should be.
    Good,
    /// It works, or may work, and somebody should know.
    Doubtful,
    /// It does not work.
    Bad,
}

/// What was found of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The thing, e.g. `[notify.mail]` or `[notify.webhook.ops]`.
    pub what: String,
    /// How it is.
    pub health: Health,
    /// What was found; no secret is in it.
    pub found: String,
    /// What to do; absent: nothing.
    pub advice: Option<String>,
}

impl Finding {
    fn good(what: &str, found: impl Into<String>) -> Self {
        Self { what: what.to_owned(), health: Health::Good, found: found.into(), advice: None }
    }

    fn of(what: &str, health: Health, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.to_owned(), health, found: found.into(), advice: Some(advice.into()) }
    }
}

/// What is examined beside the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Examination<'a> {
    /// The contacts.
    pub contacts: &'a [ContactRow],
    /// Now.
    pub now: At,
    /// Whether a test message is sent: a mail to the sender itself, and one to each webhook.
    pub send: bool,
}

/// Examines everything: keys, files, connections, TLS, authentication, contacts; with `send` a test message on each way.
pub async fn examine(texts: &Texts, config: &NotifyConfig, examination: Examination<'_>) -> Vec<Finding> {
    let (calendars, wrong) = config.check();
    let mut findings: Vec<Finding> = wrong
        .iter()
        .map(|e| Finding::of("configuration", Health::Bad, e.to_string(), "correct the configuration and start again"))
        .collect();
    match &config.mail {
        Some(mail) => findings.extend(examine_mail(texts, config, mail, examination).await),
        None => findings.push(Finding::of(
            "[notify.mail]",
            Health::Doubtful,
            "no mail server is configured: nobody is told anything by mail",
            "add a table [notify.mail] with host and from",
        )),
    }
    for (name, hook) in &config.webhook {
        findings.push(examine_webhook(texts, config, name, hook, examination).await);
    }
    if config.alertmanager.is_some() {
        findings.push(examine_alertmanager(config).await);
    }
    findings.extend(examine_contacts(config, &calendars, examination));
    findings
}

async fn examine_mail(
    texts: &Texts,
    config: &NotifyConfig,
    mail: &MailConfig,
    examination: Examination<'_>,
) -> Vec<Finding> {
    let what = "[notify.mail]";
    let mut findings: Vec<Finding> =
        mail.password_file.iter().filter_map(|path| readable_by_others(what, path)).collect();
    let mut session = match Session::open(mail).await {
        Ok(session) => session,
        Err(e) => {
            let advice = match e.step {
                Step::Files => "correct the file, or the key that names it",
                Step::Connect => "is the name right, does a firewall stand between, does the port fit tls?",
                Step::Tls => {
                    "does the server offer STARTTLS, does its certificate name this host, is its authority in ca_file?"
                }
                Step::Auth => "are user and password_file right, and does the server allow them?",
            };
            findings.push(Finding::of(what, Health::Bad, e.to_string(), advice));
            return findings;
        }
    };
    findings.push(Finding::good(what, format!("{}:{} answers, {:?}", mail.host, mail.port(), mail.tls).to_lowercase()));
    if examination.send
        && let Ok(to) = mailbox(&mail.from)
    {
        let address = to.email.to_string();
        findings.push(match send_mail(texts, config, mail, &address, examination.now, &mut session).await {
            Ok(answer) => Finding::good(what, format!("a test mail to {address} was taken: {answer}")),
            Err(why) => {
                Finding::of(what, Health::Bad, format!("a test mail to {address}: {why}"), "may this sender send here?")
            }
        });
    }
    session.close().await;
    findings
}

async fn send_mail(
    texts: &Texts,
    config: &NotifyConfig,
    mail: &MailConfig,
    address: &str,
    now: At,
    session: &mut Session,
) -> Result<String, String> {
    let message = test_of(texts, config, "mail", address, now)?;
    let written = mail::build(mail, &message, &[]).map_err(|e| e.to_string())?;
    let in_words = |refusal: Refusal| match refusal {
        Refusal::Later(why) | Refusal::Never(why) | Refusal::Lost(why) | Refusal::Unknown(why) => why,
    };
    session.address(&written.envelope).await.map_err(in_words)?;
    session.content(&written.bytes).await.map_err(in_words)
}

async fn examine_webhook(
    texts: &Texts,
    config: &NotifyConfig,
    name: &str,
    hook: &WebhookConfig,
    examination: Examination<'_>,
) -> Finding {
    let what = format!("[notify.webhook.{name}]");
    let host = match hook.url(name) {
        Ok(url) => url.host_str().unwrap_or_default().to_owned(),
        Err(e) => return Finding::of(&what, Health::Bad, e.to_string(), "correct the key, or the file that it names"),
    };
    let secrets = [hook.secret_file.as_deref(), hook.url_file.as_deref()];
    if let Some(finding) = secrets.into_iter().flatten().find_map(|path| readable_by_others(&what, path)) {
        return finding;
    }
    if !examination.send {
        return Finding::good(&what, format!("{host}, not called: a webhook is tried by telling it something"));
    }
    let message = match test_of(texts, config, "webhook", name, examination.now) {
        Ok(message) => message,
        Err(why) => return Finding::of(&what, Health::Bad, why, "report this"),
    };
    let opened = match Hook::open(name, hook) {
        Ok(opened) => opened,
        Err(why) => return Finding::of(&what, Health::Bad, why, "correct the key, or the file that it names"),
    };
    match opened.tell(&message, examination.now.ms).await {
        Told::Taken(answer) => Finding::good(&what, format!("a test message was taken by {host}: {answer}")),
        Told::Later(why, _) | Told::Refused(why) | Told::Unknown(why) => Finding::of(
            &what,
            Health::Bad,
            format!("a test message to {host}: {why}"),
            "is the URL whole, is shape that of this system, is secret_file that of this robot?",
        ),
    }
}

async fn examine_alertmanager(config: &NotifyConfig) -> Finding {
    let what = "[notify.alertmanager]";
    let Some(alertmanager) = &config.alertmanager else { return Finding::good(what, "none") };
    let prepared = alertmanager::endpoint(alertmanager, "api/v2/alerts")
        .and_then(|url| alertmanager::authorization(alertmanager).map(|headers| (url, headers)));
    let (url, headers) = match prepared {
        Ok(prepared) => prepared,
        Err(e) => return Finding::of(what, Health::Bad, e.to_string(), "correct the key, or the file that it names"),
    };
    let client = match http::client(&alertmanager::way(alertmanager)) {
        Ok(client) => client,
        Err(why) => return Finding::of(what, Health::Bad, why, "correct ca_file"),
    };
    // no alerts: a call that changes nothing, by the way that alerts take
    match http::post(&client, url, &headers, b"[]".to_vec()).await {
        Ok(answer) if answer.is_success() => Finding::good(what, format!("it takes alerts: {}", answer.status)),
        Ok(answer) => Finding::of(
            what,
            Health::Bad,
            format!("it answers {}", answer.status),
            "is url that of an Alertmanager, without /api/v2?",
        ),
        Err(http::Fault::NotSent(why) | http::Fault::Unknown(why)) => {
            Finding::of(what, Health::Bad, why, "is it running, and does a firewall stand between?")
        }
    }
}

/// Contacts that lead nowhere, and roles that nobody has.
fn examine_contacts(
    config: &NotifyConfig,
    calendars: &BTreeMap<String, WorkCalendar>,
    examination: Examination<'_>,
) -> Vec<Finding> {
    let what = "contacts";
    let mut findings = Vec::new();
    let now_ms = examination.now.ms;
    let valid = |c: &&ContactRow| c.from_ms <= now_ms && c.to_ms.is_none_or(|to_ms| now_ms < to_ms);
    let contacts: Vec<&ContactRow> = examination.contacts.iter().filter(valid).collect();
    for contact in &contacts {
        let who = format!("{} {}", contact.kind, contact.name);
        if contact.channel == "webhook" && !config.webhook.contains_key(&contact.address) {
            let found = format!("{who} is reached by webhook `{}`, which is not configured", contact.address);
            findings.push(Finding::of(
                what,
                Health::Bad,
                found,
                format!("add a table [notify.webhook.{}]", contact.address),
            ));
        }
        if let Some(name) = contact.calendar.as_ref().filter(|name| !calendars.contains_key(*name)) {
            let found = format!("{who} has the calendar `{name}`, which is not configured: nothing waits for it");
            findings.push(Finding::of(what, Health::Doubtful, found, format!("add a table [notify.calendar.{name}]")));
        }
    }
    for role in ["on-call", "finance", "operator"] {
        if !contacts.iter().any(|c| c.kind == "role" && c.name == role) {
            let found = format!("nobody has the role {role}: what it is told is told to nobody");
            findings.push(Finding::of(
                what,
                Health::Doubtful,
                found,
                "import a contact of that role: gpuledger contacts import",
            ));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::good(what, format!("{} contacts, each with a way to it", contacts.len())));
    }
    findings
}

/// A file of a secret that others than its owner and group may read.
fn readable_by_others(what: &str, path: &Path) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o007 != 0).then(|| {
        let found = format!("everybody on this machine may read {}", path.display());
        Finding::of(what, Health::Doubtful, found, format!("chmod 640 {}", path.display()))
    })
}

/// A test message as the outbox would hold it while it is sent.
fn test_of(texts: &Texts, config: &NotifyConfig, channel: &str, address: &str, now: At) -> Result<Message, String> {
    let new = test_message(texts, config, channel, address, Language::En, now).map_err(|e| e.to_string())?;
    Ok(Message {
        message_id: 0,
        key: new.key,
        kind: new.kind,
        subject: new.subject,
        cause: new.cause,
        person: new.person,
        channel: new.channel,
        address: new.address,
        language: new.language,
        calendar: new.calendar,
        urgent: new.urgent,
        title: new.title,
        body_text: new.body_text,
        body_html: new.body_html,
        link: new.link,
        created_ms: now.ms,
        give_up_after_ms: new.give_up_after_ms,
        state: MessageState::Sending,
        due_ms: now.ms,
        give_up_ms: None,
        tries: 1,
        doubts: 0,
        answer: None,
    })
}
