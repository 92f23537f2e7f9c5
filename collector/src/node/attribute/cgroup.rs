//! What a process's cgroup says: pods, Slurm jobs, containers, sessions, services and virtual machines by their paths.
//!
//! Pure: the text of `/proc/PID/cgroup` in, findings out. A line that matches nothing is nothing, never a guess.

use std::borrow::Cow;

/// Controllers whose cgroup v1 line follows the workload; a systemd or cpuset line may lag behind.
const TRUSTED: [&str; 4] = ["memory", "cpu", "pids", "cpuacct"];
/// Hex digits of a container id.
const CONTAINER_DIGITS: usize = 64;
/// Hex digits of a static pod's id, the hash of its configuration.
const STATIC_POD_DIGITS: usize = 32;
/// Lengths of the five groups of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
/// Crockford's base 32: digits and letters without I, L, O and U.
const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Characters of a SLUID after its `s`.
const SLUID_DIGITS: usize = 13;
/// Where logins and users' own managers live.
const USERS: &str = "user.slice";
/// Stands behind the path of a process that has ended in a cgroup that is gone.
const DELETED: &str = " (deleted)";

/// What a cgroup says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cgroup {
    /// A Kubernetes pod.
    Pod {
        /// Its UID: a UUID with dashes, or 32 hex digits for a static pod.
        uid: String,
        /// Id of the container; none for the pod's own cgroup and for the runtime's helpers in it.
        container: Option<String>,
    },
    /// A Slurm job by its raw id.
    SlurmJob {
        /// Raw job id.
        job: String,
        /// `0`, `batch`, `extern`, `interactive`.
        step: Option<String>,
    },
    /// One run of a Slurm job by its SLUID (26.05 and newer).
    SlurmRun {
        /// The SLUID with its `s`.
        sluid: String,
        /// As of a job.
        step: Option<String>,
    },
    /// A container that belongs to no pod.
    Container {
        /// Its id, or its name where the runtime uses names.
        id: String,
        /// Who runs it.
        runtime: Runtime,
    },
    /// A virtual machine by its unit's name.
    Vm {
        /// Name, as `qemu-3-build`.
        name: String,
    },
    /// What a user started by logging in.
    Session {
        /// The user's number.
        uid: u32,
        /// Session number; none below the user's own manager.
        session: Option<String>,
    },
    /// A system service.
    Service {
        /// Unit, as `docker.service`.
        unit: String,
    },
    /// Nothing: the root, an empty path, or a shape that nobody knows.
    Unknown,
}

/// Who runs a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// containerd, whoever drives it.
    Containerd,
    /// CRI-O.
    Crio,
    /// LXC or Incus.
    Lxc,
    /// systemd-nspawn.
    Nspawn,
    /// A container id below a parent that is not known.
    Other,
}

impl Cgroup {
    /// Lower is stronger: an allocation before a container, a container before whoever logged in.
    fn rank(&self) -> u8 {
        match self {
            Self::Pod { .. } | Self::SlurmJob { .. } | Self::SlurmRun { .. } => 0,
            Self::Container { .. } | Self::Vm { .. } => 1,
            Self::Session { .. } => 2,
            Self::Service { .. } => 3,
            Self::Unknown => 4,
        }
    }
}

/// Everything that the text of `/proc/PID/cgroup` names, the strongest first; empty where it names nothing.
///
/// A job inside a pod (a Slurm daemon run by Kubernetes) gives both, the inner first.
pub fn findings(text: &str) -> Vec<Cgroup> {
    let mut lines: Vec<(bool, &str)> = text.lines().filter_map(path_of).collect();
    lines.sort_by_key(|(trusted, _)| !trusted);
    let mut out: Vec<Cgroup> = Vec::new();
    for found in lines.iter().flat_map(|(_, path)| of_path(path)) {
        if !out.contains(&found) {
            out.push(found);
        }
    }
    out.sort_by_key(Cgroup::rank);
    out
}

/// The strongest finding.
pub fn strongest(text: &str) -> Cgroup {
    findings(text).into_iter().next().unwrap_or(Cgroup::Unknown)
}

