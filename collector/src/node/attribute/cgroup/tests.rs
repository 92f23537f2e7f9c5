//! Every shape of a cgroup that is known, and what a reader sees in it.

use super::*;

/// 64 hex digits that begin with a digit of the test's choice.
fn id(first: char) -> String {
    format!("{first}{}", "0123456789abcde".repeat(5)).chars().take(64).collect()
}

const UID: &str = "0125ec2f-b64a-4868-8f5b-94b56cbab864";
const UID_: &str = "0125ec2f_b64a_4868_8f5b_94b56cbab864";
const STATIC: &str = "8daa50c3a64c9ff60bb9eab7b44b56fd";

fn pod(uid: &str, container: Option<&str>) -> Cgroup {
    Cgroup::Pod { uid: uid.into(), container: container.map(str::to_owned) }
}

fn job(job: &str, step: Option<&str>) -> Cgroup {
    Cgroup::SlurmJob { job: job.into(), step: step.map(str::to_owned) }
}

fn run(sluid: &str, step: Option<&str>) -> Cgroup {
    Cgroup::SlurmRun { sluid: sluid.into(), step: step.map(str::to_owned) }
}

fn container(id: &str, runtime: Runtime) -> Cgroup {
    Cgroup::Container { id: id.into(), runtime }
}

fn session(uid: u32, session: Option<&str>) -> Cgroup {
    Cgroup::Session { uid, session: session.map(str::to_owned) }
}

fn service(unit: &str) -> Cgroup {
    Cgroup::Service { unit: unit.into() }
}

#[track_caller]
fn check(text: &str, expected: Cgroup) {
    assert_eq!(strongest(text), expected, "{text}");
}

#[test]
fn pods_of_the_systemd_driver_in_every_class_of_service() {
    let c = id('a');
    for class in [
        "kubepods-burstable.slice/kubepods-burstable-pod",
        "kubepods-besteffort.slice/kubepods-besteffort-pod",
        "kubepods-pod",
    ] {
        for runtime in ["cri-containerd", "crio", "docker"] {
            check(&format!("0::/kubepods.slice/{class}{UID_}.slice/{runtime}-{c}.scope\n"), pod(UID, Some(&c)));
        }
    }
}

#[test]
fn pods_of_the_cgroupfs_driver() {
    let c = id('b');
    check(&format!("0::/kubepods/besteffort/pod{UID}/{c}"), pod(UID, Some(&c)));
    check(&format!("4:memory:/kubepods/burstable/pod{UID}/crio-{c}"), pod(UID, Some(&c)));
    check(&format!("4:memory:/kubepods/pod{UID}/docker-{c}"), pod(UID, Some(&c)));
    check(&format!("0::/kubepods/burstable/pod{STATIC}/{c}"), pod(STATIC, Some(&c)));
}

#[test]
fn a_pod_where_kubelet_and_runtime_disagree_on_the_driver() {
    let c = id('c');
    let path = format!("/system.slice/containerd.service/kubepods-burstable-pod{UID_}.slice:cri-containerd:{c}");
    check(&format!("9:cpuacct,cpu:{path}"), pod(UID, Some(&c)));
    check(&format!("0::{path}"), pod(UID, Some(&c)));
}

#[test]
fn kind_gives_the_pod_and_not_the_container_around_the_node() {
    let (c, node) = (id('d'), id('e'));
    let inner = format!(
        "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod{UID_}.slice/cri-containerd-{c}.scope"
    );
    check(&format!("0::/system.slice/docker-{node}.scope/{inner}"), pod(UID, Some(&c)));
    check(&format!("4:memory:/docker/{node}/{inner}"), pod(UID, Some(&c)));
    check(&format!("4:memory:/docker/{node}/kubelet/kubepods/besteffort/pod{UID}/{c}"), pod(UID, Some(&c)));
}

#[test]
fn nested_clusters_give_the_inner_pod_and_docker_in_a_pod_the_pod() {
    let (c, d) = (id('1'), id('2'));
    let outer = "11111111-2222-3333-4444-555555555555";
    check(&format!("0::/kubepods/pod{outer}/{d}/kubepods/pod{UID}/{c}"), pod(UID, Some(&c)));
    check(&format!("0::/kubepods/pod{UID}/{c}/docker/{d}"), pod(UID, Some(&c)));
}

#[test]
fn a_container_may_have_cgroups_of_its_own_below() {
    let c = id('3');
    check(
        &format!("0::/kubepods.slice/kubepods-pod{UID_}.slice/cri-containerd-{c}.scope/init/worker-1"),
        pod(UID, Some(&c)),
    );
    check(&format!("0::/system.slice/docker-{c}.scope/init.service"), container(&c, Runtime::Docker));
}

#[test]
fn a_monitor_is_not_its_container() {
    let c = id('4');
    check(&format!("0::/kubepods.slice/kubepods-pod{UID_}.slice/crio-conmon-{c}.scope"), pod(UID, None));
    check(&format!("0::/system.slice/crio-conmon-{c}.scope"), Cgroup::Unknown);
    check(&format!("0::/machine.slice/libpod-conmon-{c}.scope"), Cgroup::Unknown);
    check("0::/lxc.monitor.web", Cgroup::Unknown);
}

