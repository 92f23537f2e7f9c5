//! Owners of objects: who controls a pod, and where the API server is asked about it.

use serde_json::Value;

use super::{list, text};

/// An owner, as the object that it owns names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerRef {
    /// Group and version, e.g. `apps/v1`; `v1` for the core group.
    pub api_version: String,
    /// Kind, e.g. `ReplicaSet`.
    pub kind: String,
    /// Name.
    pub name: String,
    /// UID: names come again, UIDs do not.
    pub uid: String,
}

/// A kind whose objects are asked for, as rules of access name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// API group; empty for the core group.
    pub group: String,
    /// Plural name of the resource.
    pub resource: String,
    /// Whether its `scale` tells how many replicas it asks for.
    pub scales: bool,
}

/// The controller of an object, from its metadata. Owners that do not control it are passed over.
pub fn controller(meta: &Value) -> Option<OwnerRef> {
    let controls = |o: &&Value| o.get("controller").and_then(Value::as_bool) == Some(true);
    let owner = list(meta, "ownerReferences").iter().find(controls)?;
    Some(OwnerRef {
        api_version: text(owner, "apiVersion")?.to_owned(),
        kind: text(owner, "kind")?.to_owned(),
        name: text(owner, "name")?.to_owned(),
        uid: text(owner, "uid")?.to_owned(),
    })
}

impl OwnerRef {
    /// Its API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The plural name of its resource, as kinds are made plural.
    pub fn resource(&self) -> String {
        let kind = self.kind.to_ascii_lowercase();
        match kind.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
            _ if kind.ends_with(['s', 'x', 'z']) || kind.ends_with("ch") || kind.ends_with("sh") => format!("{kind}es"),
            _ => format!("{kind}s"),
        }
    }

    /// Where it is asked for. None where a name could lead the path somewhere else.
    pub fn path(&self, namespace: &str) -> Option<String> {
        let plain = |t: &str| {
            !t.is_empty()
                && t.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b))
                && t != "."
                && t != ".."
        };
        let version_is_plain = self.api_version.split('/').all(plain) && self.api_version.matches('/').count() <= 1;
        if !version_is_plain || !plain(namespace) || !plain(&self.name) || !plain(&self.kind) {
            return None;
        }
        let root = if self.group().is_empty() { "api" } else { "apis" };
        Some(format!("/{root}/{}/namespaces/{namespace}/{}/{}", self.api_version, self.resource(), self.name))
    }
}

impl Followed {
    /// Reads `replicasets.apps`.
    pub fn of(word: &str, scales: bool) -> Option<Self> {
        let (resource, group) = word.split_once('.').unwrap_or((word, ""));
        (!resource.is_empty()).then(|| Self { group: group.to_owned(), resource: resource.to_owned(), scales })
    }

    /// Whether an owner is of this kind.
    pub fn is(&self, owner: &OwnerRef) -> bool {
        owner.group() == self.group && owner.resource() == self.resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn owner(api_version: &str, kind: &str, name: &str) -> OwnerRef {
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        OwnerRef { api_version, kind, name: name.to_owned(), uid: "u".to_owned() }
    }

    #[test]
    fn the_controller_counts_and_no_other_owner() {
        let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u0"});
        let controls =
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true});
        let meta = json!({"ownerReferences": [plain, controls]});
        assert_eq!(controller(&meta), Some(owner("apps/v1", "ReplicaSet", "r")));
        assert_eq!(controller(&json!({"ownerReferences": [plain]})), None);
    }

    #[test]
    fn paths_by_group_and_kind() {
        let path = |o: OwnerRef| o.path("ml");
        assert_eq!(path(owner("apps/v1", "ReplicaSet", "r-1")).unwrap(), "/apis/apps/v1/namespaces/ml/replicasets/r-1");
        assert_eq!(
            path(owner("v1", "ReplicationController", "r")).unwrap(),
            "/api/v1/namespaces/ml/replicationcontrollers/r"
        );
        assert_eq!(owner("x/v1", "Policy", "p").resource(), "policies");
        assert_eq!(owner("x/v1", "Gateway", "p").resource(), "gateways");
        assert_eq!(owner("x/v1", "Ingress", "p").resource(), "ingresses");
        assert_eq!((path(owner("apps/v1", "ReplicaSet", "../x")), owner("a/b/c", "K", "n").path("ml")), (None, None));
        assert!(Followed::of("notebooks.kubeflow.org", false).unwrap().is(&owner("kubeflow.org/v1", "Notebook", "n")));
    }
}
