//! UIDs of pods, which the kubelet's service does not give: by the folders of their logs, and by who is alive.

use std::collections::BTreeSet;
use std::path::Path;

use crate::node::attribute::cgroup::{Cgroup, pod_uid, strongest};

/// Most folders that are looked at for pods.
const FOLDERS_MAX: usize = 20_000;
/// Levels of the cgroup tree below its root (or a v1 controller's) among which pods lie, the deepest in kind.
const LEVELS_MAX: usize = 7;
/// Controllers of cgroup v1 whose tree holds every pod.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// The UID of a pod that the kubelet lists by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodUid {
    /// This one.
    Known(String),
    /// It has ended and is listed still: it holds nothing.
    Ended,
    /// Not found, or several could be it.
    Unknown,
}

/// UIDs by namespace and name, from folders `<namespace>_<name>_<uid>`. Names come again with other UIDs.
pub fn uids_by_logs(logs: &Path) -> std::io::Result<BTreeSet<(String, String, String)>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(logs)?.take(FOLDERS_MAX) {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let mut parts = name.splitn(3, '_');
        if let (Some(namespace), Some(pod), Some(uid)) = (parts.next(), parts.next(), parts.next().and_then(pod_uid)) {
            found.insert((namespace.to_owned(), pod.to_owned(), uid));
        }
    }
    Ok(found)
}

/// UIDs of the pods that have a cgroup; none where not one could be found, which says nothing of any.
pub fn living(cgroups: &Path) -> Option<BTreeSet<String>> {
    let controller = CONTROLLERS.iter().map(|c| cgroups.join(c)).find(|path| path.is_dir());
    let root = controller.unwrap_or_else(|| cgroups.to_owned());
    let mut walk = Walk { found: BTreeSet::new(), left: FOLDERS_MAX };
    walk.below(&root, "", 0);
    (walk.left > 0 && !walk.found.is_empty()).then_some(walk.found)
}

struct Walk {
    found: BTreeSet<String>,
    left: usize,
}

impl Walk {
    /// Looks at the folders below one; what lies inside a pod is its containers.
    fn below(&mut self, folder: &Path, path: &str, level: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if self.left == 0 {
                return;
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            self.left -= 1;
            let path = format!("{path}/{}", entry.file_name().to_string_lossy());
            match strongest(&path) {
                Cgroup::Pod { uid, .. } => {
                    self.found.insert(uid);
                }
                _ if level + 1 < LEVELS_MAX => self.below(&entry.path(), &path, level + 1),
                _ => {}
            }
        }
    }
}

/// The UID of a pod. Among pods of one name the living one is meant.
pub fn resolve(
    namespace: &str,
    name: &str,
    by_logs: &BTreeSet<(String, String, String)>,
    living: Option<&BTreeSet<String>>,
) -> PodUid {
    let named = by_logs.iter().filter(|(n, p, _)| n == namespace && p == name).map(|(_, _, uid)| uid);
    let named: Vec<&String> = named.collect();
    let alive: Vec<&String> = match living {
        Some(living) => named.iter().copied().filter(|uid| living.contains(*uid)).collect(),
        None => named.clone(),
    };
    match alive.as_slice() {
        [uid] => PodUid::Known((*uid).clone()),
        [] if !named.is_empty() => PodUid::Ended,
        _ => PodUid::Unknown,
    }
}

#[cfg(test)]
mod tests;
