//! Finding the facts out: the effects of `doctor`. Parsers of what the kernel says are pure and stand below.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use gpuledger_schema::state::SchedulerKind;

use super::facts::{DcgmFacts, DriverFacts, Facts};
use crate::node::config::NodeConfig;
use crate::node::source::dcgm::{self, scrape::Scraper};
use crate::node::source::proc::pids::shares_with_host;

/// Most processes whose users are looked up.
const PROCESSES_MAX: usize = 4_096;
/// Capabilities that are asked for, with their bit.
const CAPABILITIES: &[(&str, u32)] = &[("DAC_READ_SEARCH", 2), ("SYS_PTRACE", 19), ("SYS_ADMIN", 21)];

/// What only the driver and the native clock can tell; the caller has asked them.
#[derive(Debug)]
pub struct Asked {
    /// The driver and its GPUs, or why they cannot be asked.
    pub driver: Result<DriverFacts, String>,
    /// Whether the kernel says that the clock is synchronised.
    pub clock_synchronised: Option<bool>,
    /// Bytes free where the spool is.
    pub spool_free_bytes: Option<u64>,
}

/// Finds out everything else about this node.
pub async fn gather(config: &NodeConfig, asked: Asked) -> Facts {
    let proc_root = Path::new("/proc");
    let status = std::fs::read_to_string(proc_root.join("self/status")).unwrap_or_default();
    let shares = shares_with_host(proc_root);
    Facts {
        scheduler: config.scheduler,
        accounting: config.accounting,
        driver: asked.driver,
        host_pids: shares.pids,
        host_cgroups: shares.cgroups,
        root: effective_user(&status).map(|uid| uid == 0),
        capabilities: capabilities(&status),
        kubelet: (config.scheduler == SchedulerKind::Kubernetes).then(|| kubelet(&config.kubelet_socket)),
        dcgm: exporter(config).await,
        clock_synchronised: asked.clock_synchronised,
        lake_writable: writable(&config.lake.join("inbox"), "inbox of the lake"),
        spool_writable: writable(&config.spool, "spool"),
        spool_free_bytes: asked.spool_free_bytes,
        spool_max_bytes: config.spool_max_bytes,
        users_unresolved: users_unresolved(&config.proc_root),
    }
}

/// Whether somebody listens on the kubelet's socket.
fn kubelet(socket: &Path) -> Result<(), String> {
    std::os::unix::net::UnixStream::connect(socket).map(drop).map_err(|e| format!("{}: {e}", socket.display()))
}

async fn exporter(config: &NodeConfig) -> Option<Result<DcgmFacts, String>> {
    let url = config.dcgm_url.as_ref()?;
    let deadline = Duration::from_millis(config.dcgm_deadline_ms);
    let page = match Scraper::new(url, deadline, config.dcgm_max_bytes) {
        Ok(scraper) => scraper.page().await,
        Err(e) => Err(e),
    };
    Some(page.map(|page| dcgm_facts(&page)).map_err(|e| e.to_string()))
}

/// What a page of the exporter has.
fn dcgm_facts(page: &str) -> DcgmFacts {
    let scrape = dcgm::parse(page, None);
    let cards: BTreeSet<&str> = scrape.devices.iter().map(|d| d.uuid.as_str()).collect();
    let with_sm: BTreeSet<&str> = scrape.devices.iter().filter(|d| d.sm_ppm.is_ok()).map(|d| d.uuid.as_str()).collect();
    DcgmFacts { devices: cards.len(), with_sm: with_sm.len(), rejects: scrape.rejects.values().sum() }
}

/// Whether a file can be made in a folder: made and taken away again, because rights, mounts and quotas all have a say.
#[allow(clippy::disallowed_methods, reason = "the only honest test of a folder is to write in it; the file is ours")]
fn writable(folder: &Path, what: &str) -> Result<(), String> {
    if !folder.is_dir() {
        return Err(format!("the {what}, {}, is not there", folder.display()));
    }
    let file = folder.join(format!(".doctor-{}.tmp", std::process::id()));
    std::fs::File::create_new(&file).map_err(|e| format!("{}: {e}", folder.display()))?;
    std::fs::remove_file(&file).map_err(|e| format!("{}: {e}", file.display()))
}

/// Users of running processes that no name service knows; none where `/proc` cannot be listed.
fn users_unresolved(proc_root: &Path) -> Option<Vec<u32>> {
    let entries = std::fs::read_dir(proc_root).ok()?;
    let numbered = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
    let processes = entries.flatten().filter(|e| e.file_name().to_str().is_some_and(numbered)).take(PROCESSES_MAX);
    let users: BTreeSet<u32> = processes
        .filter_map(|e| std::fs::read_to_string(e.path().join("status")).ok())
        .filter_map(|status| effective_user(&status))
        .collect();
    let unknown = |uid: &u32| matches!(nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(*uid)), Ok(None));
    Some(users.into_iter().filter(unknown).collect())
}

/// The effective user in the text of a `status` file.
fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|l| l.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The effective capabilities, of those that matter, in the text of a `status` file.
fn capabilities(status: &str) -> Vec<String> {
    let mask =
        status.lines().find_map(|l| l.strip_prefix("CapEff:")).and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    let has = |bit: u32| mask.is_some_and(|m| m >> bit & 1 == 1);
    CAPABILITIES.iter().filter(|(_, bit)| has(*bit)).map(|(name, _)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tx\nUid:\t1000\t0\t0\t0\nCapEff:\t0000000000080004\n";

    #[test]
    fn user_and_capabilities_are_the_effective_ones() {
        assert_eq!(effective_user(STATUS), Some(0));
        assert_eq!(effective_user("Name:\tx\n"), None);
        assert_eq!(capabilities(STATUS), ["DAC_READ_SEARCH", "SYS_PTRACE"]);
        assert_eq!(capabilities("CapEff:\t000001ffffffffff\n").len(), 3);
        assert_eq!(capabilities("Name:\tx\n"), [""; 0]);
    }

    #[test]
    fn a_folder_is_tried_and_left_as_it_was() {
        let folder = std::env::temp_dir();
        assert_eq!(writable(&folder, "spool"), Ok(()));
        assert!(!folder.join(format!(".doctor-{}.tmp", std::process::id())).exists());
        let missing = writable(Path::new("/no/such/folder"), "spool");
        assert_eq!(missing, Err("the spool, /no/such/folder, is not there".to_owned()));
    }

    #[test]
    fn a_page_counts_cards_not_instances() {
        let page = "DCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\",GPU_I_ID=\"1\"} 0.1\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\",GPU_I_ID=\"2\"} 0.2\n\
                    DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-b\"} NaN\n";
        assert_eq!(dcgm_facts(page), DcgmFacts { devices: 2, with_sm: 1, rejects: 1 });
    }

    #[test]
    fn users_of_this_machine_are_looked_up() {
        assert!(users_unresolved(Path::new("/proc")).is_some());
        assert_eq!(users_unresolved(Path::new("/no/such/proc")), None);
    }
}
