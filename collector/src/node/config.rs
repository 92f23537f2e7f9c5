//! Configuration of a node: one TOML file. An unknown key stops the program, and so does a value out of its bounds.
//!
//! `examples/collector/node.toml` shows every key with its default; a test reads it.

mod error;
pub(crate) mod line;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use gpuledger_schema::state::SchedulerKind;
use serde::Deserialize;

pub use error::ConfigError;

/// What the collector does with the driver's accounting mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accounting {
    /// Nothing.
    Off,
    /// Reads it where somebody switched it on.
    Read,
    /// Switches it on (needs root), again after each driver reload, and reads it. It never clears what is recorded.
    Enable,
}

/// What a GPU index in Slurm's records counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GresIndex {
    /// NVML's order, which is PCI order: usual with `AutoDetect=nvml`.
    Nvml,
    /// Minor numbers, `/dev/nvidia<N>`: usual with `File=/dev/nvidia[0-7]`.
    Minor,
    /// As `gres_uuids` says.
    Explicit,
}

/// Configuration of a node. Only `cluster`, `scheduler` and `lake` must be given.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Cluster that this node belongs to.
    pub cluster: String,
    /// Name of the node as the scheduler knows it [default: the host name; must be given in a container].
    pub node: Option<String>,
    /// slurm, kubernetes or none. Never inferred: an outage must not look like a bare host.
    pub scheduler: SchedulerKind,
    /// Folder of the lake; segments are put into its inbox.
    pub lake: PathBuf,
    /// Queue that the node belongs to [none].
    pub queue: Option<String>,
    /// Interconnect domain, such as the name of an NVLink island [none].
    pub interconnect: Option<String>,

    /// Folder of the journal and of segments not yet taken [default: /var/lib/gpuledger/spool].
    #[serde(default = "default::spool")]
    pub spool: PathBuf,
    /// Most bytes of the spool; beyond it the oldest ticks are dropped, counted and written down as a gap [2 GiB].
    #[serde(default = "default::spool_max_bytes")]
    pub spool_max_bytes: u64,
    /// Ticks (minutes) of a segment, 1 to 60 [5].
    #[serde(default = "default::seal_ticks")]
    pub seal_ticks: u32,

    /// Seconds between polls of process utilization, 1 to 5: the driver remembers about ten [5].
    #[serde(default = "default::poll_s")]
    pub poll_s: u64,
    /// The driver's library [libnvidia-ml.so.1, found by the system].
    #[serde(default = "default::nvml_path")]
    pub nvml_path: PathBuf,
    /// Milliseconds after which a call into the driver counts as hung, 100 to 60000 [5000].
    #[serde(default = "default::nvml_deadline_ms")]
    pub nvml_deadline_ms: u64,
    /// off, read or enable [read].
    #[serde(default = "default::accounting")]
    pub accounting: Accounting,

    /// Where the host's `/proc` is [/proc].
    #[serde(default = "default::proc_root")]
    pub proc_root: PathBuf,
    /// Where the host's `/sys` is [/sys].
    #[serde(default = "default::sys_root")]
    pub sys_root: PathBuf,

    /// Page of dcgm-exporter, on loopback [none: not read].
    pub dcgm_url: Option<String>,
    /// Milliseconds for one page, 100 to 20000 [5000].
    #[serde(default = "default::dcgm_deadline_ms")]
    pub dcgm_deadline_ms: u64,
    /// Most bytes of a page [8 MiB].
    #[serde(default = "default::dcgm_max_bytes")]
    pub dcgm_max_bytes: usize,
    /// Allows `dcgm_url` to leave this machine [false].
    #[serde(default)]
    pub dcgm_remote: bool,

    /// The kubelet's pod-resources socket [/var/lib/kubelet/pod-resources/kubelet.sock].
    #[serde(default = "default::kubelet_socket")]
    pub kubelet_socket: PathBuf,
    /// Where the kubelet keeps pods' logs, whose folder names join pod and UID [/var/log/pods].
    #[serde(default = "default::pod_logs")]
    pub pod_logs: PathBuf,

    /// Folders in which a prolog writes which job holds which GPU [none].
    #[serde(default)]
    pub slurm_map_folders: Vec<PathBuf>,
    /// `scontrol`, to ask this node's daemon once a minute which process is which job's [none: not asked].
    #[serde(default)]
    pub slurm_scontrol: Option<PathBuf>,
    /// What Slurm's GPU index counts: nvml, minor or explicit [nvml].
    #[serde(default = "default::gres_index")]
    pub gres_index: GresIndex,
    /// UUID of each index, where `gres_index = "explicit"`: `{ 0 = "GPU-...", 1 = "GPU-..." }`.
    #[serde(default)]
    pub gres_uuids: BTreeMap<String, String>,

    /// Health probe: program and arguments [none].
    #[serde(default)]
    pub probe_command: Vec<String>,
    /// Seconds between probes, 60 or more [300].
    #[serde(default = "default::probe_every_s")]
    pub probe_every_s: u64,
    /// Seconds for one probe, 1 to 600 [30].
    #[serde(default = "default::probe_deadline_s")]
    pub probe_deadline_s: u64,
    /// Most bytes that a probe may print [64 KiB].
    #[serde(default = "default::probe_max_bytes")]
    pub probe_max_bytes: u64,

    /// Where `/metrics`, `/ready` and `/live` are served [127.0.0.1:9841]; empty: nowhere.
    #[serde(default = "default::metrics_listen")]
    pub metrics_listen: String,
    /// Allows `metrics_listen` to be reached from other machines [false].
    #[serde(default)]
    pub metrics_remote: bool,
}

