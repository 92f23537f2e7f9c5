//! The demo, whole: a bill that adds up, and at least one of everything that a report can find.

use gpuledger_control::RULES;

use crate::site::Site;

#[test]
fn the_demo_shows_one_of_every_finding_fragment_and_loss() {
    let site = Site::new();
    let page = site.ok(&["demo"]);
    assert!(!page.contains("VIOLATED"), "{page}");
    // the rest of idle time is no finding
    let rules = RULES.iter().filter(|r| **r != "idle_other");
    let missing: Vec<_> = rules.filter(|r| !page.lines().any(|l| l.starts_with(&format!("{r} ")))).collect();
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
