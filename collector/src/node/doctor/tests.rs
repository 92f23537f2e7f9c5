//! Nodes as they are found, and what is said of them.

use super::facts::DcgmFacts;
use super::*;
use gpuledger_schema::state::SchedulerKind;

use crate::node::config::Accounting;
use crate::node::seen::Absent;

/// A Hopper card on which everything works.
fn hopper(index: u32) -> DeviceFacts {
    DeviceFacts {
        index,
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        mig: Ok(false),
        gpm: Ok(true),
        accounting: Ok(true),
        process_utilization: Ok(()),
        persistence: Ok(true),
    }
}

fn driver(devices: Vec<DeviceFacts>) -> Result<DriverFacts, String> {
    Ok(DriverFacts { version: "580.105.08".to_owned(), devices })
}

/// A Slurm node on which everything works.
fn whole() -> Facts {
    Facts {
        scheduler: SchedulerKind::Slurm,
        accounting: Accounting::Read,
        driver: driver(vec![hopper(0), hopper(1)]),
        host_pids: Some(true),
        host_cgroups: Some(true),
        root: Some(true),
        capabilities: ["DAC_READ_SEARCH", "SYS_PTRACE", "SYS_ADMIN"].map(str::to_owned).to_vec(),
        kubelet: None,
        dcgm: None,
        clock_synchronised: Some(true),
        lake_writable: Ok(()),
        spool_writable: Ok(()),
        spool_free_bytes: Some(50 << 30),
        spool_max_bytes: 2 << 30,
        users_unresolved: Some(vec![]),
    }
}

/// Severity, subject and what is said, of everything that is not good.
fn wrong(facts: &Facts) -> Vec<(Severity, String, String)> {
    let findings = diagnose(facts);
    let wrong = findings.into_iter().filter(|f| f.severity != Severity::Good);
    wrong
        .map(|f| {
            assert!(f.means.is_some() && f.remedy.is_some(), "what is wrong says what it means and what to do: {f:?}");
            (f.severity, f.about, f.says)
        })
        .collect()
}

fn only(facts: &Facts) -> (Severity, String, String) {
    let all = wrong(facts);
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().unwrap()
}

fn limited(about: &str, says: &str) -> (Severity, String, String) {
    (Severity::Limited, about.to_owned(), says.to_owned())
}

fn broken(about: &str, says: &str) -> (Severity, String, String) {
    (Severity::Broken, about.to_owned(), says.to_owned())
}

#[test]
fn a_whole_node_measures_everything() {
    let findings = diagnose(&whole());
    assert_eq!(wrong(&whole()), []);
    assert_eq!((exit_code(&findings), summary(&findings).as_str()), (0, "Everything can be measured."));
}

#[test]
fn the_page_of_a_container_reads_as_a_page() {
    let facts = Facts {
        host_pids: Some(false),
        clock_synchronised: Some(false),
        users_unresolved: Some(vec![20_117]),
        ..whole()
    };
    let expected = "\
gpu-node-1: what can be measured here

Broken: mend this first
  PID namespace   this is a container with PIDs of its own
                  So: the driver names processes that cannot be found here: nothing could be
                  attributed, or to the wrong one.
                  Do: run with `hostPID: true` (Kubernetes) or `--pid=host`.

Limited: recorded as unknown, never as zero
  clock           the kernel says that the clock is not synchronised
                  So: nothing is lost or doubled, but minutes may lie at the wrong time until it is.
                  Do: run chrony, ntpd or systemd-timesyncd.
  users           no name service here knows uid 20117
                  So: their use is recorded as uid:<number>: nothing is lost, and a later mapping
                  names it.
                  Do: give the node (or the container) the site's name service, or map the numbers
                  in `owners`.

Works
  driver          driver 580.105.08 with 2 x NVIDIA H100 80GB HBM3
  activity        GPU 0, 1: SM, DRAM and tensor activity from GPM
  busy time       every process's time on a GPU can be measured
  short processes accounting mode is on
  persistence     the driver stays loaded
  cgroups         paths are the host's
  rights          other users' processes can be read
  lake            the inbox can be written
  spool           51200 MiB are free, and it may take 2048 MiB

Not ready: 1 broken, 2 limited.
";
    let findings = diagnose(&facts);
    assert_eq!(show("gpu-node-1", &findings), expected);
    assert_eq!(exit_code(&findings), 1);
}

