//! A node whose kubelet answers on a socket of our own, and whose cards are simulated: claims through its ticks.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gpuledger_collector::node::claims::memory::Memory;
use gpuledger_collector::node::config::Accounting;
use gpuledger_collector::node::config::NodeConfig;
use gpuledger_collector::node::metrics::NodeMetrics;
use gpuledger_collector::node::seen::Clock;
use gpuledger_collector::node::source::kubelet::message::{Allocatable, Container, Devices, Listed, Nothing, Pod};
use gpuledger_collector::node::spool::{RealDisk, Tick};
use gpuledger_collector::node::watch::Watch;
use gpuledger_schema::id::{device_id, hint_of_job};
use gpuledger_schema::unit::CARD_UNITS;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tonic_prost::ProstCodec;

use super::machine::Machine;

const UIDS: [&str; 3] = [
    "aaaaaaaa-0000-4000-8000-000000000001",
    "aaaaaaaa-0000-4000-8000-000000000002",
    "aaaaaaaa-0000-4000-8000-000000000003",
];

/// A pod `p<n>` with a container for each list of ids.
fn pod(n: usize, containers: &[&[&str]]) -> Pod {
    let container = |(at, ids): (usize, &&[&str])| Container {
        name: format!("c{at}"),
        devices: vec![devices(ids)],
        claims: vec![],
    };
    let containers = containers.iter().enumerate().map(container).collect();
    Pod { name: format!("p{n}"), namespace: "ml".to_owned(), containers }
}

fn devices(ids: &[&str]) -> Devices {
    Devices { resource: "nvidia.com/gpu".to_owned(), ids: ids.iter().map(|id| (*id).to_owned()).collect() }
}

async fn answer<B>(
    listed: Listed,
    allocatable: Allocatable,
    request: axum::http::Request<B>,
) -> Result<axum::http::Response<tonic::body::Body>, Infallible>
where
    B: axum::body::HttpBody + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    Ok(if request.uri().path() == "/v1.PodResourcesLister/List" {
        let reply = move |_: tonic::Request<Nothing>| std::future::ready(Ok(tonic::Response::new(listed.clone())));
        let mut server = tonic::server::Grpc::new(ProstCodec::<Listed, Nothing>::default());
        server.unary(tower::service_fn(reply), request).await
    } else {
        let reply = move |_: tonic::Request<Nothing>| std::future::ready(Ok(tonic::Response::new(allocatable.clone())));
        let mut server = tonic::server::Grpc::new(ProstCodec::<Allocatable, Nothing>::default());
        server.unary(tower::service_fn(reply), request).await
    })
}

/// Serves on the node's socket until the runtime ends.
fn serve(folder: &Path, listed: Listed, allocatable: Allocatable) {
    let socket = folder.join("kubelet.sock");
    let _ = std::fs::remove_file(&socket);
    let listener = tokio::net::UnixListener::bind(socket).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (listed, allocatable) = (listed.clone(), allocatable.clone());
            let service = tower::service_fn(move |r| answer(listed.clone(), allocatable.clone(), r));
            tokio::spawn(async move {
                let builder = auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await;
            });
        }
    });
}

/// The folders of a node on which these pods live.
fn node(folder: &Path, alive: &[&str]) {
    let make = |path: String| std::fs::create_dir_all(folder.join(path)).unwrap();
    make("proc/sys/kernel/random".to_owned());
    std::fs::write(folder.join("proc/sys/kernel/random/boot_id"), "b1\n").unwrap();
    make("sys/fs/cgroup".to_owned());
    make("spool".to_owned());
    UIDS.iter().enumerate().for_each(|(n, uid)| make(format!("logs/ml_p{n}_{uid}")));
    let _ = std::fs::remove_dir_all(folder.join("sys/fs/cgroup/kubepods"));
    alive.iter().for_each(|uid| make(format!("sys/fs/cgroup/kubepods/besteffort/pod{uid}")));
}

