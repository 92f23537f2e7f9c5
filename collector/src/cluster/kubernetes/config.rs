//! Configuration of the Kubernetes collector: the table `[kubernetes]`. Every key has a default.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gpuledger_scheduler::kubernetes::node::NodeRules;
use gpuledger_scheduler::kubernetes::owner::Followed;
use gpuledger_scheduler::kubernetes::pod::PodRules;
use gpuledger_scheduler::kubernetes::resource::{Fraction, Meaning, Resources};
use serde::Deserialize;

use crate::cluster::config::SchedulerConfig;

/// Kinds whose `scale` is asked for replicas.
const SCALES: [&str; 2] = ["deployments.apps", "statefulsets.apps"];

/// How the API server is reached, and where a site keeps facts that Kubernetes has no place for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KubernetesConfig {
    /// Kubeconfig file [none: the pod's own service account].
    pub kubeconfig: Option<PathBuf>,
    /// Context in that file [its current one].
    pub context: Option<String>,
    /// Objects of a page of a list, 10 to 1000 [250].
    pub page_size: u32,
    /// Whether events are watched: only they say when images were pulled [true].
    pub events: bool,
    /// Resources with names of their own: card, shared, mig-<profile>, mig-<profile>.shared, cores-percent,
    /// memory-percent or memory-mib [none].
    pub resources: BTreeMap<String, String>,
    /// Annotations (or labels) that grant parts of cards without a resource [none].
    pub fractions: Vec<FractionKeys>,
    /// Labels, else annotations, that hold the user; the first that is there counts [none].
    pub user_keys: Vec<String>,
    /// The same for the queue [kueue's and volcano's].
    pub queue_keys: Vec<String>,
    /// Whether a pod has the labels of its namespace that it has not itself [true].
    pub namespace_labels: bool,
    /// Kinds of owners that are asked for, as `<plural>.<group>`: each needs `get` in the role.
    pub owners: Vec<String>,
    /// Most questions about owners at one look, 0 to 10000 [500].
    pub owner_gets_max: usize,
    /// Labels of nodes that are kept as features.
    pub node_features: Vec<String>,
    /// Taints that mean that a node is reserved for maintenance [none].
    pub maintenance_taints: Vec<String>,
}

/// Annotations of one scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FractionKeys {
    /// Annotation with the part of a card, e.g. `0.5`.
    pub share: Option<String>,
    /// Annotation with the memory in MiB.
    pub memory_mib: Option<String>,
    /// Annotation with the number of cards.
    pub devices: Option<String>,
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|w| (*w).to_owned()).collect()
}

impl Default for KubernetesConfig {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            context: None,
            page_size: 250,
            events: true,
            resources: BTreeMap::new(),
            fractions: Vec::new(),
            user_keys: Vec::new(),
            queue_keys: words(&[
                "kueue.x-k8s.io/queue-name",
                "scheduling.volcano.sh/queue-name",
                "volcano.sh/queue-name",
            ]),
            namespace_labels: true,
            owners: words(&[
                "replicasets.apps",
                "deployments.apps",
                "statefulsets.apps",
                "jobs.batch",
                "cronjobs.batch",
                "notebooks.kubeflow.org",
                "inferenceservices.serving.kserve.io",
                "revisions.serving.knative.dev",
                "configurations.serving.knative.dev",
                "services.serving.knative.dev",
            ]),
            owner_gets_max: 500,
            node_features: words(&[
                "cloud.google.com/gke-nodepool",
                "eks.amazonaws.com/nodegroup",
                "karpenter.sh/nodepool",
                "node.kubernetes.io/instance-type",
                "nvidia.com/gpu.product",
                "nvidia.com/gpu.sharing-strategy",
                "nvidia.com/mig.strategy",
                "topology.kubernetes.io/zone",
            ]),
            maintenance_taints: Vec::new(),
        }
    }
}

