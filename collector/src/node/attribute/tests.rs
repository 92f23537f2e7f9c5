//! Whom a process belongs to, by every kind of evidence and where they disagree.

use super::*;

const PODS: [&str; 3] = [
    "aaaaaaaa-0000-4000-8000-000000000001",
    "aaaaaaaa-0000-4000-8000-000000000002",
    "aaaaaaaa-0000-4000-8000-000000000003",
];
const SLUID: &str = "sEKNKTV3WPV500";

fn site(scheduler: SchedulerKind) -> Site {
    Site { cluster: "alpha".into(), scheduler, boot: Boot { node: "n1".into(), boot: "b1".into() } }
}

/// Process 4242 of user 1000 in session 4000, in the given cgroup.
fn seen(cgroup: &str) -> Witness {
    Witness {
        process: Process { pid: 4242, start_ticks: 900 },
        uid: Some(1000),
        cgroups: cgroup::findings(cgroup),
        environ: Environ::default(),
        leader: Leader { pid: 4000, start_ticks: Some(800) },
    }
}

fn in_job(job: &str) -> String {
    format!("0::/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_0")
}

fn in_run() -> String {
    format!("0::/system.slice/slurmstepd.scope/{SLUID}/step_0/user/task_0")
}

fn in_pod(uid: &str) -> String {
    format!("0::/kubepods/pod{uid}")
}

fn held(job: &str, uid: Option<u32>) -> Held {
    Held { by: Allocation::Job(job.into()), uid }
}

fn held_by_pods(uids: &[&str]) -> Vec<Held> {
    uids.iter().map(|uid| Held { by: Allocation::Pod((*uid).into()), uid: None }).collect()
}

/// Hint, evidence and conflict of a decision.
#[track_caller]
fn check(scheduler: SchedulerKind, seen: &Witness, device: &[Held], expected: (&str, &str, bool)) {
    let got = belongs(&site(scheduler), seen, &Records { device, process: None }, &Runs::default());
    assert_eq!((got.hint.as_str(), got.evidence, got.conflict), expected);
}

#[test]
fn the_cgroup_decides_and_the_id_is_that_of_cluster_and_job() {
    let got = belongs(&site(SchedulerKind::Slurm), &seen(&in_job("4711")), &Records::default(), &Runs::default());
    let id = hint_of_job("alpha", "4711");
    assert_eq!(got, Belongs { hint_id: id, hint: "slurm:alpha:4711".into(), evidence: "cgroup", conflict: false });

    let got = belongs(&site(SchedulerKind::Kubernetes), &seen(&in_pod(PODS[0])), &Records::default(), &Runs::default());
    assert_eq!(got.hint_id, hint_of_job("alpha", PODS[0]));
    assert_eq!(got.hint, format!("pod:alpha:{}", PODS[0]));
}

#[test]
fn a_record_that_names_another_raises_the_flag_and_the_cgroup_is_believed() {
    let job = seen(&in_job("7"));
    check(SchedulerKind::Slurm, &job, &[held("8", Some(1000))], ("slurm:alpha:7", "cgroup", true));
    check(SchedulerKind::Slurm, &job, &[held("8", None), held("7", None)], ("slurm:alpha:7", "cgroup", false));
    check(SchedulerKind::Slurm, &job, &[], ("slurm:alpha:7", "cgroup", false));
}

#[test]
fn slurms_own_list_of_processes_counts_as_a_record() {
    let site = site(SchedulerKind::Slurm);
    let records = Records { device: &[], process: Some("9") };
    let got = belongs(&site, &seen("0::/"), &records, &Runs::default());
    assert_eq!((got.hint.as_str(), got.evidence, got.conflict), ("slurm:alpha:9", "slurm", false));
    let got = belongs(&site, &seen(&in_job("7")), &records, &Runs::default());
    assert_eq!((got.hint.as_str(), got.evidence, got.conflict), ("slurm:alpha:7", "cgroup", true));
}

#[test]
fn replicas_on_one_card_keep_each_their_pod() {
    // C15: three pods share the card by time; none of them is a conflict and none takes the others' processes
    let holders = held_by_pods(&PODS);
    for uid in PODS {
        check(SchedulerKind::Kubernetes, &seen(&in_pod(uid)), &holders, (&format!("pod:alpha:{uid}"), "cgroup", false));
    }
    check(SchedulerKind::Kubernetes, &seen("0::/"), &holders, ("session:4000", "session", false));
}

#[test]
fn a_pods_record_speaks_only_for_a_process_that_is_nowhere_else() {
    let holder = held_by_pods(&PODS[..1]);
    let of_pod = format!("pod:alpha:{}", PODS[0]);
    check(SchedulerKind::Kubernetes, &seen("0::/"), &holder, (&of_pod, "kubelet", false));
    let login = seen("0::/user.slice/user-1000.slice/session-7.scope");
    check(SchedulerKind::Kubernetes, &login, &holder, ("session:4000", "session", false));
}

#[test]
fn a_jobs_record_speaks_for_its_own_user() {
    let login = seen("0::/user.slice/user-1000.slice/session-7.scope");
    check(SchedulerKind::Slurm, &login, &[held("7", Some(1000))], ("slurm:alpha:7", "slurm", false));
    check(SchedulerKind::Slurm, &login, &[held("7", Some(1001))], ("session:4000", "session", false));
    check(SchedulerKind::Slurm, &login, &[held("7", None)], ("session:4000", "session", false));
    check(SchedulerKind::Slurm, &seen("0::/"), &[held("7", None)], ("slurm:alpha:7", "slurm", false));
    // a card cut into shards: the user tells the holders apart, and two jobs of one user cannot be told apart
    check(
        SchedulerKind::Slurm,
        &login,
        &[held("7", Some(1001)), held("8", Some(1000))],
        ("slurm:alpha:8", "slurm", false),
    );
    check(
        SchedulerKind::Slurm,
        &login,
        &[held("7", Some(1000)), held("8", Some(1000))],
        ("session:4000", "session", false),
    );
}