/// The first tick of a collector that starts on the node.
fn tick(machine: &Machine, folder: &Path, listed: Listed, allocatable: Allocatable) -> Tick {
    let at = folder.display();
    let text = format!(
        "cluster = \"west\"\nnode = \"n1\"\nscheduler = \"kubernetes\"\nlake = \"{at}/lake\"\nspool = \"{at}/spool\"\n\
         nvml_path = \"{}\"\nproc_root = \"{at}/proc\"\nsys_root = \"{at}/sys\"\npod_logs = \"{at}/logs\"\n\
         kubelet_socket = \"{at}/kubelet.sock\"\nmetrics_listen = \"\"\nnvml_deadline_ms = 20000\n",
        machine.sim.control.path().display(),
    );
    let config = NodeConfig::parse(&text, "node.toml").unwrap();
    let clock: Arc<dyn Clock> = Arc::clone(&machine.sim) as Arc<dyn Clock>;
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        serve(folder, listed, allocatable);
        let mut watch = Watch::open(&config, clock, Arc::new(NodeMetrics::new("0"))).unwrap();
        watch.remember(Memory::new(Box::new(RealDisk), &config.spool));
        // the kubelet is looked at beside the polls
        tokio::time::sleep(Duration::from_millis(500)).await;
        machine.sim.pass_ms(60_000);
        watch.poll();
        watch.close()
    })
}

#[test]
fn copies_of_a_card_are_claims_whose_parts_add_up_and_a_restart_closes_what_ended() {
    let machine = Machine::shipped("01_idle.toml", Accounting::Off);
    let folder = tempfile::tempdir().unwrap();
    let card = machine.uuids[0].clone();
    let copy = |n: usize| format!("{card}::{n}");
    let copies: Vec<String> = (0..4).map(copy).collect();
    let all: Vec<&str> = copies.iter().map(String::as_str).collect();
    let allocatable = Allocatable { devices: vec![devices(&all)] };
    // p0 has two containers on the card, p1 one; p2 has ended and is listed still
    let pods = vec![pod(0, &[&[all[0]], &[all[1]]]), pod(1, &[&[all[2]]]), pod(2, &[&[all[3]]])];
    node(folder.path(), &UIDS[..2]);
    let first = tick(&machine, folder.path(), Listed { pods }, allocatable.clone());
    let mut seen: Vec<_> = first.claims.iter().map(|c| (c.hint_id, c.device_id, c.share_units, c.to_ms)).collect();
    seen.sort_unstable_by_key(|c| -c.2);
    let (card_id, quarter) = (device_id(&card), CARD_UNITS / 4);
    let of = |n: usize, share: i64| (hint_of_job("west", UIDS[n]), card_id, share, None);
    assert_eq!(seen, [of(0, 2 * quarter), of(1, quarter)]);
    assert!(first.claims.iter().all(|c| c.node == "n1" && c.evidence == "kubelet" && c.cluster == "west"));
    let from_ms = first.claims[0].from_ms;

    node(folder.path(), &UIDS[1..2]);
    let second = tick(&machine, folder.path(), Listed { pods: vec![pod(1, &[&[all[2]]])] }, allocatable);
    let mut seen: Vec<_> = second.claims.iter().map(|c| (c.share_units, c.from_ms, c.to_ms.is_some())).collect();
    seen.sort_unstable();
    assert_eq!(seen, [(quarter, from_ms, false), (2 * quarter, from_ms, true)]);
    let ended = second.claims.iter().find(|c| c.to_ms.is_some()).unwrap();
    assert!(first.claims.iter().any(|c| c.claim_id == ended.claim_id), "the claim of before is what ends");
}

#[test]
fn mig_devices_are_claims_of_slices_of_their_card() {
    let mut machine = Machine::shipped("06b_mig_h100.toml", Accounting::Off);
    let folder = tempfile::tempdir().unwrap();
    let rows = machine.tick();
    let instance = rows.devices.iter().find(|d| d.parent_id.is_some()).unwrap().clone();
    node(folder.path(), &UIDS[..1]);
    let pods = vec![pod(0, &[&[instance.uuid.as_str()]])];
    let tick = tick(&machine, folder.path(), Listed { pods }, Allocatable::default());
    let [claim] = tick.claims.as_slice() else { panic!("{:?}", tick.claims) };
    let (slices, of) = (instance.compute_slices.unwrap(), instance.card_slices.unwrap());
    assert_eq!(claim.share_units, CARD_UNITS * slices / of);
    assert_eq!((Some(claim.device_id), claim.instance_id), (instance.parent_id, Some(instance.device_id)));
    assert!(tick.minutes.iter().any(|m| m.power_limit_mw.is_some()), "the driver says its power limit");
}
