//! Fragmentation of Alibaba's cluster, placed first-fit and counted a second time in loops; indicators of a small fleet.

use std::collections::BTreeMap;

use gpuledger_collector::segment::{Segment, pair, segment};
use gpuledger_schema::id::{allocation_id, device_id, hint_of_job, id63, job_id};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, DeviceRow, JobRow, NodeStateRow, ReadingRow};
use gpuledger_schema::unit::{CARD_UNITS, CELL_MS};
use serde_json::json;

use crate::case_collector::{Node, put};
use crate::site::{Site, shared, text_of};
use crate::table::{Table, decimal};

/// 2023-01-01 UTC, which the trace is declared to start at.
const ORIGIN_MS: i64 = 1_672_531_200_000;
/// The six hours in which most pods with GPUs ran at once.
const FROM_MS: i64 = ORIGIN_MS + 12_528_000_000;
const TO_MS: i64 = FROM_MS + 6 * 3_600_000;

/// A pod of the trace.
struct Pod {
    name: String,
    gpus: usize,
    milli: i64,
    created_ms: i64,
    started_ms: Option<i64>,
    ended_ms: i64,
}

/// A pod's cards: node and number of the card on it.
struct Placed<'a> {
    pod: &'a Pod,
    node: usize,
    cards: Vec<usize>,
}

fn pods(folder: &str) -> Vec<Pod> {
    let table = Table::read(&text_of(&format!("{folder}/openb_pod_list_default.csv.gz")));
    let at = |name: &str| table.at(name);
    let (name, gpus, milli) = (at("name"), at("num_gpu"), at("gpu_milli"));
    let (created, started, ended) = (at("creation_time"), at("scheduled_time"), at("deletion_time"));
    let ms = |text: &str| ORIGIN_MS + 1_000 * text.parse::<i64>().unwrap();
    let pods = table.rows.iter().map(|r| Pod {
        name: r[name].clone(),
        gpus: r[gpus].parse().unwrap(),
        milli: r[milli].parse().unwrap(),
        created_ms: ms(&r[created]),
        started_ms: (!r[started].is_empty()).then(|| ms(&r[started])),
        ended_ms: ms(&r[ended]),
    });
    pods.filter(|p| p.gpus > 0).collect()
}

/// Nodes in order of their name, with model and number of cards.
fn nodes(folder: &str) -> Vec<(String, String, usize)> {
    let table = Table::read(&text_of(&format!("{folder}/openb_node_list_gpu_node.csv.gz")));
    let (sn, model, gpus) = (table.at("sn"), table.at("model"), table.at("gpu"));
    let mut nodes: Vec<_> =
        table.rows.iter().map(|r| (r[sn].clone(), r[model].clone(), r[gpus].parse().unwrap())).collect();
    nodes.sort();
    nodes
}

/// First fit: pods by start and name, nodes by name, the first cards with room; what ends at an instant has gone by then.
fn place<'a>(pods: &'a [Pod], nodes: &[(String, String, usize)]) -> Vec<Placed<'a>> {
    let mut order: Vec<&Pod> = pods.iter().filter(|p| p.started_ms.is_some()).collect();
    order.sort_by_key(|p| (p.started_ms, p.name.clone()));
    let mut room: Vec<Vec<i64>> = nodes.iter().map(|(_, _, gpus)| vec![1_000; *gpus]).collect();
    let (mut placed, mut running): (Vec<Placed<'a>>, Vec<usize>) = (Vec::new(), Vec::new());
    for pod in order {
        running.retain(|i| {
            let p: &Placed<'a> = &placed[*i];
            let stays = Some(p.pod.ended_ms) > pod.started_ms;
            if !stays {
                p.cards.iter().for_each(|c| room[p.node][*c] += p.pod.milli);
            }
            stays
        });
        let fitting = |cards: &Vec<i64>| -> Vec<usize> {
            cards.iter().enumerate().filter(|(_, free)| **free >= pod.milli).map(|(c, _)| c).take(pod.gpus).collect()
        };
        let found = room.iter().map(fitting).enumerate().find(|(_, cards)| cards.len() == pod.gpus);
        if let Some((node, cards)) = found {
            cards.iter().for_each(|c| room[node][*c] -= pod.milli);
            running.push(placed.len());
            placed.push(Placed { pod, node, cards });
        }
    }
    placed
}

