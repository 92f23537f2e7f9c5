//! Kubernetes as a source of looks: pods that ask for GPUs, and the nodes that have them, followed by watches.
//!
//! A look hands out what the watches know. It is a look only if the API server was heard of within the last two intervals
//! (an event, a bookmark, a list, a watch that ended in its time); else it fails, and what is held stays unknown. Its as-of is when
//! both watches were last heard of.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuledger_scheduler::kubernetes::owner::OwnerRef;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::task::JoinHandle;

use super::config::ClusterConfig;
use super::{Before, LookError, Looker, Snapshot};
use crate::node::seen::Clock;
use config::KubernetesConfig;
use owners::Owners;
use store::{Feed, Kind, Known, Shared, Store, lock};
use watch::{Subject, Watch};

pub mod access;
mod ask;
pub mod config;
mod lean;
mod owners;
mod rows;
mod store;
mod watch;

/// What is followed, and where it goes.
const SUBJECTS: [(Kind, Subject); 5] = [
    (Kind::Pods, Subject { name: "pods", path: "/api/v1/pods", fields: None, metadata_only: false }),
    (Kind::Nodes, Subject { name: "nodes", path: "/api/v1/nodes", fields: None, metadata_only: false }),
    (Kind::Namespaces, Subject { name: "namespaces", path: "/api/v1/namespaces", fields: None, metadata_only: true }),
    (
        Kind::Pulling,
        Subject {
            name: "events Pulling",
            path: "/api/v1/events",
            fields: Some("involvedObject.kind=Pod,reason=Pulling"),
            metadata_only: false,
        },
    ),
    (
        Kind::Pulled,
        Subject {
            name: "events Pulled",
            path: "/api/v1/events",
            fields: Some("involvedObject.kind=Pod,reason=Pulled"),
            metadata_only: false,
        },
    ),
];
/// A look is one only if the server was heard of within so many intervals.
const HEARD_INTERVALS: i64 = 2;
/// How long the first look waits for the first lists.
const FIRST_LIST: Duration = Duration::from_secs(120);
/// How long it waits for namespaces and events, which it can do without.
const FIRST_EXTRAS: Duration = Duration::from_secs(10);
/// How often it looks whether they are there.
const FIRST_POLL: Duration = Duration::from_millis(20);

