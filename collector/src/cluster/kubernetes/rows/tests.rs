//! Rows of pods and nodes.

use super::*;
use gpuledger_scheduler::kubernetes::node;
use gpuledger_scheduler::kubernetes::node::NodeRules;
use gpuledger_scheduler::kubernetes::pod::{self, PodRules};
use gpuledger_scheduler::kubernetes::resource::Resources;
use gpuledger_schema::unit::CARD_UNITS;
use serde_json::{Value, json};

const AT_10: i64 = 1_791_194_400_000;

fn known(limits: Value, status: Value) -> Known {
    let object = json!({
        "metadata": {"uid": "u1", "namespace": "ml", "name": "p-0", "creationTimestamp": "2026-10-05T09:59:00Z",
            "labels": {"team": "own", "app": "x"}},
        "spec": {"nodeName": "n1", "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100"},
            "containers": [{"name": "main", "resources": {"limits": limits, "requests": {"cpu": "1500m"}}}]},
        "status": status,
    });
    let pod = pod::read(&object, &PodRules::default()).unwrap().unwrap();
    Known {
        start_ms: pod.life.start_ms,
        container_start_ms: pod.life.container_start_ms,
        eligible_ms: Some(pod.created_ms),
        ended: pod.life.ended.clone(),
        deleted_ms: None,
        pod,
    }
}

fn running(container: Value) -> Value {
    json!({"phase": "Running", "conditions": [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-05T10:00:00Z"}],
        "containerStatuses": [container]})
}

fn main_started() -> Value {
    json!({"name": "main", "restartCount": 0, "state": {"running": {"startedAt": "2026-10-05T10:01:00Z"}}})
}

fn a_node(labels: Value, capacity: Value, ready: &str) -> Node {
    let object = json!({"metadata": {"name": "n1", "labels": labels}, "status": {"capacity": capacity,
        "allocatable": capacity, "conditions": [{"type": "Ready", "status": ready, "reason": "NodeStatusUnknown"}]}});
    node::read(&object, &Resources::default(), &NodeRules::default()).unwrap()
}

fn seen<'a>(known: &'a Known, node: Option<&'a Node>) -> Seen<'a> {
    Seen { cluster: "west", known, node, namespace_labels: None, images: None, workload: None }
}

#[test]
fn a_running_pod_holds_from_its_assignment() {
    let known = known(json!({"nvidia.com/gpu": "2"}), running(main_started()));
    let node = a_node(json!({"nvidia.com/gpu.product": "NVIDIA-H100"}), json!({"nvidia.com/gpu": "8"}), "True");
    let namespace = [("team".to_owned(), "other".to_owned()), ("tier".to_owned(), "gold".to_owned())];
    let workload = Workload { kind: "Deployment".into(), name: "d".into(), uid: "w1".into(), replicas: Some(3) };
    let seen = Seen { namespace_labels: Some(&namespace), workload: Some(workload), ..seen(&known, Some(&node)) };
    let job = seen.job();
    assert_eq!((job.account.as_deref(), job.state.as_str(), job.tasks), (Some("ml"), "RUNNING", 1));
    assert_eq!(job.labels.as_deref(), Some("app=x\nteam=own\ntier=gold"));
    assert_eq!((job.req_gpu_units, job.req_model.as_deref()), (Some(2 * CARD_UNITS), Some("NVIDIA-H100")));
    assert_eq!(
        (job.workload_kind.as_deref(), job.workload_replicas, job.req_cpus),
        (Some("Deployment"), Some(3), Some(2))
    );
    let run = seen.allocation().unwrap();
    assert_eq!((run.start_ms, run.end_ms, run.terminal), (AT_10, None, false));
    assert_eq!((run.gpu_units, run.gpu_count, run.gpu_exact), (2 * CARD_UNITS, 2, true));
    assert_eq!((run.container_start_ms, run.image_pull_ms, run.image_ready_ms), (Some(AT_10 + 60_000), None, None));
    assert_eq!(run.hint_id, hint_of_job("west", "u1"), "as the rows of its processes");
    let holding = seen.holding(&run).unwrap();
    assert_eq!((holding.share_units, holding.evidence.as_str()), (2 * CARD_UNITS, "count"));
    assert_eq!(
        (holding.node.as_deref(), holding.device_id, holding.model.as_deref()),
        (Some("n1"), None, Some("NVIDIA-H100"))
    );
}

#[test]
fn c16_parts_of_cards_are_what_was_asked_for() {
    // (a) a quarter of the cores of one card
    let quarter = known(json!({"nvidia.com/gpu": "1", "nvidia.com/gpucores": "25"}), running(main_started()));
    let node = a_node(json!({"nvidia.com/gpu.count": "1"}), json!({"nvidia.com/gpu": "10"}), "True");
    let run = seen(&quarter, Some(&node)).allocation().unwrap();
    assert_eq!((run.gpu_units, run.gpu_exact), (CARD_UNITS / 4, true));
    // (b) a card offered as four copies
    let copy = known(json!({"nvidia.com/gpu.shared": "1"}), running(main_started()));
    let labels = json!({"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"});
    let node = a_node(labels, json!({"nvidia.com/gpu.shared": "4"}), "True");
    assert_eq!(seen(&copy, Some(&node)).allocation().unwrap().gpu_units, CARD_UNITS / 4);
    let offered: Vec<_> = offers("west", &node, |n| Resources::default().meaning(n)).collect();
    assert_eq!((offered.len(), offered[0].count, offered[0].unit_units), (1, 4, CARD_UNITS / 4));
    // nobody says as how many copies: the most that it can be, and marked
    let bare = a_node(json!({}), json!({"nvidia.com/gpu.shared": "4"}), "True");
    let run = seen(&copy, Some(&bare)).allocation().unwrap();
    assert_eq!((run.gpu_units, run.gpu_exact), (CARD_UNITS, false));
    assert_eq!(seen(&copy, None).job().req_gpu_units, None);
    assert_eq!(offers("west", &bare, |n| Resources::default().meaning(n)).count(), 0);
}

#[test]
fn c18_only_the_pod_on_a_node_costs() {
    let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-05T10:00:00Z"});
    let pulls = json!({"name": "main", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}});
    let limits = json!({"nvidia.com/gpu": "1"});
    let a = known(limits.clone(), json!({"phase": "Pending", "conditions": [scheduled], "containerStatuses": [pulls]}));
    let a = seen(&a, None).allocation().unwrap();
    assert_eq!((a.start_ms, a.end_ms, a.state.as_str(), a.container_start_ms), (AT_10, None, "CONFIGURING", None));
    let done = json!({"name": "main", "restartCount": 0, "state": {"terminated": {"exitCode": 0,
        "reason": "Completed", "startedAt": "2026-10-05T10:00:10Z", "finishedAt": "2026-10-05T10:30:00Z"}}});
    let b =
        known(limits.clone(), json!({"phase": "Succeeded", "conditions": [scheduled], "containerStatuses": [done]}));
    let b = seen(&b, None).allocation().unwrap();
    assert_eq!((b.end_ms, b.terminal, b.state.as_str()), (Some(AT_10 + 1_800_000), true, "COMPLETED"));
    let target = json!({"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
        "lastTransitionTime": "2026-10-05T10:05:00Z"});
    let c = known(limits, json!({"phase": "Failed", "reason": "Evicted", "conditions": [scheduled, target]}));
    let c = seen(&c, None).allocation().unwrap();
    assert_eq!((c.end_ms, c.end_reason.as_deref()), (Some(AT_10 + 300_000), Some("Evicted")));
}

