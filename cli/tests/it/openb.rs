//! Alibaba's pods with parts of GPUs.

use crate::site::{Site, example, shared};

#[test]
fn openb_by_qos_with_parts_of_gpus() {
    let Some(folder) = shared("openb_by_qos_with_parts_of_gpus", "data/openb-pods") else { return };
    let (map, pods) = (example("maps/openb-pods.toml"), format!("{folder}/openb_pod_list_default.csv.gz"));
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.ok(&["import", "jobs", "--cluster", "openb", "--map", &map, &pods]);
    let window = ["--from", "2023-01-01", "--to", "2024-01-01"];

    let expected = [("LS", "41413.3600"), ("Burstable", "7459.2006"), ("BE", "1311.6358"), ("Guaranteed", "1286.4778")];
    let usage = site.table(&[&["report", "usage"][..], &window, &["--by", "qos"]].concat());
    assert_eq!(usage.rows.len(), expected.len());
    for (qos, hours) in expected {
        assert_eq!(usage.get(&[("qos", qos)], "held_hours"), hours, "{qos}");
    }
    let all = site.table(&[&["report", "usage"][..], &window].concat());
    assert_eq!(all.one("held_hours"), "51470.6742");
    let accounting = site.table(&[&["report", "accounting"][..], &window, &["--by", "qos"]].concat());
    for (qos, hours) in expected {
        assert_eq!(accounting.get(&[("qos", qos)], "gpu_hours"), hours, "{qos}");
    }
    never_scheduled(&site, &window);
}

/// 897 pods were never placed: no run, no hour, no money, and a line that says so.
fn never_scheduled(site: &Site, window: &[&str]) {
    let counted = site.sql("SELECT count(*) AS n FROM run");
    assert_eq!(counted.one("n"), (8_152 - 897).to_string());
    let charge = site.table(&[&["report", "charge"][..], window, &["--by", "state"]].concat());
    assert_eq!(charge.find(&[("state", "PENDING")], "charge"), None);
    let check = site.ok(&["check"]);
    let line = check.lines().find(|l| l.contains("never started")).unwrap();
    assert!(line.contains("openb") && line.contains("897"), "{line}");
    assert!(!check.contains("VIOLATED"), "{check}");
}
