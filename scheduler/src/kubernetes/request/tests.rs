//! Requests of pods, counted by hand.

use super::*;
use serde_json::json;

fn asked(spec: &Value) -> Vec<(String, i64, Cut)> {
    let request = read(spec, &BTreeMap::new(), &Resources::default());
    request.gpus.into_iter().map(|p| (p.resource, p.count, p.cut)).collect()
}

fn gpu(count: i64) -> (String, i64, Cut) {
    ("nvidia.com/gpu".to_owned(), count, Cut::Whole)
}

fn container(limits: Value) -> Value {
    json!({"name": "main", "resources": {"limits": limits}})
}

#[test]
fn a_pod_without_gpus_asks_for_none() {
    let spec = json!({"containers": [container(json!({"cpu": "2"})), container(json!({"nvidia.com/gpu": "0"}))]});
    assert_eq!(asked(&spec), vec![]);
}

#[test]
fn containers_add_up_and_a_request_counts_once_with_its_limit() {
    let both =
        json!({"name": "b", "resources": {"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": "2"}}});
    let spec = json!({"containers": [container(json!({"nvidia.com/gpu": "1"})), both]});
    assert_eq!(asked(&spec), vec![gpu(1), gpu(2)]);
}

#[test]
fn init_containers_need_their_greatest_and_sidecars_add_up() {
    let init = |count: &str| container(json!({"nvidia.com/gpu": count}));
    let sidecar = json!({"name": "s", "restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1"}}});
    let main = container(json!({"nvidia.com/gpu": "2"}));
    // one after the other: 4 before, 2 while running
    assert_eq!(asked(&json!({"initContainers": [init("1"), init("4")], "containers": [main]})), vec![gpu(4)]);
    assert_eq!(asked(&json!({"initContainers": [init("1")], "containers": [main]})), vec![gpu(2)]);
    // the sidecar runs beside the init container behind it (1 + 3), and beside the main one (1 + 2)
    let spec = json!({"initContainers": [sidecar, init("3")], "containers": [main]});
    assert_eq!(asked(&spec), vec![gpu(1), gpu(3)]);
    let spec = json!({"initContainers": [init("3"), sidecar], "containers": [main]});
    assert_eq!(asked(&spec), vec![gpu(2), gpu(1)]);
}

#[test]
fn fractions_of_a_container_are_of_each_of_its_cards() {
    let spec = json!({"containers": [container(json!({"nvidia.com/gpu": "1", "nvidia.com/gpucores": "25"}))]});
    assert_eq!(asked(&spec), vec![("nvidia.com/gpu".to_owned(), 1, Cut::Part { num: 25, den: 100 })]);
    let limits = json!({"nvidia.com/gpu": "2", "nvidia.com/gpumem": "8192"});
    let request = read(&json!({"containers": [container(limits)]}), &BTreeMap::new(), &Resources::default());
    assert_eq!((request.gpus[0].cut, request.gpus[0].memory_mib), (Cut::MemoryMib(8_192), Some(8_192)));
    let spec = json!({"containers": [container(json!({"nvidia.com/gpumem-percentage": "50"}))]});
    let alone = ("nvidia.com/gpumem-percentage".to_owned(), 1, Cut::Part { num: 50, den: 100 });
    assert_eq!(asked(&spec), vec![alone]);
}

#[test]
fn annotations_grant_parts_where_a_site_says_so() {
    let by = Fraction {
        share: Some("gpu-fraction".to_owned()),
        memory_mib: Some("gpu-memory".to_owned()),
        devices: Some("gpu-fraction-num-devices".to_owned()),
    };
    let resources = Resources { fractions: vec![by], ..Resources::default() };
    let spec = json!({"containers": [container(json!({"cpu": 1}))]});
    let of = |said: &[(&'static str, &'static str)]| {
        read(&spec, &said.iter().copied().collect(), &resources).gpus.into_iter().map(|p| (p.count, p.cut)).next()
    };
    assert_eq!(of(&[("gpu-fraction", "0.5")]), Some((1, Cut::Part { num: 5, den: 10 })));
    let two = [("gpu-fraction", "0.5"), ("gpu-fraction-num-devices", "2")];
    assert_eq!(of(&two), Some((2, Cut::Part { num: 5, den: 10 })));
    assert_eq!(of(&[("gpu-memory", "4096")]), Some((1, Cut::MemoryMib(4_096))));
    assert_eq!((of(&[("gpu-fraction", "0")]), of(&[("gpu-fraction", "much")]), of(&[])), (None, None, None));
}

#[test]
fn host_resources_add_up_and_a_missing_limit_is_none() {
    let a = json!({"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1"}}});
    let b = json!({"name": "b", "resources": {"limits": {"cpu": "2", "memory": "2Gi"}}});
    let request = read(&json!({"containers": [a, b]}), &BTreeMap::new(), &Resources::default());
    assert_eq!((request.cpus_milli, request.mem_bytes), (Some(2_500), Some(3 << 30)));
    assert_eq!((request.limit_cpus_milli, request.limit_mem_bytes), (Some(3_000), None));
    let silent = read(&json!({"containers": [{"name": "c"}]}), &BTreeMap::new(), &Resources::default());
    assert_eq!((silent.cpus_milli, silent.mem_bytes), (None, None));
}
