//! Ten thousand pods: what the collector takes of memory and processor, in a process of its own.

use std::process::Command;

use gpuledger_collector::cluster::{Before, Looker};
use gpuledger_collector::node::clock::KernelClock;
use gpuledger_collector::node::seen::Clock;

use super::kube_api::Api;
use super::kube_look::{config, node};

/// Where the child finds its API server's kubeconfig.
const FOLDER: &str = "GPULEDGER_TEST_KUBE_FOLDER";
const PODS: usize = 10_000;

#[test]
fn ten_thousand_pods_are_bounded_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let api = runtime.block_on(async {
        let api = Api::start().await;
        api.put("nodes", node("n1"));
        api.bulk(PODS);
        config(&api, folder.path(), "");
        api
    });
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kube_scale::child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    let line = text.lines().find(|l| l.contains("peak_kib")).unwrap_or_else(|| panic!("{text}"));
    println!("{line}");
    let value = |key: &str| -> u64 {
        let rest = line.split_once(&format!("{key}=")).unwrap().1;
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("runs"), 10_000);
    assert_eq!(api.requests("list", "pods"), 40, "250 a page");
    assert!(value("peak_kib") < 128 * 1024, "{line}");
    drop(api);
}

/// The collector of the test above, alone in its process; without an API server it has nothing to do.
#[test]
fn child() {
    use gpuledger_collector::cluster::config::ClusterConfig;
    use gpuledger_collector::cluster::kubernetes::config::KubernetesConfig;
    use gpuledger_collector::cluster::kubernetes::looker;
    let Some(folder) = std::env::var_os(FOLDER).map(std::path::PathBuf::from) else { return };
    let text = format!(
        "cluster = \"west\"\nlake = \"/lake\"\n[kubernetes]\nkubeconfig = \"{}\"\nowner_gets_max = 0\n",
        folder.join("kubeconfig").display()
    );
    let config = ClusterConfig::<KubernetesConfig>::parse(&text, "c").unwrap();
    super::kube_look::block(async {
        let clock: std::sync::Arc<dyn Clock> = std::sync::Arc::new(KernelClock);
        let empty_kib = status_kib("VmRSS");
        let mut looker = looker(&config, &clock).await.unwrap();
        let seen = looker.look(clock.now().wall_ms, &Before::default()).await.unwrap();
        let (first_ms, store_kib) = (cpu_ms(), status_kib("VmRSS"));
        let runs = seen.allocations.len();
        drop(seen);
        // looks that find nothing new
        for _ in 0..10 {
            assert_eq!(looker.look(clock.now().wall_ms, &Before::default()).await.unwrap().jobs.len(), runs);
        }
        println!(
            "\nruns={runs} empty_kib={empty_kib} after_first_kib={store_kib} now_kib={} peak_kib={} first_cpu_ms={first_ms} \
             look_cpu_ms={} calls={:?}",
            status_kib("VmRSS"),
            status_kib("VmHWM"),
            (cpu_ms() - first_ms) / 10,
            looker.calls(),
        );
    });
}

fn status_kib(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Processor time of this process so far.
fn cpu_ms() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10
}
