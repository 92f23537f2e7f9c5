//! Cases with right answers, through the whole ledger: what a scheduler, a node and its cards say goes in, usage comes out.

use gpuledger_collector::segment::{Segment, pair, segment};
use gpuledger_schema::id::{allocation_id, boot_id, device_id, hint_of_job, id63, job_id};
use gpuledger_schema::table::{
    AllocationDeviceRow, AllocationRow, DeviceClaimRow, DeviceMinuteRow, DeviceRow, JobRow, NodeStateRow,
    ProcessMinuteRow, ReadingRow, Row,
};
use gpuledger_schema::unit::{CARD_UNITS, DAY_MS};

use crate::fleet_day::blank;
use crate::worlds::drive::{Site, rows};

const HOUR: i64 = 3_600_000;
const MINUTE: i64 = 60_000;
/// Midnight of a UTC day.
const T: i64 = 20_514 * DAY_MS;
const LOOKS: &str = "kubernetes:1";

/// What is said of one cluster of one node.
#[derive(Default)]
struct Said {
    device: Vec<DeviceRow>,
    ticks: Vec<DeviceMinuteRow>,
    processes: Vec<ProcessMinuteRow>,
    job: Vec<JobRow>,
    runs: Vec<AllocationRow>,
    holdings: Vec<AllocationDeviceRow>,
    claims: Vec<DeviceClaimRow>,
    states: Vec<NodeStateRow>,
    readings: Vec<ReadingRow>,
}

fn push<R: Row>(into: &mut Vec<Segment>, rows: &[R]) {
    into.extend(segment("case", rows).expect("a segment"));
}

impl Said {
    /// A card of node n that is looked at, and a node that is in service, until an instant.
    fn until(to_ms: i64) -> Self {
        let mut out = Self::default();
        out.card("GPU-0", None, None);
        out.states.push(NodeStateRow {
            cluster: "c".to_owned(),
            node: "n".to_owned(),
            from_ms: T,
            to_ms: None,
            state: "up".to_owned(),
            reason: None,
            source: "import".to_owned(),
            as_of_ms: T,
        });
        out.look(to_ms, true);
        out
    }

    fn look(&mut self, to_ms: i64, ok: bool) {
        self.readings.push(ReadingRow {
            source: LOOKS.to_owned(),
            kind: "scheduler".to_owned(),
            cluster: "c".to_owned(),
            node: None,
            read_at_ms: to_ms,
            from_ms: T,
            to_ms,
            ok,
            rows: 0,
            error: None,
        });
    }

    fn card(&mut self, uuid: &str, parent: Option<&str>, slices: Option<i64>) {
        self.device.push(DeviceRow {
            device_id: device_id(uuid),
            first_seen_ms: T,
            cluster: "c".to_owned(),
            node: "n".to_owned(),
            uuid: uuid.to_owned(),
            parent_id: parent.map(device_id),
            compute_slices: slices,
            scheduler: "kubernetes".to_owned(),
            ..blank::device()
        });
    }

    /// A run of a pod from one instant on, and what it holds on the node by count.
    fn run(&mut self, raw: &str, start_ms: i64, share_units: i64) -> AllocationRow {
        let row = AllocationRow {
            allocation_id: allocation_id("c", raw, start_ms),
            job_id: job_id("c", raw, start_ms),
            hint_id: hint_of_job("c", raw),
            cluster: "c".to_owned(),
            job_raw: raw.to_owned(),
            submit_ms: start_ms,
            start_ms,
            gpu_units: share_units,
            gpu_count: 1,
            source: LOOKS.to_owned(),
            as_of_ms: start_ms,
            ..blank::allocation()
        };
        self.holdings.push(AllocationDeviceRow {
            holding_id: id63("holding", &[raw, &start_ms.to_string()]),
            allocation_id: row.allocation_id,
            cluster: "c".to_owned(),
            node: Some("n".to_owned()),
            device_id: None,
            instance_id: None,
            model: None,
            share_units,
            evidence: "count".to_owned(),
            gres_index: None,
            index_rule: None,
            from_ms: None,
            to_ms: None,
            as_of_ms: start_ms,
        });
        self.job.push(JobRow {
            job_id: row.job_id,
            cluster: "c".to_owned(),
            job_raw: raw.to_owned(),
            submit_ms: start_ms,
            ..blank::job()
        });
        self.runs.push(row.clone());
        row
    }

    /// What the kubelet gave a pod: a part of the card.
    fn claim(&mut self, raw: &str, from_ms: i64, instance: Option<&str>, share_units: i64) {
        self.claims.push(DeviceClaimRow {
            claim_id: id63("claim", &[raw, instance.unwrap_or_default()]),
            cluster: "c".to_owned(),
            node: "n".to_owned(),
            device_id: device_id("GPU-0"),
            instance_id: instance.map(device_id),
            hint_id: hint_of_job("c", raw),
            hint: String::new(),
            evidence: "kubelet".to_owned(),
            share_units,
            container: None,
            resource: None,
            from_ms,
            to_ms: None,
            as_of_ms: from_ms,
        });
    }

