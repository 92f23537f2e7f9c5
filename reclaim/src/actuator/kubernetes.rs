//! Kubernetes: eviction with the pod's UID and version as preconditions, respecting disruption budgets; suspending a Job or scaling
//! a workload where the policy says so and no sibling is busy. Every time an event stands on the object, so that its owner sees
//! why.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, SecondsFormat};
use gpuledger_schema::reclaim::{ActKind, Allocation, Identity, Workload};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};

use crate::port::{ActError, Actuator, Clock, Said};

/// Pause after a refusal by a disruption budget that names none, ms.
const PAUSE_MS: i64 = 30_000;
/// How long an answer is waited for at most: less than a lease lasts. After that nobody can say whether a change was made.
const DEADLINE: Duration = Duration::from_secs(30);
/// Who the engine is on objects.
const MANAGER: &str = "gpuledger-reclaim";

/// A cluster's API server as an actuator.
pub struct Kubernetes {
    client: Client,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubernetes").finish_non_exhaustive()
    }
}

/// A pod as it was meant.
struct Meant<'a> {
    namespace: &'a str,
    pod: &'a str,
    uid: &'a str,
    owner: Option<&'a Workload>,
}

fn meant(whom: &Allocation) -> Result<Meant<'_>, ActError> {
    match &whom.identity {
        Identity::Kubernetes { namespace, pod, uid, owner, .. } => {
            Ok(Meant { namespace, pod, uid, owner: owner.as_ref() })
        }
        _ => Err(ActError::NotDone("it is no pod".to_owned())),
    }
}

/// Reads harm nobody: an answer that does not come means that nothing was done.
fn unread(e: &kube::Error) -> ActError {
    ActError::NotDone(e.to_string())
}

/// What an API server said to a change.
fn said(e: kube::Error) -> Result<Said, ActError> {
    match e {
        kube::Error::Api(status) => match status.code {
            404 => Ok(Said::Changed { why: "it is not there any more".to_owned() }),
            409 => Ok(Said::Changed { why: format!("it has changed since: {}", status.message) }),
            429 => {
                let pause = status.details.as_ref().map(|d| d.retry_after_seconds).filter(|s| *s > 0);
                let pause_ms = pause.map_or(PAUSE_MS, |s| i64::from(s) * 1_000);
                Ok(Said::Wait { pause_ms, why: status.message.clone() })
            }
            // the server may have done it and failed afterwards
            500.. => Err(ActError::Maybe(status.message.clone())),
            _ => Err(ActError::NotDone(status.message.clone())),
        },
        other => Err(ActError::Maybe(other.to_string())),
    }
}

impl Kubernetes {
    /// An actuator for an API server; the clock dates the events. The client's own retries are switched off: what is refused is
    /// written down, and asked again in another round, after another look. No answer is waited for longer than half a minute.
    ///
    /// # Errors
    /// Where the configuration makes no client.
    pub fn connect(mut config: Config, clock: Arc<dyn Clock>) -> Result<Self, Box<kube::Error>> {
        config.default_retry = false;
        for wait in [&mut config.connect_timeout, &mut config.read_timeout, &mut config.write_timeout] {
            *wait = Some(wait.map_or(DEADLINE, |w| w.min(DEADLINE)));
        }
        Ok(Self { client: Client::try_from(config).map_err(Box::new)?, clock })
    }

    /// An actuator for the cluster of a kubeconfig file, or for the one whose pod this is.
    ///
    /// # Errors
    /// Where there is no such file, context or service account, in words.
    pub async fn open(file: Option<&Path>, context: Option<&str>, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let config = match file {
            None => Config::incluster().map_err(|e| e.to_string())?,
            Some(file) => {
                let read = Kubeconfig::read_from(file).map_err(|e| e.to_string())?;
                let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
                Config::from_custom_kubeconfig(read, &options).await.map_err(|e| e.to_string())?
            }
        };
        Self::connect(config, clock).map_err(|e| e.to_string())
    }

    /// The pod, if it is the one that was meant.
    async fn the_same(&self, m: &Meant<'_>) -> Result<Result<Pod, String>, ActError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), m.namespace);
        let found = pods.get_opt(m.pod).await.map_err(|e| unread(&e))?;
        Ok(match found {
            None => Err(format!("pod {}/{} is not there any more", m.namespace, m.pod)),
            Some(pod) if pod.uid().as_deref() == Some(m.uid) => Ok(pod),
            Some(_) => Err(format!("pod {}/{} is another one now", m.namespace, m.pod)),
        })
    }