/// The path of a line, and whether it is one of the lines that follow the workload.
///
/// `N:controllers:path` is cgroup v1, `0::path` v2; the path itself may hold colons. A bare path is taken as one.
fn path_of(line: &str) -> Option<(bool, &str)> {
    let line = line.trim_end();
    if line.starts_with('/') {
        return Some((true, line));
    }
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let trusted = controllers.is_empty() || controllers.split(',').any(|c| TRUSTED.contains(&c));
    Some((trusted, path))
}

/// What one path names: the innermost allocation of each kind, else the innermost container, else session or service.
fn of_path(path: &str) -> Vec<Cgroup> {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
    // A user may make cgroups of any name below their own manager: nothing found there is an allocation.
    let roots = &segments[..segments.iter().position(|s| *s == USERS).unwrap_or(segments.len())];
    let mut allocations: Vec<(usize, Cgroup)> =
        [innermost(roots, pod_at), innermost(roots, slurm_at)].into_iter().flatten().collect();
    if !allocations.is_empty() {
        allocations.sort_by_key(|(at, _)| usize::MAX - at);
        return allocations.into_iter().map(|(_, found)| found).collect();
    }
    let weaker = innermost(&segments, container_at)
        .or_else(|| user_of(&segments).map(|found| (0, found)))
        .or_else(|| innermost(&segments, service_at));
    weaker.into_iter().map(|(_, found)| found).collect()
}

type At = fn(&[&str], usize) -> Option<Cgroup>;

fn innermost(segments: &[&str], recognise: At) -> Option<(usize, Cgroup)> {
    (0..segments.len()).rev().find_map(|at| recognise(segments, at).map(|found| (at, found)))
}

/// `kubepods[-qos]-pod<uid>.slice`, also under a prefix and with `:runtime:id` behind it, or `pod<uid>` of the
/// cgroupfs driver.
fn pod_at(segments: &[&str], at: usize) -> Option<Cgroup> {
    let (name, behind) = segments[at].split_once(':').map_or((segments[at], None), |(n, b)| (n, Some(b)));
    let written = match name.strip_suffix(".slice") {
        Some(unit) => unit.rsplit_once("-pod").filter(|(before, _)| before.contains("kubepods"))?.1,
        None => name.strip_prefix("pod")?,
    };
    let uid = pod_uid(written)?;
    let container = match behind {
        Some(rest) => rest.rsplit(':').next().filter(|id| is_container_id(id)).map(str::to_owned),
        None => segments[at + 1..].iter().find_map(|s| container_id(s)).map(|(_, id)| id),
    };
    Some(Cgroup::Pod { uid, container })
}

/// The UID of a pod as a cgroup writes it: systemd cannot have dashes in it and has underscores.
pub fn pod_uid(written: &str) -> Option<String> {
    let uid = written.replace('_', "-");
    let groups: Vec<&str> = uid.split('-').collect();
    let uuid = groups.len() == UUID_GROUPS.len() && groups.iter().zip(UUID_GROUPS).all(|(g, n)| is_hex(g, n));
    (uuid || is_hex(&uid, STATIC_POD_DIGITS)).then_some(uid)
}

/// `job_<id>` or a SLUID below `slurmstepd.scope` (v2) or below `slurm/uid_<n>` (v1).
fn slurm_at(segments: &[&str], at: usize) -> Option<Cgroup> {
    let name = segments[at];
    let v2 = at.checked_sub(1).is_some_and(|i| is_stepd(segments[i]));
    let v1 = at >= 2 && is_uid(segments[at - 1]) && is_slurm_root(segments[at - 2]);
    if !(v1 || v2) {
        return None;
    }
    let step = segments.get(at + 1).and_then(|s| s.strip_prefix("step_")).map(str::to_owned);
    if let Some(job) = name.strip_prefix("job_").filter(|id| is_number(id)) {
        return Some(Cgroup::SlurmJob { job: job.to_owned(), step });
    }
    is_sluid(name).then(|| Cgroup::SlurmRun { sluid: name.to_owned(), step })
}

