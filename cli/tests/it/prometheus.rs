//! Alert rules and Grafana's panels against Debian's promtool and Prometheus; skipped by name where they are not installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Server;
use crate::site::Site;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/prometheus/check.py")
}

/// Whether a program is on this machine.
fn there(test: &str, programs: &[&str]) -> bool {
    let missing =
        programs.iter().find(|p| !Command::new(p).arg("--version").output().is_ok_and(|o| o.status.success()));
    if let Some(missing) = missing {
        println!("skipped: {test}: {missing} is not installed");
    }
    missing.is_none()
}

#[track_caller]
fn check(args: &[&str]) -> String {
    let done = Command::new("python3").arg(script()).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{args:?}: {said}{}", String::from_utf8_lossy(&done.stderr));
    said
}

#[test]
fn alert_rules_fire_as_they_are_tested_and_have_a_runbook_entry_each() {
    if there("alert_rules_fire_as_they_are_tested_and_have_a_runbook_entry_each", &["python3", "promtool"]) {
        let said = check(&["rules"]);
        assert!(said.contains("alerts fire as they are tested"), "{said}");
    }
}

#[test]
fn every_panel_has_an_answer_from_a_prometheus_that_scraped_a_server() {
    let test = "every_panel_has_an_answer_from_a_prometheus_that_scraped_a_server";
    if !there(test, &["python3", "promtool", "prometheus"]) {
        return;
    }
    let site = Site::billed("Europe/Berlin", "EUR");
    site.ok(&["demo"]);
    let token = site.ok(&["token", "create", "prometheus", "--role", "metrics", "--days", "1"]);
    let token = token.split_whitespace().find(|word| word.starts_with("glt")).unwrap_or_else(|| panic!("{token}"));
    let file = site.file("prometheus.token", token);
    let server = Server::start(&site, &[]);
    let url = format!("http://{}", server.address);
    assert_eq!(server.get("none", "/metrics").status, 401);
    check(&["metrics", &url, &file]);
    let said = check(&["panels", &url, &file]);
    assert!(said.contains("3 dashboards have answers"), "{said}");
}
