//! The node collector on the simulated driver, with real processes, through to usage.

use crate::site::Site;
use crate::table::decimal;

/// Train is busy nine tenths of its minute, infer half of it, the notebook not at all; the two on one card hold a half each.
#[test]
fn live_a_minute_of_real_processes_is_in_the_ledger() {
    let site = Site::new();
    let told = site.ok(&["demo", "--live", "--seconds", "61"]);
    for line in ["L1      ok", "L5      ok"] {
        assert!(told.contains(line), "{told}");
    }
    let minutes = site.sql(
        "SELECT d.uuid, p.pid, sum(p.busy_ms) AS busy_ms, sum(p.covered_ms) AS covered_ms, max(p.\"user\") AS \"user\" \
         FROM process_minute p JOIN device d ON d.device_id = p.device_id \
         WHERE p.covered_ms = 60000 GROUP BY d.uuid, p.pid ORDER BY d.uuid, p.pid",
    );
    assert_eq!(minutes.rows.len(), 3, "{minutes:#?}");
    let part = |row: usize| {
        let of = |column: &str| minutes.rows[row][minutes.at(column)].parse::<i64>().unwrap();
        100 * of("busy_ms") / of("covered_ms")
    };
    assert!((80..=100).contains(&part(0)) && (45..=55).contains(&part(1)) && part(2) == 0, "{minutes:#?}");

    let usage = site.sql("SELECT sum(busy_ms + held_idle_ms + held_unmeasured_ms) AS held_ms, sum(unobserved_ms) AS unseen_ms FROM usage");
    let dur = site.sql("SELECT sum(dur_ms) AS ms FROM device_minute");
    assert_eq!(decimal(usage.one("held_ms")), decimal(dur.one("ms")), "every tick of both cards was held by somebody");
    assert_eq!(usage.one("unseen_ms"), "0");
}
