//! The node collector on the simulated driver, with real processes, through to usage.

use crate::site::Site;

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
         WHERE p.covered_ms > 50000 GROUP BY d.uuid, p.pid ORDER BY d.uuid, p.pid",
    );
    assert_eq!(minutes.rows.len(), 3, "{minutes:#?}");
    let part = |row: usize| {
        let of = |column: &str| minutes.rows[row][minutes.at(column)].parse::<i64>().unwrap();
        100 * of("busy_ms") / of("covered_ms")
    };
    assert!((80..=100).contains(&part(0)) && (45..=55).contains(&part(1)) && part(2) == 0, "{minutes:#?}");

    // each tick's start is read from the wall clock, to the millisecond: ticks may be a millisecond apart, which is bridged
    // and marked, or overlap by one, which is clipped
    let usage = site.sql(
        "SELECT sum(busy_ms + held_idle_ms + held_unmeasured_ms - estimated_ms) AS held_ms, sum(unobserved_ms) AS unseen_ms \
         FROM usage",
    );
    let dur = site.sql("SELECT sum(dur_ms) AS ms, count(*) AS ticks FROM device_minute");
    let whole = |text: &str| text.parse::<i64>().unwrap();
    let apart = whole(usage.one("held_ms")) - whole(dur.one("ms"));
    assert!(
        apart.abs() <= whole(dur.one("ticks")),
        "every tick of both cards was held by somebody: {usage:#?} {dur:#?}"
    );
    assert_eq!(usage.one("unseen_ms"), "0");
}