fn is_stepd(segment: &str) -> bool {
    // a node name stands before it where one machine runs several slurmd
    segment == "slurmstepd.scope" || segment.ends_with("_slurmstepd.scope")
}

fn is_uid(segment: &str) -> bool {
    segment.strip_prefix("uid_").is_some_and(is_number)
}

fn is_slurm_root(segment: &str) -> bool {
    segment == "slurm" || segment.starts_with("slurm_")
}

/// Whether a text is a SLUID: `s` and 13 characters of Crockford's base 32.
pub fn is_sluid(text: &str) -> bool {
    text.strip_prefix('s').is_some_and(|d| d.len() == SLUID_DIGITS && d.chars().all(|c| CROCKFORD.contains(c)))
}

fn container_at(segments: &[&str], at: usize) -> Option<Cgroup> {
    let name = segments[at];
    let above = at.checked_sub(1).map_or("", |i| segments[i]);
    if let Some(payload) = name.strip_prefix("lxc.payload.") {
        return Some(Cgroup::Container { id: payload.to_owned(), runtime: Runtime::Lxc });
    }
    if above == "lxc" || above == "lxc.payload" {
        return Some(Cgroup::Container { id: name.to_owned(), runtime: Runtime::Lxc });
    }
    if let Some(machine) = name.strip_suffix(".scope").and_then(|n| n.strip_prefix("machine-")) {
        let name = unescape(machine).into_owned();
        return Some(match name.split('-').next() {
            Some("qemu") => Cgroup::Vm { name },
            Some("lxc") => Cgroup::Container { id: name, runtime: Runtime::Lxc },
            _ => Cgroup::Container { id: name, runtime: Runtime::Nspawn },
        });
    }
    let (runtime, id) = container_id(name)?;
    let runtime = if runtime == Runtime::Other && above == "docker" { Runtime::Docker } else { runtime };
    Some(Cgroup::Container { id, runtime })
}

/// The container of a segment: `<runtime>-<id>.scope`, `<runtime>-<id>` or a bare id. A runtime's monitor (conmon) is
/// not the container.
fn container_id(segment: &str) -> Option<(Runtime, String)> {
    let name = segment.strip_suffix(".scope").unwrap_or(segment);
    let (runtime, id) = name.rsplit_once('-').map_or(("", name), |(runtime, id)| (runtime, id));
    if !is_container_id(id) {
        return None;
    }
    let runtime = match runtime {
        "docker" => Runtime::Docker,
        "libpod" | "libpod-payload" => Runtime::Podman,
        "cri-containerd" | "nerdctl" => Runtime::Containerd,
        "crio" => Runtime::Crio,
        "" => Runtime::Other,
        _ => return None,
    };
    Some((runtime, id.to_owned()))
}

/// `/user.slice/user-<uid>.slice/session-<n>.scope`, or what lies below `user@<uid>.service`.
fn user_of(segments: &[&str]) -> Option<Cgroup> {
    let at = segments.iter().position(|s| *s == USERS)?;
    let uid = segments.get(at + 1)?.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok()?;
    let session = segments.get(at + 2).and_then(|s| s.strip_prefix("session-")?.strip_suffix(".scope"));
    Some(Cgroup::Session { uid, session: session.map(str::to_owned) })
}

fn service_at(segments: &[&str], at: usize) -> Option<Cgroup> {
    segments[at].ends_with(".service").then(|| Cgroup::Service { unit: unescape(segments[at]).into_owned() })
}

/// Undoes systemd's `\x2d`; a name with a broken escape stays as it is. Only for one segment: an escaped slash must
/// not split a path.
fn unescape(segment: &str) -> Cow<'_, str> {
    if !segment.contains("\\x") {
        return Cow::Borrowed(segment);
    }
    let mut out = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.strip_prefix(b"x").and_then(|d| d.get(..2)).and_then(|d| std::str::from_utf8(d).ok());
        match code.and_then(|d| u8::from_str_radix(d, 16).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                out.push(byte);
                rest = &after[3..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(segment), Cow::Owned)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_container_id(text: &str) -> bool {
    is_hex(text, CONTAINER_DIGITS)
}

#[cfg(test)]
mod tests;
