//! Pods at every point of their lives.

use super::*;
use serde_json::json;

const AT_10: i64 = 1_791_194_400_000;

fn pod(spec: Value, status: Value) -> Value {
    json!({"metadata": {"uid": "u1"}, "spec": spec, "status": status})
}

fn on_node() -> Value {
    json!({"nodeName": "n1", "containers": [{"name": "main"}]})
}

fn scheduled() -> Value {
    json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-05T10:00:00Z"})
}

fn life(spec: Value, status: Value) -> Life {
    read(&pod(spec, status), &["main".to_owned()])
}

fn main(state: Value, restarts: i64, before: Value) -> Value {
    json!({"name": "main", "state": state, "restartCount": restarts, "lastState": before})
}

#[test]
fn a_pod_without_a_node_waits_and_holds_nothing() {
    let message = "0/5 nodes are available: 1 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint {a: b}. \
                   preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod.";
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
        "lastTransitionTime": "2026-10-05T10:00:00Z"});
    let waiting = life(json!({}), json!({"phase": "Pending", "conditions": [condition]}));
    assert_eq!((waiting.state, waiting.start_ms), (RunState::Pending, None));
    assert_eq!(waiting.waits.as_deref(), Some("Unschedulable: insufficient nvidia.com/gpu, untolerated taint"));
    let gated = life(json!({"schedulingGates": [{"name": "g"}]}), json!({"phase": "Pending"}));
    assert_eq!((gated.waits.as_deref(), gated.gated), (Some("SchedulingGated"), true));
    assert_eq!(life(json!({}), json!({})).waits.as_deref(), Some("Pending"));
}

#[test]
fn c18_a_pod_that_pulls_its_image_for_ever_is_held_since_its_assignment() {
    let waits = main(json!({"waiting": {"reason": "ImagePullBackOff"}}), 0, json!({}));
    let status = json!({"phase": "Pending", "conditions": [scheduled()], "containerStatuses": [waits]});
    let life = life(on_node(), status);
    assert_eq!((life.state, life.start_ms, life.ended), (RunState::Configuring, Some(AT_10), None));
    assert_eq!((life.waits.as_deref(), life.container_start_ms), (Some("ImagePullBackOff"), None));
}

#[test]
fn c18_a_completed_pod_ends_with_its_last_container() {
    let done = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": "2026-10-05T10:01:00Z",
        "finishedAt": "2026-10-05T10:30:00Z"}});
    let status =
        json!({"phase": "Succeeded", "conditions": [scheduled()], "containerStatuses": [main(done, 0, json!({}))]});
    let life = life(on_node(), status);
    let ended = life.ended.unwrap();
    assert_eq!((ended.state, ended.at_ms, ended.reason), (RunState::Completed, Some(AT_10 + 1_800_000), None));
    assert_eq!((ended.exit_code.as_deref(), life.container_start_ms), (Some("0"), Some(AT_10 + 60_000)));
}

#[test]
fn c18_an_evicted_pod_ends_with_its_eviction_however_long_its_object_stays() {
    let target = json!({"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
        "lastTransitionTime": "2026-10-05T10:10:00Z"});
    let status = json!({"phase": "Failed", "reason": "Evicted", "conditions": [scheduled(), target]});
    let ended = life(on_node(), status).ended.unwrap();
    assert_eq!((ended.state, ended.at_ms), (RunState::Failed, Some(AT_10 + 600_000)));
    assert_eq!(ended.reason.as_deref(), Some("Evicted"));
    // without conditions the kubelet's last word on the status counts
    let kept = json!({"metadata": {"managedFields": [
        {"manager": "kubelet", "subresource": "status", "time": "2026-10-05T10:11:00Z"},
        {"manager": "kube-controller-manager", "time": "2026-10-05T16:00:00Z"}]},
        "spec": on_node(), "status": {"phase": "Failed", "reason": "Evicted"}});
    assert_eq!(read(&kept, &[]).ended.unwrap().at_ms, Some(AT_10 + 660_000));
}

