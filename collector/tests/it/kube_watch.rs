//! The Kubernetes collector against an API server that goes wrong in the ways of real ones.

use std::time::Duration;

use gpuledger_collector::cluster::changes::Memory;
use serde_json::{Value, json};

use super::kube_api::{Api, Fault};
use super::kube_look::{Looks, block, config, job, node, pod, run};

const AT_10: i64 = 1_791_194_400_000;

/// Node `n1`, namespace `ml`, and as many pods.
async fn cluster(pods: usize) -> Api {
    let api = Api::start().await;
    api.put("nodes", node("n1"));
    api.put("namespaces", json!({"metadata": {"name": "ml", "labels": {"team": "vision"}}}));
    (0..pods).for_each(|i| api.put("pods", pod(&format!("p{i:02}"))));
    api
}

fn owned(mut object: Value, api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    object["metadata"]["ownerReferences"] =
        json!([{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true}]);
    object
}

fn object(name: &str, uid: &str) -> Value {
    json!({"metadata": {"namespace": "ml", "name": name, "uid": uid}, "spec": {"replicas": 3}})
}

#[test]
fn a_cluster_is_listed_in_pages_and_becomes_rows() {
    block(async {
        let api = cluster(25).await;
        let mut plain = pod("no-gpu");
        plain["spec"]["containers"][0]["resources"] = json!({});
        api.put("pods", plain);
        let seen = Looks::at(&api, "page_size = 10").await.look().await.unwrap();
        assert_eq!((seen.jobs.len(), seen.allocations.len(), seen.holdings.len()), (25, 25, 25));
        assert_eq!(api.requests("list", "pods"), 3, "26 pods, 10 a page");
        let run = run(&seen, "p07").unwrap();
        assert_eq!((run.start_ms, run.end_ms, run.state.as_str()), (AT_10, None, "RUNNING"));
        assert_eq!((run.model.as_deref(), run.nodes.as_deref()), (Some("NVIDIA-H100-80GB-HBM3"), Some("n1")));
        assert_eq!((run.container_start_ms, run.image_ready_ms), (Some(AT_10 + 60_000), None));
        assert_eq!(job(&seen, "p07").unwrap().labels.as_deref(), Some("team=vision"));
        assert_eq!((seen.nodes.len(), seen.nodes[0].state.as_str()), (1, "up"));
        let offer = &seen.offers[0];
        assert_eq!((offer.resource.as_str(), offer.count, offer.unit_units), ("nvidia.com/gpu", 8, 72_072_000));
        assert!(seen.complete);
    });
}

#[test]
fn owners_are_followed_up_and_what_may_not_be_asked_ends_the_way() {
    block(async {
        let api = cluster(0).await;
        api.put("pods", owned(pod("web"), "apps/v1", "ReplicaSet", "web-1", "rs1"));
        api.put("replicasets", owned(object("web-1", "rs1"), "apps/v1", "Deployment", "web", "d1"));
        api.put("deployments", object("web", "d1"));
        api.put("pods", owned(pod("cron"), "batch/v1", "Job", "cron-1", "j1"));
        api.put("jobs", owned(object("cron-1", "j1"), "batch/v1", "CronJob", "cron", "c1"));
        api.put("pods", owned(pod("nb"), "apps/v1", "StatefulSet", "nb", "s1"));
        api.put("statefulsets", owned(object("nb", "s1"), "kubeflow.org/v1", "Notebook", "nb", "n1"));
        api.put("pods", owned(pod("torch"), "kubeflow.org/v1", "PyTorchJob", "torch", "t1"));
        // its name is another's by now
        api.put("pods", owned(pod("old"), "apps/v1", "ReplicaSet", "old-1", "gone"));
        api.put("replicasets", owned(object("old-1", "new"), "apps/v1", "Deployment", "other", "d2"));
        let mut looks = Looks::at(&api, "").await;
        let seen = looks.look().await.unwrap();
        let workload = |name: &str| {
            let job = job(&seen, name).unwrap();
            let text = |t: &Option<String>| t.clone().unwrap_or_default();
            (text(&job.workload_kind), text(&job.workload_name), text(&job.workload_uid), job.workload_replicas)
        };
        let named = |k: &str, n: &str, u: &str, r| (k.to_owned(), n.to_owned(), u.to_owned(), r);
        assert_eq!(workload("web"), named("Deployment", "web", "d1", Some(3)));
        assert_eq!(workload("cron"), named("CronJob", "cron", "c1", None));
        assert_eq!(workload("nb"), named("Notebook", "nb", "n1", None));
        assert_eq!(workload("torch"), named("PyTorchJob", "torch", "t1", None));
        assert_eq!(workload("old"), named("ReplicaSet", "old-1", "gone", None));
        assert_eq!(api.requests("get", "replicasets"), 2);
        looks.look().await.unwrap();
        assert_eq!(api.requests("get", "replicasets"), 2, "an owner is asked for once");
    });
}

