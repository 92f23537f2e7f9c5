//! The rules, one function a concern. Texts are for the person on call: what is so, what it means, what to do.

use super::{DeviceFacts, DriverFacts, Facts, Finding, Severity};
use crate::node::config::Accounting;
use crate::node::seen::Absent;

/// Free space below which a day without the lake cannot be bridged.
const SPOOL_FREE_MIN_BYTES: u64 = 256 << 20;
/// Most users named in one line.
const USERS_SHOWN: usize = 5;

pub(super) fn all(facts: &Facts) -> Vec<Finding> {
    let mut out = vec![driver(facts)];
    if let Ok(driver) = &facts.driver {
        out.extend(activity(driver, facts));
        out.push(processes(driver));
        out.extend(accounting(driver, facts));
        out.push(persistence(driver));
    }
    out.push(pids(facts));
    out.push(cgroups(facts));
    out.push(rights(facts));
    out.extend(facts.kubelet.as_ref().map(kubelet));
    out.extend(facts.dcgm.as_ref().map(dcgm));
    out.push(clock(facts));
    out.push(lake(facts));
    out.push(spool(facts));
    out.push(users(facts));
    out
}

fn good(about: &str, says: impl Into<String>) -> Finding {
    Finding { severity: Severity::Good, about: about.to_owned(), says: says.into(), means: None, remedy: None }
}

fn bad(severity: Severity, about: &str, says: impl Into<String>, means: &str, remedy: &str) -> Finding {
    let some = |text: &str| Some(text.to_owned());
    Finding { severity, about: about.to_owned(), says: says.into(), means: some(means), remedy: some(remedy) }
}

fn limited(about: &str, says: impl Into<String>, means: &str, remedy: &str) -> Finding {
    bad(Severity::Limited, about, says, means, remedy)
}

fn broken(about: &str, says: impl Into<String>, means: &str, remedy: &str) -> Finding {
    bad(Severity::Broken, about, says, means, remedy)
}

fn driver(facts: &Facts) -> Finding {
    match &facts.driver {
        Err(why) => broken(
            "driver",
            format!("the driver cannot be asked: {why}"),
            "no GPU of this node is seen at all",
            "install the driver, or set `nvml_path`; in a container, mount the library and /dev/nvidia*",
        ),
        Ok(driver) if driver.devices.is_empty() => broken(
            "driver",
            format!("driver {} has no GPU", driver.version),
            "there is nothing to record; GPUs that should be here are missing from the bill",
            "look at `lspci` and the kernel's log for a GPU that fell off the bus; in a container, pass the devices",
        ),
        Ok(driver) => good("driver", format!("driver {} with {}", driver.version, models(&driver.devices))),
    }
}

/// `8 x NVIDIA H100, 1 x NVIDIA L4`, in the order of their first index.
fn models(devices: &[DeviceFacts]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for device in devices {
        match counts.iter_mut().find(|(model, _)| *model == device.model) {
            Some((_, count)) => *count += 1,
            None => counts.push((&device.model, 1)),
        }
    }
    counts.iter().map(|(model, count)| format!("{count} x {model}")).collect::<Vec<_>>().join(", ")
}

/// `GPU 0, 1, 5`.
fn gpus<'a>(devices: impl IntoIterator<Item = &'a DeviceFacts>) -> String {
    let indices: Vec<String> = devices.into_iter().map(|d| d.index.to_string()).collect();
    format!("GPU {}", indices.join(", "))
}

fn those(driver: &DriverFacts, which: impl Fn(&DeviceFacts) -> bool) -> Vec<&DeviceFacts> {
    driver.devices.iter().filter(|d| which(d)).collect()
}

/// SM, DRAM and tensor activity: GPM, else dcgm-exporter, else nothing.
fn activity(driver: &DriverFacts, facts: &Facts) -> Vec<Finding> {
    let mut out = Vec::new();
    let gpm = those(driver, |d| d.gpm == Ok(true));
    if !gpm.is_empty() {
        out.push(good("activity", format!("{}: SM, DRAM and tensor activity from GPM", gpus(gpm))));
    }
    let exported = matches!(&facts.dcgm, Some(Ok(page)) if page.with_sm > 0);
    let without = those(driver, |d| d.gpm == Ok(false) || d.gpm == Err(Absent::NotSupported));
    if !without.is_empty() && exported {
        out.push(good("activity", format!("{}: no GPM, activity from dcgm-exporter", gpus(without))));
    } else if !without.is_empty() {
        out.push(limited(
            "activity",
            format!("{}: no GPM (it came with Hopper), and no SM activity from dcgm-exporter", gpus(without)),
            "busy time is measured, how well it was used is not: the composite rests on utilization alone",
            "run dcgm-exporter with DCGM_FI_PROF_SM_ACTIVE switched on, and set `dcgm_url`",
        ));
    }
    let unknown = those(driver, |d| d.gpm.as_ref().is_err_and(|why| *why != Absent::NotSupported));
    for device in unknown {
        let why = device.gpm.as_ref().err().map(ToString::to_string).unwrap_or_default();
        out.push(limited(
            "activity",
            format!("GPU {}: whether it has GPM is unknown ({why})", device.index),
            "its activity stays unknown until the driver answers",
            "run `doctor` again; if it stays so, look at the kernel's log for Xid errors",
        ));
    }
    out
}

