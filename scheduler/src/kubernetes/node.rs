//! A node as the API server shows it: what it offers, and whether it is in service.

use std::collections::BTreeMap;

use gpuledger_schema::state::NodeState;
use serde_json::Value;

use super::quantity::whole;
use super::resource::{Profile, Resources};
use super::{Unreadable, condition, list, pairs, text};

/// Taints that come with a node that does not answer; they say no more than its Ready condition.
const OF_HEALTH: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
/// Taints by which tools empty a node.
const OF_DRAIN: [&str; 4] = [
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/out-of-service",
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
];

/// A resource that a node has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub resource: String,
    /// How many the node has; 0 where its plugin is gone.
    pub count: i64,
    /// How many of them may be given out.
    pub allocatable: Option<i64>,
}

/// What is kept of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// GPUs that it has, by resource.
    pub offers: Vec<Offer>,
    /// Whether it has GPUs, or says that it should.
    pub has_gpus: bool,
    /// Model, where a label names it.
    pub model: Option<String>,
    /// Cards, where a label counts them.
    pub cards: Option<i64>,
    /// Memory of a card in MiB, where a label says it.
    pub card_memory_mib: Option<i64>,
    /// As how many copies a unit of a resource is shared.
    pub copies: BTreeMap<String, i64>,
    /// Profile of the instances that stand under `nvidia.com/gpu` (MIG strategy `single`).
    pub single_profile: Option<Profile>,
    /// Whether it is in service.
    pub state: NodeState,
    /// Why not.
    pub reason: Option<String>,
    /// CPUs.
    pub cpus: Option<i64>,
    /// Host memory.
    pub mem_bytes: Option<i64>,
    /// Chosen labels as key=value, sorted.
    pub features: Vec<String>,
}

/// How nodes are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeRules {
    /// Labels that are kept as features.
    pub features: Vec<String>,
    /// Taints that mean that a node is reserved for maintenance.
    pub maintenance_taints: Vec<String>,
}

impl Node {
    /// A node of which nothing is known but its name.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            offers: Vec::new(),
            has_gpus: false,
            model: None,
            cards: None,
            card_memory_mib: None,
            copies: BTreeMap::new(),
            single_profile: None,
            state: NodeState::Up,
            reason: None,
            cpus: None,
            mem_bytes: None,
            features: Vec::new(),
        }
    }

    /// As how many copies a unit of this resource is shared; none where the node does not say.
    pub fn copies(&self, resource: &str) -> Option<i64> {
        self.copies.get(resource).copied()
    }
}

/// Reads a node.
pub fn read(object: &Value, resources: &Resources, rules: &NodeRules) -> Result<Node, Unreadable> {
    let missing = |field| Unreadable { kind: "node", name: String::new(), field };
    let meta = object.get("metadata").ok_or_else(|| missing("metadata"))?;
    let name = text(meta, "name").ok_or_else(|| missing("metadata.name"))?;
    let status = object.get("status").unwrap_or(&Value::Null);
    let labels: BTreeMap<String, String> = pairs(meta, "labels").into_iter().collect();
    let number = |key: &str| labels.get(key).and_then(|v| v.parse::<i64>().ok()).filter(|n| *n > 0);
    let offers = offers(status, resources);
    let capacity = |key: &str| status.get("capacity").and_then(|c| c.get(key)).and_then(whole);
    let (state, reason) = state(object, rules);
    let present = labels.get("nvidia.com/gpu.present").is_some_and(|v| v == "true");
    Ok(Node {
        has_gpus: present || !offers.is_empty(),
        model: labels
            .get("nvidia.com/gpu.product")
            .or(labels.get("cloud.google.com/gke-accelerator"))
            .map(|m| plain(m)),
        cards: number("nvidia.com/gpu.count"),
        card_memory_mib: number("nvidia.com/gpu.memory"),
        copies: copies(&labels, &offers, resources),
        single_profile: single(&labels),
        state,
        reason,
        cpus: capacity("cpu"),
        mem_bytes: capacity("memory"),
        features: rules.features.iter().filter_map(|k| Some(format!("{k}={}", labels.get(k)?))).collect(),
        offers,
        ..Node::named(name)
    })
}

/// The model without what the labels add to it where cards are cut or shared.
fn plain(product: &str) -> String {
    let product = product.strip_suffix("-SHARED").unwrap_or(product);
    product.split_once("-MIG-").map_or(product, |(model, _)| model).to_owned()
}

fn offers(status: &Value, resources: &Resources) -> Vec<Offer> {
    let map = |key: &str| status.get(key).and_then(Value::as_object);
    let capacity = map("capacity").into_iter().flatten();
    let thing = |name: &str| resources.meaning(name).is_some_and(|m| m.is_thing());
    let mut out: Vec<Offer> = capacity
        .filter(|(name, _)| thing(name))
        .filter_map(|(name, count)| {
            let allocatable = map("allocatable").and_then(|m| m.get(name)).and_then(whole);
            Some(Offer { resource: name.clone(), count: whole(count)?, allocatable })
        })
        .collect();
    out.sort_by(|a, b| a.resource.cmp(&b.resource));
    out
}