#[test]
fn containers_without_a_pod() {
    let c = id('5');
    check(&format!("4:memory:/docker/{c}"), container(&c, Runtime::Docker));
    check(&format!("0::/system.slice/docker-{c}.scope"), container(&c, Runtime::Docker));
    check(&format!("0::/machine.slice/libpod-{c}.scope/container"), container(&c, Runtime::Podman));
    check(&format!("0::/machine.slice/libpod-payload-{c}"), container(&c, Runtime::Podman));
    check(&format!("0::/system.slice/nerdctl-{c}.scope"), container(&c, Runtime::Containerd));
    check(&format!("0::/system.slice/crio-{c}.scope"), container(&c, Runtime::Crio));
    check(&format!("4:memory:/actions_job/{c}"), container(&c, Runtime::Other));
    let rootless = format!("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{c}.scope/container");
    check(&rootless, container(&c, Runtime::Podman));
    check("0::/lxc.payload.web/init.scope", container("web", Runtime::Lxc));
    check("4:memory:/lxc/web", container("web", Runtime::Lxc));
}

#[test]
fn machines_are_virtual_or_nspawn_and_their_names_are_unescaped_after_splitting() {
    check(
        r"0::/machine.slice/machine-qemu\x2d3\x2dbuild.scope/libvirt/emulator",
        Cgroup::Vm { name: "qemu-3-build".into() },
    );
    check(r"0::/machine.slice/machine-lxc\x2d3\x2dweb.scope", container("lxc-3-web", Runtime::Lxc));
    check(r"0::/machine.slice/machine-a\x2fb.scope", container("a/b", Runtime::Nspawn));
    check(r"0::/system.slice/odd\x2dname\xzz.service", service(r"odd-name\xzz.service"));
}

#[test]
fn sessions_and_services() {
    check("0::/user.slice/user-1000.slice/session-7.scope", session(1000, Some("7")));
    check("0::/user.slice/user-20117.slice/session-c2.scope", session(20117, Some("c2")));
    check("0::/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service", session(1000, None));
    check("0::/system.slice/slurmd.service", service("slurmd.service"));
    check("0::/system.slice/system-getty.slice/getty@tty1.service", service("getty@tty1.service"));
}

#[test]
fn slurm_under_cgroup_v1() {
    check("10:devices:/slurm/uid_2101171/job_280678/step_interactive/task_0", job("280678", Some("interactive")));
    check("10:devices:/slurm_n01/uid_7319/job_748468/step_0/task_0", job("748468", Some("0")));
    check("10:devices:/slurm/uid_7319/job_748468", job("748468", None));
}

#[test]
fn slurm_under_cgroup_v2() {
    check("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", job("7", Some("0")));
    check("0::/system.slice/slurmstepd.scope/job_7/step_batch/slurm", job("7", Some("batch")));
    check("0::/system.slice/slurmstepd.scope/job_7/step_extern/user/task_special", job("7", Some("extern")));
    check("0::/gpu.slice/n01_slurmstepd.scope/job_7/step_0/user/task_0", job("7", Some("0")));
    check("0::/system.slice/slurmstepd.scope/system", Cgroup::Unknown);
}

#[test]
fn slurm_names_runs_by_sluid_from_26_05_on() {
    check("0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0", run("sEKNKTV3WPV500", Some("0")));
    check("10:devices:/slurm/uid_9/sEKNKTV3WPV500/step_extern", run("sEKNKTV3WPV500", Some("extern")));
    assert!(!is_sluid("sEKNKTV3WPV50"), "a character short");
    assert!(!is_sluid("sEKNKTV3WPV5000"), "a character long");
    assert!(!is_sluid("sIKNKTV3WPV500"), "Crockford's alphabet has no I");
    assert!(!is_sluid("xEKNKTV3WPV500"), "no s");
}

#[test]
fn a_job_inside_a_pod_gives_both_the_inner_first() {
    let c = id('6');
    let text = format!("0::/kubepods/pod{UID}/{c}/system.slice/slurmstepd.scope/job_9/step_0/user/task_0");
    assert_eq!(findings(&text), vec![job("9", Some("0")), pod(UID, Some(&c))]);
}

#[test]
fn podman_inside_a_job_is_the_job() {
    let c = id('7');
    check(&format!("0::/system.slice/slurmstepd.scope/job_9/step_0/user/task_0/libpod-{c}.scope"), job("9", Some("0")));
}

#[test]
fn one_line_of_a_v1_host_may_know_what_the_others_do_not() {
    let text = "13:freezer:/slurm/uid_7319/job_748468/step_0\n12:cpu,cpuacct:/system.slice/slurmd.service\n\
                9:devices:/system.slice/slurmd.service\n1:name=systemd:/system.slice/slurmd.service\n";
    check(text, job("748468", Some("0")));
    assert_eq!(findings(text)[1], service("slurmd.service"));
}

