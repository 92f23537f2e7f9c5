//! Cases of what collectors send: clock steps, re-sends, older and newer files, late files (C08, C10, C32, C34).

use gpuledger_collector::segment::{Segment, hash_of, pair, segment};
use gpuledger_schema::id::{boot_id, device_id, hint_of_session};
use gpuledger_schema::table::{DeviceMinuteRow, DeviceRow, ProcessMinuteRow, ReadingRow};
use gpuledger_schema::window::day_of;

use crate::site::Site;

const MINUTE_MS: i64 = 60_000;

/// A machine with one card and no scheduler, on which one process runs.
pub(crate) struct Node {
    name: &'static str,
    uuid: &'static str,
}

impl Node {
    /// A machine on which nobody schedules.
    pub(crate) fn bare(name: &'static str, uuid: &'static str) -> Self {
        Self { name, uuid }
    }

    /// 2026-03-02 12:00 UTC.
    pub(crate) fn noon_ms(&self) -> i64 {
        1_772_452_800_000
    }

    /// The card, and a look at the machine that lasts from noon to one.
    pub(crate) fn facts(&self) -> Vec<Segment> {
        let to_ms = self.noon_ms() + 60 * MINUTE_MS;
        let reading = ReadingRow {
            source: self.name.into(),
            kind: "node".into(),
            cluster: "bare".into(),
            node: Some(self.name.into()),
            read_at_ms: to_ms,
            from_ms: self.noon_ms(),
            to_ms,
            ok: true,
            rows: 60,
            error: None,
        };
        [segment(self.name, &[self.device()]), segment(self.name, &[reading])].map(|s| s.unwrap().unwrap()).into()
    }

    /// The card, known from noon on.
    fn device(&self) -> DeviceRow {
        DeviceRow {
            device_id: device_id(self.uuid),
            first_seen_ms: self.noon_ms(),
            retired_ms: None,
            cluster: "bare".into(),
            node: self.name.into(),
            uuid: self.uuid.into(),
            parent_id: None,
            model: Some("A100".into()),
            memory_bytes: Some(80 << 30),
            mig_profile: None,
            compute_slices: None,
            card_slices: None,
            interconnect: None,
            compute_capability: None,
            driver: None,
            minor: None,
            pci: None,
            queue: None,
            scheduler: "none".into(),
        }
    }

    /// Minutes by (sequence number, wall clock): the boot-time clock goes on steadily from an hour after the boot.
    pub(crate) fn minutes(&self, ticks: &[(i64, i64)], process_count: i64) -> Vec<DeviceMinuteRow> {
        let minute = |(seq, tick_ms): &(i64, i64)| DeviceMinuteRow {
            day: day_of(*tick_ms) as i32,
            device_id: device_id(self.uuid),
            boot_id: boot_id(self.name, "b"),
            seq: *seq,
            collector_id: 1,
            tick_ms: *tick_ms,
            mono_ms: 3_600_000 + seq * MINUTE_MS,
            dur_ms: MINUTE_MS,
            synchronised: true,
            state: "ok".into(),
            reason: None,
            process_count,
            gpu_util_ppm: Some(1_000_000),
            mem_util_ppm: None,
            sm_ppm: None,
            dram_ppm: None,
            tensor_ppm: None,
            activity_source: None,
            mem_used_bytes: None,
            mem_reserved_bytes: None,
            mem_total_bytes: None,
            power_mw: None,
            power_limit_mw: None,
            energy_mj: None,
            temperature_c: None,
            limit_reasons: None,
            ecc_uncorrected: None,
            xid: None,
        };
        ticks.iter().map(minute).collect()
    }

