//! What is known of a cluster at the moment, kept by its watches: of a pod only what rows need, and nothing of pods without
//! GPUs.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpuledger_scheduler::kubernetes::event::{self, ImageEvent};
use gpuledger_scheduler::kubernetes::life::{Ended, deleted};
use gpuledger_scheduler::kubernetes::node::{self, Node, NodeRules};
use gpuledger_scheduler::kubernetes::pod::{self, Pod, PodRules};
use serde_json::Value;

use super::watch::Sink;

/// Deleted pods that are kept until a look has told of them; beyond that the oldest go.
const DELETED_MAX: usize = 20_000;
/// Pods of which image events are kept, also such as are not known yet.
const IMAGES_MAX: usize = 20_000;
/// Pods that are asked, when events have to go, whether they hold GPUs.
const TRIM_TRIES: usize = 64;
/// Image events of a pod that are kept: a pod has few images.
const IMAGES_OF_POD_MAX: usize = 16;
/// Objects that could not be read, of which the name is kept.
const UNREADABLE_MAX: usize = 100;
/// Labels that Kubernetes itself puts on namespaces.
const OF_SYSTEM: &str = "kubernetes.io/";

/// What a watch follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// Pods.
    Pods,
    /// Nodes.
    Nodes,
    /// Namespaces, for their labels.
    Namespaces,
    /// Events: an image begins to be pulled.
    Pulling,
    /// Events: an image is there.
    Pulled,
}

/// A pod, with what its later states no longer tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// As it was last shown.
    pub(super) pod: Pod,
    /// When it was assigned: the first that was said stays, for the run's key is made of it.
    pub(super) start_ms: Option<i64>,
    /// The first start of a container with a GPU that was said.
    pub(super) container_start_ms: Option<i64>,
    /// When it could have started: where it was seen with a gate, when it was first seen without.
    pub(super) eligible_ms: Option<i64>,
    /// How it ended.
    pub(super) ended: Option<Ended>,
    /// When it was seen to be deleted.
    pub(super) deleted_ms: Option<i64>,
}

/// When images of a pod were begun to be pulled, and were there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Images {
    pub(super) pulling_ms: Option<i64>,
    pub(super) pulled_ms: Vec<i64>,
}

/// What is known of a cluster.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) pods: HashMap<String, Known>,
    pub(super) deleted: VecDeque<Known>,
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) namespaces: HashMap<String, Vec<(String, String)>>,
    images: HashMap<String, Images>,
    images_order: VecDeque<String>,
    heard: BTreeMap<Kind, i64>,
    synced: HashSet<Kind>,
    trouble: BTreeMap<Kind, String>,
    unreadable: BTreeMap<String, String>,
    pod_rules: PodRules,
    node_rules: NodeRules,
}

/// A store that watches and looks share.
pub(super) type Shared = Arc<Mutex<Store>>;

/// The store, whoever had it before.
pub(super) fn lock(store: &Shared) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Nothing is known yet.
    pub(super) fn new(pod_rules: PodRules, node_rules: NodeRules) -> Self {
        Self { pod_rules, node_rules, ..Self::default() }
    }

    /// When everything of a kind was last known to be told; none before its first list is whole.
    pub(super) fn heard_ms(&self, kind: Kind) -> Option<i64> {
        self.heard.get(&kind).copied().filter(|_| self.synced.contains(&kind))
    }

    /// What was last wrong with a kind.
    pub(super) fn trouble(&self, kind: Kind) -> Option<&str> {
        self.trouble.get(&kind).map(String::as_str)
    }

    /// What objects could not be read, and why.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &String> {
        self.unreadable.values()
    }

    /// How resources are read.
    pub(super) fn pod_rules(&self) -> &PodRules {
        &self.pod_rules
    }

    /// What events said of a pod's images.
    pub(super) fn images(&self, uid: &str) -> Option<&Images> {
        self.images.get(uid)
    }

    /// Deleted pods that a look has told of, and that nobody needs any more.
    pub(super) fn forget_deleted(&mut self, mut told: impl FnMut(&Known) -> bool) {
        self.deleted.retain(|known| !told(known));
    }

    fn pod(&mut self, object: &Value, now_ms: i64) -> Option<String> {
        match pod::read(object, &self.pod_rules) {
            Ok(Some(pod)) => {
                let uid = pod.uid.clone();
                self.unreadable.remove(&format!("{}/{}", pod.namespace, pod.name));
                let before = self.pods.remove(&uid);
                self.pods.insert(uid.clone(), Known::after(pod, before.as_ref(), now_ms));
                Some(uid)
            }
            Ok(None) => None,
            Err(e) => {
                self.note(&e.name.clone(), e.to_string());
                None
            }
        }
    }

    fn pod_deleted(&mut self, object: &Value, now_ms: i64) {
        let Some(uid) = self.pod(object, now_ms) else { return };
        let Some(mut known) = self.pods.remove(&uid) else { return };
        let end = deleted(&known.pod.life, now_ms);
        known.ended = Some(known.ended.take().unwrap_or(end));
        known.deleted_ms = Some(now_ms);
        self.deleted.push_back(known);
        while self.deleted.len() > DELETED_MAX {
            self.deleted.pop_front();
        }
    }

    fn node(&mut self, object: &Value) -> Option<String> {
        match node::read(object, &self.pod_rules.resources, &self.node_rules) {
            Ok(node) => {
                let name = node.name.clone();
                // a node that once had GPUs and lost its plugin is one of ours still
                let had = self.nodes.get(&name).is_some_and(|n| n.has_gpus);
                if node.has_gpus || had {
                    self.nodes.insert(name.clone(), Node { has_gpus: true, ..node });
                }
                Some(name)
            }
            Err(e) => {
                self.note("node", e.to_string());
                None
            }
        }
    }

    fn namespace(&mut self, object: &Value) -> Option<String> {
        let meta = object.get("metadata")?;
        let name = meta.get("name")?.as_str()?.to_owned();
        let labels = meta.get("labels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.filter(|(key, _)| !key.contains(OF_SYSTEM));
        let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        self.namespaces.insert(name.clone(), pod::kept(labels.collect()));
        Some(name)
    }

    fn image(&mut self, event: ImageEvent) {
        if !self.images.contains_key(&event.pod) {
            self.images_order.push_back(event.pod.clone());
            self.trim_images();
        }
        let of = self.images.entry(event.pod).or_default();
        if !event.ready {
            of.pulling_ms = Some(of.pulling_ms.map_or(event.at_ms, |before| before.min(event.at_ms)));
        } else if of.pulled_ms.len() < IMAGES_OF_POD_MAX && !of.pulled_ms.contains(&event.at_ms) {
            of.pulled_ms.push(event.at_ms);
        }
    }

    /// Events of pods that hold nothing go first; of those that do, the oldest.
    fn trim_images(&mut self) {
        for last in (0..TRIM_TRIES).rev() {
            if self.images_order.len() <= IMAGES_MAX {
                return;
            }
            let Some(oldest) = self.images_order.pop_front() else { return };
            if last > 0 && self.pods.contains_key(&oldest) {
                self.images_order.push_back(oldest);
            } else {
                self.images.remove(&oldest);
            }
        }
    }

    fn note(&mut self, name: &str, why: String) {
        tracing::warn!("{why}");
        if self.unreadable.len() < UNREADABLE_MAX {
            self.unreadable.insert(name.to_owned(), why);
        }
    }

    /// Takes an object of a list or of an event up; gives its key.
    fn take(&mut self, kind: Kind, object: &Value, now_ms: i64) -> Option<String> {
        match kind {
            Kind::Pods => self.pod(object, now_ms),
            Kind::Nodes => self.node(object),
            Kind::Namespaces => self.namespace(object),
            Kind::Pulling | Kind::Pulled => {
                event::read(object).into_iter().for_each(|e| self.image(e));
                None
            }
        }
    }

    fn drop_unlisted(&mut self, kind: Kind, listed: &HashSet<String>) {
        match kind {
            // what went without a word has no end: the look that no longer shows it says when it was last seen
            Kind::Pods => self.pods.retain(|uid, _| listed.contains(uid)),
            Kind::Nodes => self.nodes.retain(|name, _| listed.contains(name)),
            Kind::Namespaces => self.namespaces.retain(|name, _| listed.contains(name)),
            Kind::Pulling | Kind::Pulled => {}
        }
    }
}