/// Utilization of processes, which decides whether busy time is known.
fn processes(driver: &DriverFacts) -> Finding {
    let mig = those(driver, |d| d.mig == Ok(true));
    let cannot = those(driver, |d| d.mig != Ok(true) && d.process_utilization.is_err());
    if !cannot.is_empty() {
        let why: Vec<String> =
            cannot.iter().filter_map(|d| d.process_utilization.as_ref().err()).map(ToString::to_string).collect();
        return limited(
            "busy time",
            format!("{}: the driver gives no utilization of processes ({})", gpus(cannot), why[0]),
            "who holds the card is recorded, how long it computed is not: its time is `held_unmeasured`",
            "give the collector root; on vGPU guests and WSL the driver does not have it at all",
        );
    }
    if !mig.is_empty() {
        let gpm = mig.iter().all(|d| d.gpm == Ok(true));
        let means = if gpm {
            "instances are measured by GPM as a whole; several processes on one instance cannot be told apart"
        } else {
            "memory and processes of an instance are recorded, its busy time is not: it is `held_unmeasured`, never idle"
        };
        return limited(
            "busy time",
            format!("{}: cut into MIG instances, where the driver gives no utilization of processes", gpus(mig)),
            means,
            "nothing is wrong; for instances before Hopper, dcgm-exporter can give SM activity",
        );
    }
    good("busy time", "every process's time on a GPU can be measured")
}

fn accounting(driver: &DriverFacts, facts: &Facts) -> Vec<Finding> {
    let off = those(driver, |d| d.mig != Ok(true) && d.accounting == Ok(false));
    if off.is_empty() {
        let on = those(driver, |d| d.accounting == Ok(true));
        return if on.is_empty() { Vec::new() } else { vec![good("short processes", "accounting mode is on")] };
    }
    let means = "processes that live shorter than a poll may be missed";
    let says = format!("{}: accounting mode is off", gpus(off));
    // The driver asks for the capability, not for the user.
    vec![match (facts.accounting, facts.can("SYS_ADMIN")) {
        (Accounting::Enable, true) => good("short processes", format!("{says}; the collector will switch it on")),
        (Accounting::Enable, false) => limited(
            "short processes",
            says,
            means,
            "run `nvidia-smi -am 1` at boot: `accounting = \"enable\"` needs CAP_SYS_ADMIN, which the shipped unit does not give",
        ),
        _ => limited("short processes", says, means, "run `nvidia-smi -am 1` at boot"),
    }]
}

fn persistence(driver: &DriverFacts) -> Finding {
    let off = those(driver, |d| d.persistence == Ok(false));
    if off.is_empty() {
        return good("persistence", "the driver stays loaded");
    }
    limited(
        "persistence",
        format!("{}: persistence mode is off", gpus(off)),
        "the driver unloads when nobody uses a GPU: counters reset, and each look wakes the GPU for about a second",
        "run nvidia-persistenced",
    )
}

fn pids(facts: &Facts) -> Finding {
    match facts.host_pids {
        Some(true) => good("PID namespace", "processes are seen as the host sees them"),
        Some(false) => broken(
            "PID namespace",
            "this is a container with PIDs of its own",
            "the driver names processes that cannot be found here: nothing could be attributed, or to the wrong one",
            "run with `hostPID: true` (Kubernetes) or `--pid=host`",
        ),
        None => limited(
            "PID namespace",
            "whether PIDs are the host's is unknown",
            "attribution may be wrong",
            "check that /proc is mounted and `proc_root` is the host's",
        ),
    }
}

fn cgroups(facts: &Facts) -> Finding {
    let means = "paths are shown relative to ours: pods and jobs are still known by their own part of the path, \
                 services and other containers may not be";
    match facts.host_cgroups {
        Some(true) => good("cgroups", "paths are the host's"),
        Some(false) => limited(
            "cgroups",
            "this is a cgroup namespace of its own",
            means,
            "Docker: run with `--cgroupns=host`; Kubernetes gives the host's only to privileged pods",
        ),
        None => limited("cgroups", "whether paths are the host's is unknown", means, "run `doctor` as root"),
    }
}