    async fn evict(&self, m: &Meant<'_>, pod: &Pod) -> Result<Said, ActError> {
        // The client's own eviction writes its options under a name that the server passes over, and with it the
        // preconditions: the body is ours.
        let body = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": m.pod, "namespace": m.namespace},
            "deleteOptions": {"preconditions": {"uid": m.uid, "resourceVersion": pod.resource_version()}},
        });
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), m.namespace);
        let sent = pods.create_subresource::<Value, Value>("eviction", m.pod, &PostParams::default(), &body).await;
        match sent {
            Ok(_) => Ok(Said::Taken { proof: format!("evicted pod {}/{} ({})", m.namespace, m.pod, m.uid) }),
            Err(e) => said(e),
        }
    }

    /// Suspends or scales what owns the pod: with its UID and version, so that another one in its place is left alone.
    async fn stop_owner(&self, m: &Meant<'_>, act: ActKind) -> Result<Said, ActError> {
        let Some(owner) = m.owner else {
            return Err(ActError::NotDone("no workload owns the pod".to_owned()));
        };
        if owner.busy_siblings != Some(0) {
            return Err(ActError::NotDone("a sibling is busy, or not every one is judged".to_owned()));
        }
        let (group, spec) = match (act, owner.kind.as_str()) {
            (ActKind::SuspendOwner, "Job") => ("batch", json!({"suspend": true})),
            (ActKind::ScaleOwner, "Deployment" | "StatefulSet" | "ReplicaSet") => ("apps", json!({"replicas": 0})),
            (_, kind) => return Err(ActError::NotDone(format!("a {kind} cannot be stopped by `{act}`"))),
        };
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", &owner.kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), m.namespace, &kind);
        let found = api.get_opt(&owner.name).await.map_err(|e| unread(&e))?;
        let Some(found) = found.filter(|o| o.uid().as_deref() == Some(owner.uid.as_str())) else {
            return Ok(Said::Changed { why: format!("{} {} is another one now", owner.kind, owner.name) });
        };
        let patch = json!({
            "metadata": {"uid": owner.uid, "resourceVersion": found.resource_version()},
            "spec": spec,
        });
        let how = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&owner.name, &how, &Patch::Merge(&patch)).await {
            Ok(_) => Ok(Said::Taken {
                proof: format!("{act}: {} {}/{} ({})", owner.kind, m.namespace, owner.name, owner.uid),
            }),
            Err(e) => said(e),
        }
    }

    /// An event on the pod. It is for people, and its failure changes nothing.
    async fn leave_word(&self, m: &Meant<'_>, pod: &Pod, act: ActKind) {
        let now =
            DateTime::from_timestamp_millis(self.clock.now_ms()).map(|t| t.to_rfc3339_opts(SecondsFormat::Secs, true));
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": format!("{}.", m.pod), "namespace": m.namespace},
            "involvedObject": {
                "apiVersion": "v1", "kind": "Pod", "name": m.pod, "namespace": m.namespace, "uid": m.uid,
                "resourceVersion": pod.resource_version(),
            },
            "reason": "IdleReclaimed",
            "message": format!("its GPUs were idle and its owner was warned: {act}"),
            "type": "Warning",
            "source": {"component": MANAGER},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        });
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event"));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), m.namespace, &kind);
        let made: Result<DynamicObject, _> = serde_json::from_value(event);
        let sent = match made {
            Ok(event) => api.create(&PostParams::default(), &event).await.map(|_| ()).map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        };
        if let Err(e) = sent {
            tracing::warn!(error = e, pod = m.pod, "no event could be left on the pod");
        }
    }
}

#[async_trait]
impl Actuator for Kubernetes {
    async fn signal(&mut self, _: &Allocation, _: &str, _: bool) -> Result<Said, ActError> {
        Err(ActError::NotDone("a pod is told by its own termination, and by no signal".to_owned()))
    }

    async fn order(&mut self, whom: &Allocation, act: ActKind, _: Option<i64>) -> Result<Said, ActError> {
        let m = meant(whom)?;
        let pod = match self.the_same(&m).await? {
            Ok(pod) => pod,
            Err(why) => return Ok(Said::Changed { why }),
        };
        let said = match act {
            ActKind::Evict => self.evict(&m, &pod).await?,
            ActKind::SuspendOwner | ActKind::ScaleOwner => self.stop_owner(&m, act).await?,
            other => return Err(ActError::NotDone(format!("Kubernetes cannot be asked to `{other}`"))),
        };
        if matches!(said, Said::Taken { .. }) {
            self.leave_word(&m, &pod, act).await;
        }
        Ok(said)
    }
}