#[test]
fn a_node_without_driver_or_gpus_is_broken() {
    let none = Facts { driver: Err("libnvidia-ml.so.1 is not there".to_owned()), ..whole() };
    assert_eq!(only(&none), broken("driver", "the driver cannot be asked: libnvidia-ml.so.1 is not there"));
    let empty = Facts { driver: driver(vec![]), ..whole() };
    assert_eq!(wrong(&empty)[0], broken("driver", "driver 580.105.08 has no GPU"));
}

#[test]
fn c12_an_a100_in_mig_measures_no_busy_time_and_says_so() {
    let a100 = DeviceFacts {
        model: "NVIDIA A100-SXM4-80GB".to_owned(),
        mig: Ok(true),
        gpm: Err(Absent::NotSupported),
        accounting: Ok(false),
        process_utilization: Err(Absent::Mig),
        ..hopper(1)
    };
    let facts = Facts { driver: driver(vec![hopper(0), a100.clone()]), ..whole() };
    let says = wrong(&facts);
    assert_eq!(
        says[0],
        limited("activity", "GPU 1: no GPM (it came with Hopper), and no SM activity from dcgm-exporter")
    );
    let mig = "GPU 1: cut into MIG instances, where the driver gives no utilization of processes";
    assert_eq!(says[1], limited("busy time", mig));
    assert_eq!(says.len(), 2, "accounting is off under MIG by itself: {says:?}");
    let means = diagnose(&facts).into_iter().find(|f| f.says == mig).unwrap().means.unwrap();
    assert!(means.ends_with("it is `held_unmeasured`, never idle"), "{means}");

    // With an exporter that has SM activity only the busy time of processes is missing.
    let dcgm = Some(Ok(DcgmFacts { devices: 2, with_sm: 1, rejects: 0 }));
    assert_eq!(only(&Facts { dcgm, ..facts }), limited("busy time", mig));
}

#[test]
fn activity_before_hopper_needs_the_exporter_with_its_counter() {
    let a10 = DeviceFacts { gpm: Ok(false), ..hopper(0) };
    let facts = Facts { driver: driver(vec![a10]), ..whole() };
    let without = limited("activity", "GPU 0: no GPM (it came with Hopper), and no SM activity from dcgm-exporter");
    assert_eq!(only(&facts), without);
    let off = Facts { dcgm: Some(Ok(DcgmFacts { devices: 1, with_sm: 0, rejects: 0 })), ..facts.clone() };
    assert_eq!(wrong(&off), [without, limited("dcgm-exporter", "answers for 1 GPUs, without SM activity")]);
    let on = Facts { dcgm: Some(Ok(DcgmFacts { devices: 1, with_sm: 1, rejects: 3 })), ..facts };
    assert_eq!(wrong(&on), []);
    let says = diagnose(&on).into_iter().find(|f| f.about == "dcgm-exporter").unwrap().says;
    assert_eq!(says, "answers for 1 GPUs, 1 with SM activity; 3 values were not usable");
}

#[test]
fn one_lost_gpu_is_named_and_the_others_are_judged() {
    let lost = DeviceFacts { gpm: Err(Absent::Lost), process_utilization: Err(Absent::Lost), ..hopper(6) };
    let says = wrong(&Facts { driver: driver(vec![hopper(0), lost]), ..whole() });
    assert_eq!(
        says,
        [
            limited("activity", "GPU 6: whether it has GPM is unknown (lost)"),
            limited("busy time", "GPU 6: the driver gives no utilization of processes (lost)"),
        ]
    );
}

#[test]
fn rights_of_a_plain_user_limit_and_do_not_break() {
    let plain = Facts { root: Some(false), capabilities: vec![], ..whole() };
    let says = "the collector is neither root nor given the capabilities SYS_PTRACE and DAC_READ_SEARCH";
    assert_eq!(only(&plain), limited("rights", says));
    assert_eq!(exit_code(&diagnose(&plain)), 0);
    // A container's root often has neither.
    let root = Facts { capabilities: vec!["SYS_ADMIN".to_owned()], ..whole() };
    assert_eq!(
        only(&root),
        limited("rights", "the collector is root without the capabilities SYS_PTRACE and DAC_READ_SEARCH")
    );
}

#[test]
fn a_cgroup_namespace_limits_and_does_not_break() {
    let facts = Facts { host_cgroups: Some(false), ..whole() };
    assert_eq!(only(&facts), limited("cgroups", "this is a cgroup namespace of its own"));
}