/// Why the API server cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig file.
    #[error("cannot use the kubeconfig {file}")]
    Kubeconfig {
        /// The file.
        file: String,
        /// Why.
        source: kube::config::KubeconfigError,
    },
    /// No kubeconfig is given, and this is no pod.
    #[error("this is no pod of a cluster, and `kubeconfig` is not given")]
    NoPod(#[source] kube::config::InClusterError),
    /// The client cannot be made of what is given.
    #[error("the API server cannot be asked with this configuration")]
    Client(#[source] kube::Error),
}

/// Looks at one cluster. Its watches end with it.
pub struct KubernetesLooker {
    cluster: String,
    interval_ms: i64,
    namespace_labels: bool,
    client: Client,
    store: Shared,
    owners: Owners,
    owner_calls: Arc<AtomicU64>,
    watches: Vec<(&'static str, Arc<AtomicU64>, JoinHandle<()>)>,
    followed: Vec<Kind>,
    has_looked: bool,
}

impl std::fmt::Debug for KubernetesLooker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubernetesLooker").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Drop for KubernetesLooker {
    fn drop(&mut self) {
        self.watches.iter().for_each(|(_, _, task)| task.abort());
    }
}

/// A client for the configured API server. Retries are the watches' own, so that a server's wish to be left alone is heard.
pub async fn connect(config: &KubernetesConfig) -> Result<Client, ConnectError> {
    let mut found = match &config.kubeconfig {
        Some(file) => by_file(file, config.context.clone()).await?,
        None => kube::Config::incluster().map_err(ConnectError::NoPod)?,
    };
    found.default_retry = false;
    Client::try_from(found).map_err(ConnectError::Client)
}

/// Connects to the configured API server and starts to follow its cluster; must be called inside a runtime.
pub async fn looker(
    config: &ClusterConfig<KubernetesConfig>,
    clock: &Arc<dyn Clock>,
) -> Result<KubernetesLooker, ConnectError> {
    let client = connect(&config.scheduler).await?;
    Ok(KubernetesLooker::start(client, config, clock))
}

async fn by_file(file: &Path, context: Option<String>) -> Result<kube::Config, ConnectError> {
    let failed = |source| ConnectError::Kubeconfig { file: file.display().to_string(), source };
    let kubeconfig = Kubeconfig::read_from(file).map_err(failed)?;
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(failed)
}

impl KubernetesLooker {
    /// Starts to follow a cluster; must be called inside a runtime.
    pub fn start(client: Client, config: &ClusterConfig<KubernetesConfig>, clock: &Arc<dyn Clock>) -> Self {
        let own = &config.scheduler;
        let store: Shared = Arc::new(Mutex::new(Store::new(own.pod_rules(), own.node_rules())));
        let interval_ms = config.interval_ms();
        // half an interval: a watch in which nothing happens ends often enough to be heard of
        let window_s = u32::try_from(interval_ms / 2_000).unwrap_or(1_800).max(5);
        let wanted = SUBJECTS.iter().filter(|(kind, _)| match kind {
            Kind::Pulling | Kind::Pulled => own.events,
            Kind::Namespaces => own.namespace_labels,
            Kind::Pods | Kind::Nodes => true,
        });
        let mut watches = Vec::new();
        let mut followed = Vec::new();
        for (kind, subject) in wanted {
            let calls = Arc::new(AtomicU64::new(0));
            let watch = Watch {
                client: client.clone(),
                subject: *subject,
                sink: Feed { store: Arc::clone(&store), kind: *kind, listed: HashSet::new() },
                clock: Arc::clone(clock),
                calls: Arc::clone(&calls),
                page_size: own.page_size,
                window_s,
            };
            watches.push((subject.name, calls, tokio::spawn(watch.run())));
            followed.push(*kind);
        }
        let owner_calls = Arc::new(AtomicU64::new(0));
        let owners = Owners::new(own.followed(), own.owner_gets_max, Arc::clone(&owner_calls));
        Self {
            cluster: config.cluster.clone(),
            interval_ms,
            namespace_labels: own.namespace_labels,
            client,
            store,
            owners,
            owner_calls,
            watches,
            followed,
            has_looked: false,
        }
    }

    /// Waits until the first lists are there, as long as that is reasonable.
    async fn first(&mut self) {
        let known = |kinds: &[Kind], store: &Shared| {
            let store = lock(store);
            kinds.iter().all(|k| store.heard_ms(*k).is_some())
        };
        for (kinds, patience) in [(vec![Kind::Pods, Kind::Nodes], FIRST_LIST), (self.followed.clone(), FIRST_EXTRAS)] {
            let there = async {
                while !known(&kinds, &self.store) {
                    tokio::time::sleep(FIRST_POLL).await;
                }
            };
            let _ = tokio::time::timeout(patience, there).await;
        }
    }

    /// When both watches were last heard of; an error where that is too long ago.
    fn heard_ms(&self, now_ms: i64, before: &Before) -> Result<i64, LookError> {
        let store = lock(&self.store);
        let mut least = now_ms;
        for kind in [Kind::Pods, Kind::Nodes] {
            let name = SUBJECTS.iter().find(|(k, _)| *k == kind).map_or("", |(_, s)| s.name);
            let because = store.trouble(kind).map_or_else(String::new, |t| format!(" ({t})"));
            let Some(heard) = store.heard_ms(kind) else {
                return Err(LookError::new(format!("{name} could not be listed yet{because}")));
            };
            if now_ms - heard > HEARD_INTERVALS * self.interval_ms {
                return Err(LookError::new(format!("nothing was heard of {name} for {} ms{because}", now_ms - heard)));
            }
            least = least.min(heard);
        }
        match before.as_of_ms {
            Some(last) if least <= last => Err(LookError::new("nothing was heard since the last look")),
            _ => Ok(least),
        }
    }

    /// Pods whose owners are not all known, by namespace and owner.
    fn owned(&self) -> Vec<(String, OwnerRef)> {
        let store = lock(&self.store);
        let all = store.pods.values().chain(&store.deleted);
        let mut owned: Vec<_> = all.filter_map(|k| Some((k.pod.namespace.clone(), k.pod.owner.clone()?))).collect();
        owned.sort();
        owned.dedup();
        owned
    }

    fn snapshot(&self, as_of_ms: i64) -> Snapshot {
        let store = lock(&self.store);
        let mut out = Snapshot { as_of_ms, complete: true, numbered: true, ..Snapshot::default() };
        // the order of a map is no order: rows come by UID
        let mut all: Vec<&Known> = store.pods.values().chain(&store.deleted).collect();
        all.sort_by(|a, b| a.pod.uid.cmp(&b.pod.uid));
        let mut shown: HashSet<i64> = HashSet::new();
        for known in all {
            let namespace = store.namespaces.get(&known.pod.namespace).filter(|_| self.namespace_labels);
            let seen = rows::Seen {
                cluster: &self.cluster,
                known,
                node: known.pod.node.as_ref().and_then(|n| store.nodes.get(n)),
                namespace_labels: namespace.map(Vec::as_slice),
                images: store.images(&known.pod.uid),
                workload: known.pod.owner.as_ref().and_then(|o| self.owners.workload(o)),
            };
            out.jobs.push(seen.job());
            let Some(run) = seen.allocation() else { continue };
            // a pod that a kubelet runs from a file may have two objects for a moment
            if shown.insert(run.allocation_id) {
                out.holdings.extend(seen.holding(&run));
                out.allocations.push(run);
            }
        }
        for node in store.nodes.values() {
            out.nodes.push(rows::node_state(&self.cluster, node, as_of_ms));
            let meaning = |name: &str| store.pod_rules().resources.meaning(name);
            out.offers.extend(rows::offers(&self.cluster, node, meaning));
        }
        let unreadable: Vec<&str> = store.unreadable().map(String::as_str).collect();
        if !unreadable.is_empty() {
            // one reading a look, whatever their number
            out.failed.push(("objects", LookError::new(unreadable.join("; "))));
        }
        out
    }

    /// Deleted pods are forgotten once a look that told of them is on disk.
    fn forget(&self, before: &Before) {
        let told_ms = before.as_of_ms.unwrap_or(i64::MIN);
        lock(&self.store).forget_deleted(|known| known.deleted_ms.is_some_and(|at| at < told_ms));
    }
}

impl Looker for KubernetesLooker {
    fn kind(&self) -> &'static str {
        "kubernetes"
    }

    async fn look(&mut self, now_ms: i64, before: &Before) -> Result<Snapshot, LookError> {
        let mut as_of_limit_ms = now_ms;
        if !self.has_looked {
            self.first().await;
            // what the first lists told is as of their arrival, which is later than the look began
            let store = lock(&self.store);
            let heard = [Kind::Pods, Kind::Nodes].iter().filter_map(|k| store.heard_ms(*k)).min();
            as_of_limit_ms = heard.unwrap_or(now_ms).max(now_ms);
        }
        let as_of_ms = self.heard_ms(as_of_limit_ms, before)?;
        self.has_looked = true;
        self.forget(before);
        let owned = self.owned();
        let client = self.client.clone();
        self.owners.learn(&client, &owned, now_ms).await;
        for note in self.owners.new_notes() {
            tracing::warn!("owners end below {note}");
        }
        Ok(self.snapshot(as_of_ms))
    }

    fn calls(&self) -> Vec<(&'static str, u64)> {
        let of_watches = self.watches.iter().map(|(name, calls, _)| (*name, calls.load(Ordering::Relaxed)));
        of_watches.chain([("owners", self.owner_calls.load(Ordering::Relaxed))]).collect()
    }
}
