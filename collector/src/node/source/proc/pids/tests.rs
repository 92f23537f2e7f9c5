use super::*;

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

#[test]
fn the_namespace_of_this_process_can_be_told_where_there_is_one() {
    assert!(in_host_namespace(Path::new("/proc")).is_some());
    assert_eq!(in_host_namespace(Path::new("/nowhere")), None);
}
