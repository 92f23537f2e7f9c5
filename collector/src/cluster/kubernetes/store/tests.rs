//! What the store keeps from event to event.

use super::*;
use gpuledger_schema::state::RunState;
use serde_json::json;

const AT_10: i64 = 1_791_194_400_000;

fn feed(kind: Kind) -> Feed {
    let store = Arc::new(Mutex::new(Store::new(PodRules::default(), NodeRules::default())));
    Feed { store, kind, listed: HashSet::new() }
}

fn pod(uid: &str, gpus: i64, status: Value) -> Value {
    json!({
        "metadata": {"uid": uid, "namespace": "ml", "name": "p-0", "creationTimestamp": "2026-10-05T09:59:00Z"},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]},
        "status": status,
    })
}

fn running() -> Value {
    json!({"phase": "Running", "conditions": [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-05T10:00:00Z"}]})
}

fn list(feed: &mut Feed, objects: Vec<Value>, now_ms: i64) {
    feed.begin();
    objects.into_iter().for_each(|o| feed.listed(o, now_ms));
    feed.end(now_ms);
}

#[test]
fn pods_without_gpus_are_not_kept() {
    let mut feed = feed(Kind::Pods);
    list(&mut feed, vec![pod("u1", 1, running()), pod("u2", 0, running())], AT_10);
    assert_eq!(lock(&feed.store).pods.keys().collect::<Vec<_>>(), ["u1"]);
    assert_eq!(lock(&feed.store).heard_ms(Kind::Pods), Some(AT_10));
    assert_eq!(lock(&feed.store).heard_ms(Kind::Nodes), None);
}

#[test]
fn a_name_that_is_used_again_is_another_pod() {
    let mut feed = feed(Kind::Pods);
    list(&mut feed, vec![pod("u1", 1, running())], AT_10);
    feed.deleted(pod("u1", 1, running()), AT_10 + 5_000);
    feed.changed(pod("u2", 1, running()), AT_10 + 6_000);
    let store = lock(&feed.store);
    assert_eq!((store.pods.len(), store.deleted.len()), (1, 1));
    let end = store.deleted[0].ended.clone().unwrap();
    assert_eq!((end.state, end.at_ms), (RunState::Cancelled, Some(AT_10 + 5_000)));
    assert_eq!(store.pods["u2"].ended, None);
}

#[test]
fn a_pod_that_a_new_list_does_not_show_went_without_an_end() {
    let mut feed = feed(Kind::Pods);
    list(&mut feed, vec![pod("u1", 1, running()), pod("u2", 1, running())], AT_10);
    list(&mut feed, vec![pod("u2", 1, running())], AT_10 + 60_000);
    let store = lock(&feed.store);
    assert_eq!((store.pods.len(), store.pods.contains_key("u2"), store.deleted.len()), (1, true, 0));
}

#[test]
fn the_first_start_and_the_first_end_stay() {
    let mut feed = feed(Kind::Pods);
    feed.changed(pod("u1", 1, json!({"phase": "Running", "startTime": "2026-10-05T10:00:05Z"})), AT_10);
    feed.changed(pod("u1", 1, running()), AT_10 + 1);
    assert_eq!(lock(&feed.store).pods["u1"].start_ms, Some(AT_10 + 5_000), "the run's key is made of it");
    feed.changed(pod("u1", 1, json!({"phase": "Failed", "reason": "Evicted"})), AT_10 + 60_000);
    feed.changed(pod("u1", 1, json!({"phase": "Failed", "reason": "Evicted"})), AT_10 + 90_000);
    let ended = lock(&feed.store).pods["u1"].ended.clone().unwrap();
    assert_eq!(ended.at_ms, Some(AT_10 + 60_000), "nothing says when: first seen");
}

#[test]
fn a_gate_keeps_a_pod_from_being_eligible() {
    let mut feed = feed(Kind::Pods);
    let mut gated = pod("u1", 1, json!({"phase": "Pending"}));
    gated["spec"]["schedulingGates"] = json!([{"name": "g"}]);
    feed.changed(gated, AT_10);
    assert_eq!(lock(&feed.store).pods["u1"].eligible_ms, None);
    feed.changed(pod("u1", 1, json!({"phase": "Pending"})), AT_10 + 7_000);
    feed.changed(pod("u1", 1, running()), AT_10 + 9_000);
    assert_eq!(lock(&feed.store).pods["u1"].eligible_ms, Some(AT_10 + 7_000));
    feed.changed(pod("u2", 1, running()), AT_10);
    assert_eq!(lock(&feed.store).pods["u2"].eligible_ms, Some(AT_10 - 60_000));
}

#[test]
fn a_node_that_lost_its_plugin_is_ours_still() {
    let mut feed = feed(Kind::Nodes);
    let node = |capacity: Value| json!({"metadata": {"name": "n1"}, "status": {"capacity": capacity}});
    feed.changed(json!({"metadata": {"name": "cpu1"}, "status": {"capacity": {"cpu": "4"}}}), AT_10);
    feed.changed(node(json!({"nvidia.com/gpu": "8"})), AT_10);
    feed.changed(node(json!({"cpu": "4"})), AT_10);
    let store = lock(&feed.store);
    assert_eq!(store.nodes.keys().collect::<Vec<_>>(), ["n1"]);
    assert!(store.nodes["n1"].offers.is_empty());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_goes_on() {
    let mut feed = feed(Kind::Pods);
    let mut broken = pod("u1", 1, running());
    broken["metadata"]["creationTimestamp"] = json!("yesterday");
    broken["metadata"]["name"] = json!("broken");
    list(&mut feed, vec![broken.clone(), pod("u2", 1, running())], AT_10);
    let why = |feed: &Feed| lock(&feed.store).unreadable().cloned().collect::<Vec<_>>();
    assert_eq!(why(&feed), ["pod `ml/broken` has no metadata.creationTimestamp"]);
    assert_eq!(lock(&feed.store).pods.len(), 1);
    feed.deleted(broken, AT_10 + 1);
    assert!(why(&feed).is_empty());
}

#[test]
fn images_by_their_first_events() {
    let mut feed = feed(Kind::Pulled);
    let event = |reason: &str, at: &str| json!({"involvedObject": {"kind": "Pod", "uid": "u1"}, "reason": reason, "firstTimestamp": at});
    for (reason, at) in [("Pulling", "2026-10-05T10:00:10Z"), ("Pulling", "2026-10-05T10:00:02Z")] {
        feed.changed(event(reason, at), AT_10);
    }
    feed.changed(event("Pulled", "2026-10-05T10:00:30Z"), AT_10);
    let store = lock(&feed.store);
    let images = store.images("u1").unwrap();
    assert_eq!((images.pulling_ms, images.pulled_ms.as_slice()), (Some(AT_10 + 2_000), [AT_10 + 30_000].as_slice()));
}

#[test]
fn labels_of_namespaces_without_the_systems_own() {
    let mut feed = feed(Kind::Namespaces);
    let labels =
        json!({"team": "vision", "kubernetes.io/metadata.name": "ml", "pod-security.kubernetes.io/enforce": "x"});
    feed.changed(json!({"metadata": {"name": "ml", "labels": labels}}), AT_10);
    assert_eq!(lock(&feed.store).namespaces["ml"], [("team".to_owned(), "vision".to_owned())]);
}