impl SchedulerConfig for KubernetesConfig {
    fn wrong(&self) -> Option<(&'static str, String)> {
        let meaning = self.resources.values().find_map(|word| Meaning::of_word(word).err());
        let owner = self.owners.iter().find(|o| Followed::of(o, false).is_none());
        let fraction = self.fractions.iter().find(|f| f.share.is_none() && f.memory_mib.is_none());
        meaning
            .map(|e| ("resources", e.to_string()))
            .or_else(|| owner.map(|o| ("owners", format!("has `{o}`: a kind is written like replicasets.apps"))))
            .or_else(|| fraction.map(|_| ("fractions", "need `share` or `memory_mib`".to_owned())))
            .or_else(|| {
                let good = (10..=1_000).contains(&self.page_size);
                (!good).then(|| ("page_size", format!("is {} and must be 10 to 1000", self.page_size)))
            })
            .or_else(|| {
                let good = self.owner_gets_max <= 10_000;
                (!good).then(|| ("owner_gets_max", format!("is {} and must be 0 to 10000", self.owner_gets_max)))
            })
            .or_else(|| {
                let alone = self.context.is_some() && self.kubeconfig.is_none();
                alone.then(|| ("context", "is read only with `kubeconfig`".to_owned()))
            })
    }
}

impl KubernetesConfig {
    /// How pods are read.
    pub fn pod_rules(&self) -> PodRules {
        let meaning = |(name, word): (&String, &String)| Some((name.clone(), Meaning::of_word(word).ok()?));
        let fraction = |f: &FractionKeys| Fraction {
            share: f.share.clone(),
            memory_mib: f.memory_mib.clone(),
            devices: f.devices.clone(),
        };
        PodRules {
            resources: Resources {
                named: self.resources.iter().filter_map(meaning).collect(),
                fractions: self.fractions.iter().map(fraction).collect(),
            },
            user: self.user_keys.clone(),
            queue: self.queue_keys.clone(),
        }
    }

    /// How nodes are read.
    pub fn node_rules(&self) -> NodeRules {
        NodeRules { features: self.node_features.clone(), maintenance_taints: self.maintenance_taints.clone() }
    }

    /// The kinds of owners that are asked for.
    pub fn followed(&self) -> Vec<Followed> {
        self.owners.iter().filter_map(|word| Followed::of(word, SCALES.contains(&word.as_str()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::config::ClusterConfig;

    const LEAST: &str = "cluster = \"west\"\nlake = \"/lake\"\n";

    fn parse(more: &str) -> Result<ClusterConfig<KubernetesConfig>, String> {
        ClusterConfig::parse(&format!("{LEAST}[kubernetes]\n{more}\n"), "c.toml").map_err(|e| e.to_string())
    }

    #[test]
    fn two_keys_are_enough() {
        let config = ClusterConfig::<KubernetesConfig>::parse(LEAST, "c.toml").unwrap();
        assert_eq!(config.scheduler, KubernetesConfig::default());
        assert_eq!(config.scheduler.followed().iter().filter(|f| f.scales).count(), 2);
    }

    #[test]
    fn the_example_shows_the_defaults_and_every_key() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/collector/cluster-kubernetes.toml");
        let text = std::fs::read_to_string(path).unwrap();
        let config = ClusterConfig::<KubernetesConfig>::parse(&text, "c.toml").unwrap();
        assert_eq!(config.scheduler, KubernetesConfig::default());
        // uncommented, it still reads: each key once, with a value that is allowed
        let bare: String = text.lines().map(|l| format!("{}\n", l.strip_prefix("#  ").unwrap_or(l))).collect();
        let all = ClusterConfig::<KubernetesConfig>::parse(&bare, "c.toml").unwrap();
        let (d, a) = (KubernetesConfig::default(), all.scheduler);
        assert_eq!((a.page_size, a.events, a.owner_gets_max, a.namespace_labels), (d.page_size, d.events, 500, true));
        assert_eq!((a.queue_keys, a.owners, a.node_features), (d.queue_keys, d.owners, d.node_features));
        let shown = [a.kubeconfig.is_some(), a.context.is_some(), !a.resources.is_empty(), !a.fractions.is_empty()];
        assert_eq!((shown, a.user_keys.is_empty(), a.maintenance_taints.is_empty()), ([true; 4], false, false));
    }

    #[test]
    fn what_makes_no_sense_stops_the_program_with_key_and_reason() {
        for (more, wanted) in [
            ("page_sise = 9", "page_sise"),
            ("page_size = 9", "must be 10 to 1000"),
            ("resources = { \"example.com/x\" = \"half\" }", "`half` is no meaning"),
            ("fractions = [{ devices = \"n\" }]", "need `share` or `memory_mib`"),
            ("context = \"x\"", "only with `kubeconfig`"),
        ] {
            let said = parse(more).unwrap_err();
            assert!(said.contains(wanted), "{more}: {said}");
        }
        let named = parse("resources = { \"example.com/x\" = \"mig-1g.10gb\" }").unwrap().scheduler.pod_rules();
        assert!(named.resources.meaning("example.com/x").is_some());
    }
}