    /// A minute of the card: its utilization, and what the pods' processes ran (on an instance).
    fn minute(&mut self, minute: i64, util_ppm: Option<i64>, ran: &[(&str, Option<&str>, Option<i64>)]) {
        let mut tick = DeviceMinuteRow {
            day: (T / DAY_MS) as i32,
            device_id: device_id("GPU-0"),
            boot_id: boot_id("n", "1"),
            seq: minute + 1,
            tick_ms: T + minute * MINUTE,
            mono_ms: minute * MINUTE,
            gpu_util_ppm: util_ppm,
            energy_mj: Some(60_000 * 60),
            ..blank::tick()
        };
        for (pid, (raw, instance, busy_ms)) in ran.iter().enumerate() {
            let mut row = blank::process(&tick);
            (row.hint_id, row.pid, row.busy_ms) = (hint_of_job("c", raw), pid as i64, *busy_ms);
            row.instance_id = instance.map(device_id);
            self.processes.push(row);
        }
        tick.process_count = ran.len() as i64;
        self.ticks.push(tick);
    }

    fn segments(&self) -> Vec<Segment> {
        let mut out = Vec::new();
        push(&mut out, &self.device);
        push(&mut out, &self.job);
        push(&mut out, &self.runs);
        push(&mut out, &self.holdings);
        push(&mut out, &self.claims);
        push(&mut out, &self.states);
        push(&mut out, &self.readings);
        out.extend(pair("case", &self.processes, &self.ticks).expect("a pair"));
        out
    }

    async fn ledger(&self) -> Site {
        let site = Site::new();
        site.take_in(&self.segments()).await;
        site.build(2).await;
        site
    }
}

/// Sums of usage by job ('' is nobody).
async fn sums(site: &Site, columns: &str) -> Vec<String> {
    let list: Vec<String> = columns.split(", ").map(|c| format!("CAST(sum({c}) AS BIGINT)")).collect();
    let sql = format!(
        "SELECT coalesce(r.job_raw, '-'), {} FROM usage u LEFT JOIN run r ON r.holder = u.holder GROUP BY 1 ORDER BY 1",
        list.join(", ")
    );
    let all = rows(&site.engine(2).await, &sql).await;
    let shown =
        |row: Vec<Option<String>>| row.into_iter().map(|v| v.unwrap_or("?".to_owned())).collect::<Vec<_>>().join(" ");
    all.into_iter().map(shown).collect()
}

const HELD: &str = "busy_ms, held_idle_ms, held_unmeasured_ms, unallocated_ms";

#[tokio::test]
async fn case_c12_a_slice_whose_use_nobody_can_measure_is_never_idle() {
    let mut said = Said::until(T + HOUR);
    said.card("MIG-1", Some("GPU-0"), Some(3));
    said.card("MIG-2", Some("GPU-0"), Some(4));
    for (raw, instance, slices) in [("blind", "MIG-1", 3), ("seen", "MIG-2", 4)] {
        said.run(raw, T, CARD_UNITS / 7 * slices);
        said.claim(raw, T, Some(instance), CARD_UNITS / 7 * slices);
    }
    for minute in 0..60 {
        let full = Some(MINUTE * 4 / 7);
        said.minute(minute, None, &[("blind", Some("MIG-1"), None), ("seen", Some("MIG-2"), full)]);
    }
    let site = said.ledger().await;
    // 3/7 and 4/7 of an hour; the busy time of a row is in whole milliseconds, and idle what is left of them
    assert_eq!(sums(&site, HELD).await, ["blind 0 0 1542856 0", "seen 2057100 44 0 0"]);
}

#[tokio::test]
async fn case_c13_seven_slices_are_one_card() {
    let mut said = Said::until(T + DAY_MS);
    for i in 1..=7 {
        said.card(&format!("MIG-{i}"), Some("GPU-0"), Some(1));
        said.run(&format!("pod{i}"), T, CARD_UNITS / 7);
        said.claim(&format!("pod{i}"), T, Some(&format!("MIG-{i}")), CARD_UNITS / 7);
    }
    let site = said.ledger().await;
    let held = sums(&site, "held_unmeasured_ms").await;
    assert_eq!(held.len(), 7, "{held:?}");
    let all: i64 = held.iter().map(|h| h.rsplit(' ').next().expect("a sum").parse::<i64>().expect("a number")).sum();
    assert_eq!(all, DAY_MS, "24.00 GPU-hours, not 168: {held:?}");
    // the odd milliseconds of a cell go to the same holders in order
    assert!(held.iter().all(|h| (h[5..].parse::<i64>().expect("a number") - DAY_MS / 7).abs() <= 96), "{held:?}");
}

