//! Who owns pods, followed upwards: each owner is asked for once by its UID, for its metadata alone.
//!
//! An owner that may not or cannot be asked ends the way up: the pod's workload is then the highest that is known, which the
//! owner below has named with kind, name and UID. What failed is asked again later.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Request;
use futures::StreamExt;
use gpuledger_scheduler::kubernetes::owner::{Followed, OwnerRef, controller};
use kube::Client;
use serde_json::Value;

use super::ask::{self, AskError, METADATA, WHOLE};

/// Questions under way at once.
const AT_ONCE: usize = 8;
/// How long all questions of a look may take together.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest way up: Pod, ReplicaSet, Deployment, Revision, Configuration, Service, InferenceService is six.
const STEPS_MAX: usize = 8;
/// Owners that are remembered; beyond it those that no pod has any more go, and if that is not enough, all.
const OWNERS_MAX: usize = 50_000;
/// An owner that could not be asked is asked again after so long.
const AGAIN_MS: i64 = 600_000;

/// The workload of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Workload {
    /// Kind.
    pub(super) kind: String,
    /// Name.
    pub(super) name: String,
    /// UID.
    pub(super) uid: String,
    /// Replicas that it asks for, where it was said.
    pub(super) replicas: Option<i64>,
}

/// What asking about an owner gave.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    above: Option<OwnerRef>,
    replicas: Option<i64>,
    /// When it may be asked again; none: it was answered, and its owner does not change.
    again_ms: Option<i64>,
    /// When its replicas were asked for.
    at_ms: i64,
}

/// Owners, as far as they were asked for.
#[derive(Debug)]
pub(super) struct Owners {
    followed: Vec<Followed>,
    gets_max: usize,
    known: HashMap<String, Asked>,
    notes: BTreeMap<String, String>,
    said: BTreeMap<String, String>,
    calls: Arc<AtomicU64>,
}

impl Owners {
    /// Nothing was asked yet.
    pub(super) fn new(followed: Vec<Followed>, gets_max: usize, calls: Arc<AtomicU64>) -> Self {
        Self { followed, gets_max, known: HashMap::new(), notes: BTreeMap::new(), said: BTreeMap::new(), calls }
    }

    /// Why ways up ended, one a kind of owner, where that was not said before.
    pub(super) fn new_notes(&mut self) -> Vec<String> {
        let new: Vec<_> = self.notes.iter().filter(|(kind, why)| self.said.get(*kind) != Some(*why)).collect();
        let lines = new.iter().map(|(kind, why)| format!("{kind}: {why}")).collect();
        self.said = self.notes.clone();
        lines
    }

    /// Asks about the owners of these pods (namespace and owner) that are not known yet, level by level.
    pub(super) async fn learn(&mut self, client: &Client, pods: &[(String, OwnerRef)], now_ms: i64) {
        let asking = self.ask_all(client, pods, now_ms);
        // what is not answered in time is asked at the next look
        let _ = tokio::time::timeout(PATIENCE, asking).await;
        if self.known.len() > OWNERS_MAX {
            let used: HashSet<String> = pods.iter().flat_map(|(_, o)| self.way(o)).map(|o| o.uid).collect();
            self.known.retain(|uid, _| used.contains(uid));
        }
    }

    async fn ask_all(&mut self, client: &Client, pods: &[(String, OwnerRef)], now_ms: i64) {
        let mut left = self.gets_max;
        for _ in 0..STEPS_MAX {
            let mut wanted: BTreeMap<String, (String, OwnerRef)> = BTreeMap::new();
            for (namespace, owner) in pods {
                let Some(top) = self.way(owner).pop() else { continue };
                if self.is_due(&top, now_ms) {
                    wanted.insert(top.uid.clone(), (namespace.clone(), top));
                }
            }
            let batch: Vec<_> = wanted.into_values().take(left).collect();
            if batch.is_empty() {
                return;
            }
            left -= batch.len();
            let scales = |owner: &OwnerRef| self.followed.iter().any(|f| f.scales && f.is(owner));
            let batch: Vec<_> = batch.into_iter().map(|(ns, owner)| (ns, scales(&owner), owner)).collect();
            let calls = Arc::clone(&self.calls);
            let ask = |(namespace, scales, owner): (String, bool, OwnerRef)| {
                let calls = Arc::clone(&calls);
                async move {
                    let answer = about(client, &namespace, &owner, scales, &calls).await;
                    (owner, answer)
                }
            };
            let mut answers = futures::stream::iter(batch.into_iter().map(ask)).buffer_unordered(AT_ONCE);
            // each is kept as it comes: time may be up before the last
            while let Some((owner, answer)) = answers.next().await {
                self.hear(&owner, answer, now_ms);
            }
        }
    }