/// What reading other users' processes needs.
fn rights(facts: &Facts) -> Finding {
    if facts.can("SYS_PTRACE") && facts.can("DAC_READ_SEARCH") {
        return good("rights", "other users' processes can be read");
    }
    let who = match facts.root {
        Some(true) => "root without the capabilities SYS_PTRACE and DAC_READ_SEARCH",
        Some(false) => "neither root nor given the capabilities SYS_PTRACE and DAC_READ_SEARCH",
        None => "of unknown rights",
    };
    limited(
        "rights",
        format!("the collector is {who}"),
        "environment and open files of other users' processes stay unread: a job outside its cgroup is not found",
        "run as the shipped unit or DaemonSet does",
    )
}

fn kubelet(answer: &Result<(), String>) -> Finding {
    match answer {
        Ok(()) => good("kubelet", "pod-resources answers"),
        Err(why) => limited(
            "kubelet",
            format!("pod-resources does not answer: {why}"),
            "pods are found by cgroup alone; a pod that holds a GPU and has not started a process is not seen",
            "mount /var/lib/kubelet/pod-resources, or set `kubelet_socket`",
        ),
    }
}

fn dcgm(page: &Result<super::facts::DcgmFacts, String>) -> Finding {
    match page {
        Err(why) => limited(
            "dcgm-exporter",
            why.clone(),
            "activity from it is unknown",
            "check `dcgm_url` and that the exporter runs on this node",
        ),
        Ok(page) if page.with_sm == 0 => limited(
            "dcgm-exporter",
            format!("answers for {} GPUs, without SM activity", page.devices),
            "SM activity is unknown; tensor and DRAM activity are read where they are exported",
            "uncomment DCGM_FI_PROF_SM_ACTIVE in the exporter's list of counters",
        ),
        Ok(page) => {
            let rejects =
                if page.rejects == 0 { String::new() } else { format!("; {} values were not usable", page.rejects) };
            good(
                "dcgm-exporter",
                format!("answers for {} GPUs, {} with SM activity{rejects}", page.devices, page.with_sm),
            )
        }
    }
}

fn clock(facts: &Facts) -> Finding {
    match facts.clock_synchronised {
        Some(true) => good("clock", "synchronised"),
        Some(false) => limited(
            "clock",
            "the kernel says that the clock is not synchronised",
            "nothing is lost or doubled, but minutes may lie at the wrong time until it is",
            "run chrony, ntpd or systemd-timesyncd",
        ),
        None => limited(
            "clock",
            "whether it is synchronised is unknown",
            "ticks are marked as not synchronised",
            "run chrony, ntpd or systemd-timesyncd",
        ),
    }
}

fn lake(facts: &Facts) -> Finding {
    match &facts.lake_writable {
        Ok(()) => good("lake", "the inbox can be written"),
        Err(why) => broken(
            "lake",
            format!("the inbox cannot be written: {why}"),
            "minutes stay in the spool, and the oldest are dropped when it is full",
            "check `lake`, its mount and its owner",
        ),
    }
}

fn spool(facts: &Facts) -> Finding {
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    if let Err(why) = &facts.spool_writable {
        return broken(
            "spool",
            format!("cannot be written: {why}"),
            "no minute can be kept",
            "check `spool` and its owner",
        );
    }
    match facts.spool_free_bytes {
        None => limited(
            "spool",
            "can be written; how much is free is unknown",
            "a full disk would drop minutes",
            "look at `df`",
        ),
        Some(free) if free < SPOOL_FREE_MIN_BYTES.min(facts.spool_max_bytes) => broken(
            "spool",
            format!("only {} are free", mib(free)),
            "a day without the lake cannot be bridged",
            "make room, or put `spool` on another disk",
        ),
        Some(free) if free < facts.spool_max_bytes => limited(
            "spool",
            format!("{} are free, and it may take {}", mib(free), mib(facts.spool_max_bytes)),
            "the disk is full before the bound is reached",
            "make room, or lower `spool_max_bytes`",
        ),
        Some(free) => good("spool", format!("{} are free, and it may take {}", mib(free), mib(facts.spool_max_bytes))),
    }
}

fn users(facts: &Facts) -> Finding {
    match &facts.users_unresolved {
        None => limited(
            "users",
            "names could not be looked up",
            "users are recorded as uid:<number>",
            "map numbers to people in `owners`",
        ),
        Some(none) if none.is_empty() => good("users", "every user of a running process has a name"),
        Some(some) => {
            let shown: Vec<String> = some.iter().take(USERS_SHOWN).map(u32::to_string).collect();
            let more = some.len().saturating_sub(USERS_SHOWN);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            limited(
                "users",
                format!("no name service here knows uid {}{more}", shown.join(", ")),
                "their use is recorded as uid:<number>: nothing is lost, and a later mapping names it",
                "give the node (or the container) the site's name service, or map the numbers in `owners`",
            )
        }
    }
}
