//! The example, the defaults, and what is refused with which words.

use super::*;

const LEAST: &str = "cluster = \"alpha\"\nscheduler = \"slurm\"\nlake = \"/lake\"\n";

fn says(more: &str) -> String {
    NodeConfig::parse(&format!("{LEAST}{more}\n"), "node.toml").unwrap_err().to_string()
}

fn example() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/collector/node.toml");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn three_keys_are_enough() {
    let config = NodeConfig::parse(LEAST, "node.toml").unwrap();
    assert_eq!((config.poll_s, config.seal_ticks, config.spool_max_bytes), (5, 5, 2_147_483_648));
    assert_eq!((config.scheduler.as_str(), config.accounting), ("slurm", Accounting::Read));
    assert_eq!(config.metrics_address().unwrap().to_string(), "127.0.0.1:9841");
    assert_eq!((config.node, config.dcgm_url, config.probe_command), (None, None, vec![]));
}

#[test]
fn the_example_shows_the_defaults() {
    let config = NodeConfig::parse(&example(), "node.toml").unwrap();
    let least =
        NodeConfig::parse("cluster = \"alpha\"\nscheduler = \"slurm\"\nlake = \"/srv/gpuledger/lake\"", "x").unwrap();
    assert_eq!(config, least);
}

#[test]
fn the_example_names_every_key_once_and_each_can_be_uncommented() {
    // Keys with a default stand in a comment `# key = value`.
    let uncommented: String = example()
        .lines()
        .filter_map(|l| {
            l.strip_prefix("#  ").or_else(|| l.contains(" = ").then_some(l).filter(|l| !l.starts_with('#')))
        })
        .map(|l| format!("{l}\n"))
        .collect();
    // Two values of the example belong together.
    let config = NodeConfig::parse(&uncommented.replace("\"nvml\"", "\"explicit\""), "node.toml").unwrap();
    assert!(config.node.is_some() && config.dcgm_url.is_some() && !config.probe_command.is_empty());
    // What has no default aside, the values shown are the defaults.
    let shown = NodeConfig {
        node: None,
        queue: None,
        interconnect: None,
        slurm_scontrol: None,
        dcgm_url: None,
        probe_command: vec![],
        gres_index: GresIndex::Nvml,
        gres_uuids: BTreeMap::new(),
        ..config
    };
    assert_eq!(shown, NodeConfig::parse(&example(), "node.toml").unwrap());
    let keys: Vec<&str> = uncommented.lines().filter_map(|l| l.split_once(" = ")).map(|(k, _)| k).collect();
    let this = include_str!("../config.rs").split("pub struct NodeConfig {").nth(1).unwrap();
    let fields: Vec<&str> = this
        .lines()
        .take_while(|l| *l != "}")
        .filter_map(|l| l.trim().strip_prefix("pub ")?.split_once(':').map(|(k, _)| k))
        .collect();
    assert!(fields.len() > 25);
    assert_eq!(keys, fields);
}

#[test]
fn unknown_keys_and_kinds_name_file_line_and_key() {
    let typo = says("pol_s = 3");
    assert!(typo.starts_with("node.toml:4: pol_s: unknown field `pol_s`, expected one of `cluster`"), "{typo}");
    assert!(
        says("\n\npoll_s = \"3\"").starts_with("node.toml:6: poll_s: invalid type"),
        "{}",
        says("\n\npoll_s = \"3\"")
    );
    let scheduler =
        NodeConfig::parse("cluster = \"a\"\nscheduler = \"pbs\"\nlake = \"/l\"", "f").unwrap_err().to_string();
    assert!(scheduler.starts_with("f:2: scheduler: unknown scheduler `pbs`"), "{scheduler}");
    let missing = NodeConfig::parse("cluster = \"a\"\nlake = \"/l\"", "f").unwrap_err().to_string();
    assert_eq!(missing, "f:1: missing field `scheduler`");
}

#[test]
fn values_out_of_bounds_say_what_they_may_be() {
    assert_eq!(says("poll_s = 6"), "node.toml:4: poll_s is 6 and must be 1 to 5");
    assert_eq!(says("\nseal_ticks = 0"), "node.toml:5: seal_ticks is 0 and must be 1 to 60");
    assert_eq!(says("spool = \"spool\""), "node.toml:4: spool `spool` must begin with /");
    assert_eq!(says("node = \" n1\""), "node.toml:4: node must have a name without blanks around it");
    assert_eq!(says("gres_index = \"explicit\""), "node.toml:4: gres_index is explicit, so `gres_uuids` must be given");
    assert!(says("gres_uuids = { 0 = \"GPU-a\" }").starts_with("node.toml:4: gres_uuids is read only with"));
    let bad = says("gres_index = \"explicit\"\ngres_uuids = { zero = \"GPU-a\" }");
    assert!(bad.starts_with("node.toml:5: gres_uuids has `zero"), "{bad}");
}

#[test]
fn what_leaves_the_machine_must_be_allowed() {
    for open in ["0.0.0.0:9841", "[::]:9841", "10.0.0.7:9841"] {
        let line = format!("metrics_listen = \"{open}\"");
        assert!(says(&line).contains("metrics_remote = true"), "{open}");
        assert!(NodeConfig::parse(&format!("{LEAST}{line}\nmetrics_remote = true"), "f").is_ok());
    }
    for far in ["http://10.0.0.7:9400/metrics", "http://exporter/metrics", "http://127.0.0.1.example.org/"] {
        assert!(says(&format!("dcgm_url = \"{far}\"")).contains("dcgm_remote = true"), "{far}");
    }
    for near in ["http://127.0.0.1:9400/metrics", "http://localhost:9400/metrics", "http://[::1]:9400/metrics"] {
        assert!(NodeConfig::parse(&format!("{LEAST}dcgm_url = \"{near}\""), "f").is_ok(), "{near}");
    }
    assert!(says("dcgm_url = \"https://127.0.0.1/metrics\"").contains("http://127.0.0.1:9400/metrics"));
    assert!(says("metrics_listen = \"9841\"").contains("127.0.0.1:9841"));
    assert_eq!(NodeConfig::parse(&format!("{LEAST}metrics_listen = \"\""), "f").unwrap().metrics_address(), None);
}

#[test]
fn an_explicit_map_is_read() {
    let text = format!("{LEAST}gres_index = \"explicit\"\n[gres_uuids]\n0 = \"GPU-b\"\n10 = \"GPU-a\"\n");
    let config = NodeConfig::parse(&text, "f").unwrap();
    assert_eq!(config.gres_map(), BTreeMap::from([(0, "GPU-b".to_owned()), (10, "GPU-a".to_owned())]));
}

#[test]
fn a_file_that_is_not_there_says_what_to_do() {
    let error = NodeConfig::read(Path::new("/no/such/node.toml")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read the configuration /no/such/node.toml: check the path, or give another with --config"
    );
}
