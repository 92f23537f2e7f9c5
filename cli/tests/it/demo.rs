//! The demo, whole: a bill that adds up, and at least one of everything that a report can find.

use crate::site::Site;

/// Every rule of findings.
const RULES: [&str; 21] = [
    "never_touched",
    "idle_since",
    "partly_used",
    "hung",
    "low_use",
    "memory_asked",
    "memory_over_quota",
    "card_too_large",
    "card_cut_small",
    "outside_spec",
    "limit_over_run",
    "over_duration",
    "sm_low_week",
    "memory_bound",
    "input_bound",
    "resident_service",
    "contention",
    "slow_start",
    "failed_runs",
    "debug_left",
    "token_load",
];

#[test]
fn the_demo_shows_one_of_every_finding_fragment_and_loss() {
    let site = Site::new();
    let page = site.ok(&["demo"]);
    assert!(!page.contains("VIOLATED"), "{page}");
    let missing: Vec<_> = RULES.iter().filter(|r| !page.lines().any(|l| l.starts_with(&format!("{r} ")))).collect();
    assert!(missing.is_empty(), "{missing:?} in {page}");

    let config = site.data().join("input/gpuledger.toml");
    let asked =
        |what: &[&str]| site.table(&[what, &["--month", "2026-03", "--config", config.to_str().unwrap()]].concat());
    let kinds = asked(&["report", "fragmentation"]);
    for kind in ["node_scatter", "tier", "memory", "interconnect", "quota_or_queue", "share_leftover"] {
        let (at, hours) = (kinds.at("kind"), kinds.at("fragment_hours"));
        assert!(kinds.rows.iter().any(|r| r[at] == kind && r[hours] != "0.0000"), "{kind}: {kinds:#?}");
    }
    let losses = page.lines().find(|l| l.starts_with("three losses")).unwrap();
    assert!(!losses.contains(" 0.0 h"), "{losses}");
}