#[tokio::test]
async fn case_c15_copies_of_a_card_add_up_to_the_card() {
    let mut said = Said::until(T + HOUR);
    for raw in ["a", "b", "c"] {
        said.run(raw, T, CARD_UNITS / 3);
        said.claim(raw, T, None, CARD_UNITS / 3);
    }
    // 0.714 of the card, which the node gave to its processes by share
    for minute in 0..60 {
        let ran = [("a", None, Some(14_280)), ("b", None, Some(14_280)), ("c", None, Some(14_280))];
        said.minute(minute, Some(714_000), &ran);
    }
    let site = said.ledger().await;
    let used = sums(&site, "busy_ms, held_idle_ms, held_unmeasured_ms").await;
    assert_eq!(used, ["a 856800 343200 0", "b 856800 343200 0", "c 856800 343200 0"]);
    assert_eq!(3 * 856_800 * 1_000 / HOUR, 714, "the three add up to 0.714, not 2.142");
    let energy = rows(&site.engine(2).await, "SELECT CAST(sum(energy_mj) AS BIGINT) FROM usage").await;
    assert_eq!(energy[0][0].as_deref(), Some("216000000"), "60 W for an hour, once");
}

#[tokio::test]
async fn case_c16_a_part_costs_what_was_granted_and_the_rest_is_stranded() {
    let mut quarter = Said::until(T + 4 * HOUR);
    quarter.run("cores25", T, CARD_UNITS / 4);
    quarter.claim("cores25", T, None, CARD_UNITS / 4);
    let site = quarter.ledger().await;
    let columns = "held_unmeasured_ms, unallocated_ms, stranded_ms";
    assert_eq!(sums(&site, columns).await, ["- 0 10800000 10800000", "cores25 3600000 0 0"]);

    let mut replicas = Said::until(T + 2 * HOUR);
    for raw in ["one", "two"] {
        let mut row = replicas.run(raw, T, CARD_UNITS / 4);
        (row.end_ms, row.terminal, row.as_of_ms) = (Some(T + HOUR), true, T + HOUR);
        replicas.runs.push(row);
        replicas.claim(raw, T, None, CARD_UNITS / 4);
    }
    // 2.00 each and 4.00 nobody's, sum 8.00, at 8.00 an hour; in the second hour the card is whole and free
    let site = replicas.ledger().await;
    assert_eq!(sums(&site, columns).await, ["- 0 5400000 1800000", "one 900000 0 0", "two 900000 0 0"]);
}

#[tokio::test]
async fn case_c18_held_from_node_assignment_to_the_terminal_phase() {
    let mut said = Said::until(T + 6 * HOUR);
    for i in 1..3 {
        said.card(&format!("GPU-{i}"), None, None);
    }
    // A cannot pull its image for six hours; B completed and C was evicted in their first minute, and their objects stay
    said.run("A", T, CARD_UNITS);
    for (raw, state, reason) in [("B", "COMPLETED", "Completed"), ("C", "FAILED", "Evicted")] {
        let mut row = said.run(raw, T, CARD_UNITS);
        (row.end_ms, row.terminal, row.as_of_ms, row.state) = (Some(T + MINUTE), true, T + 6 * HOUR, state.to_owned());
        row.end_reason = Some(reason.to_owned());
        said.runs.push(row);
    }
    // a pod without a node is a request
    let waits = JobRow {
        job_id: 9,
        job_raw: "D".to_owned(),
        state: "PENDING".to_owned(),
        source: LOOKS.to_owned(),
        ..said.job[0].clone()
    };
    said.job.push(waits);
    let site = said.ledger().await;
    assert_eq!(sums(&site, "busy_ms, held_unmeasured_ms").await, ["- 0 0", "A 0 21600000", "B 0 60000", "C 0 60000"]);
    let waiting =
        rows(&site.engine(2).await, "SELECT job_raw, waited_to_ms - submit_ms FROM request WHERE waiting").await;
    assert_eq!(waiting, [[Some("D".to_owned()), Some((6 * HOUR).to_string())]]);
}

