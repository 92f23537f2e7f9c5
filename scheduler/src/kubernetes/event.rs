//! Events of pods: when images began to be pulled, and when they were there.

use serde_json::Value;

use super::{text, time_ms};

/// What an event says of a pod's images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageEvent {
    /// UID of the pod.
    pub pod: String,
    /// Whether the image was there (`Pulled`), or was only begun to be pulled (`Pulling`).
    pub ready: bool,
    /// When that happened for the first time.
    pub at_ms: i64,
}

/// Reads an event; none where it is about something else.
pub fn read(object: &Value) -> Option<ImageEvent> {
    let about = object.get("involvedObject")?;
    let ready = match text(object, "reason")? {
        "Pulling" => false,
        "Pulled" => true,
        _ => return None,
    };
    let at_ms = time_ms(object, "firstTimestamp").or_else(|| time_ms(object, "eventTime"))?;
    (text(about, "kind")? == "Pod").then_some(())?;
    Some(ImageEvent { pod: text(about, "uid")?.to_owned(), ready, at_ms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_pulling_and_pulled_of_pods_count() {
        let event = |kind: &str, reason: &str, first: Value| {
            read(&json!({"involvedObject": {"kind": kind, "uid": "u1"}, "reason": reason, "firstTimestamp": first,
                "eventTime": "2026-10-05T10:00:00.250000Z"}))
        };
        let first = json!("2026-10-05T10:00:00Z");
        let at = |ready, at_ms| Some(ImageEvent { pod: "u1".to_owned(), ready, at_ms });
        assert_eq!(event("Pod", "Pulling", first.clone()), at(false, 1_791_194_400_000));
        assert_eq!(event("Pod", "Pulled", Value::Null), at(true, 1_791_194_400_250));
        assert_eq!((event("Node", "Pulled", first.clone()), event("Pod", "Started", first)), (None, None));
    }
}
