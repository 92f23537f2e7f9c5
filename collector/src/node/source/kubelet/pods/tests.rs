//! Which pod of a name is meant, and who is alive.

use super::*;
use crate::node::source::scratch::Scratch;

const OLD: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const NEW: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const STATIC: &str = "8daa50c3a64c9ff60bb9eab7b44b56fd";

fn logs(entries: &[(&str, &str, &str)]) -> BTreeSet<(String, String, String)> {
    entries.iter().map(|(n, p, u)| ((*n).to_owned(), (*p).to_owned(), (*u).to_owned())).collect()
}

fn set(uids: &[&str]) -> BTreeSet<String> {
    uids.iter().map(|u| (*u).to_owned()).collect()
}

#[test]
fn folders_of_logs_name_namespace_pod_and_uid() {
    let folder = Scratch::new();
    for name in [format!("ml_web-0_{OLD}"), format!("kube-system_etcd_{STATIC}"), "lost+found".into(), "a_b_c".into()] {
        folder.make(&name);
    }
    let expected = logs(&[("ml", "web-0", OLD), ("kube-system", "etcd", STATIC)]);
    assert_eq!(uids_by_logs(&folder.path).unwrap(), expected);
    assert!(uids_by_logs(&folder.path.join("none")).is_err());
}

#[test]
fn among_pods_of_one_name_the_living_is_meant() {
    let by_logs = logs(&[("ml", "web-0", OLD), ("ml", "web-0", NEW), ("other", "web-0", STATIC)]);
    let find = |living: Option<&[&str]>| resolve("ml", "web-0", &by_logs, living.map(set).as_ref());
    assert_eq!(find(Some(&[NEW, STATIC])), PodUid::Known(NEW.into()));
    assert_eq!(find(Some(&[STATIC])), PodUid::Ended, "both are over");
    assert_eq!(find(Some(&[OLD, NEW])), PodUid::Unknown, "it cannot be told which");
    assert_eq!(find(None), PodUid::Unknown, "nothing is known of who lives");
}

#[test]
fn a_pod_without_logs_is_unknown_and_not_ended() {
    let by_logs = logs(&[("ml", "web-0", OLD)]);
    assert_eq!(resolve("ml", "web-1", &by_logs, Some(&set(&[NEW]))), PodUid::Unknown);
    assert_eq!(resolve("ml", "web-0", &by_logs, None), PodUid::Known(OLD.into()));
}

#[test]
fn living_pods_are_found_wherever_the_kubelet_puts_them() {
    let slice = |uid: &str| format!("kubepods-burstable-pod{}.slice", uid.replace('-', "_"));
    for (path, uid) in [
        (format!("kubepods.slice/kubepods-burstable.slice/{}/cri-containerd-1.scope", slice(OLD)), OLD),
        (format!("kubepods/besteffort/pod{NEW}/x"), NEW),
        (format!("memory/kubepods/pod{STATIC}"), STATIC),
        (
            format!(
                "system.slice/docker-0.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-{}",
                slice(OLD)
            ),
            OLD,
        ),
        (format!("system.slice/containerd.service/{}:cri-containerd:{}", slice(NEW), "ab".repeat(32)), NEW),
    ] {
        let folder = Scratch::new();
        folder.make(&path);
        folder.make("system.slice/ssh.service");
        assert_eq!(living(&folder.path), Some(set(&[uid])), "{path}");
    }
}

#[test]
fn no_pod_at_all_says_nothing_of_who_lives() {
    let folder = Scratch::new();
    folder.make("system.slice/ssh.service");
    assert_eq!(living(&folder.path), None);
    assert_eq!(living(&folder.path.join("none")), None);
}
