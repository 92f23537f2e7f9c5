//! The role that is deployed grants what the collector asks for, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_collector::cluster::config::ClusterConfig;
use gpuledger_collector::cluster::kubernetes::access::access;
use gpuledger_collector::cluster::kubernetes::config::KubernetesConfig;
use serde_json::json;

use super::kube_api::{Access, Api};
use super::kube_look::{Looks, block, job, node, pod};

const MANIFEST: &str = include_str!("../../../deploy/kubernetes/cluster-collector.yaml");

/// The rules of the role, as they are written: three lines each.
fn granted() -> Access {
    let words = |line: &str| -> Vec<String> {
        let inside = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
        inside.split(',').map(|w| w.trim().trim_matches('"').to_owned()).collect()
    };
    let mut out = Access::new();
    let (mut groups, mut resources) = (Vec::new(), Vec::new());
    for line in MANIFEST.lines().map(str::trim) {
        if line.starts_with("- apiGroups:") {
            groups = words(line);
        } else if line.starts_with("resources: [") {
            resources = words(line);
        } else if line.starts_with("verbs: [") {
            for group in &groups {
                for resource in &resources {
                    out.entry((group.clone(), resource.clone())).or_default().extend(words(line));
                }
            }
        }
    }
    out
}

#[test]
fn the_role_grants_what_is_asked_for_and_nothing_else() {
    let asked: BTreeMap<(String, String), BTreeSet<String>> = access(&KubernetesConfig::default())
        .into_iter()
        .map(|(what, verbs)| (what, verbs.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(granted(), asked);
    let verbs: BTreeSet<String> = granted().into_values().flatten().collect();
    assert_eq!(verbs.into_iter().collect::<Vec<_>>(), ["get", "list", "watch"], "it only reads");
    let everything = |w: &String| w == "*" || w.contains("secret");
    assert!(!granted().keys().any(|(group, resource)| everything(group) || everything(resource)));
}

#[test]
fn a_whole_look_asks_for_nothing_that_is_not_granted() {
    block(async {
        let api = Api::start().await;
        api.grant(granted());
        api.put("nodes", node("n1"));
        // a way up through every kind that is followed
        let chain = [
            ("apps/v1", "ReplicaSet", "replicasets"),
            ("apps/v1", "Deployment", "deployments"),
            ("serving.knative.dev/v1", "Revision", "revisions"),
            ("serving.knative.dev/v1", "Configuration", "configurations"),
            ("serving.knative.dev/v1", "Service", "services"),
            ("serving.kserve.io/v1beta1", "InferenceService", "inferenceservices"),
        ];
        let other = [
            ("batch/v1", "Job", "jobs"),
            ("batch/v1", "CronJob", "cronjobs"),
            ("apps/v1", "StatefulSet", "statefulsets"),
            ("kubeflow.org/v1", "Notebook", "notebooks"),
        ];
        for (pod_name, way) in [("a", &chain[..]), ("b", &other[..2]), ("c", &other[2..])] {
            let reference = |(version, kind, resource): &(&str, &str, &str)| {
                json!([{"apiVersion": version, "kind": kind, "name": format!("o-{resource}"), "uid": format!("u-{resource}"),
                    "controller": true}])
            };
            let mut pod = pod(pod_name);
            pod["metadata"]["ownerReferences"] = reference(&way[0]);
            api.put("pods", pod);
            for (at, (_, _, resource)) in way.iter().enumerate() {
                let above = way.get(at + 1).map(reference).unwrap_or(json!([]));
                api.put(
                    resource,
                    json!({"metadata": {"namespace": "ml", "name": format!("o-{resource}"),
                    "uid": format!("u-{resource}"), "ownerReferences": above}}),
                );
            }
        }
        let mut looks = Looks::at(&api, "").await;
        let seen = looks.look().await.unwrap();
        assert_eq!(job(&seen, "a").unwrap().workload_kind.as_deref(), Some("InferenceService"));
        assert_eq!(job(&seen, "b").unwrap().workload_kind.as_deref(), Some("CronJob"));
        assert_eq!(job(&seen, "c").unwrap().workload_kind.as_deref(), Some("Notebook"));
        // watches begin a moment after the lists
        for _ in 0..200 {
            if api.asked() == granted() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(api.asked(), granted(), "each right is used");
    });
}

#[test]
fn without_the_right_to_ask_for_owners_and_events_pods_are_metered_all_the_same() {
    block(async {
        let api = Api::start().await;
        let least: Access = granted().into_iter().filter(|((_, r), _)| r == "pods" || r == "nodes").collect();
        api.grant(least);
        api.put("nodes", node("n1"));
        let mut owned = pod("a");
        owned["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u1", "controller": true}]);
        api.put("pods", owned);
        let seen = Looks::at(&api, "namespace_labels = false\nevents = false").await.look().await.unwrap();
        let job = job(&seen, "a").unwrap();
        assert_eq!((job.workload_kind.as_deref(), job.workload_uid.as_deref()), (Some("ReplicaSet"), Some("u1")));
        assert_eq!(seen.allocations.len(), 1);
    });
}

#[test]
fn the_manifest_is_explained_and_its_configuration_is_taken() {
    let mut run = 0;
    for line in MANIFEST.lines().map(str::trim) {
        run = if line.is_empty() || line.starts_with('#') { 0 } else { run + 1 };
        assert!(run <= 9, "{run} lines without a word before `{line}`");
    }
    let text: String = MANIFEST
        .lines()
        .skip_while(|l| l.trim() != "cluster.toml: |")
        .skip(1)
        .take_while(|l| l.starts_with("    "))
        .map(|l| format!("{}\n", &l[4..]))
        .collect();
    let config = ClusterConfig::<KubernetesConfig>::parse(&text, "cluster.toml").unwrap();
    for path in [&config.lake, &config.spool] {
        assert!(MANIFEST.contains(&format!("mountPath: {}", path.display())), "{}", path.display());
    }
    let port = config.metrics_address().unwrap().port();
    assert!(MANIFEST.contains(&format!("containerPort: {port}")) && MANIFEST.contains(&format!("{{port: {port}}}")));
    for line in ["runAsNonRoot: true", "readOnlyRootFilesystem: true", "drop: [ALL]", "replicas: 1"] {
        assert_eq!(MANIFEST.lines().filter(|l| l.trim() == line).count(), 1, "{line}");
    }
}