/// What a key is where it is left out.
mod default {
    use super::{Accounting, GresIndex, PathBuf};

    pub(super) fn spool() -> PathBuf {
        PathBuf::from("/var/lib/gpuledger/spool")
    }
    pub(super) const fn spool_max_bytes() -> u64 {
        2 << 30
    }
    pub(super) const fn seal_ticks() -> u32 {
        5
    }
    pub(super) const fn poll_s() -> u64 {
        5
    }
    pub(super) fn nvml_path() -> PathBuf {
        PathBuf::from("libnvidia-ml.so.1")
    }
    pub(super) const fn nvml_deadline_ms() -> u64 {
        5_000
    }
    pub(super) const fn accounting() -> Accounting {
        Accounting::Read
    }
    pub(super) fn proc_root() -> PathBuf {
        PathBuf::from("/proc")
    }
    pub(super) fn sys_root() -> PathBuf {
        PathBuf::from("/sys")
    }
    pub(super) const fn dcgm_deadline_ms() -> u64 {
        5_000
    }
    pub(super) const fn dcgm_max_bytes() -> usize {
        8 << 20
    }
    pub(super) fn kubelet_socket() -> PathBuf {
        PathBuf::from("/var/lib/kubelet/pod-resources/kubelet.sock")
    }
    pub(super) fn pod_logs() -> PathBuf {
        PathBuf::from("/var/log/pods")
    }
    pub(super) const fn gres_index() -> GresIndex {
        GresIndex::Nvml
    }
    pub(super) const fn probe_every_s() -> u64 {
        300
    }
    pub(super) const fn probe_deadline_s() -> u64 {
        30
    }
    pub(super) const fn probe_max_bytes() -> u64 {
        64 << 10
    }
    pub(super) fn metrics_listen() -> String {
        "127.0.0.1:9841".to_owned()
    }
}