#[test]
fn a_record_of_a_process_nobody_could_read_is_not_matched_by_a_missing_user() {
    let gone = Witness { uid: None, ..seen("0::/") };
    check(SchedulerKind::Slurm, &gone, &[held("7", Some(1000))], ("session:4000", "session", false));
}

#[test]
fn the_environment_is_asked_after_the_records_and_not_believed_against_them() {
    let mut docker = seen(&format!("0::/system.slice/docker-{}.scope", "ab".repeat(32)));
    docker.environ.slurm_job = Some("7".into());
    check(SchedulerKind::Slurm, &docker, &[], ("slurm:alpha:7", "environ", false));
    check(SchedulerKind::Slurm, &docker, &[held("8", Some(1000))], ("slurm:alpha:8", "slurm", false));
    check(SchedulerKind::Slurm, &docker, &[held("7", Some(2000))], ("session:4000", "session", false));
    check(SchedulerKind::Kubernetes, &docker, &[], ("session:4000", "session", false));
}

#[test]
fn a_run_is_its_job_where_somebody_said_so_and_itself_elsewhere() {
    let site = site(SchedulerKind::Slurm);
    let mut runs = Runs::default();
    let adopted = seen(&in_run());
    let before = belongs(&site, &adopted, &Records::default(), &runs);
    assert_eq!(before.hint, format!("slurm:alpha:{SLUID}"));
    assert_eq!(before.hint_id, hint_of_job("alpha", SLUID));

    // the batch script carries the keys; the ssh session adopted by the same run has none
    let environ = Environ { slurm_job: Some("4711".into()), slurm_sluid: Some(SLUID.into()) };
    runs.witness(&Witness { environ, ..seen(&in_run()) });
    assert_eq!(belongs(&site, &adopted, &Records::default(), &runs).hint, "slurm:alpha:4711");
}

#[test]
fn one_process_cannot_rename_a_run_and_a_record_can() {
    let mut runs = Runs::default();
    let environ = |job: &str, sluid: &str| Environ { slurm_job: Some(job.into()), slurm_sluid: Some(sluid.into()) };
    runs.witness(&Witness { environ: environ("1", "s0000000000000"), ..seen(&in_run()) });
    assert_eq!(runs.job(SLUID), None, "the environment speaks of another run");
    runs.witness(&Witness { environ: environ("2", SLUID), ..seen("0::/") });
    assert_eq!(runs.job(SLUID), None, "the process is not in the run");
    runs.witness(&Witness { environ: environ("3", SLUID), ..seen(&in_run()) });
    runs.witness(&Witness { environ: environ("4", SLUID), ..seen(&in_run()) });
    assert_eq!(runs.job(SLUID), Some("3"));
    runs.record(SLUID, "5");
    runs.witness(&Witness { environ: environ("4", SLUID), ..seen(&in_run()) });
    assert_eq!(runs.job(SLUID), Some("5"));
}

#[test]
fn a_run_without_a_job_contradicts_no_job_id() {
    check(
        SchedulerKind::Slurm,
        &seen(&in_run()),
        &[held("7", None)],
        (&format!("slurm:alpha:{SLUID}"), "cgroup", false),
    );
}

#[test]
fn the_runs_that_are_remembered_are_bounded() {
    let mut runs = Runs::default();
    for i in 0..RUNS_MAX + 3 {
        runs.record(&format!("s{i:013}"), "7");
    }
    assert_eq!(runs.jobs.len(), RUNS_MAX);
    assert_eq!((runs.job("s0000000000002"), runs.job("s0000000000003")), (None, Some("7")));
}

#[test]
fn slurm_run_by_kubernetes_is_what_the_node_is_configured_for() {
    let both = seen(&format!("0::/kubepods/pod{}/system.slice/slurmstepd.scope/job_9/step_0", PODS[0]));
    check(SchedulerKind::Slurm, &both, &[], ("slurm:alpha:9", "cgroup", false));
    check(SchedulerKind::Kubernetes, &both, &[], (&format!("pod:alpha:{}", PODS[0]), "cgroup", false));
}

#[test]
fn on_a_bare_host_the_session_is_the_allocation_whatever_else_is_there() {
    for cgroup in ["0::/", "0::/user.slice/user-1000.slice/session-7.scope", &in_pod(PODS[0])] {
        let mut person = seen(cgroup);
        person.environ.slurm_job = Some("7".into());
        check(SchedulerKind::None, &person, &[held("8", Some(1000))], ("session:4000", "session", false));
    }
    let got = belongs(&site(SchedulerKind::None), &seen("0::/"), &Records::default(), &Runs::default());
    assert_eq!(got.hint_id, hint_of_session("n1", "b1", "4000", "800"));
}

#[test]
fn a_session_is_told_apart_by_its_leaders_start() {
    let of = |start_ticks| {
        let seen = Witness { leader: Leader { pid: 4000, start_ticks }, ..seen("0::/") };
        belongs(&site(SchedulerKind::None), &seen, &Records::default(), &Runs::default())
    };
    assert_ne!(of(Some(800)).hint_id, of(Some(900)).hint_id);
    assert_eq!(of(None), of(None));
    assert_ne!(of(None).hint_id, of(Some(0)).hint_id, "unknown is not zero");
}