/// A row from its values by name; what is not named is absent.
fn row<R: serde::de::DeserializeOwned>(values: serde_json::Value) -> R {
    serde_json::from_value(values).unwrap()
}

fn card_uuid(node: &str, card: usize) -> String {
    format!("GPU-{node}-{card}")
}

fn request(name: &str, created_ms: i64, state: &str, units: i64, as_of_ms: i64) -> JobRow {
    row(
        json!({ "job_id": job_id("openb", name, created_ms), "cluster": "openb", "job_raw": name, "submit_ms": created_ms,
        "eligible_ms": created_ms, "tasks": 1, "state": state, "req_gpu_units": units, "source": "openb", "as_of_ms": as_of_ms }),
    )
}

/// Everything that the window shows, as a collector would write it: cards, runs that were on them, requests, the look itself.
fn segments(pods: &[Pod], nodes: &[(String, String, usize)], placed: &[Placed<'_>]) -> Vec<Segment> {
    let (mut devices, mut jobs, mut runs, mut held): (
        Vec<DeviceRow>,
        Vec<_>,
        Vec<AllocationRow>,
        Vec<AllocationDeviceRow>,
    ) = Default::default();
    for (name, model, gpus) in nodes {
        devices.extend((0..*gpus).map(|c| -> DeviceRow {
            let uuid = card_uuid(name, c);
            row(json!({ "device_id": device_id(&uuid), "first_seen_ms": FROM_MS, "cluster": "openb", "node": name,
                "uuid": uuid, "model": model, "scheduler": "kubernetes" }))
        }));
    }
    let up = |name: &str| -> NodeStateRow {
        row(
            json!({ "cluster": "openb", "node": name, "from_ms": FROM_MS, "to_ms": TO_MS, "state": "up", "source": "openb",
            "as_of_ms": TO_MS }),
        )
    };
    let states: Vec<NodeStateRow> = nodes.iter().map(|(name, ..)| up(name)).collect();
    let inside = |p: &&Placed<'_>| p.pod.started_ms < Some(TO_MS) && p.pod.ended_ms > FROM_MS;
    for Placed { pod, node, cards } in placed.iter().filter(inside) {
        let (start, end) = (pod.started_ms.unwrap().max(FROM_MS), pod.ended_ms.min(TO_MS));
        let units = pod.gpus as i64 * pod.milli * CARD_UNITS / 1_000;
        let id = allocation_id("openb", &pod.name, start);
        jobs.push(request(&pod.name, pod.created_ms, "COMPLETED", units, TO_MS));
        runs.push(row(json!({ "allocation_id": id, "job_id": job_id("openb", &pod.name, pod.created_ms),
            "hint_id": hint_of_job("openb", &pod.name), "cluster": "openb", "job_raw": pod.name, "submit_ms": pod.created_ms,
            "start_ms": start, "end_ms": end, "terminal": true, "state": "COMPLETED", "nodes": nodes[*node].0,
            "node_count": 1, "gpu_units": units, "gpu_count": pod.gpus, "gpu_exact": true, "source": "openb", "as_of_ms": TO_MS })));
        held.extend(cards.iter().map(|c| -> AllocationDeviceRow {
            let card = device_id(&card_uuid(&nodes[*node].0, *c));
            row(json!({ "holding_id": id63("holding", &[&id.to_string(), &card.to_string()]), "allocation_id": id,
                "cluster": "openb", "node": nodes[*node].0, "device_id": card, "share_units": pod.milli * CARD_UNITS / 1_000,
                "evidence": "kubelet", "as_of_ms": TO_MS }))
        }));
    }
    let waited = |p: &&Pod| p.started_ms.is_none() && p.created_ms < TO_MS && p.ended_ms > FROM_MS;
    for pod in pods.iter().filter(waited) {
        let (state, as_of) = if pod.ended_ms < TO_MS { ("CANCELLED", pod.ended_ms) } else { ("PENDING", TO_MS) };
        jobs.push(request(&pod.name, pod.created_ms, state, pod.gpus as i64 * pod.milli * CARD_UNITS / 1_000, as_of));
    }
    let look: ReadingRow = row(json!({ "source": "openb", "kind": "import", "cluster": "openb", "read_at_ms": TO_MS,
        "from_ms": FROM_MS, "to_ms": TO_MS, "ok": true, "rows": runs.len() }));
    let all = [segment("openb", &devices), segment("openb", &jobs), segment("openb", &runs), segment("openb", &held)];
    let all = all.into_iter().chain([segment("openb", &states)]);
    all.chain([segment("openb", &[look])]).filter_map(|s| s.unwrap()).collect()
}

/// The same again, card by card and cell by cell: time of whole cards by kind, and cards free.
fn counted(nodes: &[(String, String, usize)], placed: &[Placed<'_>]) -> BTreeMap<(&'static str, usize), i64> {
    let mut out = BTreeMap::new();
    for cell in FROM_MS / CELL_MS..TO_MS / CELL_MS {
        let (lo, hi) = (cell * CELL_MS, (cell + 1) * CELL_MS);
        for (n, (_, _, gpus)) in nodes.iter().enumerate() {
            let mut free = 0;
            for card in 0..*gpus {
                let on = |p: &&Placed<'_>| {
                    p.node == n && p.cards.contains(&card) && p.pod.started_ms < Some(hi) && p.pod.ended_ms > lo
                };
                let holders: Vec<_> = placed.iter().filter(on).collect();
                if holders.is_empty() {
                    free += 1;
                    continue;
                }
                // second by second: the trace has no finer times
                for second in (lo..hi).step_by(1_000) {
                    let held: i64 = holders
                        .iter()
                        .filter(|p| p.pod.started_ms <= Some(second) && p.pod.ended_ms > second)
                        .map(|p| p.pod.milli)
                        .sum();
                    if held > 0 {
                        *out.entry(("share_leftover", 0)).or_default() += 1_000 - held;
                    }
                }
            }
            for size in [2, 4, 8] {
                *out.entry(("node_scatter", size)).or_default() += (free % size) as i64 * CELL_MS;
            }
            *out.entry(("free", 0)).or_default() += free as i64 * CELL_MS;
        }
    }
    out
}

fn hours(ms: i64) -> String {
    let parts = (ms * 20_000 + 3_600_000) / 7_200_000;
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}

/// Pods placed first-fit on the trace's nodes: free cards that no job of 2, 4 or 8 could take, and what is left of shared cards.
#[test]
fn openb_fragmentation_is_what_loops_count() {
    let Some(folder) = shared("openb_fragmentation_is_what_loops_count", "data/openb-pods") else { return };
    let (pods, nodes) = (pods(&folder), nodes(&folder));
    let placed = place(&pods, &nodes);
    assert_eq!((pods.len(), placed.len()), (7_064, 6_203), "every pod that was scheduled found a place");
    let site = Site::billed("UTC", "USD");
    put(&site, &segments(&pods, &nodes, &placed));
    site.ok(&["ingest"]);
    // 12 528 000 s after the start of 2023
    let window = ["--from", "2023-05-26T00:00:00Z", "--to", "2023-05-26T06:00:00Z"];
    let report = site.table(&[&["report", "fragmentation"][..], &window].concat());
    let expected = counted(&nodes, &placed);
    assert!(expected.values().all(|ms| *ms > 0), "{expected:?}");
    for ((kind, size), ms) in expected.iter().filter(|((kind, _), _)| *kind != "free") {
        let size = if *size == 0 { "-".to_owned() } else { size.to_string() };
        assert_eq!(report.get(&[("kind", kind), ("size", &size)], "fragment_hours"), hours(*ms), "{kind} {size}");
    }
    assert!(report.column("free_hours").iter().all(|h| *h == hours(expected[&("free", 0)])), "{report:?}");
    // thousands of cards were free: nobody who waited was blocked by where they lay
    assert!(report.column("jobs").iter().all(|n| *n == "0"), "{report:?}");
    let fleet = site.table(&[&["report", "fleet", "--by", "model"][..], &window].concat());
    let usage = site.table(&[&["report", "usage", "--by", "model"][..], &window].concat());
    assert_eq!(fleet.sum("held_hours"), usage.sum("held_hours"));
    assert!(fleet.column("busy_rate").iter().all(|v| v.is_empty()), "nothing was measured: unknown, not 0");
}

/// C41: an idle pool is unallocated and visible, whoever holds nothing of it, and waste is of nobody.
#[test]
fn c41_an_idle_pool_in_the_indicators() {
    let site = Site::billed("UTC", "CNY");
    site.price("10");
    site.reference("inventory", "cluster,node,model,gpus,declared_up\nalpha,n1,H100,8,true\nalpha,n2,H100,4,true\n");
    site.reference("pools", "pool,node_pattern\nbusy,n1\nidle,n2\n");
    site.sacct(
        "UTC",
        "JobID|Account|State|Submit|Eligible|Start|End|AllocTRES|NodeList\n\
         1|nlp|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T02:00:00|2026-03-02T08:00:00|gres/gpu=4|n1\n\
         2|nlp|FAILED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T01:00:00|gres/gpu=4|n1\n\
         3|nlp|COMPLETED|2026-03-01T00:00:00|2026-03-01T00:00:00|2026-03-02T20:00:00|2026-03-02T20:30:00|gres/gpu=1|n1\n",
    );
    let day = ["--from", "2026-03-02", "--to", "2026-03-03"];
    let fleet = site.table(&[&["report", "fleet", "--by", "pool"][..], &day].concat());
    let of = |pool: &str, column: &str| fleet.get(&[("pool", pool)], column).to_owned();
    assert_eq!((of("idle", "held_hours"), of("idle", "allocation_rate")), ("0.0000".to_owned(), "0.000000".to_owned()));
    // 28.5 of 8 x 20.5 h: nothing is known after 20:30
    assert_eq!(
        (of("busy", "held_hours"), of("busy", "allocation_rate")),
        ("28.5000".to_owned(), "0.173780".to_owned())
    );
    assert_eq!(
        (of("busy", "busy_rate"), of("busy", "ineffective_occupancy"), of("busy", "idle_loss_hours")),
        Default::default()
    );
    // waits of 2, 0 and 44 h: the third of three is the 95th percentile; 43.5 h beyond the run of one GPU
    assert_eq!((of("busy", "jobs_started"), of("busy", "wait_p95_hours")), ("3".to_owned(), "44.0000".to_owned()));
    assert_eq!(
        (of("busy", "wait_mean_hours"), of("busy", "waiting_loss_hours")),
        ("15.3333".to_owned(), "43.5000".to_owned())
    );
    // two of three completed; four GPU-hours of the one that failed may be lost, as nobody saw a checkpoint
    assert_eq!(
        (of("busy", "completion_rate"), of("busy", "failure_rate")),
        ("0.666667".to_owned(), "0.333333".to_owned())
    );
    assert_eq!((of("busy", "lost_hours"), of("busy", "lost_at_most_hours")), (String::new(), "4.0000".to_owned()));
    let said = site.ok(&[&["report", "fleet"][..], &day].concat());
    assert!(said.contains("three losses") && said.contains("never added together"), "{said}");
    let fragments = site.table(&[&["report", "fragmentation"][..], &day].concat());
    assert_eq!(fragments.get(&[("kind", "tier")], "jobs"), "0");
    let assets = site.table(&["report", "assets", "--zone", "UTC"]);
    assert_eq!((assets.get(&[("node", "n2")], "registered"), assets.get(&[("node", "n2")], "seen")), ("4", ""));
    assert!(assets.get(&[("node", "n2")], "difference").contains("not seen"));
    site.run(&[&["report", "fleet", "--by", "node"][..], &day].concat()).fails(2, &["cannot be grouped by `node`"]);
}

/// A quota of 4: six cards held are two borrowed, by the run that started last; the other team lends them.
#[test]
fn a_quota_is_borrowed_by_the_latest_run_and_lent_by_those_below_theirs() {
    let site = Site::billed("UTC", "CNY");
    site.price("10");
    site.reference("inventory", "cluster,node,model,gpus,declared_up\nalpha,n1,H100,8,true\n");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.reference("quotas", "team,pool,gpus\nnlp,default,4\nvision,default,4\n");
    site.sacct(
        "UTC",
        "JobID|Account|User|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|nlp|ann|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T10:00:00|gres/gpu=3|n1\n\
         2|nlp|bob|COMPLETED|2026-03-02T00:00:00|2026-03-02T05:00:00|2026-03-02T10:00:00|gres/gpu=3|n1\n\
         3|guest|cal|COMPLETED|2026-03-02T00:00:00|2026-03-02T05:00:00|2026-03-02T10:00:00|gres/gpu=1|n1\n",
    );
    let window = ["--from", "2026-03-02T00:00:00Z", "--to", "2026-03-02T10:00:00Z"];
    let quota = site.table(&[&["report", "quota"][..], &window].concat());
    let of = |team: &str, column: &str| quota.get(&[("team", team)], column).to_owned();
    for (team, quota, held, borrowed, lent) in
        [("nlp", "40.0000", "45.0000", "10.0000", "0.0000"), ("vision", "40.0000", "0.0000", "0.0000", "10.0000")]
    {
        assert_eq!(
            [of(team, "quota_hours"), of(team, "held_hours"), of(team, "borrowed_hours"), of(team, "lent_hours")],
            [quota, held, borrowed, lent]
        );
    }
    assert_eq!((of("guest", "held_hours"), of("guest", "quota_hours")), ("5.0000".to_owned(), String::new()));
    // from submit to start, as accounting tells: three cards of bob's and one of cal's for five hours; vision asked for nothing
    let unmet = ["nlp", "guest", "vision"].map(|team| of(team, "unmet_hours"));
    assert_eq!(unmet, ["15.0000", "5.0000", "0.0000"], "{quota:#?}");
    assert!(quota.column("pool").iter().all(|p| *p == "default"), "{quota:#?}");
    let runs = site.table(&[&["report", "quota", "--runs"][..], &window].concat());
    assert_eq!((runs.column("job"), runs.column("borrowed_hours")), (vec!["2"], vec!["10.0000"]));
}

/// Four cards are free on each of two nodes: eight by count, and no use to a job of eight on one node.
#[test]
fn who_waits_for_cards_that_lie_wrongly_is_named() {
    let site = Site::new();
    site.reference("inventory", "cluster,node,model,gpus,declared_up\nalpha,n1,H100,8,true\nalpha,n2,H100,8,true\n");
    site.sacct(
        "UTC",
        "JobID|Account|User|Partition|State|Submit|Start|End|NNodes|ReqTRES|AllocTRES|NodeList\n\
         1|nlp|ann|gpu|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T10:00:00|1|gres/gpu=4|gres/gpu=4|n1\n\
         2|nlp|ann|gpu|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T10:00:00|1|gres/gpu=4|gres/gpu=4|n2\n\
         3|vision|bob|gpu|COMPLETED|2026-03-02T00:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|1|gres/gpu=8|gres/gpu=8|n1\n",
    );
    let window = ["--from", "2026-03-02T00:00:00Z", "--to", "2026-03-02T10:00:00Z", "--zone", "UTC"];
    let kinds = site.table(&[&["report", "fragmentation"][..], &window].concat());
    let scatter = [("kind", "node_scatter"), ("size", "8")];
    assert_eq!((kinds.get(&scatter, "jobs"), kinds.get(&scatter, "fragment_hours")), ("1", "80.0000"), "{kinds:#?}");
    let jobs = site.table(&[&["report", "fragmentation", "--jobs"][..], &window].concat());
    let of = |column: &str| jobs.one(column);
    assert_eq!([of("job"), of("user"), of("gpus"), of("kind"), of("size")], ["3", "bob", "8", "node_scatter", "8"]);
    assert_eq!([of("blocked_hours"), of("asked_hours"), of("still_waiting")], ["10.0000", "80.0000", "no"]);
    let fleet = site.ok(&[&["report", "fleet"][..], &window].concat());
    assert!(fleet.contains("80.0 h") || fleet.contains("80.0 GPU"), "{fleet}");
}

/// C47 (a): five minutes without a collector are held and estimated; they lower the coverage and are in no rate. An hour is
/// not enough for a census, which still says what it saw.
#[test]
fn c47_a_gap_lowers_the_coverage_and_no_rate() {
    let node = Node::bare("n1", "GPU-0");
    let ticks: Vec<_> = (0..60).filter(|m| !(20..25).contains(m)).map(|m| (m, node.noon_ms() + m * 60_000)).collect();
    let site = Site::billed("UTC", "CNY");
    put(&site, &node.facts());
    put(&site, &pair("n1", &node.processes(&ticks, 45_000), &node.minutes(&ticks, 1)).unwrap());
    site.ok(&["ingest"]);
    let hour = ["--from", "2026-03-02T12:00:00Z", "--to", "2026-03-02T13:00:00Z"];
    let fleet = site.table(&[&["report", "fleet", "--by", "cluster"][..], &hour].concat());
    assert_eq!((fleet.one("held_hours"), fleet.one("estimated_hours")), ("1.0000", "0.0833"));
    assert_eq!((fleet.one("coverage"), fleet.one("busy_rate")), ("0.916667", "0.750000"));
    // a quarter of the 55 minutes that were measured, not of the hour
    assert_eq!((fleet.one("ineffective_occupancy"), fleet.one("idle_loss_hours")), ("0.250000", "0.2292"));
    let by_part = site.table(&[&["report", "fleet", "--split", "part"][..], &hour].concat());
    assert_eq!((by_part.one("part"), by_part.one("above_3_percent")), ("workday", "yes"));
    let census = site.table(&[&["report", "census"][..], &hour].concat());
    assert_eq!((census.one("verdict"), census.one("coverage")), ("not enough to judge", "0.916666"));
    assert_eq!((census.one("util_mean"), census.one("processes_peak"), census.one("sm_mean")), ("1.000000", "1", ""));
    assert_eq!((census.one("rest_hours"), census.one("power_peak_mw")), ("0.0000", ""));
    let hours = site.table(&[&["report", "census", "--hours"][..], &hour].concat());
    assert_eq!((hours.one("weekday"), hours.one("hour"), hours.one("rest")), ("1", "12", "0.000000"));
    let health = site.table(&["report", "health", "--month", "2026-03"]);
    assert_eq!((health.rows.len(), health.column("from")[5]), (6, "2026-03-01"));
    assert_eq!(health.column("busy_of_service")[0], "", "nothing is known of October");
    for format in ["json", "parquet"] {
        let done = site.command(&[&["report", "fleet", "--format", format][..], &hour].concat()).output().unwrap();
        assert!(done.status.success() && !done.stdout.is_empty());
    }
}

/// A character of `report hours` from the six classes of one hour, counted once more.
fn word(busy: i128, others: [(char, i128); 5]) -> char {
    let idle = others[0].1;
    let all = busy + others.iter().map(|(_, ms)| ms).sum::<i128>();
    if all == 0 {
        return '.';
    }
    if (busy + idle) * 2 >= all {
        let tenths = if idle == 0 { 9 } else { busy * 10 / (busy + idle) };
        return char::from_digit(u32::try_from(tenths).unwrap(), 10).unwrap();
    }
    let most = others.iter().map(|(_, ms)| *ms).max().unwrap();
    others.iter().rfind(|(_, ms)| *ms == most).unwrap().0
}

#[test]
fn a_card_by_hour_is_what_the_usage_of_each_hour_says() {
    let site = Site::billed("Europe/Berlin", "EUR");
    site.ok(&["demo", "--days", "2"]);
    let of_day = ["--from", "2026-03-02", "--to", "2026-03-03", "--zone", "Europe/Berlin", "--format=csv"];
    let hours = Table::read(&site.ok(&[["report", "hours"].as_slice(), &of_day].concat()));
    assert!(hours.rows.len() >= 64, "{hours:#?}");
    assert!(hours.column("hours").iter().all(|text| text.len() == 24), "{hours:#?}");
    let mut seen = std::collections::BTreeSet::new();
    for hour in [0, 7, 13, 22] {
        let (from, to) =
            (format!("2026-03-02T{hour:02}:00:00+01:00"), format!("2026-03-02T{:02}:00:00+01:00", hour + 1));
        let of_hour = ["--from", &from, "--to", &to, "--zone", "Europe/Berlin", "--by", "node,device", "--format=csv"];
        let usage = Table::read(&site.ok(&[["report", "usage"].as_slice(), &of_hour].concat()));
        for row in hours.rows.iter().filter(|row| row[hours.at("device")] != "-") {
            let at = |name: &str| row[hours.at(name)].as_str();
            let keys = [("node", at("node")), ("device", at("device"))];
            let ms = |column: &str| usage.find(&keys, column).map_or(0, decimal);
            let others = [
                ('i', ms("held_idle_hours")),
                ('m', ms("held_unmeasured_hours")),
                ('f', ms("unallocated_hours")),
                ('x', ms("unavailable_hours")),
                ('o', ms("unobserved_hours")),
            ];
            let wanted = word(ms("busy_hours"), others);
            let said = at("hours").chars().nth(hour).unwrap();
            // hours are printed to their ten thousandth, which may move a tenth that lies on its edge
            let (a, b) = (said.to_digit(10), wanted.to_digit(10));
            let near = a.zip(b).is_some_and(|(a, b)| a.abs_diff(b) <= 1);
            assert!(said == wanted || near, "{keys:?} {hour}: {said} and {wanted}");
            seen.insert(said);
        }
    }
    assert!(seen.len() > 4, "the hours differ: {seen:?}");
}