impl NodeConfig {
    /// Reads and checks the file at `path`.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { file: file.clone(), source })?;
        Self::parse(&text, &file)
    }

    /// Reads and checks `text`, which stands in `file`.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|e| {
            let (line, key) = e.span().map_or((1, None), |span| line::at(text, span.start));
            // What is missing stands on no line; the key of the first one would mislead.
            let key = key.filter(|_| !e.message().starts_with("missing field"));
            ConfigError::Toml { file: file.to_owned(), line, key, why: e.message().to_owned() }
        })?;
        match config.wrong() {
            None => Ok(config),
            Some((key, why)) => {
                Err(ConfigError::Value { file: file.to_owned(), line: line::of_key(text, key), key, why })
            }
        }
    }

    /// The address of the metrics, where they are served.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_listen.parse().ok()
    }

    /// The index of each UUID that the file names, where `gres_index` is explicit. Checked by [`Self::parse`].
    pub fn gres_map(&self) -> BTreeMap<u32, String> {
        self.gres_uuids.iter().filter_map(|(index, uuid)| Some((index.parse().ok()?, uuid.clone()))).collect()
    }

    /// The first key whose value is wrong, and why.
    fn wrong(&self) -> Option<(&'static str, String)> {
        self.wrong_name().or_else(|| self.wrong_number()).or_else(|| self.wrong_address()).or_else(|| self.wrong_gres())
    }

    fn wrong_name(&self) -> Option<(&'static str, String)> {
        let bad = |name: &str| {
            (name.trim() != name || name.is_empty() || name.contains(char::is_control))
                .then(|| "must have a name without blanks around it".to_owned())
        };
        let folder =
            |key, path: &Path| (!path.is_absolute()).then(|| (key, format!("`{}` must begin with /", path.display())));
        bad(&self.cluster)
            .map(|why| ("cluster", why))
            .or_else(|| self.node.as_deref().and_then(bad).map(|why| ("node", why)))
            .or_else(|| folder("lake", &self.lake))
            .or_else(|| folder("spool", &self.spool))
            .or_else(|| folder("proc_root", &self.proc_root))
            .or_else(|| folder("sys_root", &self.sys_root))
    }

    fn wrong_number(&self) -> Option<(&'static str, String)> {
        let bounds = [
            ("poll_s", self.poll_s, 1, 5),
            ("seal_ticks", u64::from(self.seal_ticks), 1, 60),
            ("spool_max_bytes", self.spool_max_bytes, 64 << 20, 1 << 44),
            ("nvml_deadline_ms", self.nvml_deadline_ms, 100, 60_000),
            ("dcgm_deadline_ms", self.dcgm_deadline_ms, 100, 20_000),
            ("dcgm_max_bytes", self.dcgm_max_bytes as u64, 64 << 10, 256 << 20),
            ("probe_every_s", self.probe_every_s, 60, 86_400),
            ("probe_deadline_s", self.probe_deadline_s, 1, 600),
            ("probe_max_bytes", self.probe_max_bytes, 1, 16 << 20),
        ];
        let out = bounds.into_iter().find(|(_, value, low, high)| !(low..=high).contains(&value));
        out.map(|(key, value, low, high)| (key, format!("is {value} and must be {low} to {high}")))
    }

    fn wrong_address(&self) -> Option<(&'static str, String)> {
        if let Some(url) = &self.dcgm_url {
            let host = url.strip_prefix("http://").map(|rest| rest.split(['/', '?']).next().unwrap_or_default());
            match host {
                None | Some("") => return Some(("dcgm_url", "must be like http://127.0.0.1:9400/metrics".to_owned())),
                Some(host) if !self.dcgm_remote && !is_loopback(host) => {
                    let why = format!(
                        "leaves this machine (`{host}`): the exporter of another node measures other GPUs; \
                                       `dcgm_remote = true` allows it"
                    );
                    return Some(("dcgm_url", why));
                }
                Some(_) => {}
            }
        }
        if self.metrics_listen.is_empty() {
            return None;
        }
        match self.metrics_address() {
            None => Some(("metrics_listen", "must be an address and a port, like 127.0.0.1:9841".to_owned())),
            Some(address) if !self.metrics_remote && !address.ip().is_loopback() => {
                let why = "can be reached from other machines, and user names may be seen there; \
                           `metrics_remote = true` allows it";
                Some(("metrics_listen", why.to_owned()))
            }
            Some(_) => None,
        }
    }

    fn wrong_gres(&self) -> Option<(&'static str, String)> {
        match (self.gres_index, self.gres_uuids.is_empty()) {
            (GresIndex::Explicit, true) => {
                Some(("gres_index", "is explicit, so `gres_uuids` must be given".to_owned()))
            }
            (GresIndex::Nvml | GresIndex::Minor, false) => {
                Some(("gres_uuids", "is read only with `gres_index = \"explicit\"`".to_owned()))
            }
            _ => self.gres_uuids.iter().find_map(|(index, uuid)| {
                let good = index.parse::<u32>().is_ok() && (uuid.starts_with("GPU-") || uuid.starts_with("MIG-"));
                (!good).then(|| ("gres_uuids", format!("has `{index} = \"{uuid}\"`: an index and a UUID are needed")))
            }),
        }
    }
}

/// Whether `host`, perhaps with a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;