#[test]
fn a_hybrid_host_is_read_from_the_lines_that_follow_the_workload() {
    // both lines name a pod: the systemd line is of the one that started the other
    let text = format!(
        "1:name=systemd:/kubepods/pod11111111-2222-3333-4444-555555555555\n4:memory:/kubepods/pod{UID}\n0::/\n"
    );
    check(&text, pod(UID, None));
}

#[test]
fn a_user_cannot_name_a_job_or_a_pod_below_their_own_manager() {
    let own = "0::/user.slice/user-1000.slice/user@1000.service";
    check(&format!("{own}/slurmstepd.scope/job_1/step_0"), session(1000, None));
    check(&format!("{own}/kubepods/pod{UID}"), session(1000, None));
}

#[test]
fn logins_inside_a_pod_or_a_container_are_its_own() {
    let c = id('a');
    let inside = "user.slice/user-0.slice/session-1.scope";
    check(&format!("0::/kubepods/pod{UID}/{c}/{inside}"), pod(UID, Some(&c)));
    check(&format!("0::/docker/{c}/{inside}"), container(&c, Runtime::Docker));
}

#[test]
fn a_cgroup_that_is_gone_still_says_what_it_was() {
    let c = id('b');
    check(&format!("0::/system.slice/docker-{c}.scope (deleted)"), container(&c, Runtime::Docker));
    check("0::/system.slice/slurmstepd.scope/job_7 (deleted)", job("7", None));
}

#[test]
fn nothing_is_nothing() {
    for text in [
        "",
        "\n",
        "0::/",
        "0::/\n",
        "0::",
        "4:memory:/\n0::/",
        "0::/../..",
        "0::/init.scope",
        "0::/user.slice",
        "junk",
        "::",
        ":",
    ] {
        check(text, Cgroup::Unknown);
        assert_eq!(findings(text), Vec::new(), "{text:?}");
    }
}

#[test]
fn what_only_looks_like_an_allocation_is_none() {
    check("0::/job_7/step_0", Cgroup::Unknown);
    check("0::/system.slice/slurmstepd.scope/job_x/step_0", Cgroup::Unknown);
    check("0::/slurm/job_7", Cgroup::Unknown);
    check("0::/kubepods/podnotauid/x", Cgroup::Unknown);
    check(&format!("0::/machine.slice/machine-libpod_pod_{}.slice", id('8')), Cgroup::Unknown);
    check(&format!("0::/docker/{}", &id('9')[..63]), Cgroup::Unknown);
}

#[test]
fn seen_from_a_cgroup_namespace_the_visible_part_still_counts() {
    let c = id('0');
    check(&format!("0::/../../pod{UID}/{c}"), pod(UID, Some(&c)));
    check(&format!("0::/../cri-containerd-{c}.scope"), container(&c, Runtime::Containerd));
}

#[test]
fn every_recorded_line_says_what_a_reader_sees() {
    let Some(text) = recorded() else {
        println!("skipped: no recorded cgroup lines here");
        return;
    };
    let besteffort = || pod(UID, Some("ee4b20e90ac7f42a10bd004d05646b13d8ab5e2c5e7cbc01abf8006bac016459"));
    let expected = [
        job("1392969", Some("0")),
        job("280678", Some("interactive")),
        job("748468", Some("0")),
        service("slurmd.service"),
        service("slurmd.service"),
        service("slurmd.service"),
        run("s8FXKTA79XAR00", Some("batch")),
        job("1392969", Some("0")),
        job("748468", Some("0")),
        besteffort(),
        besteffort(),
        pod(
            "a5c1f8d5-1919-434d-add7-4afaafdaef89",
            Some("5eed917563583925ffdbd40a64efb2aaffe58638e57add8becaf460fe74f5b1c"),
        ),
        pod(
            "7d4424e6-bb13-42f4-a47a-45a4828bf54d",
            Some("d0b3604b67ac7930dd34ba3a796627e3e4717d12309e90a4afe3f38b6816ac98"),
        ),
        pod(
            "10231429-28f6-11e8-8903-74dbd1a06fe0",
            Some("32cc26191dad2120ae02fbe32e3cb962c291591439f28765da6c2b8dd28d7e48"),
        ),
        pod(
            "1e597579-417e-482f-bf65-5fe170c3aebd",
            Some("a09bc17f5aa29b0dbdec9ede5f46cf1396d2405917ab02e6f1eb1019f388396e"),
        ),
        pod(STATIC, Some("2884d57c0e100d7a9a2f9487ce0bc2986bca3430e988af7a4865aff061f51ac5")),
    ];
    let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()).collect();
    assert_eq!(lines.len(), expected.len(), "a line was added: say here what a reader sees in it");
    for (line, expected) in lines.iter().zip(expected) {
        check(line, expected);
    }
}

/// The recorded lines, where the shared folder is at hand.
fn recorded() -> Option<String> {
    let shared = std::env::var_os("GPULEDGER_SHARED").map(std::path::PathBuf::from);
    let shared = shared.unwrap_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    std::fs::read_to_string(shared.join("samples/cgroup/proc_pid_cgroup_lines.txt")).ok()
}