#[test]
fn what_could_not_be_found_out_is_never_good() {
    let blind = Facts {
        host_pids: None,
        host_cgroups: None,
        clock_synchronised: None,
        spool_free_bytes: None,
        users_unresolved: None,
        ..whole()
    };
    let about: Vec<String> = wrong(&blind).into_iter().map(|(_, about, _)| about).collect();
    assert_eq!(about, ["PID namespace", "cgroups", "clock", "spool", "users"]);
}

#[test]
fn accounting_is_judged_by_what_is_configured_and_allowed() {
    let off = |accounting, more: &[&str]| Facts {
        driver: driver(vec![DeviceFacts { accounting: Ok(false), ..hopper(0) }]),
        accounting,
        capabilities: ["DAC_READ_SEARCH", "SYS_PTRACE"].iter().chain(more).map(|c| (*c).to_owned()).collect(),
        ..whole()
    };
    assert_eq!(
        only(&off(Accounting::Read, &["SYS_ADMIN"])),
        limited("short processes", "GPU 0: accounting mode is off")
    );
    assert_eq!(only(&off(Accounting::Enable, &[])), limited("short processes", "GPU 0: accounting mode is off"));
    assert_eq!(wrong(&off(Accounting::Enable, &["SYS_ADMIN"])), []);
}

#[test]
fn places_that_cannot_be_written_break_and_little_room_warns() {
    let lake = Facts { lake_writable: Err("read-only file system".to_owned()), ..whole() };
    assert_eq!(only(&lake), broken("lake", "the inbox cannot be written: read-only file system"));
    let spool = Facts { spool_writable: Err("permission denied".to_owned()), ..whole() };
    assert_eq!(only(&spool), broken("spool", "cannot be written: permission denied"));
    let room = |free| Facts { spool_free_bytes: Some(free), ..whole() };
    assert_eq!(only(&room(100 << 20)), broken("spool", "only 100 MiB are free"));
    assert_eq!(only(&room(1 << 30)), limited("spool", "1024 MiB are free, and it may take 2048 MiB"));
    assert_eq!(wrong(&room(2 << 30)), []);
}

#[test]
fn kubernetes_asks_the_kubelet_and_off_persistence_is_named() {
    let facts = Facts {
        scheduler: SchedulerKind::Kubernetes,
        kubelet: Some(Err("no such file".to_owned())),
        driver: driver(vec![DeviceFacts { persistence: Ok(false), ..hopper(0) }, hopper(1)]),
        ..whole()
    };
    assert_eq!(
        wrong(&facts),
        [
            limited("persistence", "GPU 0: persistence mode is off"),
            limited("kubelet", "pod-resources does not answer: no such file"),
        ]
    );
}

#[test]
fn nvidia_smi_answers_for_what_it_knows_and_leaves_the_rest_unknown() {
    let heads = "driver_version, index, uuid, name, mig.mode.current, accounting.mode, persistence_mode\n";
    let page = format!(
        "{heads}590.48.01, 0, GPU-a, NVIDIA H100, Enabled, Disabled, Enabled\n590.48.01, 1, GPU-b, NVIDIA A10, [N/A], [N/A], Disabled\n"
    );
    let facts = from_smi::read(&page).unwrap();
    assert_eq!((facts.version.as_str(), facts.devices.len()), ("590.48.01", 2));
    let [h100, a10] = &facts.devices[..] else { panic!("two") };
    assert_eq!((h100.index, h100.uuid.as_str(), h100.model.as_str()), (0, "GPU-a", "NVIDIA H100"));
    assert_eq!((&h100.mig, &h100.accounting, &h100.persistence), (&Ok(true), &Ok(false), &Ok(true)));
    // A card that cannot be cut is not cut; accounting that it does not have is not off.
    assert_eq!((&a10.mig, &a10.accounting, &a10.persistence), (&Ok(false), &Err(Absent::NotSupported), &Ok(false)));
    let unasked = Absent::Failed("nvidia-smi does not tell".to_owned());
    assert_eq!((&a10.gpm, &a10.process_utilization), (&Err(unasked.clone()), &Err(unasked)));
    assert!(from_smi::read("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n").is_err());
    assert_eq!(from_smi::read(heads).unwrap().devices, []);
}

#[test]
fn many_users_are_counted_not_listed() {
    let facts = Facts { users_unresolved: Some((1..=7).collect()), ..whole() };
    assert_eq!(only(&facts).2, "no name service here knows uid 1, 2, 3, 4, 5 and 2 more");
}