#[test]
fn how_pods_fail() {
    let failed = |status: Value| {
        let ended = life(on_node(), status).ended.unwrap();
        (ended.state, ended.reason.unwrap_or_default(), ended.exit_code.unwrap_or_default())
    };
    let killed = json!({"terminated": {"exitCode": 137, "signal": 9, "reason": "OOMKilled"}});
    let status = json!({"phase": "Failed", "containerStatuses": [main(killed, 0, json!({}))]});
    assert_eq!(failed(status), (RunState::OutOfMemory, "OOMKilled".to_owned(), "137:9".to_owned()));
    let error = json!({"terminated": {"exitCode": 3, "reason": "Error"}});
    let status = json!({"phase": "Failed", "containerStatuses": [main(error, 0, json!({}))]});
    assert_eq!(failed(status), (RunState::Failed, "Error".to_owned(), "3".to_owned()));
    let deadline = json!({"phase": "Failed", "reason": "DeadlineExceeded"});
    assert_eq!(failed(deadline).0, RunState::Timeout);
    let preempted = json!({"phase": "Failed", "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]});
    assert_eq!(failed(preempted).0, RunState::Preempted);
    assert_eq!(failed(json!({"phase": "Failed", "reason": "NodeLost"})).0, RunState::NodeFail);
}

#[test]
fn a_pod_on_a_lost_node_is_held_and_says_so() {
    for status in [
        json!({"phase": "Unknown", "conditions": [scheduled()]}),
        json!({"phase": "Running", "reason": "NodeLost", "conditions": [scheduled()]}),
    ] {
        let life = life(on_node(), status);
        assert_eq!((life.state, life.ended, life.start_ms), (RunState::Running, None, Some(AT_10)));
        assert!(life.unsure.is_some());
    }
}

#[test]
fn the_first_start_is_known_through_one_restart_and_no_more() {
    let runs = json!({"running": {"startedAt": "2026-10-05T10:20:00Z"}});
    let before = json!({"terminated": {"startedAt": "2026-10-05T10:05:00Z"}});
    let start = |restarts| {
        let status = json!({"phase": "Running", "conditions": [scheduled()],
            "containerStatuses": [main(runs.clone(), restarts, before.clone())]});
        life(on_node(), status).container_start_ms
    };
    assert_eq!((start(0), start(1), start(2)), (Some(AT_10 + 1_200_000), Some(AT_10 + 300_000), None));
    let other = json!({"name": "other", "state": runs});
    let status = json!({"phase": "Running", "containerStatuses": [other]});
    assert_eq!(life(on_node(), status).container_start_ms, None, "a container without a GPU starts nothing");
}

#[test]
fn a_deleted_pod_ends_with_its_containers_or_when_it_is_seen_to_be_gone() {
    let seen_ms = AT_10 + 700_000;
    let runs = json!({"phase": "Running", "conditions": [scheduled()]});
    let gone = deleted(&life(on_node(), runs.clone()), seen_ms);
    assert_eq!((gone.state, gone.at_ms, gone.reason.as_deref()), (RunState::Cancelled, Some(seen_ms), Some("Deleted")));
    let done = json!({"terminated": {"exitCode": 143, "finishedAt": "2026-10-05T10:10:00Z"}});
    let status = json!({"phase": "Running", "containerStatuses": [main(done, 0, json!({}))]});
    let gone = deleted(&life(on_node(), status), seen_ms);
    assert_eq!((gone.at_ms, gone.exit_code.as_deref()), (Some(AT_10 + 600_000), Some("143")));
    let target = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
    let status = json!({"phase": "Running", "conditions": [target]});
    assert_eq!(deleted(&life(on_node(), status), seen_ms).state, RunState::NodeFail);
    let over = deleted(&life(on_node(), json!({"phase": "Failed", "reason": "Evicted"})), seen_ms);
    assert_eq!((over.state, over.at_ms), (RunState::Failed, Some(seen_ms)));
}

#[test]
fn the_start_is_the_assignment_else_when_the_kubelet_took_it() {
    let status = json!({"phase": "Running", "startTime": "2026-10-05T10:00:05Z"});
    assert_eq!(life(on_node(), status.clone()).start_ms, Some(AT_10 + 5_000));
    assert_eq!(life(json!({}), status).start_ms, None);
}
