//! Pids of containers and of the host: the same process under two numbers.
//!
//! Older drivers name host pids in one list and a container's own in another. A container's pid is matched only with
//! host processes that are known to be on the device, and only where one of them fits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The first PID namespace by the kernel's own number for it.
const HOST_PIDS: &str = "pid:[4026531836]";
/// The first cgroup namespace.
const HOST_CGROUPS: &str = "cgroup:[4026531835]";

/// Namespaced pids of host processes.
#[derive(Debug, Clone, Default)]
pub struct PidMap {
    hosts: BTreeMap<u32, BTreeSet<u32>>,
}

/// What a listed pid stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// A host process of that very number, which was seen on the device.
    Host(u32),
    /// A host process that has the number in a namespace of its own.
    Namespaced(u32),
    /// Several fit: the value stays on the device, unattributed.
    Several(BTreeSet<u32>),
    /// None fits: the value stays on the device, unattributed.
    Nobody,
}

impl PidMap {
    /// Notes the pids of a host process, outermost first: the line `NSpid` of its status.
    pub fn add(&mut self, host: u32, namespaced: &[u32]) {
        for inner in namespaced.iter().skip(1) {
            self.hosts.entry(*inner).or_default().insert(host);
        }
    }

    /// Host processes that have this pid in a namespace below the host's.
    pub fn candidates(&self, namespaced: u32) -> BTreeSet<u32> {
        self.hosts.get(&namespaced).cloned().unwrap_or_default()
    }

    /// Which of the host pids seen on a device a listed pid stands for.
    ///
    /// A host process that merely has the number is not it unless the device knows that pid too: it would be charged,
    /// or stopped, for another's work.
    pub fn on_device(&self, listed: u32, on_device: &BTreeSet<u32>) -> Match {
        if on_device.contains(&listed) {
            return Match::Host(listed);
        }
        let fits: BTreeSet<u32> = self.candidates(listed).intersection(on_device).copied().collect();
        match fits.first() {
            None => Match::Nobody,
            Some(host) if fits.len() == 1 => Match::Namespaced(*host),
            Some(_) => Match::Several(fits),
        }
    }
}

/// Whether this process shares the host's namespaces; none where that cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Pids: only then the driver names host processes.
    pub pids: Option<bool>,
    /// Cgroups: only then `/proc` shows whole paths.
    pub cgroups: Option<bool>,
}

/// The namespaces of this process.
///
/// The length of its own `NSpid` does not tell: in a container with a `/proc` of its own there is one entry too.
pub fn shares_with_host(proc_root: &Path) -> Shares {
    let is = |kind: &str, host: &str| {
        let namespace = std::fs::read_link(proc_root.join("self/ns").join(kind)).ok()?;
        Some(namespace.to_str()? == host)
    };
    Shares { pids: is("pid", HOST_PIDS), cgroups: is("cgroup", HOST_CGROUPS) }
}

#[cfg(test)]
mod tests;
