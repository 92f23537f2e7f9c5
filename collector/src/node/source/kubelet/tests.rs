//! A kubelet of our own on a Unix socket, and what is made of its answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::UnixListener;

use super::*;
use crate::node::source::scratch::Scratch;
use message::{Claim, Claimed, Container, Devices, Pod};

const UIDS: [&str; 3] = [
    "aaaaaaaa-0000-4000-8000-000000000001",
    "aaaaaaaa-0000-4000-8000-000000000002",
    "aaaaaaaa-0000-4000-8000-000000000003",
];

/// What a kubelet of our own answers.
#[derive(Debug, Clone)]
struct Kubelets {
    listed: Listed,
    allocatable: Result<Allocatable, Code>,
    hangs: bool,
    requests: Arc<AtomicU32>,
}

impl Kubelets {
    fn new(listed: Listed, allocatable: Result<Allocatable, Code>) -> Self {
        Self { listed, allocatable, hangs: false, requests: Arc::default() }
    }

    /// Serves on a socket in a folder until the runtime ends.
    fn serve(&self, folder: &Scratch) {
        let listener = UnixListener::bind(folder.path.join("kubelet.sock")).unwrap();
        let kubelet = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kubelet = kubelet.clone();
                let service = tower::service_fn(move |request| answer(kubelet.clone(), request));
                tokio::spawn(async move {
                    let builder = auto::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await;
                });
            }
        });
    }
}

async fn answer<B>(
    kubelet: Kubelets,
    request: axum::http::Request<B>,
) -> Result<axum::http::Response<tonic::body::Body>, Infallible>
where
    B: axum::body::HttpBody + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    kubelet.requests.fetch_add(1, Ordering::Relaxed);
    if kubelet.hangs {
        std::future::pending::<()>().await;
    }
    let response = match request.uri().path() {
        message::LIST => {
            let listed = Ok(kubelet.listed);
            let service = tower::service_fn(move |_: Request<Nothing>| std::future::ready(reply(listed.clone())));
            tonic::server::Grpc::new(ProstCodec::<Listed, Nothing>::default()).unary(service, request).await
        }
        _ => {
            let allocatable = kubelet.allocatable;
            let service = tower::service_fn(move |_: Request<Nothing>| std::future::ready(reply(allocatable.clone())));
            tonic::server::Grpc::new(ProstCodec::<Allocatable, Nothing>::default()).unary(service, request).await
        }
    };
    Ok(response)
}

fn reply<T>(answer: Result<T, Code>) -> Result<tonic::Response<T>, Status> {
    answer.map(tonic::Response::new).map_err(|code| Status::new(code, "no"))
}

fn devices(resource: &str, ids: &[&str]) -> Devices {
    Devices { resource: resource.into(), ids: ids.iter().map(|id| (*id).to_owned()).collect() }
}

fn container(name: &str, devices: Vec<Devices>) -> Container {
    Container { name: name.into(), devices, claims: vec![] }
}

fn pod(name: &str, containers: Vec<Container>) -> Pod {
    Pod { name: name.into(), namespace: "ml".into(), containers }
}

/// Pods `p0`, `p1`, ... with a container `main` that has the given ids.
fn listed(ids: &[&[&str]]) -> Listed {
    let pod = |(i, ids): (usize, &&[&str])| {
        pod(&format!("p{i}"), vec![container("main", vec![devices("nvidia.com/gpu", ids)])])
    };
    Listed { pods: ids.iter().enumerate().map(pod).collect() }
}

fn allocatable(ids: &[&str]) -> Allocatable {
    Allocatable { devices: vec![devices("nvidia.com/gpu", ids)] }
}

/// Logs of pods `p0`, `p1`, ... and cgroups of those that live.
fn node(uids: &[&str], alive: &[&str]) -> (Scratch, Kubelet) {
    let folder = Scratch::new();
    for (i, uid) in uids.iter().enumerate() {
        folder.make(&format!("logs/ml_p{i}_{uid}"));
    }
    for uid in alive {
        folder.make(&format!("cgroups/kubepods/besteffort/pod{uid}"));
    }
    let settings = KubeletSettings {
        socket: folder.path.join("kubelet.sock"),
        logs: folder.path.join("logs"),
        cgroups: folder.path.join("cgroups"),
        deadline_ms: 5_000,
        ..KubeletSettings::default()
    };
    (folder, Kubelet::new(settings))
}