/// Copies by resource: `nvidia.com/gpu.replicas` speaks of `nvidia.com/gpu` and of `nvidia.com/gpu.shared`,
/// `nvidia.com/mig-1g.5gb.replicas` of that profile. A resource under another name has the card's.
fn copies(labels: &BTreeMap<String, String>, offers: &[Offer], resources: &Resources) -> BTreeMap<String, i64> {
    let mut out = BTreeMap::new();
    let shares = labels.get("nvidia.com/gpu.sharing-strategy").is_none_or(|s| s != "none");
    for offer in offers {
        let base = offer.resource.strip_suffix(".shared").unwrap_or(&offer.resource);
        let own = labels.get(&format!("{base}.replicas"));
        let card = || {
            let card = resources
                .meaning(&offer.resource)
                .is_some_and(|m| matches!(m, super::resource::Meaning::Card | super::resource::Meaning::Copy));
            labels.get("nvidia.com/gpu.replicas").filter(|_| card)
        };
        let count = own.or_else(card).and_then(|n| n.parse::<i64>().ok()).filter(|n| *n > 0 && shares);
        if let Some(count) = count {
            out.insert(offer.resource.clone(), count);
        }
    }
    out
}

/// With MIG strategy `single` the product's name ends with the profile: `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb`.
fn single(labels: &BTreeMap<String, String>) -> Option<Profile> {
    labels.get("nvidia.com/mig.strategy").filter(|s| *s == "single")?;
    let product = labels.get("nvidia.com/gpu.product")?;
    let (_, profile) = product.split_once("-MIG-")?;
    Profile::of(profile.strip_suffix("-SHARED").unwrap_or(profile))
}

/// Whether it is in service. A node that is cordoned goes on with the pods that it has: the ledger leaves those alone, and
/// what is free on it is unavailable.
fn state(object: &Value, rules: &NodeRules) -> (NodeState, Option<String>) {
    let null = Value::Null;
    let (spec, status) = (object.get("spec").unwrap_or(&null), object.get("status").unwrap_or(&null));
    let ready = condition(status, "Ready");
    if ready.and_then(|c| text(c, "status")) != Some("True") {
        let said = ready.and_then(|c| text(c, "reason")).unwrap_or("no Ready condition");
        return (NodeState::Down, Some(said.to_owned()));
    }
    let keys: Vec<&str> = list(spec, "taints").iter().filter_map(|t| text(t, "key")).collect();
    if let Some(key) = keys.iter().find(|k| rules.maintenance_taints.iter().any(|m| m == *k)) {
        return (NodeState::Maintenance, Some(format!("taint {key}")));
    }
    let drain = keys.iter().find(|k| OF_DRAIN.contains(k) && !OF_HEALTH.contains(k));
    match (spec.get("unschedulable").and_then(Value::as_bool), drain) {
        (Some(true), _) => (NodeState::Drained, Some("cordoned".to_owned())),
        (_, Some(key)) => (NodeState::Drained, Some(format!("taint {key}"))),
        _ => (NodeState::Up, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(spec: Value, labels: Value, ready: &str) -> Node {
        let object = json!({
            "metadata": {"name": "n1", "labels": labels},
            "spec": spec,
            "status": {
                "capacity": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "rdma/hca": "1"},
                "allocatable": {"nvidia.com/gpu": "6"},
                "conditions": [{"type": "Ready", "status": ready, "reason": "KubeletSaysSo"}],
            },
        });
        let rules = NodeRules {
            features: vec!["nvidia.com/mig.strategy".to_owned()],
            maintenance_taints: vec!["example.com/maintenance".to_owned()],
        };
        read(&object, &Resources::default(), &rules).unwrap()
    }

    #[test]
    fn what_it_has_and_what_may_be_given_out() {
        let labels = json!({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559",
            "nvidia.com/gpu.count": "8", "nvidia.com/mig.strategy": "mixed", "nvidia.com/gfd.timestamp": "1"});
        let node = node(json!({}), labels, "True");
        let offer = Offer { resource: "nvidia.com/gpu".to_owned(), count: 8, allocatable: Some(6) };
        assert_eq!((node.offers, node.cpus, node.mem_bytes), (vec![offer], Some(64), Some(512 << 30)));
        assert_eq!(node.model.as_deref(), Some("NVIDIA-H100-80GB-HBM3"));
        assert_eq!(node.features, ["nvidia.com/mig.strategy=mixed"]);
        assert_eq!((node.copies.len(), node.card_memory_mib, node.state), (0, Some(81_559), NodeState::Up));
    }

    #[test]
    fn shared_and_cut_cards_keep_their_models_name() {
        let labels = json!({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED",
            "nvidia.com/mig.strategy": "single", "nvidia.com/gpu.replicas": "4",
            "nvidia.com/gpu.sharing-strategy": "time-slicing"});
        let node = node(json!({}), labels, "True");
        assert_eq!(node.model.as_deref(), Some("NVIDIA-A100-SXM4-40GB"));
        assert_eq!(node.single_profile, Profile::of("1g.5gb"));
        assert_eq!(node.copies("nvidia.com/gpu"), Some(4));
    }

    #[test]
    fn states_by_condition_taint_and_cordon() {
        let state = |spec, ready| {
            let node = node(spec, json!({}), ready);
            (node.state, node.reason)
        };
        let says = |s: &str| Some(s.to_owned());
        assert_eq!(state(json!({}), "True"), (NodeState::Up, None));
        assert_eq!(state(json!({"unschedulable": true}), "True"), (NodeState::Drained, says("cordoned")));
        let taint = |key: &str| json!({"taints": [{"key": key, "effect": "NoSchedule"}]});
        assert_eq!(state(taint("karpenter.sh/disrupted"), "True").0, NodeState::Drained);
        assert_eq!(state(taint("nvidia.com/gpu"), "True"), (NodeState::Up, None));
        let maintenance = (NodeState::Maintenance, says("taint example.com/maintenance"));
        assert_eq!(state(taint("example.com/maintenance"), "True"), maintenance);
        assert_eq!(state(json!({"unschedulable": true}), "Unknown"), (NodeState::Down, says("KubeletSaysSo")));
        assert_eq!(state(json!({}), "False").0, NodeState::Down);
    }
}
