//! The kubelet's record of which pod has which device, over its pod-resources socket.
//!
//! The service names pods without their UIDs and lists ended pods as long as it likes, so its answer is joined with the
//! folders of pods' logs and with the cgroups of living pods.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use prost::Message;
use serde::Deserialize;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::card::Card;
use crate::node::attribute::{Allocation, Held};
use crate::node::seen::Moment;

pub mod device;
pub mod message;
pub mod pods;

use device::{Device, DeviceId};
use message::{Allocatable, Listed, Nothing};
use pods::PodUid;

/// At most one look in this time, whether it succeeded or not. A look is one request, two where cards are shared.
const LOOK_EVERY_MS: i64 = 60_000;
/// Most bytes of an answer; one of 500 pods has some 200 KiB.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// NVIDIA's driver of resource claims.
const CLAIM_DRIVER: &str = "gpu.nvidia.com";

/// How to ask the kubelet of this node.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KubeletSettings {
    /// Its pod-resources socket.
    pub socket: PathBuf,
    /// Folder of the pods' logs.
    pub logs: PathBuf,
    /// Where cgroups are mounted.
    pub cgroups: PathBuf,
    /// How long a look may take.
    pub deadline_ms: u64,
    /// Resources that are GPUs, by the beginning of their names.
    pub resources: Vec<String>,
}

impl Default for KubeletSettings {
    fn default() -> Self {
        Self {
            socket: "/var/lib/kubelet/pod-resources/kubelet.sock".into(),
            logs: "/var/log/pods".into(),
            cgroups: "/sys/fs/cgroup".into(),
            deadline_ms: 5_000,
            resources: vec!["nvidia.com/".to_owned()],
        }
    }
}

/// Why the kubelet's record could not be had.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// The socket cannot be connected to.
    #[error("cannot connect to the kubelet's socket `{socket}`")]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// What the transport says.
        source: tonic::transport::Error,
    },
    /// It refused a request.
    #[error("the kubelet refused `{request}`")]
    Refused {
        /// Path of the request.
        request: &'static str,
        /// What it answered.
        source: Box<Status>,
    },
    /// It did not answer in time.
    #[error("the kubelet took longer than {deadline_ms} ms")]
    Late {
        /// The deadline.
        deadline_ms: u64,
    },
}

/// A container holds a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod, which other pods had before it.
    pub pod: String,
    /// UID of the pod.
    pub uid: PodUid,
    /// Name of the container: several of one pod can hold different cards.
    pub container: String,
    /// The resource, or the driver of a claim.
    pub resource: String,
    /// The device.
    pub device: Device,
    /// What part of the device it holds; none where that cannot be told.
    pub share: Option<Share>,
}

/// A part of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Copies held.
    pub held: u32,
    /// Copies that the device is shared as; 1 where it is not shared.
    pub of: u32,
}

/// Who holds what on this node, as of one look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The holders, by namespace, pod, container, resource and device.
    pub holders: Vec<Holder>,
}

impl Record {
    /// Pods by the UUID of what they hold, and the devices that are none of this node's. Ended pods hold nothing.
    pub fn by_uuid(&self, cards: &[Card]) -> (BTreeMap<String, Vec<Held>>, BTreeSet<Device>) {
        let (mut held, mut strange) = (BTreeMap::<String, Vec<Held>>::new(), BTreeSet::new());
        for holder in self.holders.iter().filter(|h| h.uid != PodUid::Ended) {
            let Some(uuid) = holder.device.uuid(cards) else {
                strange.insert(holder.device.clone());
                continue;
            };
            if let PodUid::Known(pod) = &holder.uid {
                let by = Held { by: Allocation::Pod(pod.clone()), uid: None };
                let on = held.entry(uuid).or_default();
                if !on.contains(&by) {
                    on.push(by);
                }
            }
        }
        (held, strange)
    }
}

/// Asks the kubelet at most once a minute.
#[derive(Debug)]
pub struct Kubelet {
    settings: KubeletSettings,
    tried_boot_ms: Option<i64>,
    record: Option<Record>,
}

impl Kubelet {
    /// Nothing was asked yet.
    pub fn new(settings: KubeletSettings) -> Self {
        Self { settings, tried_boot_ms: None, record: None }
    }

    /// The last look's record; none where it failed, since an old record is no evidence.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// Looks again if the last look is a minute ago.
    pub async fn refresh(&mut self, now: Moment) -> Result<(), KubeletError> {
        if self.tried_boot_ms.is_some_and(|at| now.boot_ms - at < LOOK_EVERY_MS) {
            return Ok(());
        }
        self.tried_boot_ms = Some(now.boot_ms);
        self.record = None;
        let deadline_ms = self.settings.deadline_ms;
        let (listed, allocatable) = tokio::time::timeout(Duration::from_millis(deadline_ms), ask(&self.settings))
            .await
            .map_err(|_| KubeletError::Late { deadline_ms })??;
        // Without the logs no pod has a UID, and without cgroups nobody is known to be alive: the record still counts.
        let by_logs = pods::uids_by_logs(&self.settings.logs).unwrap_or_default();
        let living = pods::living(&self.settings.cgroups);
        let uid = |namespace: &str, pod: &str| pods::resolve(namespace, pod, &by_logs, living.as_ref());
        self.record = Some(record(&listed, &copies(&allocatable), &self.settings.resources, uid));
        Ok(())
    }
}