#[test]
fn images_that_came_for_a_later_start_are_no_part_of_the_first() {
    let known = known(json!({"nvidia.com/gpu": "1"}), running(main_started()));
    let images =
        Images { pulling_ms: Some(AT_10 + 5_000), pulled_ms: vec![AT_10 + 20_000, AT_10 + 50_000, AT_10 + 500_000] };
    let run = Seen { images: Some(&images), ..seen(&known, None) }.allocation().unwrap();
    assert_eq!((run.image_pull_ms, run.image_ready_ms), (Some(AT_10 + 5_000), Some(AT_10 + 50_000)));
}

#[test]
fn a_pod_on_a_node_that_does_not_answer_is_held_and_says_so() {
    let known = known(json!({"nvidia.com/gpu": "1"}), running(main_started()));
    let node = a_node(json!({}), json!({"nvidia.com/gpu": "8"}), "Unknown");
    let run = seen(&known, Some(&node)).allocation().unwrap();
    assert_eq!((run.terminal, run.state.as_str(), run.end_reason.as_deref()), (false, "RUNNING", Some("NodeLost")));
    let state = node_state("west", &node, 5);
    assert_eq!((state.state.as_str(), state.reason.as_deref()), ("down", Some("NodeStatusUnknown")));
}

#[test]
fn a_plugin_that_offers_more_than_there_are_cards_offers_parts() {
    let node = a_node(
        json!({"nvidia.com/gpu.count": "2"}),
        json!({"nvidia.com/gpu": "20", "nvidia.com/mig-1g.10gb": "7"}),
        "True",
    );
    let units: Vec<_> =
        offers("west", &node, |n| Resources::default().meaning(n)).map(|o| (o.count, o.unit_units)).collect();
    assert_eq!(units, [(20, CARD_UNITS / 10), (7, CARD_UNITS / 7)]);
}
