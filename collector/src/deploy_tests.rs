//! The files of `deploy/`: they parse, what they start can be started, and what they bound is what is promised.

use std::collections::BTreeMap;

use clap::{CommandFactory, Parser};

use gpuledger_collector::cluster::config::ClusterConfig;
use gpuledger_collector::cluster::slurm::config::SlurmConfig;
use gpuledger_collector::node::config::NodeConfig;
use gpuledger_schema::state::SchedulerKind;

use crate::args::{Args, Command};

const UNIT: &str = include_str!("../../deploy/systemd/gpuledger-collector.service");
const CLUSTER_UNIT: &str = include_str!("../../deploy/systemd/gpuledger-cluster.service");
const CLUSTER_POD: &str = include_str!("../../deploy/kubernetes/cluster-collector.yaml");
const DAEMON_SET: &str = include_str!("../../deploy/kubernetes/collector-daemonset.yaml");

/// Section, key and value of every line of a unit that is none of comment, blank and section.
fn settings(unit: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut out = Vec::new();
    for line in unit.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.to_owned();
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("`{line}` is no setting"));
        out.push((section.clone(), key.to_owned(), value.to_owned()));
    }
    out
}

fn setting(key: &str) -> String {
    setting_of(UNIT, key)
}

fn setting_of(unit: &str, key: &str) -> String {
    let all = settings(unit);
    let found: Vec<_> = all.iter().filter(|(_, k, _)| k == key).map(|(.., v)| v.as_str()).collect();
    assert_eq!(found.len(), 1, "{key}");
    found[0].to_owned()
}

/// Lines of the YAML without comments, with their indentation.
fn lines() -> impl Iterator<Item = (usize, &'static str)> {
    let code = DAEMON_SET.lines().filter(|l| !l.trim_start().starts_with('#') && !l.trim().is_empty());
    code.map(|l| (l.len() - l.trim_start().len(), l.trim()))
}

/// A list of strings in brackets behind `key`.
fn list(key: &str) -> Vec<String> {
    let found: Vec<&str> = lines().filter_map(|(_, l)| l.strip_prefix(key)).collect();
    assert_eq!(found.len(), 1, "{key}");
    serde_json::from_str(found[0].trim()).unwrap()
}

#[test]
fn the_command_line_is_consistent() {
    Args::command().debug_assert();
}

#[test]
fn every_command_has_an_example_in_its_help() {
    for command in Args::command().get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains(&format!("gpuledger-collector {}", command.get_name())), "{}", command.get_name());
    }
}

#[test]
fn the_help_says_what_the_program_is_for() {
    let help = Args::command().render_help().to_string();
    assert!(help.starts_with("Records what happens on this node: every process, every GPU, every minute"), "{help}");
}

#[test]
fn the_examples_in_the_help_can_be_typed() {
    let command = Args::command();
    let helps = command.get_subcommands().filter_map(|c| c.get_after_help()).chain(command.get_after_help());
    let mut tried = 0;
    for help in helps.map(ToString::to_string) {
        for line in help.lines().filter(|l| l.starts_with("  gpuledger-collector ")) {
            Args::try_parse_from(line.split_whitespace()).unwrap_or_else(|e| panic!("{line}: {e}"));
            tried += 1;
        }
    }
    assert!(tried >= 8, "{tried}");
}

#[test]
fn a_load_is_taken_as_typed() {
    let typed = ["gpuledger-collector", "calibrate", "--duty-percent", "40", "--", "load", "--seconds", "5"];
    let Command::Calibrate(what) = Args::try_parse_from(typed).unwrap().command else { panic!("calibrate") };
    let what = gpuledger_collector::node::command::calibrate::Calibration::from(what);
    assert_eq!((what.duty_ppm, what.duration_s), (Some(400_000), 120));
    assert_eq!(what.command, ["load", "--seconds", "5"]);
    assert!(Args::try_parse_from(["gpuledger-collector", "calibrate"]).is_err(), "no load");
    assert!(Args::try_parse_from(["gpuledger-collector", "calibrate", "--duty-percent", "101", "--", "x"]).is_err());
}

