//! Values of notices as templates see them: text, whole numbers, lists; instants with their zone; names hidden where the
//! reader may not see them.

use chrono::TimeZone;
use chrono_tz::Tz;
use minijinja::Value;
use serde::{Serialize, Serializer};

/// Fields that hold names of people and of their jobs, or may, wherever they stand in a notice.
const NAMES: &[&str] = &["user", "by", "job_name", "person", "address", "title", "reason", "answer"];

/// An instant, shown in a zone: `2026-10-25 02:30 Europe/Berlin (+02:00)`. The offset tells the two readings of a doubled
/// hour apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Epoch ms.
    pub ms: i64,
    /// Zone it is shown in.
    pub zone: Tz,
}

impl At {
    /// The instant in words. One that no calendar has is its number, never another instant.
    pub fn in_words(self) -> String {
        let local = self.zone.timestamp_millis_opt(self.ms).single();
        local.map_or_else(
            || format!("{} ms", self.ms),
            |t| format!("{} {} ({})", t.format("%Y-%m-%d %H:%M"), self.zone.name(), t.format("%:z")),
        )
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.in_words())
    }
}

/// A notice as a template's context. With `hidden`, names are replaced by that word. Numbers are whole; there is no other
/// kind in a notice.
pub(crate) fn context(json: &serde_json::Value, hidden: Option<&str>) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::from(()),
        Json::Bool(b) => Value::from(*b),
        Json::Number(n) => n.as_i64().map_or_else(|| Value::from(n.to_string()), Value::from),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(|item| context(item, hidden)).collect(),
        Json::Object(fields) => Value::from_pairs(fields.iter().map(|(name, value)| match hidden {
            Some(word) if NAMES.contains(&name.as_str()) && !value.is_null() => (name.as_str(), Value::from(word)),
            _ => (name.as_str(), context(value, hidden)),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubled_hour_is_told_apart() {
        let zone = Tz::Europe__Berlin;
        let at = |ms| At { ms, zone }.in_words();
        assert_eq!(at(1_792_888_200_000), "2026-10-25 02:30 Europe/Berlin (+02:00)");
        assert_eq!(at(1_792_891_800_000), "2026-10-25 02:30 Europe/Berlin (+01:00)");
        assert_eq!(At { ms: i64::MAX, zone: Tz::UTC }.in_words(), "9223372036854775807 ms");
    }

    #[test]
    fn names_are_hidden_at_any_depth_and_nothing_else_is() {
        let json =
            serde_json::json!({"team": "nlp", "user": "alice", "list": [{"job_name": "x", "job": "c/1"}], "n": null});
        let shown = context(&json, Some("hidden")).to_string();
        assert!(!shown.contains("alice") && !shown.contains("\"x\""), "{shown}");
        assert!(shown.contains("nlp") && shown.contains("c/1"), "{shown}");
        assert!(context(&json, None).to_string().contains("alice"));
    }
}