    /// The process in those minutes, busy for so long in each.
    pub(crate) fn processes(&self, ticks: &[(i64, i64)], busy_ms: i64) -> Vec<ProcessMinuteRow> {
        let minute = |(seq, tick_ms): &(i64, i64)| ProcessMinuteRow {
            day: day_of(*tick_ms) as i32,
            device_id: device_id(self.uuid),
            instance_id: None,
            boot_id: boot_id(self.name, "b"),
            seq: *seq,
            tick_ms: *tick_ms,
            hint_id: hint_of_session(self.name, "b", "42", "7"),
            hint: "session:42".into(),
            evidence: "session".into(),
            pid: 42,
            start_ticks: 7,
            user: "ann".into(),
            command: Some("train".into()),
            busy_ms: Some(busy_ms),
            covered_ms: MINUTE_MS,
            peak_ppm: None,
            mem_peak_bytes: None,
            mem_peak_source: None,
            sm_ppm: None,
            dram_ppm: None,
            tensor_ppm: None,
            composite_ppm: None,
            weights_version: None,
            apportionment: "exclusive".into(),
            cpu_ms: None,
            host_rss_bytes: None,
            read_bytes: None,
            io_wait_ms: None,
            state: None,
            reason: None,
        };
        ticks.iter().map(minute).collect()
    }

    fn hour(&self, busy_ms: i64) -> Vec<Segment> {
        let ticks: Vec<_> = (0..60).map(|m| (m, self.noon_ms() + m * MINUTE_MS)).collect();
        pair(self.name, &self.processes(&ticks, busy_ms), &self.minutes(&ticks, 1)).unwrap()
    }
}

/// Puts segments into the inbox, as a collector does.
pub(crate) fn put(site: &Site, segments: &[Segment]) {
    let inbox = site.data().join("inbox");
    std::fs::create_dir_all(&inbox).unwrap();
    for s in segments {
        std::fs::write(inbox.join(s.name.file_name()), &s.bytes).unwrap();
    }
}

fn usage(site: &Site) -> crate::table::Table {
    site.table(&["report", "usage", "--month", "2026-03", "--zone", "UTC", "--by", "user"])
}

/// 60 minutes of work, the clock put back by 20 after 30 of them: 60 minutes, none negative, none twice. The collector
/// that saw its clock go back says again since when it knows its card.
#[test]
fn c08_a_clock_step_loses_and_doubles_nothing() {
    let node = Node::bare("n1", "GPU-0");
    let stamp = |m: i64| node.noon_ms() + if m < 30 { m } else { m - 20 } * MINUTE_MS;
    let ticks: Vec<_> = (0..60).map(|m| (m, stamp(m))).collect();
    let site = Site::new();
    put(&site, &node.facts());
    put(
        &site,
        &[segment("n1", &[DeviceRow { first_seen_ms: node.noon_ms() - 20 * MINUTE_MS, ..node.device() }])
            .unwrap()
            .unwrap()],
    );
    put(&site, &pair("n1", &node.processes(&ticks, MINUTE_MS), &node.minutes(&ticks, 1)).unwrap());
    site.ok(&["ingest"]);
    let usage = usage(&site);
    assert_eq!(usage.get(&[("user", "ann")], "held_hours"), "1.0000");
    assert_eq!(usage.get(&[("user", "ann")], "busy_hours"), "1.0000");
    let check = site.ok(&["check"]);
    assert!(!check.contains("VIOLATED"), "{check}");
    let least = site.sql("SELECT min(busy_ms) AS least, sum(busy_ms) AS \"all\" FROM usage");
    assert_eq!((least.one("least").starts_with('-'), least.one("all")), (false, "3600000"));
    assert!(check.contains("clock"), "the step is flagged: {check}");
}

/// The collector was away for five minutes and the same process is there before and after: bridged, and marked estimated.
#[test]
fn c47_a_gap_with_the_same_process_is_held_and_estimated() {
    let node = Node::bare("n1", "GPU-0");
    let ticks: Vec<_> =
        (0..60).filter(|m| !(20..25).contains(m)).map(|m| (m, node.noon_ms() + m * MINUTE_MS)).collect();
    let site = Site::new();
    put(&site, &node.facts());
    put(&site, &pair("n1", &node.processes(&ticks, MINUTE_MS), &node.minutes(&ticks, 1)).unwrap());
    site.ok(&["ingest"]);
    assert_eq!(usage(&site).get(&[("user", "ann")], "held_hours"), "1.0000");
    let found = site
        .sql("SELECT sum(estimated_ms) AS estimated, sum(busy_ms) AS busy, sum(held_unmeasured_ms) AS dark FROM usage");
    let five = (5 * MINUTE_MS).to_string();
    assert_eq!(
        (found.one("estimated"), found.one("dark")),
        (five.as_str(), five.as_str()),
        "held, and neither busy nor waste"
    );
    assert_eq!(found.one("busy"), (55 * MINUTE_MS).to_string());
}