/// All pods, and all devices where some pod has a copy of one: only then it matters how many copies there are.
async fn ask(settings: &KubeletSettings) -> Result<(Listed, Allocatable), KubeletError> {
    let failed = |source| KubeletError::Connect { socket: settings.socket.clone(), source };
    let address = format!("unix:{}", settings.socket.display());
    let channel = Endpoint::from_shared(address).map_err(failed)?.connect().await.map_err(failed)?;
    let mut client = Grpc::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX);
    let listed: Listed = call(&mut client, message::LIST).await?;
    let devices = || listed.pods.iter().flat_map(|p| &p.containers).flat_map(|c| &c.devices);
    if !devices().flat_map(|d| &d.ids).any(|id| DeviceId::of_plugin(id).copy) {
        return Ok((listed, Allocatable::default()));
    }
    match call(&mut client, message::ALLOCATABLE).await {
        Ok(allocatable) => Ok((listed, allocatable)),
        // an older kubelet: who holds what is known, the shares are not
        Err(KubeletError::Refused { source, .. }) if source.code() == Code::Unimplemented => {
            Ok((listed, Allocatable::default()))
        }
        Err(error) => Err(error),
    }
}

async fn call<T>(client: &mut Grpc<Channel>, request: &'static str) -> Result<T, KubeletError>
where
    T: Message + Default + Send + Sync + 'static,
{
    let refused = |source: Status| KubeletError::Refused { request, source: Box::new(source) };
    client.ready().await.map_err(|e| refused(Status::unavailable(e.to_string())))?;
    let codec = ProstCodec::<Nothing, T>::default();
    let path = axum::http::uri::PathAndQuery::from_static(request);
    client.unary(Request::new(Nothing {}), path, codec).await.map(tonic::Response::into_inner).map_err(refused)
}

/// How many copies each shared device has.
fn copies(allocatable: &Allocatable) -> BTreeMap<Device, u32> {
    let mut copies = BTreeMap::new();
    for id in allocatable.devices.iter().flat_map(|d| &d.ids).map(|id| DeviceId::of_plugin(id)) {
        if id.copy {
            *copies.entry(id.device).or_insert(0) += 1;
        }
    }
    copies
}

/// The holders of an answer. Several copies of one device in one container are one holder with more of it.
fn record(
    listed: &Listed,
    copies: &BTreeMap<Device, u32>,
    resources: &[String],
    uid: impl Fn(&str, &str) -> PodUid,
) -> Record {
    let mut holders = Vec::new();
    for pod in &listed.pods {
        let pod_uid = uid(&pod.namespace, &pod.name);
        for container in &pod.containers {
            for ((resource, id), held) in held_by(container, resources) {
                let share = share(&id, held, copies);
                let (namespace, pod, container) = (pod.namespace.clone(), pod.name.clone(), container.name.clone());
                let uid = pod_uid.clone();
                holders.push(Holder { namespace, pod, uid, container, resource, device: id.device, share });
            }
        }
    }
    share_claims(&mut holders);
    let key = |h: &Holder| (h.namespace.clone(), h.pod.clone(), h.container.clone(), h.resource.clone());
    holders.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.device.cmp(&b.device)));
    Record { holders }
}

/// What one container holds, and how often.
fn held_by(container: &message::Container, resources: &[String]) -> BTreeMap<(String, DeviceId), u32> {
    let mut held = BTreeMap::new();
    let is_gpu = |devices: &&message::Devices| resources.iter().any(|r| devices.resource.starts_with(r));
    for devices in container.devices.iter().filter(is_gpu) {
        for id in &devices.ids {
            *held.entry((devices.resource.clone(), DeviceId::of_plugin(id))).or_insert(0) += 1;
        }
    }
    for claimed in container.claims.iter().flat_map(|c| &c.resources).filter(|c| c.driver == CLAIM_DRIVER) {
        held.insert((claimed.driver.clone(), DeviceId::of_claim(&claimed.device)), 1);
    }
    held
}

fn share(id: &DeviceId, held: u32, copies: &BTreeMap<Device, u32>) -> Option<Share> {
    if !id.copy {
        return Some(Share { held: 1, of: 1 });
    }
    copies.get(&id.device).filter(|of| held <= **of).map(|of| Share { held, of: *of })
}

/// A claim may be shared by pods, and nothing says by what parts: then nobody's part is known.
fn share_claims(holders: &mut [Holder]) {
    let mut pods = BTreeMap::<Device, BTreeSet<(String, String)>>::new();
    for holder in holders.iter().filter(|h| h.resource == CLAIM_DRIVER && h.uid != PodUid::Ended) {
        pods.entry(holder.device.clone()).or_default().insert((holder.namespace.clone(), holder.pod.clone()));
    }
    for holder in holders.iter_mut().filter(|h| h.resource == CLAIM_DRIVER) {
        if pods.get(&holder.device).is_some_and(|pods| pods.len() > 1) {
            holder.share = None;
        }
    }
}

#[cfg(test)]
mod tests;
