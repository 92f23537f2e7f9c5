//! Reading Kubernetes: API objects to plain facts.
//!
//! An object comes as the JSON that the API server sent. What a fact is made of stands with it; what an object does not
//! say is absent, and no default stands in for it.

pub mod event;
pub mod life;
pub mod node;
pub mod owner;
pub mod pod;
pub mod quantity;
pub mod request;
pub mod resource;
pub mod share;

use serde_json::Value;

/// A time of the API (RFC 3339, with or without a fraction) as epoch ms.
pub fn instant_ms(text: &str) -> Option<i64> {
    chrono::DateTime::parse_from_rfc3339(text).ok().map(|t| t.timestamp_millis())
}

/// A text field that is not empty.
fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str().filter(|t| !t.is_empty())
}

/// A field that holds a time, as epoch ms.
fn time_ms(object: &Value, key: &str) -> Option<i64> {
    instant_ms(text(object, key)?)
}

/// A list; none where the field is missing.
fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Labels or annotations, by key.
fn pairs(object: &Value, key: &str) -> Vec<(String, String)> {
    let Some(map) = object.get(key).and_then(Value::as_object) else { return Vec::new() };
    let mut out: Vec<(String, String)> =
        map.iter().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect();
    out.sort();
    out
}

/// The condition of a type.
fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    list(status, "conditions").iter().find(|c| text(c, "type") == Some(kind))
}

/// What is wrong with an object: without these fields it is nothing that could be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} `{name}` has no {field}")]
pub struct Unreadable {
    /// Kind of the object.
    pub kind: &'static str,
    /// Namespace and name, as far as they stand there.
    pub name: String,
    /// The field that is missing or cannot be read.
    pub field: &'static str,
}