/// Half an hour away, and another process afterwards: nothing is bridged, and the half hour is on no bill.
#[test]
fn c47_a_gap_between_two_processes_is_a_gap() {
    let node = Node::bare("n1", "GPU-0");
    let ticks = |from: i64, to: i64| (from..to).map(|m| (m, node.noon_ms() + m * MINUTE_MS)).collect::<Vec<_>>();
    let (before, after) = (ticks(0, 15), ticks(45, 60));
    let mut rows = node.processes(&before, MINUTE_MS);
    let other = hint_of_session("n1", "b", "43", "9");
    rows.extend(node.processes(&after, MINUTE_MS).into_iter().map(|r| ProcessMinuteRow {
        hint_id: other,
        hint: "session:43".into(),
        pid: 43,
        start_ticks: 9,
        user: "bob".into(),
        ..r
    }));
    let site = Site::new();
    put(&site, &node.facts());
    put(&site, &pair("n1", &rows, &node.minutes(&[before, after].concat(), 1)).unwrap());
    site.ok(&["ingest"]);
    let by = usage(&site);
    assert_eq!(
        (by.get(&[("user", "ann")], "held_hours"), by.get(&[("user", "bob")], "held_hours")),
        ("0.2500", "0.2500")
    );
    assert_eq!(by.get(&[("user", "-")], "unobserved_hours"), "0.5000");
    assert_eq!(site.sql("SELECT sum(estimated_ms) AS n FROM usage").one("n"), "0");
}

/// A user that no name service knows is a number, is billed, and is the same time under the person once it is mapped.
#[test]
fn c11_an_owner_that_cannot_be_resolved_is_billed_by_number() {
    let node = Node::bare("n1", "GPU-0");
    let ticks: Vec<_> = (0..60).map(|m| (m, node.noon_ms() + m * MINUTE_MS)).collect();
    let rows = node.processes(&ticks, MINUTE_MS).into_iter();
    let rows: Vec<_> = rows.map(|r| ProcessMinuteRow { user: "uid:20117".into(), ..r }).collect();
    let site = Site::billed("UTC", "EUR");
    site.price("10");
    put(&site, &node.facts());
    put(&site, &pair("n1", &rows, &node.minutes(&ticks, 1)).unwrap());
    site.ok(&["ingest"]);
    assert_eq!(usage(&site).get(&[("user", "uid:20117")], "held_hours"), "1.0000");
    let month = ["report", "charge", "--month", "2026-03", "--by", "team,user"];
    let number = ("user", "uid:20117");
    assert_eq!(site.table(&month).get(&[("team", "unassigned"), number], "charge"), "10.00");
    site.reference("owners", "kind,value,team\nuser,uid:20117,vision\n");
    let after = site.table(&month);
    assert_eq!(after.get(&[("team", "vision"), number], "held_hours"), "1.0000");
    assert_eq!(after.get(&[("team", "vision"), number], "charge"), "10.00");
}

/// An hour sent three times is an hour; the same minutes with other values are a conflict, and the first stay.
#[test]
fn c10_a_re_send_is_accepted_and_counted_once() {
    let node = Node::bare("n1", "GPU-0");
    let site = Site::new();
    put(&site, &node.facts());
    for send in 0..3 {
        put(&site, &node.hour(30_000));
        let told = site.ok(&["ingest"]);
        let said = if send == 0 { "122 rows new, 0 there already" } else { "0 rows new, 120 there already" };
        assert!(told.contains(said), "{told}");
    }
    let first = usage(&site);
    assert_eq!(
        (first.get(&[("user", "ann")], "held_hours"), first.get(&[("user", "ann")], "busy_hours")),
        ("1.0000", "0.5000")
    );

    put(&site, &node.hour(MINUTE_MS));
    site.run(&["ingest"]).fails(3, &["process_minute: another row with the same key"]);
    assert_eq!(usage(&site), first, "the first value is kept");
    assert_eq!(site.sql("SELECT count(*) AS n FROM quarantine").one("n"), "60");
}