fn at(boot_ms: i64) -> Moment {
    Moment { wall_ms: 0, boot_ms, awake_ms: boot_ms, synchronised: true }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// One look at a kubelet of our own.
fn look(serves: &Kubelets, uids: &[&str], alive: &[&str]) -> Record {
    let (folder, mut kubelet) = node(uids, alive);
    block(async {
        serves.serve(&folder);
        kubelet.refresh(at(1_000)).await.unwrap();
    });
    kubelet.record().unwrap().clone()
}

fn card(uuid: &str, minor: u32) -> Card {
    Card { uuid: uuid.into(), nvml_index: None, minor: Some(minor), instances: vec![] }
}

fn by_pod(uid: &str) -> Held {
    Held { by: Allocation::Pod(uid.into()), uid: None }
}

#[test]
fn a_pod_that_has_a_card_holds_it_whole() {
    let serves = Kubelets::new(listed(&[&["GPU-a"]]), Err(Code::Internal));
    let record = look(&serves, &UIDS[..1], &UIDS[..1]);
    let expected = Holder {
        namespace: "ml".into(),
        pod: "p0".into(),
        uid: PodUid::Known(UIDS[0].into()),
        container: "main".into(),
        resource: "nvidia.com/gpu".into(),
        device: Device::Uuid("GPU-a".into()),
        share: Some(Share { held: 1, of: 1 }),
    };
    assert_eq!(record.holders, vec![expected]);
    assert_eq!(serves.requests.load(Ordering::Relaxed), 1, "nothing is shared: how many copies there are is not asked");
}

#[test]
fn copies_on_one_card_keep_each_their_pod_and_their_part() {
    // C15: three pods on one card that is shared as four
    let serves = Kubelets::new(
        listed(&[&["GPU-a::0"], &["GPU-a::1"], &["GPU-a::3"]]),
        Ok(allocatable(&["GPU-a::0", "GPU-a::1", "GPU-a::2", "GPU-a::3", "GPU-b::0"])),
    );
    let record = look(&serves, &UIDS, &UIDS);
    let shares: Vec<_> = record.holders.iter().map(|h| (h.uid.clone(), h.share)).collect();
    let quarter = Some(Share { held: 1, of: 4 });
    assert_eq!(shares, UIDS.map(|uid| (PodUid::Known(uid.into()), quarter)));
    let (held, strange) = record.by_uuid(&[card("GPU-a", 0)]);
    assert_eq!(held, BTreeMap::from([("GPU-a".to_owned(), UIDS.map(by_pod).to_vec())]));
    assert_eq!(strange, BTreeSet::new());
}

#[test]
fn two_copies_of_a_card_in_one_container_are_two_parts_of_it() {
    let serves = Kubelets::new(
        listed(&[&["GPU-a::0", "GPU-a::1", "GPU-b::0"]]),
        Ok(allocatable(&["GPU-a::0", "GPU-a::1", "GPU-a::2", "GPU-b::0", "GPU-b::1", "GPU-b::2"])),
    );
    let record = look(&serves, &UIDS[..1], &UIDS[..1]);
    let parts: Vec<_> = record.holders.iter().map(|h| (h.device.clone(), h.share)).collect();
    let part = |uuid: &str, held| (Device::Uuid(uuid.into()), Some(Share { held, of: 3 }));
    assert_eq!(parts, vec![part("GPU-a", 2), part("GPU-b", 1)]);
}

#[test]
fn a_part_that_nobody_tells_is_unknown_and_not_the_whole() {
    let ids: &[&[&str]] = &[&["GPU-a::0"]];
    let record = look(&Kubelets::new(listed(ids), Err(Code::Unimplemented)), &UIDS[..1], &UIDS[..1]);
    assert_eq!((record.holders.len(), record.holders[0].share), (1, None));
    let record = look(&Kubelets::new(listed(ids), Ok(allocatable(&["GPU-b::0"]))), &UIDS[..1], &UIDS[..1]);
    assert_eq!(record.holders[0].share, None);
}

#[test]
fn an_ended_pod_is_listed_still_and_holds_nothing() {
    let serves = Kubelets::new(listed(&[&["GPU-a", "what"], &["GPU-a"]]), Err(Code::Internal));
    let record = look(&serves, &UIDS[..2], &UIDS[1..2]);
    let uids: Vec<_> = record.holders.iter().map(|h| h.uid.clone()).collect();
    assert_eq!(uids, vec![PodUid::Ended, PodUid::Ended, PodUid::Known(UIDS[1].into())]);
    let (held, strange) = record.by_uuid(&[card("GPU-a", 0)]);
    assert_eq!(held["GPU-a"], vec![by_pod(UIDS[1])]);
    assert_eq!(strange, BTreeSet::new(), "what an ended pod had is nobody's concern");
}

#[test]
fn containers_of_one_pod_can_hold_different_cards() {
    let gpu = |id: &str| vec![devices("nvidia.com/gpu", &[id])];
    let pods = vec![pod("p0", vec![container("a", gpu("GPU-a")), container("b", gpu("GPU-b"))])];
    let record = look(&Kubelets::new(Listed { pods }, Err(Code::Internal)), &UIDS[..1], &UIDS[..1]);
    let held: Vec<_> = record.holders.iter().map(|h| (h.container.as_str(), h.device.clone())).collect();
    assert_eq!(held, vec![("a", Device::Uuid("GPU-a".into())), ("b", Device::Uuid("GPU-b".into()))]);
}

#[test]
fn other_resources_are_no_cards_and_strange_ids_are_named() {
    let all = vec![devices("rdma/hca", &["mlx5_0"]), devices("nvidia.com/gpu.shared", &["nvidia3/vgpu0", "what"])];
    let pods = vec![pod("p0", vec![container("main", all)])];
    let serves = Kubelets::new(Listed { pods }, Ok(allocatable(&["nvidia3/vgpu0", "nvidia3/vgpu1"])));
    let record = look(&serves, &UIDS[..1], &UIDS[..1]);
    assert_eq!(record.holders.len(), 2);
    let (held, strange) = record.by_uuid(&[card("GPU-d", 3)]);
    assert_eq!(held, BTreeMap::from([("GPU-d".to_owned(), vec![by_pod(UIDS[0])])]));
    assert_eq!(strange, BTreeSet::from([Device::Other("what".into())]));
}

#[test]
fn claims_are_read_and_one_that_pods_share_has_no_parts() {
    let claim = |driver: &str, device: &str| Claim {
        name: "c".into(),
        namespace: "ml".into(),
        resources: vec![Claimed { driver: driver.into(), pool: "n1".into(), device: device.into() }],
    };
    let with = |name: &str, claims| pod(name, vec![Container { name: "main".into(), devices: vec![], claims }]);
    let pods = vec![
        with("p0", vec![claim(CLAIM_DRIVER, "gpu-0"), claim("nic.example.com", "nic-0")]),
        with("p1", vec![claim(CLAIM_DRIVER, "gpu-1")]),
        with("p2", vec![claim(CLAIM_DRIVER, "gpu-1")]),
    ];
    let record = look(&Kubelets::new(Listed { pods }, Err(Code::Internal)), &UIDS, &UIDS);
    let shares: Vec<_> = record.holders.iter().map(|h| (h.pod.as_str(), h.share)).collect();
    assert_eq!(shares, vec![("p0", Some(Share { held: 1, of: 1 })), ("p1", None), ("p2", None)]);
    let (held, _) = record.by_uuid(&[card("GPU-a", 0), card("GPU-b", 1)]);
    assert_eq!(held["GPU-a"], vec![by_pod(UIDS[0])]);
    assert_eq!(held["GPU-b"], vec![by_pod(UIDS[1]), by_pod(UIDS[2])]);
}

#[test]
fn it_is_asked_at_most_once_a_minute_and_an_old_record_is_no_evidence() {
    let serves = Kubelets::new(listed(&[&["GPU-a"]]), Err(Code::Internal));
    let (folder, mut kubelet) = node(&UIDS[..1], &UIDS[..1]);
    block(async {
        serves.serve(&folder);
        for boot_ms in [1_000, 31_000, 60_999, 61_000] {
            kubelet.refresh(at(boot_ms)).await.unwrap();
        }
    });
    assert_eq!(serves.requests.load(Ordering::Relaxed), 2);
    assert!(kubelet.record().is_some());
    // the server ended with its runtime
    let error = block(kubelet.refresh(at(121_000))).unwrap_err();
    assert!(matches!(error, KubeletError::Connect { .. }), "{error}");
    assert_eq!(kubelet.record(), None);
    block(kubelet.refresh(at(122_000))).expect("a failure is not repeated within the minute");
}

#[test]
fn a_kubelet_that_hangs_is_left_at_the_deadline() {
    let serves = Kubelets { hangs: true, ..Kubelets::new(Listed::default(), Err(Code::Internal)) };
    let (folder, mut kubelet) = node(&[], &[]);
    kubelet.settings.deadline_ms = 50;
    let error = block(async {
        serves.serve(&folder);
        kubelet.refresh(at(1_000)).await.unwrap_err()
    });
    assert!(matches!(error, KubeletError::Late { deadline_ms: 50 }), "{error}");
}

#[test]
fn a_refusal_is_told_with_the_request() {
    let serves = Kubelets::new(listed(&[&["GPU-a::0"]]), Err(Code::PermissionDenied));
    let (folder, mut kubelet) = node(&[], &[]);
    let error = block(async {
        serves.serve(&folder);
        kubelet.refresh(at(1_000)).await.unwrap_err()
    });
    assert_eq!(error.to_string(), "the kubelet refused `/v1.PodResourcesLister/GetAllocatableResources`");
}

#[test]
fn an_empty_node_is_a_record_and_not_a_failure() {
    let record = look(&Kubelets::new(Listed::default(), Err(Code::Internal)), &[], &[]);
    assert_eq!(record, Record::default());
}

/// A field of a message on the wire: its number, that it has a length, the length, its bytes.
fn field(number: u8, parts: &[&[u8]]) -> Vec<u8> {
    let bytes = parts.concat();
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes.as_slice()].concat()
}