#[test]
fn events_become_changes_and_a_deleted_pod_has_an_end() {
    block(async {
        let api = cluster(1).await;
        let mut looks = Looks::at(&api, "").await;
        looks.look().await.unwrap();
        let mut waiting = pod("late");
        waiting["spec"].as_object_mut().unwrap().remove("nodeName");
        waiting["status"] = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}]});
        api.put("pods", waiting);
        let seen = looks.until("a new pod", |s| job(s, "late").is_some()).await;
        assert_eq!(
            job(&seen, "late").unwrap().pending_reason.as_deref(),
            Some("Unschedulable: insufficient nvidia.com/gpu")
        );
        assert!(run(&seen, "late").is_none(), "a pod without a node holds nothing");
        api.put("pods", pod("late"));
        let seen = looks.until("its node", |s| run(s, "late").is_some()).await;
        assert_eq!(run(&seen, "late").unwrap().start_ms, AT_10);
        let mut last = pod("late");
        last["metadata"]["deletionTimestamp"] = json!("2026-10-05T11:00:00Z");
        last["status"]["containerStatuses"][0]["state"] =
            json!({"terminated": {"exitCode": 143, "finishedAt": "2026-10-05T11:00:20Z", "reason": "Error"}});
        api.delete("pods", last);
        api.delete("pods", pod("p00"));
        let seen = looks.until("the end", |s| s.allocations.iter().filter(|a| a.terminal).count() == 2).await;
        let late = run(&seen, "late").unwrap();
        assert_eq!((late.end_ms, late.state.as_str()), (Some(AT_10 + 3_620_000), "CANCELLED"));
        assert_eq!((late.exit_code.as_deref(), late.end_reason.as_deref()), (Some("143"), Some("Deleted")));
        // nothing says when the other ended: when it was seen to be gone
        let gone_ms = run(&seen, "p00").unwrap().end_ms.unwrap();
        assert!((gone_ms - seen.as_of_ms).abs() < 20_000, "{gone_ms} {}", seen.as_of_ms);
    });
}

#[test]
fn images_are_timed_by_events() {
    block(async {
        let api = cluster(1).await;
        let event = |reason: &str, at: &str| {
            json!({"metadata": {"namespace": "ml", "name": format!("e-{reason}")}, "reason": reason, "firstTimestamp": at,
                "involvedObject": {"kind": "Pod", "uid": "uid-p00"}})
        };
        api.put("events", event("Pulling", "2026-10-05T10:00:05Z"));
        let mut looks = Looks::at(&api, "").await;
        let seen = looks.look().await.unwrap();
        assert_eq!(run(&seen, "p00").unwrap().image_pull_ms, Some(AT_10 + 5_000));
        api.put("events", event("Pulled", "2026-10-05T10:00:50Z"));
        api.put("events", event("Started", "2026-10-05T10:00:51Z"));
        let ready = |s: &gpuledger_collector::cluster::Snapshot| run(s, "p00").and_then(|r| r.image_ready_ms);
        let seen = looks.until("an event", |s| ready(s).is_some()).await;
        assert_eq!(ready(&seen), Some(AT_10 + 50_000));
        let seen = Looks::at(&api, "events = false").await.look().await.unwrap();
        assert_eq!((run(&seen, "p00").unwrap().image_pull_ms, ready(&seen)), (None, None), "unknown is not zero");
    });
}

#[test]
fn a_watch_that_breaks_in_the_middle_of_a_line_is_taken_up_where_it_was() {
    block(async {
        let api = cluster(3).await;
        let mut looks = Looks::at(&api, "").await;
        looks.look().await.unwrap();
        for in_line in [true, false] {
            api.cut(in_line);
            tokio::time::sleep(Duration::from_millis(50)).await;
            api.put("pods", pod(if in_line { "x1" } else { "x2" }));
        }
        let seen = looks.until("both", |s| job(s, "x1").is_some() && job(s, "x2").is_some()).await;
        assert_eq!(seen.jobs.len(), 5);
        assert_eq!(api.requests("list", "pods"), 1, "nothing was listed again");
    });
}

#[test]
fn what_the_server_forgot_is_listed_again_and_who_went_meanwhile_is_gone() {
    for by_event in [true, false] {
        block(async {
            let api = cluster(3).await;
            let mut looks = Looks::at(&api, "").await;
            let first = looks.look().await.unwrap();
            api.lose("pods", &pod("p01"));
            api.forget(by_event);
            let seen = looks.until("a new list", |s| s.jobs.len() == 2).await;
            assert!(job(&seen, "p01").is_none() && api.requests("list", "pods") >= 2);
            // the tracker says when it was last seen, and invents no end
            let mut memory = Memory::new("kubernetes", "west", first.as_of_ms);
            let change = memory.change(first.as_of_ms, Ok(first.clone()));
            assert_eq!((change.allocations.len(), change.jobs.len(), change.holdings.len()), (3, 3, 3));
            memory.apply(&change);
            let change = memory.change(seen.as_of_ms, Ok(seen.clone()));
            let [row] = change.allocations.as_slice() else { panic!("{:?}", change.allocations) };
            assert_eq!((row.last_seen_ms, row.end_ms, row.terminal), (Some(first.as_of_ms), None, false));
            assert!(row.source.starts_with("kubernetes:"), "{}", row.source);
        });
    }
}