/// A device file of before `mig_profile`, one of after it with text in another encoding, in both orders: the same.
#[test]
fn c32_older_and_newer_files_in_either_order() {
    let node = Node::bare("n1", "GPU-0");
    let writer = Site::new();
    put(&writer, &node.facts());
    put(&writer, &node.hour(30_000));
    writer.ok(&["ingest"]);
    let rewritten = |select: &str, from: &str, table: &str| {
        let query = format!("SELECT {select} FROM {from}");
        let made = writer.command(&["sql", &query, "--format", "parquet"]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        (format!("{table}~n1~{}.parquet", hash_of(&made.stdout)), made.stdout)
    };
    let old = rewritten(
        "device_id, first_seen_ms, cluster, node, uuid, model, CAST(40 AS INT) AS memory_bytes, scheduler",
        "device",
        "device",
    );
    let new = rewritten(
        "device_id, first_seen_ms + 1800000 AS first_seen_ms, cluster, arrow_cast(node, 'Dictionary(Int32, Utf8)') AS node, \
         uuid, arrow_cast(model, 'LargeUtf8') AS model, memory_bytes, '1g.10gb' AS mig_profile, scheduler",
        "device",
        "device",
    );
    let deliver = |site: &Site, (name, bytes): &(String, Vec<u8>)| {
        std::fs::create_dir_all(site.data().join("inbox")).unwrap();
        std::fs::write(site.data().join("inbox").join(name), bytes).unwrap();
    };
    let mut seen = Vec::new();
    for order in [[&old, &new], [&new, &old]] {
        let site = Site::new();
        put(&site, &node.facts()[1..]);
        put(&site, &node.hour(30_000));
        for file in order {
            deliver(&site, file);
            site.ok(&["ingest"]);
        }
        let devices = site.sql("SELECT first_seen_ms, model, mig_profile FROM device ORDER BY first_seen_ms");
        assert_eq!((devices.column("model"), devices.column("mig_profile")), (vec!["A100"; 2], vec!["", "1g.10gb"]));
        seen.push((usage(&site), site.sql("SELECT * FROM usage ORDER BY unit_id, cell, holder, from_ms")));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].0.get(&[("user", "ann")], "held_hours"), "1.0000");

    // an instant without a zone is not the integer that it should be: the file is named, nothing becomes NULL
    let wrong = rewritten("*, to_timestamp_millis(first_seen_ms) AS wrong", "device", "device");
    let columns =
        "device_id, to_timestamp_millis(first_seen_ms) AS first_seen_ms, cluster, node, uuid, model, scheduler";
    let typed = rewritten(columns, "device", "device");
    for (file, reason) in [(wrong, "column `wrong` is unknown"), (typed, "column `first_seen_ms` is Timestamp")] {
        let site = Site::new();
        put(&site, &node.facts()[1..]);
        deliver(&site, &file);
        site.run(&["ingest"]).fails(3, &[&file.0, reason]);
        assert_eq!(site.sql("SELECT count(*) AS n FROM device").one("n"), "0");
    }
}

/// What arrives after a report was made is in the next one; nothing remembers the folder as it was.
#[test]
fn c34_a_file_that_arrives_late_is_in_the_next_report() {
    let node = Node::bare("n1", "GPU-0");
    let ticks = |from: i64, to: i64| (from..to).map(|m| (m, node.noon_ms() + m * MINUTE_MS)).collect::<Vec<_>>();
    let send = |site: &Site, from: i64, to: i64| {
        let ticks = ticks(from, to);
        put(site, &pair("n1", &node.processes(&ticks, MINUTE_MS), &node.minutes(&ticks, 1)).unwrap());
        site.ok(&["ingest"]);
    };
    let site = Site::new();
    put(&site, &node.facts());
    send(&site, 0, 5);
    let held = |site: &Site| usage(site).get(&[("user", "ann")], "held_hours").to_owned();
    assert_eq!(held(&site), "0.0833");
    send(&site, 5, 6);
    assert_eq!(held(&site), "0.1000");
    send(&site, 6, 60);
    assert_eq!(held(&site), "1.0000");

    // all at once gives the same ledger
    let once = Site::new();
    put(&once, &node.facts());
    send(&once, 0, 60);
    let all = "SELECT * FROM usage ORDER BY unit_id, cell, holder, from_ms";
    assert_eq!(site.sql(all), once.sql(all));
}
