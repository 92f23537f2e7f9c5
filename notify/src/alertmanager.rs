//! Alertmanager: what stands is told again and again while it stands, as Prometheus does, and its end once it is known. The
//! Alertmanager drops what it has heard; if we fall silent, its alerts end by themselves after a while.

use chrono::{DateTime, SecondsFormat};
use gpuledger_control::{Alert, ControlError, NewAlert};
use serde_json::{Map, Value, json};

use crate::config::{self, AlertmanagerConfig, NotifyConfig};
use crate::http::{self, Fault, Way};
use crate::mail;
use crate::notice::Notice;
use crate::store::Store;
use crate::texts::{Language, Reader, TextError, Texts};

/// Most alerts in one call.
const ALERTS_MAX: usize = 200;
/// Fields of a notice that become labels: they do not change while it stands, and hold no name of a person.
const LABELS: &[&str] = &["cluster", "node", "job", "team", "device", "uuid"];

/// Why an Alertmanager was not told.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// The control file.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The configuration.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// It did not take them. They are told again the next time.
    #[error("the Alertmanager took no alerts: {reason}")]
    Refused {
        /// What it said, or what went wrong.
        reason: String,
    },
}

/// A notice as an alert that stands: labels that stay, and its words as annotations.
///
/// # Errors
///
/// A text that uses what the notice does not have.
pub fn alert(texts: &Texts, config: &NotifyConfig, notice: &Notice, language: Language) -> Result<NewAlert, TextError> {
    let names = config.alertmanager.as_ref().is_some_and(|a| a.names);
    let site = config.site.as_deref().unwrap_or("gpuledger");
    let rendered = texts.render(notice, language, Reader { site, who: None, names })?;
    let json = notice.json().map_err(|source| TextError::Notice { name: notice.name(), source })?;
    let mut labels = Map::new();
    labels.insert("alertname".to_owned(), json!(format!("gpuledger_{}", notice.name())));
    labels.insert("severity".to_owned(), json!(if notice.urgent() { "critical" } else { "warning" }));
    labels.insert("subject".to_owned(), json!(label_of(notice)));
    for name in LABELS {
        let found = json.get(name).or_else(|| json.get("case").and_then(|case| case.get(name)));
        if let Some(text) = found.and_then(Value::as_str) {
            labels.insert((*name).to_owned(), json!(text));
        }
    }
    let mut annotations = Map::new();
    annotations.insert("summary".to_owned(), json!(rendered.title));
    annotations.insert("description".to_owned(), json!(rendered.lead));
    if let Some(page) = notice.page() {
        annotations.insert("page".to_owned(), json!(page));
    }
    Ok(NewAlert {
        kind: notice.name().to_owned(),
        subject: notice.subject(),
        labels: Value::Object(labels).to_string(),
        annotations: Value::Object(annotations).to_string(),
    })
}

/// The subject as a label: the same for the same subject, and no name of a person in it.
fn label_of(notice: &Notice) -> String {
    let subject = notice.subject();
    if notice.subject_is_somebody() { mail::identity(&subject) } else { subject }
}

/// The body of `POST /api/v2/alerts`. What stands ends a while from now, unless it is told of again.
pub fn payload(alerts: &[Alert], now_ms: i64, resolve_after_ms: i64) -> Value {
    let at = |ms: i64| DateTime::from_timestamp_millis(ms).map(|t| t.to_rfc3339_opts(SecondsFormat::Millis, true));
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!({}));
    let one = |alert: &Alert| {
        let mut one = json!({
            "labels": read(&alert.labels),
            "annotations": read(&alert.annotations),
            "startsAt": at(alert.started_ms),
            "endsAt": at(alert.ended_ms.unwrap_or(now_ms + resolve_after_ms)),
        });
        // A page that opens from the alert; an URL or nothing, else the whole call is refused.
        let page = one["annotations"].get("page").cloned();
        if let Some(page) = page.filter(|p| p.as_str().is_some_and(|p| url::Url::parse(p).is_ok())) {
            one["generatorURL"] = page;
        }
        one
    };
    Value::Array(alerts.iter().map(one).collect())
}

/// Tells everything that stands, and every end that was not taken yet. How many alerts were taken.
///
/// # Errors
///
/// What was wrong with the file, the configuration or the Alertmanager; what was not taken is told again.
pub async fn tell(store: &Store, config: &AlertmanagerConfig, now_ms: i64) -> Result<usize, TellError> {
    let alerts = store.call(|control| control.alerts_to_tell()).await?;
    if alerts.is_empty() {
        return Ok(0);
    }
    let way = way(config);
    let client = http::client(&way).map_err(|reason| TellError::Refused { reason })?;
    let url = endpoint(config, "api/v2/alerts")?;
    let headers = authorization(config)?;
    let resolve_after_ms = i64::try_from(config.resolve_after_seconds).unwrap_or(i64::MAX / 1000) * 1000;
    let mut taken = 0;
    for some in alerts.chunks(ALERTS_MAX) {
        let body = payload(some, now_ms, resolve_after_ms).to_string().into_bytes();
        match http::post(&client, url.clone(), &headers, body).await {
            Ok(answer) if answer.is_success() => {
                let told = some.to_vec();
                store.call(move |control| control.alerts_told(&told, now_ms)).await?;
                taken += some.len();
            }
            Ok(answer) => {
                let said: String = answer.body.chars().take(300).collect();
                return Err(TellError::Refused { reason: format!("{} {said}", answer.status) });
            }
            Err(Fault::NotSent(reason) | Fault::Unknown(reason)) => return Err(TellError::Refused { reason }),
        }
    }
    Ok(taken)
}

pub(crate) fn way(config: &AlertmanagerConfig) -> Way<'_> {
    Way { timeout: config.timeout(), allow_http: config.allow_http, proxy: None, ca_file: config.ca_file.as_deref() }
}

/// A path below the configured URL, which may have one of its own.
pub(crate) fn endpoint(config: &AlertmanagerConfig, path: &str) -> Result<url::Url, config::ConfigError> {
    let mut url = config.url()?;
    let below = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&below);
    Ok(url)
}

pub(crate) fn authorization(config: &AlertmanagerConfig) -> Result<Vec<(&'static str, String)>, config::ConfigError> {
    let Some(path) = &config.password_file else { return Ok(Vec::new()) };
    let config::Secret(secret) = config::secret("password_file", path)?;
    let value = match &config.user {
        Some(user) => format!("Basic {}", crate::base64::encode(format!("{user}:{secret}").as_bytes())),
        None => format!("Bearer {secret}"),
    };
    Ok(vec![("authorization", value)])
}