#[test]
fn messages_have_the_numbers_of_the_kubelets_fields() {
    let devices_of_r = field(2, &[&field(1, &[b"r"]), &field(2, &[b"g"]), &field(3, &[])]);
    let given = field(
        4,
        &[&field(1, &[&field(1, &[b"cdi"])]), &field(2, &[b"d"]), &field(3, &[b"n1"]), &field(4, &[b"gpu-0"])],
    );
    let claim = field(5, &[&field(2, &[b"k"]), &field(3, &[b"n"]), &given]);
    let cpus = field(3, &[&[3]]);
    let holder = field(3, &[&field(1, &[b"c"]), &devices_of_r, &cpus, &claim]);
    let later = field(15, &[b"what a later kubelet adds"]);
    let answer = field(1, &[&field(1, &[b"p"]), &field(2, &[b"n"]), &holder, &later]);

    let claimed = Claimed { driver: "d".into(), pool: "n1".into(), device: "gpu-0".into() };
    let claims = vec![Claim { name: "k".into(), namespace: "n".into(), resources: vec![claimed] }];
    let holder = Container { claims, ..container("c", vec![devices("r", &["g"])]) };
    let expected = Pod { name: "p".into(), namespace: "n".into(), containers: vec![holder] };
    assert_eq!(Listed::decode(answer.as_slice()).unwrap().pods, vec![expected]);
    assert_eq!(
        Allocatable::decode(field(1, &[&field(1, &[b"r"]), &field(2, &[b"g"])]).as_slice()).unwrap().devices,
        vec![devices("r", &["g"])]
    );
}

#[test]
fn settings_know_their_keys_and_no_others() {
    let settings: KubeletSettings = toml::from_str("deadline_ms = 9").unwrap();
    assert_eq!((settings.deadline_ms, settings.logs), (9, PathBuf::from("/var/log/pods")));
    assert!(toml::from_str::<KubeletSettings>("sockt = \"/x\"").is_err());
}
