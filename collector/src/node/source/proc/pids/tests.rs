//! One process under two numbers.

use super::*;
use crate::node::source::scratch::Scratch;

fn map(processes: &[(u32, &[u32])]) -> PidMap {
    let mut map = PidMap::default();
    for (host, namespaced) in processes {
        map.add(*host, namespaced);
    }
    map
}

fn set(pids: &[u32]) -> BTreeSet<u32> {
    pids.iter().copied().collect()
}

#[test]
fn a_containers_pid_is_its_host_process_and_not_the_host_process_of_that_number() {
    // C03: the process list says 324, the utilization list 645400 at 13 %; the host has a 324 of its own
    let map = map(&[(645_400, &[645_400, 324]), (324, &[324])]);
    assert_eq!(map.on_device(324, &set(&[645_400])), Match::Namespaced(645_400));
    assert_eq!(map.candidates(324), set(&[645_400]));
}

#[test]
fn without_a_match_nobody_is_charged() {
    let map = map(&[(645_400, &[645_400, 77]), (324, &[324])]);
    assert_eq!(map.on_device(324, &set(&[645_400])), Match::Nobody);
    assert_eq!(map.on_device(324, &set(&[])), Match::Nobody);
}

#[test]
fn a_pid_that_the_device_knows_is_itself() {
    let map = map(&[(324, &[324]), (645_400, &[645_400, 324])]);
    assert_eq!(map.on_device(324, &set(&[324, 645_400])), Match::Host(324));
}

#[test]
fn containers_that_share_a_number_are_told_apart_by_the_device_or_not_at_all() {
    let map = map(&[(500, &[500, 1]), (600, &[600, 1]), (700, &[700, 40, 1])]);
    assert_eq!(map.on_device(1, &set(&[600])), Match::Namespaced(600));
    assert_eq!(map.on_device(1, &set(&[700])), Match::Namespaced(700), "namespaces nest");
    assert_eq!(map.on_device(1, &set(&[500, 600])), Match::Several(set(&[500, 600])));
}

/// A `/proc` whose reader is in the given namespaces.
fn namespaces(pid: &str, cgroup: &str) -> Shares {
    let scratch = Scratch::new();
    let folder = scratch.make("self/ns");
    std::os::unix::fs::symlink(pid, folder.join("pid")).unwrap();
    std::os::unix::fs::symlink(cgroup, folder.join("cgroup")).unwrap();
    shares_with_host(&scratch.path)
}

#[test]
fn namespaces_are_the_hosts_or_another() {
    let host = namespaces("pid:[4026531836]", "cgroup:[4026531835]");
    assert_eq!(host, Shares { pids: Some(true), cgroups: Some(true) });
    assert_eq!(namespaces("pid:[402653999]", "cgroup:[40265]"), Shares { pids: Some(false), cgroups: Some(false) });
    assert_eq!(shares_with_host(Path::new("/nowhere")), Shares { pids: None, cgroups: None });
}
