//! A looker on an API server of our own, and objects to put there.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use gpuledger_collector::cluster::config::ClusterConfig;
use gpuledger_collector::cluster::kubernetes::config::KubernetesConfig;
use gpuledger_collector::cluster::kubernetes::{KubernetesLooker, connect};
use gpuledger_collector::cluster::{Before, LookError, Looker, Snapshot};
use gpuledger_collector::node::clock::KernelClock;
use gpuledger_collector::node::seen::{Clock, Moment};
use gpuledger_schema::table::{AllocationRow, JobRow};
use serde_json::{Value, json};

use super::kube_api::Api;

/// The machine's clock, moved by as much as a test says.
#[derive(Default)]
pub(crate) struct Moved {
    by_ms: AtomicI64,
}

impl Moved {
    pub(crate) fn by_ms(&self, ms: i64) {
        self.by_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for Moved {
    fn now(&self) -> Moment {
        let now = KernelClock.now();
        Moment { wall_ms: now.wall_ms + self.by_ms.load(Ordering::Relaxed), ..now }
    }
}

/// A looker with its clock.
pub(crate) struct Looks {
    pub(crate) looker: KubernetesLooker,
    pub(crate) clock: Arc<Moved>,
    _folder: tempfile::TempDir,
}

/// The configuration of a cluster `west` whose API server is at an address, with more keys of `[kubernetes]`.
pub(crate) fn config(api: &Api, folder: &std::path::Path, more: &str) -> ClusterConfig<KubernetesConfig> {
    let file = folder.join("kubeconfig");
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: \"http://{}\"}}}}]\nusers: [{{name: u, user: {{}}}}]\n",
        api.address
    );
    std::fs::write(&file, kubeconfig).unwrap();
    let text = format!(
        "cluster = \"west\"\nlake = \"{0}/lake\"\nspool = \"{0}/spool\"\ninterval_s = 10\nmetrics_listen = \"\"\n\
         [kubernetes]\nkubeconfig = \"{1}\"\n{more}\n",
        folder.display(),
        file.display()
    );
    ClusterConfig::parse(&text, "cluster.toml").unwrap()
}

impl Looks {
    pub(crate) async fn at(api: &Api, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = config(api, folder.path(), more);
        let clock = Arc::new(Moved::default());
        let told: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        let client = connect(&config.scheduler).await.unwrap();
        let looker = KubernetesLooker::start(client, &config, &told);
        Self { looker, clock, _folder: folder }
    }

    pub(crate) async fn look(&mut self) -> Result<Snapshot, LookError> {
        let now_ms = self.clock.now().wall_ms;
        self.looker.look(now_ms, &Before::default()).await
    }

    /// Looks until what is seen is as wanted.
    pub(crate) async fn until(&mut self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let mut last = None;
        for _ in 0..400 {
            match self.look().await {
                Ok(snapshot) if wanted(&snapshot) => return snapshot,
                seen => last = Some(seen),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{what}: {last:?}");
    }
}

/// A pod of namespace `ml` on node `n1` that asks for a GPU.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "metadata": {"uid": format!("uid-{name}"), "namespace": "ml", "name": name,
            "creationTimestamp": "2026-10-05T09:59:00Z"},
        "spec": {"nodeName": "n1", "containers": [
            {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}, "env": [{"name": "SECRET", "value": "x"}]}]},
        "status": {"phase": "Running",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-05T10:00:00Z"}],
            "containerStatuses": [{"name": "main", "restartCount": 0,
                "state": {"running": {"startedAt": "2026-10-05T10:01:00Z"}}}]},
    })
}

/// A node with eight cards.
pub(crate) fn node(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
        "spec": {},
        "status": {"capacity": {"nvidia.com/gpu": "8", "cpu": "64"}, "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(crate) fn job<'a>(seen: &'a Snapshot, name: &str) -> Option<&'a JobRow> {
    seen.jobs.iter().find(|j| j.name.as_deref() == Some(name))
}

pub(crate) fn run<'a>(seen: &'a Snapshot, name: &str) -> Option<&'a AllocationRow> {
    let id = job(seen, name)?.job_id;
    seen.allocations.iter().find(|a| a.job_id == id)
}

/// A runtime as the program's own.
pub(crate) fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
