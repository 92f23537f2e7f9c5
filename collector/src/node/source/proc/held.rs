//! What a process holds: device files of GPUs, and threads that cannot be ended.

use std::collections::BTreeSet;
use std::path::Path;

use crate::node::source::number;

/// Most descriptors of a process that are looked at.
const DESCRIPTORS_MAX: usize = 4096;
/// Most threads of a process that are looked at.
const THREADS_MAX: usize = 1024;

/// What was counted, and whether everything was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted<T> {
    /// What was found.
    pub found: T,
    /// Whether the bound was not reached: else there may be more.
    pub whole: bool,
}

/// Minor numbers of the GPUs (`/dev/nvidiaN`) that a process has open.
pub fn device_minors(proc_root: &Path, pid: u32) -> std::io::Result<Counted<BTreeSet<u32>>> {
    let mut found = BTreeSet::new();
    let whole = each(&proc_root.join(pid.to_string()).join("fd"), DESCRIPTORS_MAX, |descriptor| {
        // a descriptor that was closed meanwhile is none
        if let Ok(target) = std::fs::read_link(descriptor) {
            found.extend(target.to_str().and_then(minor));
        }
    })?;
    Ok(Counted { found, whole })
}

fn minor(target: &str) -> Option<u32> {
    // `/dev/nvidiactl`, `/dev/nvidia-uvm` and the folder of capabilities are no cards
    number(target.strip_prefix("/dev/nvidia")?)
}

/// Threads in uninterruptible sleep: a process with such threads does not end when it is killed.
pub fn blocked_threads(proc_root: &Path, pid: u32) -> std::io::Result<Counted<u32>> {
    let mut found = 0;
    let whole = each(&proc_root.join(pid.to_string()).join("task"), THREADS_MAX, |thread| {
        let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
        if stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('D')) {
            found += 1;
        }
    })?;
    Ok(Counted { found, whole })
}

/// Looks at the entries of a folder up to a bound; says whether that was all.
fn each(folder: &Path, most: usize, mut look: impl FnMut(&Path)) -> std::io::Result<bool> {
    for (i, entry) in std::fs::read_dir(folder)?.enumerate() {
        if i == most {
            return Ok(false);
        }
        look(&entry?.path());
    }
    Ok(true)
}