#[tokio::test]
async fn case_c19_an_end_that_nobody_recorded_is_the_last_look_until_one_is() {
    let mut said = Said::until(T + 5 * HOUR);
    let run = said.run("gone", T + HOUR, CARD_UNITS);
    let last = T + HOUR + 11 * MINUTE;
    said.look(last, true);
    said.runs.push(AllocationRow { last_seen_ms: Some(last), as_of_ms: last + MINUTE, ..run.clone() });
    let site = said.ledger().await;
    assert_eq!(sums(&site, "held_unmeasured_ms").await[1], format!("gone {}", 11 * MINUTE), "not five hours");
    let open = rows(&site.engine(2).await, "SELECT open, end_ms FROM run").await;
    assert_eq!(open, [[Some("true".to_owned()), Some(last.to_string())]], "it is listed");
    // a later record lowers what is already built
    let end = AllocationRow { end_ms: Some(last - 5 * MINUTE), terminal: true, as_of_ms: T + 6 * HOUR, ..run };
    let mut later = Vec::new();
    push(&mut later, &[end]);
    site.take_in(&later).await;
    site.build(2).await;
    assert_eq!(sums(&site, "held_unmeasured_ms").await[1], format!("gone {}", 6 * MINUTE));
}

#[tokio::test]
async fn case_c23_an_old_record_of_the_same_id_ends_nothing() {
    let mut said = Said::until(T + HOUR);
    said.run("12728301", T, CARD_UNITS);
    // accounting answers with a job of 2017, and fails once: neither says anything about the one that runs
    let old = T - 3_000 * DAY_MS;
    let mut row = said.run("12728301", old, CARD_UNITS);
    (row.end_ms, row.terminal, row.source) = (Some(old + HOUR), true, "sacct.txt".to_owned());
    row.as_of_ms = T + 30 * MINUTE;
    (row.state, said.holdings) = ("COMPLETED".to_owned(), vec![said.holdings[0].clone()]);
    said.runs.retain(|r| r.start_ms == T);
    said.runs.push(row);
    said.look(T + HOUR + MINUTE, false);
    let site = said.ledger().await;
    let runs = rows(&site.engine(2).await, "SELECT state, open, attempt FROM run ORDER BY start_ms").await;
    let row = |state: &str, open: &str| vec![Some(state.to_owned()), Some(open.to_owned()), Some("1".to_owned())];
    assert_eq!(runs, [row("COMPLETED", "false"), row("RUNNING", "true")]);
    assert_eq!(sums(&site, "held_unmeasured_ms").await, [format!("12728301 {HOUR}")]);
}

#[tokio::test]
async fn case_c47_ten_seconds_between_samples_are_held_by_accounting_and_nothing_is_negative() {
    let mut said = Said::until(T + HOUR);
    let mut row = said.run("short", T + 20 * MINUTE + 25_000, CARD_UNITS);
    (row.end_ms, row.terminal, row.as_of_ms) = (Some(row.start_ms + 10_000), true, T + HOUR);
    row.state = "COMPLETED".to_owned();
    said.runs = vec![row];
    // a sample a minute, none of which saw it
    for minute in (0..60).filter(|m| *m != 20) {
        said.minute(minute, Some(0), &[]);
    }
    let site = said.ledger().await;
    let held = sums(&site, "busy_ms + held_idle_ms + held_unmeasured_ms").await;
    assert_eq!(held[1], "short 10000", "0.0028 GPU-hours");
    let negative = "SELECT count(*) FROM usage WHERE busy_ms < 0 OR held_idle_ms < 0 OR held_unmeasured_ms < 0 \
        OR unallocated_ms < 0 OR unavailable_ms < 0 OR unobserved_ms < 0 OR from_ms > to_ms";
    assert_eq!(rows(&site.engine(2).await, negative).await, [[Some("0".to_owned())]]);
    let whole = "SELECT CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms + unallocated_ms + unobserved_ms) AS BIGINT) FROM usage";
    assert_eq!(rows(&site.engine(2).await, whole).await, [[Some(HOUR.to_string())]]);
}

#[tokio::test]
async fn case_c58_an_outage_ends_nothing_and_is_no_emptiness() {
    let mut said = Said::until(T + HOUR);
    said.run("lives", T, CARD_UNITS);
    for hour in 2..5 {
        said.look(T + hour * HOUR, false);
    }
    let site = said.ledger().await;
    let told = "SELECT state, open, end_ms FROM run";
    let row = |end_ms: i64| [[Some("RUNNING".to_owned()), Some("true".to_owned()), Some(end_ms.to_string())]];
    // known to the last look that succeeded, and neither over nor an orphan
    assert_eq!(rows(&site.engine(2).await, told).await, row(T + HOUR));
    assert_eq!(sums(&site, HELD).await, [format!("lives 0 0 {HOUR} 0")]);

    // when the scheduler answers again and still shows it, the time between was held too
    let mut again = Said::default();
    again.look(T + 5 * HOUR, true);
    let mut segments = Vec::new();
    push(&mut segments, &again.readings);
    site.take_in(&segments).await;
    site.build(2).await;
    assert_eq!(rows(&site.engine(2).await, told).await, row(T + 5 * HOUR));
    assert_eq!(sums(&site, HELD).await, [format!("lives 0 0 {} 0", 5 * HOUR)]);
}
