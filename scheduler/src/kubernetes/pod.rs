//! A pod as the API server shows it, and what is kept of it: some two kilobytes of what are often twenty.

use std::collections::BTreeMap;

use serde_json::Value;

use super::life::{self, Life};
use super::owner::{OwnerRef, controller};
use super::request::{self, Request};
use super::resource::Resources;
use super::{Unreadable, pairs, text, time_ms};

/// Annotation of a pod that a kubelet runs from a file: its cgroup and its logs carry this id, not the object's UID.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// Labels of nodes that name the model.
const MODEL: [&str; 2] = ["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator"];
/// Most labels of a pod that are kept, in order of their keys.
const LABELS_MAX: usize = 64;
/// Most bytes of a label's key and value together.
const LABEL_BYTES_MAX: usize = 512;

/// Where facts stand that sites keep in places of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodRules {
    /// How resources are read.
    pub resources: Resources,
    /// Labels, else annotations, that hold the user; the first that is there counts.
    pub user: Vec<String>,
    /// The same for the queue.
    pub queue: Vec<String>,
}

/// What is kept of a pod that asks for GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// UID of the object: names come again, UIDs do not.
    pub uid: String,
    /// The id that its processes carry: the UID, but for pods that a kubelet runs from a file.
    pub raw: String,
    /// Namespace.
    pub namespace: String,
    /// Name (a label, never a key).
    pub name: String,
    /// When it was created.
    pub created_ms: i64,
    /// Its labels, by key.
    pub labels: Vec<(String, String)>,
    /// User, where a label or annotation says so.
    pub user: Option<String>,
    /// Queue, where a label or annotation says so.
    pub queue: Option<String>,
    /// Priority.
    pub priority: Option<i64>,
    /// Priority class.
    pub priority_class: Option<String>,
    /// Time after which it is ended.
    pub deadline_ms: Option<i64>,
    /// Who controls it.
    pub owner: Option<OwnerRef>,
    /// Its node.
    pub node: Option<String>,
    /// Model that its node must have, where it says so.
    pub model: Option<String>,
    /// What it asks for.
    pub request: Request,
    /// Where it stands.
    pub life: Life,
}

/// Reads a pod; none where it asks for no GPU.
pub fn read(object: &Value, rules: &PodRules) -> Result<Option<Pod>, Unreadable> {
    let null = Value::Null;
    let (meta, spec) = (object.get("metadata").unwrap_or(&null), object.get("spec").unwrap_or(&null));
    let labels = pairs(meta, "labels");
    let annotations = pairs(meta, "annotations");
    let said: BTreeMap<&str, &str> = labels.iter().chain(&annotations).map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let request = request::read(spec, &said, &rules.resources);
    if request.gpus.is_empty() {
        return Ok(None);
    }
    let (namespace, name) = (text(meta, "namespace").unwrap_or_default(), text(meta, "name").unwrap_or_default());
    let missing = |field| Unreadable { kind: "pod", name: format!("{namespace}/{name}"), field };
    let uid = text(meta, "uid").ok_or_else(|| missing("metadata.uid"))?;
    let first = |keys: &[String]| {
        let of = |list: &[(String, String)], key: &String| {
            list.iter().find(|(k, v)| k == key && !v.is_empty()).map(|(_, v)| v.clone())
        };
        keys.iter().find_map(|key| of(&labels, key).or_else(|| of(&annotations, key)))
    };
    let deadline = spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    let life = life::read(object, &request.gpu_containers);
    Ok(Some(Pod {
        uid: uid.to_owned(),
        raw: said.get(MIRROR).map_or(uid, |hash| *hash).to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        created_ms: time_ms(meta, "creationTimestamp").ok_or_else(|| missing("metadata.creationTimestamp"))?,
        user: first(&rules.user),
        queue: first(&rules.queue),
        priority: spec.get("priority").and_then(Value::as_i64),
        priority_class: text(spec, "priorityClassName").map(str::to_owned),
        deadline_ms: deadline.and_then(|s| s.checked_mul(1_000)),
        owner: controller(meta),
        node: text(spec, "nodeName").map(str::to_owned),
        model: spec.get("nodeSelector").and_then(|s| MODEL.iter().find_map(|key| text(s, key))).map(str::to_owned),
        labels: kept(labels),
        request,
        life,
    }))
}

/// The labels that are kept: whole ones, as many as may be.
pub fn kept(mut labels: Vec<(String, String)>) -> Vec<(String, String)> {
    labels.retain(|(k, v)| k.len() + v.len() <= LABEL_BYTES_MAX);
    labels.truncate(LABELS_MAX);
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(limits: Value) -> Value {
        json!({
            "metadata": {"uid": "u1", "namespace": "ml", "name": "p-0", "creationTimestamp": "2026-10-05T10:00:00Z",
                "labels": {"team": "vision", "kueue.x-k8s.io/queue-name": "q1"},
                "annotations": {"example.com/user": "ada"}},
            "spec": {"priority": 1000, "priorityClassName": "high", "activeDeadlineSeconds": 3600,
                "containers": [{"name": "main", "resources": {"limits": limits}}]},
            "status": {"phase": "Pending"},
        })
    }

    fn rules() -> PodRules {
        PodRules {
            user: vec!["owner".to_owned(), "example.com/user".to_owned()],
            queue: vec!["kueue.x-k8s.io/queue-name".to_owned()],
            ..PodRules::default()
        }
    }

    #[test]
    fn a_pod_without_gpus_is_passed_over_and_one_with_them_is_kept() {
        assert_eq!(read(&object(json!({"cpu": "1"})), &rules()), Ok(None));
        let pod = read(&object(json!({"nvidia.com/gpu": "2"})), &rules()).unwrap().unwrap();
        assert_eq!((pod.uid.as_str(), pod.raw.as_str(), pod.namespace.as_str()), ("u1", "u1", "ml"));
        assert_eq!((pod.user.as_deref(), pod.queue.as_deref()), (Some("ada"), Some("q1")));
        assert_eq!((pod.priority, pod.deadline_ms, pod.node), (Some(1_000), Some(3_600_000), None));
        assert_eq!(pod.request.gpus[0].count, 2);
    }

    #[test]
    fn a_pod_from_a_file_goes_by_the_id_that_its_processes_carry() {
        let mut object = object(json!({"nvidia.com/gpu": "1"}));
        object["metadata"]["annotations"][MIRROR] = json!("0123456789abcdef0123456789abcdef");
        let pod = read(&object, &rules()).unwrap().unwrap();
        assert_eq!((pod.uid.as_str(), pod.raw.as_str()), ("u1", "0123456789abcdef0123456789abcdef"));
    }

    #[test]
    fn a_pod_that_cannot_be_named_is_refused_with_the_field() {
        let mut object = object(json!({"nvidia.com/gpu": "1"}));
        object["metadata"]["uid"] = Value::Null;
        assert_eq!(read(&object, &rules()).unwrap_err().to_string(), "pod `ml/p-0` has no metadata.uid");
    }
}
