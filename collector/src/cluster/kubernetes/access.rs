//! What the collector asks the API server for, as rules of access: the role in `deploy/kubernetes` grants this and no more.

use std::collections::{BTreeMap, BTreeSet};

use super::config::KubernetesConfig;
use super::{Kind, SUBJECTS};

/// Verbs by API group and resource (with `/scale` where that part alone is asked for).
pub type Access = BTreeMap<(String, String), BTreeSet<&'static str>>;

/// What is asked for with this configuration.
pub fn access(config: &KubernetesConfig) -> Access {
    let mut out = Access::new();
    for (kind, subject) in &SUBJECTS {
        let wanted = match kind {
            Kind::Pulling | Kind::Pulled => config.events,
            Kind::Namespaces => config.namespace_labels,
            Kind::Pods | Kind::Nodes => true,
        };
        let resource = subject.path.rsplit('/').next().unwrap_or_default();
        if wanted {
            out.entry((String::new(), resource.to_owned())).or_default().extend(["list", "watch"]);
        }
    }
    for followed in config.followed() {
        out.entry((followed.group.clone(), followed.resource.clone())).or_default().insert("get");
        if followed.scales {
            out.entry((followed.group, format!("{}/scale", followed.resource))).or_default().insert("get");
        }
    }
    out
}
