//! The table `[slurm]`: which commands are run, within which bounds, and what a GPU's index means.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cluster::config::SchedulerConfig;
use crate::node::config::GresIndex;

/// How Slurm is reached. Nothing must be given where its commands are on the path and its configuration is where they
/// look for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmConfig {
    /// Slurm's configuration, for `SLURM_CONF` [none: the commands' own].
    pub conf: Option<PathBuf>,
    /// `scontrol` [scontrol, found on the path].
    pub scontrol: PathBuf,
    /// `squeue` [squeue].
    pub squeue: PathBuf,
    /// `sacct` [sacct]; empty: there is no accounting, and how a run ended is known only while the controller shows it.
    pub sacct: PathBuf,
    /// Seconds for one command, 1 to 300 [30].
    pub deadline_s: u64,
    /// Most bytes that a command may print; more is a failed look [512 MiB].
    pub output_max_bytes: u64,
    /// Hours of accounting that the first look of an epoch asks for, 1 to 720 [24].
    pub accounting_back_h: u64,
    /// Minutes of accounting that each look asks for again, 1 to 1440: what arrives late is then still seen [10].
    pub accounting_overlap_min: u64,
    /// What Slurm's GPU index counts: nvml, minor or explicit [nvml].
    pub gres_index: GresIndex,
    /// UUIDs of each node in the order of the index, where `gres_index = "explicit"`.
    pub gres_uuids: BTreeMap<String, Vec<String>>,
}

impl Default for SlurmConfig {
    fn default() -> Self {
        Self {
            conf: None,
            scontrol: PathBuf::from("scontrol"),
            squeue: PathBuf::from("squeue"),
            sacct: PathBuf::from("sacct"),
            deadline_s: 30,
            output_max_bytes: 512 << 20,
            accounting_back_h: 24,
            accounting_overlap_min: 10,
            gres_index: GresIndex::Nvml,
            gres_uuids: BTreeMap::new(),
        }
    }
}

impl SlurmConfig {
    /// `sacct`, where there is accounting.
    pub fn accounting(&self) -> Option<&Path> {
        (!self.sacct.as_os_str().is_empty()).then_some(self.sacct.as_path())
    }
}

impl SchedulerConfig for SlurmConfig {
    fn wrong(&self) -> Option<(&'static str, String)> {
        let bounds = [
            ("deadline_s", self.deadline_s, 1, 300),
            ("output_max_bytes", self.output_max_bytes, 1 << 20, 4 << 30),
            ("accounting_back_h", self.accounting_back_h, 1, 720),
            ("accounting_overlap_min", self.accounting_overlap_min, 1, 1_440),
        ];
        let out = bounds.into_iter().find(|(_, value, low, high)| !(low..=high).contains(&value));
        let number = out.map(|(key, value, low, high)| (key, format!("is {value} and must be {low} to {high}")));
        number.or_else(|| match (self.gres_index, self.gres_uuids.is_empty()) {
            (GresIndex::Explicit, true) => {
                Some(("gres_index", "is explicit, so `gres_uuids` must be given".to_owned()))
            }
            (GresIndex::Nvml | GresIndex::Minor, false) => {
                Some(("gres_uuids", "is read only with `gres_index = \"explicit\"`".to_owned()))
            }
            _ => {
                let named = self.gres_uuids.iter().flat_map(|(node, list)| list.iter().map(move |uuid| (node, uuid)));
                let bad = named.into_iter().find(|(_, u)| !u.starts_with("GPU-") && !u.starts_with("MIG-"));
                bad.map(|(node, uuid)| ("gres_uuids", format!("has `{uuid}` for {node}: a UUID of a GPU is needed")))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::config::ClusterConfig;

    const HEAD: &str = "cluster = \"alpha\"\nlake = \"/lake\"\n";

    fn parse(rest: &str) -> Result<ClusterConfig<SlurmConfig>, String> {
        ClusterConfig::parse(&format!("{HEAD}{rest}"), "c.toml").map_err(|e| e.to_string())
    }

    #[test]
    fn the_example_shows_every_key_with_its_default() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/collector/cluster-slurm.toml");
        let text = std::fs::read_to_string(path).unwrap();
        let shown = text
            .lines()
            .map(|l| l.strip_prefix("# ").filter(|l| l.contains(" = ") && !l.starts_with("gpu01")).unwrap_or(l));
        let shown: String = shown.map(|l| format!("{l}\n")).collect();
        let with_all: ClusterConfig<SlurmConfig> = ClusterConfig::parse(&shown, "example").unwrap();
        let plain: ClusterConfig<SlurmConfig> = ClusterConfig::parse(&text, "example").unwrap();
        let same = SlurmConfig { conf: None, ..with_all.scheduler.clone() };
        assert_eq!((same, SlurmConfig::default()), (plain.scheduler.clone(), plain.scheduler.clone()));
        assert_eq!(ClusterConfig { scheduler: plain.scheduler.clone(), ..with_all }, plain);
        let said = format!("{:?}", SlurmConfig::default());
        let keys = said.split([' ', '{']).filter_map(|w| w.strip_suffix(':')).filter(|k| !k.is_empty());
        for key in keys {
            assert!(text.contains(&format!("{key} = ")) || text.contains(&format!("[slurm.{key}]")), "{key}");
        }
    }

    #[test]
    fn what_is_unknown_or_out_of_bounds_stops_with_its_line() {
        for (rest, says) in [
            ("intervall_s = 5\n", "c.toml:3: intervall_s: unknown field"),
            ("[slurm]\nsqueu = \"x\"\n", "c.toml:4: squeu: unknown field"),
            ("[slurm]\ndeadline_s = 0\n", "c.toml:4: deadline_s is 0 and must be 1 to 300"),
            ("interval_s = 5\n", "c.toml:3: interval_s is 5 and must be 10 to 3600"),
            ("[slurm]\ngres_index = \"explicit\"\n", "c.toml:4: gres_index is explicit"),
            ("metrics_listen = \"0.0.0.0:1\"\n", "c.toml:3: metrics_listen can be reached"),
        ] {
            let said = parse(rest).unwrap_err();
            assert!(said.starts_with(says), "{said}");
        }
        assert!(ClusterConfig::<SlurmConfig>::parse("lake = \"/l\"", "c.toml").is_err());
        let config = parse("[slurm]\ngres_index = \"explicit\"\n[slurm.gres_uuids]\ngpu1 = [\"GPU-a\"]\n").unwrap();
        assert_eq!(config.scheduler.gres_uuids["gpu1"], ["GPU-a"]);
        assert_eq!(parse("[slurm]\nsacct = \"\"\n").unwrap().scheduler.accounting(), None);
    }
}