impl Known {
    fn after(pod: Pod, before: Option<&Self>, now_ms: i64) -> Self {
        let kept = |of: fn(&Self) -> Option<i64>| before.and_then(of);
        let seen_end = |ended: &Ended| Ended { at_ms: ended.at_ms.or(Some(now_ms)), ..ended.clone() };
        let was_gated = before.is_some_and(|b| b.pod.life.gated);
        let eligible_ms = match (pod.life.gated, was_gated) {
            (true, _) => None,
            (false, true) => Some(now_ms),
            (false, false) => before.map_or(Some(pod.created_ms), |b| b.eligible_ms),
        };
        Self {
            start_ms: kept(|b| b.start_ms).or(pod.life.start_ms),
            container_start_ms: match (kept(|b| b.container_start_ms), pod.life.container_start_ms) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            eligible_ms,
            ended: before.and_then(|b| b.ended.clone()).or_else(|| pod.life.ended.as_ref().map(seen_end)),
            deleted_ms: None,
            pod,
        }
    }
}

/// One watch's way into the store.
pub(super) struct Feed {
    pub(super) store: Shared,
    pub(super) kind: Kind,
    pub(super) listed: HashSet<String>,
}

impl Sink for Feed {
    fn begin(&mut self) {
        self.listed.clear();
        if self.kind == Kind::Pods {
            lock(&self.store).unreadable.clear();
        }
    }

    fn listed(&mut self, object: Value, now_ms: i64) {
        if let Some(key) = lock(&self.store).take(self.kind, &object, now_ms) {
            self.listed.insert(key);
        }
    }

    fn end(&mut self, now_ms: i64) {
        let mut store = lock(&self.store);
        store.drop_unlisted(self.kind, &self.listed);
        store.synced.insert(self.kind);
        store.heard.insert(self.kind, now_ms);
        self.listed = HashSet::new();
    }

    fn changed(&mut self, object: Value, now_ms: i64) {
        lock(&self.store).take(self.kind, &object, now_ms);
    }

    fn deleted(&mut self, object: Value, now_ms: i64) {
        let mut store = lock(&self.store);
        let name = object.get("metadata").and_then(|m| m.get("name")).and_then(Value::as_str).unwrap_or_default();
        match self.kind {
            Kind::Pods => {
                store.pod_deleted(&object, now_ms);
                store.unreadable.retain(|_, why| !why.contains(&format!("/{name}`")));
            }
            Kind::Nodes => drop(store.nodes.remove(name)),
            Kind::Namespaces => drop(store.namespaces.remove(name)),
            Kind::Pulling | Kind::Pulled => {}
        }
    }

    fn heard(&mut self, now_ms: i64) {
        let mut store = lock(&self.store);
        store.heard.insert(self.kind, now_ms);
        store.trouble.remove(&self.kind);
    }

    fn trouble(&mut self, why: String) {
        lock(&self.store).trouble.insert(self.kind, why);
    }
}

#[cfg(test)]
mod tests;