#[test]
fn the_unit_starts_what_exists() {
    let start = setting("ExecStart");
    let words: Vec<&str> = start.split(' ').collect();
    assert_eq!(words[0], "/usr/local/bin/gpuledger-collector");
    let args = Args::try_parse_from(words).unwrap();
    assert!(matches!(args.command, Command::Node));
    assert_eq!(args.config.unwrap().to_str(), Some("/etc/gpuledger/node.toml"));
}

#[test]
fn the_cluster_unit_starts_what_exists_and_gives_nothing() {
    let start = setting_of(CLUSTER_UNIT, "ExecStart");
    let args = Args::try_parse_from(start.split(' ')).unwrap();
    let Command::Cluster(cluster) = args.command else { panic!("{start}") };
    assert!(!cluster.once);
    assert_eq!(args.config.unwrap().to_str(), Some("/etc/gpuledger/cluster.toml"));
    for (key, value) in [("CapabilityBoundingSet", ""), ("NoNewPrivileges", "yes"), ("ProtectSystem", "strict")] {
        assert_eq!(setting_of(CLUSTER_UNIT, key), value, "{key}");
    }
    // The example's lake and the default spool are where the unit lets it write.
    let least = "cluster = \"a\"\nlake = \"/srv/gpuledger/lake\"\n";
    let config: ClusterConfig<SlurmConfig> = ClusterConfig::parse(least, "f").unwrap();
    assert_eq!(setting_of(CLUSTER_UNIT, "ReadWritePaths"), format!("-{}/inbox", config.lake.display()));
    let state = format!("/var/lib/{}", setting_of(CLUSTER_UNIT, "StateDirectory"));
    assert_eq!(state, config.spool.display().to_string());
}

#[test]
fn the_cluster_pod_starts_what_exists() {
    let list = |key: &str| -> Vec<&str> {
        let line = CLUSTER_POD.lines().find_map(|l| l.trim().strip_prefix(key)).unwrap();
        line.trim().trim_matches(['[', ']']).split(',').map(|w| w.trim().trim_matches('"')).collect()
    };
    let args = Args::try_parse_from([list("command:"), list("args:")].concat()).unwrap();
    let Command::Cluster(cluster) = args.command else { panic!("a cluster") };
    assert!(matches!(cluster.scheduler, crate::args::Scheduler::Kubernetes) && !cluster.once);
    assert_eq!(args.config.unwrap().to_str(), Some("/etc/gpuledger/cluster.toml"));
}

#[test]
fn the_unit_gives_little_and_bounds_what_it_gives() {
    assert_eq!(setting("CapabilityBoundingSet"), "CAP_SYS_PTRACE CAP_DAC_READ_SEARCH");
    assert_eq!((setting("NoNewPrivileges"), setting("ProtectSystem")), ("yes".to_owned(), "strict".to_owned()));
    assert_eq!(setting("MemoryMax"), "50M");
    let sections: Vec<String> = settings(UNIT).into_iter().map(|(section, ..)| section).collect();
    assert!(sections.iter().all(|s| ["Unit", "Service", "Install"].contains(&s.as_str())));
    // The example's lake and the default spool are where the unit lets it write.
    let least = "cluster = \"a\"\nscheduler = \"slurm\"\nlake = \"/srv/gpuledger/lake\"\n";
    let config = NodeConfig::parse(least, "f").unwrap();
    assert_eq!(setting("ReadWritePaths"), format!("-{}/inbox", config.lake.display()));
    let states = setting("StateDirectory");
    assert!(states.split(' ').any(|s| format!("/var/lib/{s}") == config.spool.display().to_string()), "{states}");
}

#[test]
fn every_part_of_the_files_is_explained() {
    // A comment stands above each setting, or above the run of settings that it explains.
    for (name, text, most) in [("unit", UNIT, 8), ("cluster unit", CLUSTER_UNIT, 8), ("daemon set", DAEMON_SET, 8)] {
        let mut run = 0;
        for line in text.lines().map(str::trim) {
            run = if line.is_empty() || line.starts_with('#') { 0 } else { run + 1 };
            assert!(run <= most, "{name}: {run} lines without a word before `{line}`");
        }
    }
}

