//! What is configured: a mail server, webhooks, an Alertmanager, work calendars. Unknown keys stop the program. A secret
//! stands in a file of its own, never in the configuration, and is read when it is needed, so that it can be rotated.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub use crate::calendar::CalendarConfig;
use crate::calendar::{CalendarError, WorkCalendar};
use crate::mail;

/// Largest file of a secret, in bytes.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// Everything of the configuration that this crate reads, the table `[notify]`: `[notify.mail]`, `[notify.webhook.NAME]`,
/// `[notify.alertmanager]` and `[notify.calendar.NAME]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifyConfig {
    /// Name of the installation, in every message; e.g. `Example Labs`.
    #[serde(default)]
    pub site: Option<String>,
    /// Mail server; absent: mail waits.
    pub mail: Option<MailConfig>,
    /// Webhooks by name.
    #[serde(default)]
    pub webhook: BTreeMap<String, WebhookConfig>,
    /// Alertmanager; absent: alerts are told to none.
    pub alertmanager: Option<AlertmanagerConfig>,
    /// Work calendars by name.
    #[serde(default)]
    pub calendar: BTreeMap<String, CalendarConfig>,
}

/// How a connection to a mail server is protected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailTls {
    /// It begins in the clear and must be protected before anything is said (port 587).
    #[default]
    Starttls,
    /// It is protected from the first byte (port 465).
    Implicit,
    /// It is not (port 25): only where the way to the server is trusted.
    None,
}

impl MailTls {
    /// The port it usually has.
    pub const fn port(self) -> u16 {
        match self {
            Self::Starttls => 587,
            Self::Implicit => 465,
            Self::None => 25,
        }
    }
}

/// `[notify.mail]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailConfig {
    /// Host of the server.
    pub host: String,
    /// Port; absent: 587, 465 or 25 by `tls`.
    pub port: Option<u16>,
    /// starttls, implicit or none.
    #[serde(default)]
    pub tls: MailTls,
    /// Sender, e.g. `gpuledger <gpu@example.org>`: what does not arrive comes back there.
    pub from: String,
    /// Where answers go; absent: to the sender.
    pub reply_to: Option<String>,
    /// User; absent: the server asks for none.
    pub user: Option<String>,
    /// File with the password.
    pub password_file: Option<PathBuf>,
    /// File with certificates of authorities (PEM) that are trusted beside the public ones.
    pub ca_file: Option<PathBuf>,
    /// Name that we say we are; absent: the host's.
    pub hello: Option<String>,
    /// How long a step may take, seconds: connecting, or giving over one mail.
    #[serde(default = "mail_timeout")]
    pub timeout_seconds: u64,
}

const fn mail_timeout() -> u64 {
    60
}

const fn webhook_timeout() -> u64 {
    10
}

const fn resolve_after() -> u64 {
    300
}

/// The shape of a webhook's messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Ours: one JSON object, signed in headers.
    #[default]
    Generic,
    /// Slack's incoming webhooks.
    Slack,
    /// Feishu's custom robots (Lark's too).
    Feishu,
    /// DingTalk's custom robots.
    Dingtalk,
    /// WeCom's group robots.
    Wecom,
}

/// `[notify.webhook.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// URL, where nothing in it is secret.
    pub url: Option<String>,
    /// File with the URL, where it is: of most chat systems it is all one needs to post.
    pub url_file: Option<PathBuf>,
    /// generic, slack, feishu, dingtalk or wecom.
    #[serde(default)]
    pub shape: Shape,
    /// File with the secret of the signature (generic, feishu, dingtalk); absent: not signed.
    pub secret_file: Option<PathBuf>,
    /// Whether names of users and jobs may be told there.
    #[serde(default)]
    pub names: bool,
    /// Whether the URL may be http.
    #[serde(default)]
    pub allow_http: bool,
    /// Proxy on the way there; absent: none, whatever the environment says.
    pub proxy: Option<String>,
    /// File with certificates of authorities (PEM) that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// How long a message may take, seconds.
    #[serde(default = "webhook_timeout")]
    pub timeout_seconds: u64,
}

/// `[notify.alertmanager]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertmanagerConfig {
    /// URL up to and without `/api/v2`.
    pub url: String,
    /// User; absent: none is asked for.
    pub user: Option<String>,
    /// File with the password of the user; without a user with a bearer token.
    pub password_file: Option<PathBuf>,
    /// Whether names of users and jobs may be told there.
    #[serde(default)]
    pub names: bool,
    /// Whether the URL may be http.
    #[serde(default)]
    pub allow_http: bool,
    /// File with certificates of authorities (PEM) that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// How long a call may take, seconds.
    #[serde(default = "webhook_timeout")]
    pub timeout_seconds: u64,
    /// An alert that we stop telling of ends after so many seconds; tell at least three times as often.
    #[serde(default = "resolve_after")]
    pub resolve_after_seconds: u64,
}

