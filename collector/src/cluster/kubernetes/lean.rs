//! JSON of the API server without what nobody here reads, so that an object costs a few kilobytes while it is looked at.
//! The API has no number with a fraction (its conventions forbid them), and one would not be read.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Fields that are passed over wherever they stand, but for maps whose keys are names. They are most of an object.
const PASSED: [&str; 19] = [
    "fieldsV1",
    "volumes",
    "volumeMounts",
    "volumeDevices",
    "volumesInUse",
    "volumesAttached",
    "env",
    "envFrom",
    "args",
    "command",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "securityContext",
    "affinity",
    "tolerations",
    "images",
    "imagePullSecrets",
];
/// Maps whose keys are names that somebody chose.
const OF_NAMES: [&str; 6] = ["labels", "annotations", "limits", "requests", "capacity", "allocatable"];

/// A value without the fields that are passed over.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lean(pub(super) Value);

impl<'de> Deserialize<'de> for Lean {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Seed { of_names: false }.deserialize(from).map(Self)
    }
}

#[derive(Clone, Copy)]
struct Seed {
    of_names: bool,
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(value) = from.next_element_seed(Self { of_names: false })? {
            out.push(value);
        }
        Ok(out.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if !self.of_names && PASSED.contains(&key.as_str()) {
                from.next_value::<IgnoredAny>()?;
                continue;
            }
            let of_names = !self.of_names && OF_NAMES.contains(&key.as_str());
            out.insert(key, from.next_value_seed(Self { of_names })?);
        }
        Ok(out.into())
    }
}

/// What stands around the objects of a page.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListMeta {
    /// What the list is as of.
    pub(super) resource_version: String,
    /// Where the next page begins; empty at the last.
    #[serde(rename = "continue")]
    pub(super) next: String,
}

/// Reads a page of a list, object by object, so that only one is in memory beside the page's text.
pub(super) fn page(bytes: &[u8], take: &mut dyn FnMut(Value)) -> serde_json::Result<ListMeta> {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let meta = Page { take }.deserialize(&mut from)?;
    from.end()?;
    Ok(meta)
}

struct Page<'a> {
    take: &'a mut dyn FnMut(Value),
}

impl<'de> DeserializeSeed<'de> for Page<'_> {
    type Value = ListMeta;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<ListMeta, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Page<'_> {
    type Value = ListMeta;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<ListMeta, A::Error> {
        let mut meta = None;
        while let Some(key) = from.next_key::<String>()? {
            match key.as_str() {
                "metadata" => meta = Some(from.next_value()?),
                "items" => from.next_value_seed(Items { take: &mut *self.take })?,
                _ => drop(from.next_value::<IgnoredAny>()?),
            }
        }
        meta.ok_or_else(|| serde::de::Error::missing_field("metadata"))
    }
}

struct Items<'a> {
    take: &'a mut dyn FnMut(Value),
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        // an empty list is written as null by some servers
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(Lean(value)) = from.next_element()? {
            (self.take)(value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_nobody_reads_is_passed_over_but_names_stay() {
        let text = r#"{"metadata": {"labels": {"env": "prod"}, "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:x": {}}}]},
            "spec": {"volumes": [1], "containers": [{"name": "a", "env": [{"name": "SECRET"}],
            "resources": {"limits": {"cpu": 2}}}]}}"#;
        let Lean(value) = serde_json::from_str(text).unwrap();
        let wanted = json!({"metadata": {"labels": {"env": "prod"}, "managedFields": [{"manager": "kubelet"}]},
            "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 2}}}]}});
        assert_eq!(value, wanted);
    }

    #[test]
    fn a_page_gives_its_objects_one_by_one() {
        let mut seen = Vec::new();
        let text = br#"{"kind": "PodList", "metadata": {"resourceVersion": "7", "continue": "x"}, "items": [{"a": 1}, {"a": 2}]}"#;
        let meta = page(text, &mut |v| seen.push(v)).unwrap();
        assert_eq!((meta.resource_version.as_str(), meta.next.as_str()), ("7", "x"));
        assert_eq!(seen, [json!({"a": 1}), json!({"a": 2})]);
        assert!(page(br#"{"items": []}"#, &mut |_| {}).is_err(), "a list without metadata proves nothing");
        assert_eq!(page(br#"{"metadata": {}, "items": null}"#, &mut |_| {}).unwrap(), ListMeta::default());
        assert!(page(br#"{"metadata": {}, "items": [{"a":"#, &mut |_| {}).is_err());
    }
}