#[test]
fn the_pod_starts_what_exists() {
    let words = [list("command:"), list("args:")].concat();
    let args = Args::try_parse_from(words).unwrap();
    assert!(matches!(args.command, Command::Node));
    assert_eq!(args.node.as_deref(), Some("$(NODE_NAME)"), "the kubelet puts the node's name there");
    assert!(DAEMON_SET.contains("- name: NODE_NAME\n              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}"));
}

#[test]
fn the_pods_configuration_is_taken() {
    let text: String = DAEMON_SET
        .lines()
        .skip_while(|l| l.trim() != "node.toml: |")
        .skip(1)
        .take_while(|l| l.starts_with("    "))
        .map(|l| format!("{}\n", &l[4..]))
        .collect();
    let config = NodeConfig::parse(&text, "node.toml").unwrap();
    assert_eq!(config.scheduler, SchedulerKind::Kubernetes);
    // What it reads and writes is mounted, and its port is the one that is probed.
    for path in [&config.lake, &config.spool, &config.pod_logs, &config.kubelet_socket.parent().unwrap().to_path_buf()]
    {
        assert!(DAEMON_SET.contains(&format!("mountPath: {}", path.display())), "{}", path.display());
    }
    let port = config.metrics_address().unwrap().port();
    assert!(
        DAEMON_SET.contains(&format!("containerPort: {port}")) && DAEMON_SET.contains(&format!("{{port: {port}}}"))
    );
}

#[test]
fn the_pod_gives_little_and_bounds_what_it_gives() {
    let code: Vec<&str> = lines().map(|(_, l)| l).collect();
    for line in [
        "hostPID: true",
        "hostNetwork: false",
        "automountServiceAccountToken: false",
        "privileged: false",
        "allowPrivilegeEscalation: false",
        "readOnlyRootFilesystem: true",
        "drop: [ALL]",
        "add: [SYS_PTRACE, DAC_READ_SEARCH]",
        "limits: {cpu: 100m, memory: 50Mi}",
        "httpGet: {path: /ready, port: metrics}",
        "httpGet: {path: /live, port: metrics}",
    ] {
        assert_eq!(code.iter().filter(|l| **l == line).count(), 1, "{line}");
    }
}

#[test]
fn every_volume_is_mounted_once_and_every_mount_has_its_volume() {
    let mounts: BTreeMap<&str, &str> =
        lines().filter_map(|(_, l)| l.strip_prefix("- {name: ")?.split_once(", mountPath: ")).collect();
    let volumes: Vec<&str> = lines()
        .skip_while(|(_, l)| *l != "volumes:")
        .take_while(|(_, l)| *l != "---")
        .filter_map(|(_, l)| l.strip_prefix("- name: "))
        .collect();
    assert_eq!(volumes.len(), 6);
    let mut sorted = volumes.clone();
    sorted.sort_unstable();
    assert_eq!(mounts.into_keys().collect::<Vec<_>>(), sorted);
}

#[test]
fn the_yaml_is_well_formed() {
    // No tab, steps of two blanks, brackets and braces that close on their line; a full parser is not among our
    // dependencies, and where Python has one it reads the file too.
    for (at, (indent, line)) in lines().enumerate() {
        assert!(!line.contains('\t') && indent % 2 == 0, "{at}: {line}");
        for (open, close) in [('{', '}'), ('[', ']')] {
            assert_eq!(line.matches(open).count(), line.matches(close).count(), "{line}");
        }
    }
    let read = "import sys, yaml; print(' '.join(d['kind'] for d in yaml.safe_load_all(sys.stdin)))";
    let file =
        std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/kubernetes/collector-daemonset.yaml"));
    let python = std::process::Command::new("python3").args(["-c", read]).stdin(file.unwrap()).output();
    match python {
        Ok(out) if out.status.success() => {
            let kinds = String::from_utf8(out.stdout).unwrap();
            assert_eq!(kinds.trim(), "Namespace ConfigMap DaemonSet NetworkPolicy");
        }
        Ok(out) if String::from_utf8_lossy(&out.stderr).contains("No module named") => {
            println!("skipped: no yaml in Python")
        }
        Ok(out) => panic!("{}", String::from_utf8_lossy(&out.stderr)),
        Err(_) => println!("skipped: no Python"),
    }
}