/// What is wrong with the configuration. No message holds a secret, or a URL that may be one.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file of a secret or of certificates cannot be read.
    #[error("cannot read {key} {}: {source}", path.display())]
    File {
        /// The key that names it.
        key: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of a secret is empty, too long, or not one line of text.
    #[error("{key} {} does not hold one line of text", path.display())]
    Secret {
        /// The key that names it.
        key: String,
        /// The file.
        path: PathBuf,
    },
    /// Keys that do not go together.
    #[error("{place}: {reason}")]
    Keys {
        /// The table of the configuration.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A calendar.
    #[error(transparent)]
    Calendar(#[from] CalendarError),
}

/// A secret: shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Reads the secret of a file: its one line.
pub(crate) fn secret(key: &str, path: &Path) -> Result<Secret, ConfigError> {
    let file = |source| ConfigError::File { key: key.to_owned(), path: path.to_owned(), source };
    let wrong = || ConfigError::Secret { key: key.to_owned(), path: path.to_owned() };
    if std::fs::metadata(path).map_err(file)?.len() > SECRET_BYTES_MAX {
        return Err(wrong());
    }
    let text = String::from_utf8(std::fs::read(path).map_err(file)?).map_err(|_| wrong())?;
    let line = text.trim_end_matches(['\n', '\r']);
    if line.is_empty() || line.chars().any(char::is_control) { Err(wrong()) } else { Ok(Secret(line.to_owned())) }
}

/// Reads a file of certificates.
pub(crate) fn certificates(key: &str, path: &Path) -> Result<Vec<u8>, ConfigError> {
    std::fs::read(path).map_err(|source| ConfigError::File { key: key.to_owned(), path: path.to_owned(), source })
}

fn keys(place: &str, reason: impl Into<String>) -> ConfigError {
    ConfigError::Keys { place: place.to_owned(), reason: reason.into() }
}

impl MailConfig {
    /// The port.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(self.tls.port())
    }

    /// How long a step may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// What is wrong, without reading a file or opening a connection.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |reason: String| Err(keys("[notify.mail]", reason));
        if let Err(e) = mail::mailbox(&self.from) {
            return wrong(format!("from: {e}"));
        }
        if let Some(Err(e)) = self.reply_to.as_deref().map(mail::mailbox) {
            return wrong(format!("reply_to: {e}"));
        }
        if !(1..=600).contains(&self.timeout_seconds) {
            return wrong("timeout_seconds is from 1 to 600".to_owned());
        }
        match (&self.user, &self.password_file, self.tls) {
            (Some(_), None, _) => wrong("user needs password_file: a file with the password, alone in it".to_owned()),
            (None, Some(_), _) => wrong("password_file needs user".to_owned()),
            (Some(_), Some(_), MailTls::None) => wrong(
                "a password is not sent in the clear: set tls to starttls or implicit, or leave out user".to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

impl WebhookConfig {
    /// How long a message may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// What is wrong, without reading a file or opening a connection.
    pub fn check(&self, name: &str) -> Result<(), ConfigError> {
        let place = format!("[notify.webhook.{name}]");
        match (&self.url, &self.url_file) {
            (Some(_), Some(_)) => return Err(keys(&place, "both url and url_file are there: choose one")),
            (None, None) => return Err(keys(&place, "neither url nor url_file is there")),
            _ => {}
        }
        if self.secret_file.is_some() && matches!(self.shape, Shape::Slack | Shape::Wecom) {
            return Err(keys(
                &place,
                "slack and wecom sign nothing: leave out secret_file, and keep the URL in url_file",
            ));
        }
        if !(1..=60).contains(&self.timeout_seconds) {
            return Err(keys(&place, "timeout_seconds is from 1 to 60"));
        }
        match &self.url {
            Some(url) => check_url(&place, url, self.allow_http).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Its URL.
    pub(crate) fn url(&self, name: &str) -> Result<url::Url, ConfigError> {
        let place = format!("[notify.webhook.{name}]");
        let text = match (&self.url, &self.url_file) {
            (Some(url), _) => url.clone(),
            (None, Some(path)) => secret("url_file", path)?.0,
            (None, None) => return Err(keys(&place, "neither url nor url_file is there")),
        };
        check_url(&place, &text, self.allow_http)
    }
}

impl AlertmanagerConfig {
    /// How long a call may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// Its URL, checked.
    pub fn url(&self) -> Result<url::Url, ConfigError> {
        if self.user.is_some() && self.password_file.is_none() {
            return Err(keys("[notify.alertmanager]", "user needs password_file"));
        }
        if !(1..=60).contains(&self.timeout_seconds) {
            return Err(keys("[notify.alertmanager]", "timeout_seconds is from 1 to 60"));
        }
        check_url("[notify.alertmanager]", &self.url, self.allow_http)
    }
}

/// The URL, where it is one and goes over TLS. What is wrong is said without repeating it.
fn check_url(place: &str, text: &str, allow_http: bool) -> Result<url::Url, ConfigError> {
    let url = url::Url::parse(text).map_err(|e| keys(place, format!("the URL cannot be read: {e}")))?;
    let plain = url.scheme() == "http" && allow_http;
    if url.scheme() != "https" && !plain {
        return Err(keys(place, "the URL is not https; allow_http = true allows http"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(keys(place, "the URL holds a user or a password: put them into a file"));
    }
    if url.host_str().is_none() {
        return Err(keys(place, "the URL names no host"));
    }
    Ok(url)
}

impl NotifyConfig {
    /// Everything that is wrong, without reading a file or opening a connection; and the calendars, checked.
    pub fn check(&self) -> (BTreeMap<String, WorkCalendar>, Vec<ConfigError>) {
        let mut wrong = Vec::new();
        wrong.extend(self.mail.as_ref().and_then(|mail| mail.check().err()));
        wrong.extend(self.webhook.iter().filter_map(|(name, hook)| hook.check(name).err()));
        wrong.extend(self.alertmanager.as_ref().and_then(|a| a.url().err()));
        let mut calendars = BTreeMap::new();
        for (name, config) in &self.calendar {
            match WorkCalendar::of(name, config) {
                Ok(calendar) => _ = calendars.insert(name.clone(), calendar),
                Err(e) => wrong.push(e.into()),
            }
        }
        (calendars, wrong)
    }
}

#[cfg(test)]
mod tests;