#[test]
fn a_list_whose_next_page_is_gone_begins_again() {
    block(async {
        let api = cluster(25).await;
        api.fault("list", "pods", Fault::Slow(Duration::ZERO));
        api.fault("list", "pods", Fault::Refuse(410, None));
        let seen = Looks::at(&api, "page_size = 10").await.look().await.unwrap();
        assert_eq!((seen.jobs.len(), api.requests("list", "pods")), (25, 5));
    });
}

#[test]
fn a_server_that_refuses_is_left_alone_as_long_as_it_asks() {
    block(async {
        let api = cluster(1).await;
        api.fault("list", "pods", Fault::Refuse(429, Some(2)));
        api.fault("list", "pods", Fault::Refuse(500, None));
        api.fault("list", "pods", Fault::Garbage);
        api.fault("list", "nodes", Fault::Slow(Duration::from_millis(700)));
        let start = std::time::Instant::now();
        let mut looks = Looks::at(&api, "").await;
        let seen = looks.look().await.unwrap();
        assert_eq!((seen.jobs.len(), seen.nodes.len()), (1, 1));
        assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
        assert_eq!(api.requests("list", "pods"), 4);
    });
}

#[test]
fn silence_is_unknown_and_a_bookmark_ends_it() {
    block(async {
        let api = cluster(1).await;
        let mut looks = Looks::at(&api, "").await;
        looks.look().await.unwrap();
        // two intervals of ten seconds in which nothing is heard
        looks.clock.by_ms(20_500);
        let why = looks.look().await.unwrap_err().what;
        assert!(why.starts_with("nothing was heard of pods for 2"), "{why}");
        api.bookmark();
        let seen = looks.until("a bookmark", |_| true).await;
        assert_eq!(seen.jobs.len(), 1);
        // a server that only refuses: the reason is said
        (0..50).for_each(|_| api.fault("watch", "pods", Fault::Refuse(503, None)));
        api.cut(false);
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        looks.clock.by_ms(20_500);
        let why = looks.look().await.unwrap_err().what;
        assert!(why.contains("the API server answers 503: not now"), "{why}");
    });
}

#[test]
fn a_cordoned_node_is_drained_and_a_pod_on_it_is_held() {
    block(async {
        let api = cluster(1).await;
        let mut looks = Looks::at(&api, "").await;
        looks.look().await.unwrap();
        let mut cordoned = node("n1");
        cordoned["spec"]["unschedulable"] = json!(true);
        api.put("nodes", cordoned);
        let seen = looks.until("the cordon", |s| s.nodes[0].state == "drained").await;
        assert_eq!(seen.nodes[0].reason.as_deref(), Some("cordoned"));
        assert_eq!(run(&seen, "p00").unwrap().end_ms, None);
        let mut lost = node("n1");
        lost["status"]["conditions"][0]["status"] = json!("Unknown");
        api.put("nodes", lost);
        let seen = looks.until("the loss", |s| s.nodes[0].state == "down").await;
        let run = run(&seen, "p00").unwrap();
        assert_eq!((run.end_ms, run.end_reason.as_deref()), (None, Some("NodeLost")));
    });
}

#[test]
fn the_loop_brings_rows_to_the_inbox() {
    block(async {
        let api = cluster(2).await;
        let folder = tempfile::tempdir().unwrap();
        let config = config(&api, folder.path(), "");
        std::fs::create_dir_all(folder.path().join("lake/inbox")).unwrap();
        let clock: std::sync::Arc<dyn gpuledger_collector::node::seen::Clock> =
            std::sync::Arc::new(gpuledger_collector::node::clock::KernelClock);
        let looker = gpuledger_collector::cluster::kubernetes::looker(&config, &clock).await.unwrap();
        let never = std::future::pending();
        gpuledger_collector::cluster::run::run_until(looker, &config, clock, true, never).await.unwrap();
        let names: Vec<String> = std::fs::read_dir(folder.path().join("lake/inbox"))
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        for table in ["job~", "allocation~", "allocation_device~", "node_state~", "node_offer~", "reading~"] {
            assert_eq!(names.iter().filter(|n| n.starts_with(table)).count(), 1, "{table}: {names:?}");
        }
    });
}