    fn is_due(&self, owner: &OwnerRef, now_ms: i64) -> bool {
        let followed = self.followed.iter().any(|f| f.is(owner));
        let scales = self.followed.iter().any(|f| f.scales && f.is(owner));
        followed
            && self.known.get(&owner.uid).is_none_or(|asked| {
                asked.again_ms.is_some_and(|at| now_ms >= at) || (scales && now_ms >= asked.at_ms + AGAIN_MS)
            })
    }

    fn hear(&mut self, owner: &OwnerRef, answer: Result<(Option<OwnerRef>, Option<i64>), AskError>, now_ms: i64) {
        let asked = match answer {
            Ok((above, replicas)) => {
                self.notes.remove(&owner.kind);
                Asked { above, replicas, again_ms: None, at_ms: now_ms }
            }
            Err(e) => {
                self.notes.insert(owner.kind.clone(), e.to_string());
                let before = self.known.get(&owner.uid);
                let (above, replicas) = before.map_or((None, None), |b| (b.above.clone(), b.replicas));
                Asked { above, replicas, again_ms: Some(now_ms + AGAIN_MS), at_ms: now_ms }
            }
        };
        self.known.insert(owner.uid.clone(), asked);
    }

    /// The owner and what is known above it, the highest last.
    fn way(&self, owner: &OwnerRef) -> Vec<OwnerRef> {
        let mut way = vec![owner.clone()];
        while way.len() < STEPS_MAX {
            let above = way.last().and_then(|o| self.known.get(&o.uid)).and_then(|a| a.above.clone());
            match above {
                Some(above) if way.iter().all(|o| o.uid != above.uid) => way.push(above),
                _ => break,
            }
        }
        way
    }

    /// The highest owner that is known.
    pub(super) fn workload(&self, owner: &OwnerRef) -> Option<Workload> {
        let top = self.way(owner).pop()?;
        let replicas = self.known.get(&top.uid).and_then(|a| a.replicas);
        Some(Workload { kind: top.kind, name: top.name, uid: top.uid, replicas })
    }
}

/// Who controls an owner, and how many replicas it asks for. An object that has its name and another UID is not it.
async fn about(
    client: &Client,
    namespace: &str,
    owner: &OwnerRef,
    scales: bool,
    calls: &AtomicU64,
) -> Result<(Option<OwnerRef>, Option<i64>), AskError> {
    let path = owner.path(namespace).ok_or_else(|| AskError::Unreadable("its name makes no path".to_owned()))?;
    let get = |path: String| Request::get(path).body(Vec::new()).map_err(|e| AskError::Unreadable(e.to_string()));
    calls.fetch_add(1, Ordering::Relaxed);
    let object = read(&ask::whole(client, get(path.clone())?, METADATA).await?)?;
    let meta = object.get("metadata").unwrap_or(&Value::Null);
    if meta.get("uid").and_then(Value::as_str) != Some(owner.uid.as_str()) {
        return Err(AskError::Unreadable("it is gone, and another has its name".to_owned()));
    }
    if !scales {
        return Ok((controller(meta), None));
    }
    calls.fetch_add(1, Ordering::Relaxed);
    // who may not read the scale still knows the owner
    let scale = ask::whole(client, get(format!("{path}/scale"))?, WHOLE).await.ok().and_then(|b| read(&b).ok());
    let replicas = scale.and_then(|s| s.get("spec")?.get("replicas")?.as_i64());
    Ok((controller(meta), replicas))
}

fn read(bytes: &[u8]) -> Result<Value, AskError> {
    serde_json::from_slice(bytes).map_err(|e| AskError::Unreadable(e.to_string()))
}
