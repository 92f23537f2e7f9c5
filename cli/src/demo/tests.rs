//! The generator keeps its promises: the same bytes twice, nothing held twice, rows that agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_collector::segment::hash_of;
use gpuledger_schema::id::device_id;
use gpuledger_schema::state::TaskType;
use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow, Row};
use gpuledger_schema::unit::{CARD_UNITS, DAY_MS, HOUR_MS};

use super::clock::overlap;
use super::hardware::{ALPHA, BETA, KUBE};
use super::*;

fn fleet(days: Option<u32>) -> Fleet {
    generate(&FleetParams { seed: 7, month: (2026, 3), zone: chrono_tz::Europe::Berlin, gpus: 64, days })
}

/// Rows of every node on one UTC day of the data.
fn rows(fleet: &Fleet, day: usize) -> Vec<NodeDay> {
    (0..fleet.world.hardware.nodes.len()).map(|n| telemetry::node_day(&fleet.world, n, fleet.days[day])).collect()
}

fn print(fleet: &Fleet) -> String {
    let mut all = Vec::new();
    for file in &fleet.accounting {
        all.extend(file.text.bytes());
    }
    for file in &fleet.references {
        all.extend(file.2.bytes());
    }
    let mut tables = BTreeMap::new();
    for segments in fleet.segments() {
        for segment in segments.expect("rows fit their tables") {
            all.extend(segment.name.file_name().bytes());
            *tables.entry(segment.name.table).or_insert(0) += 1;
        }
    }
    format!("{} {tables:?}", hash_of(&all))
}

#[test]
fn a_seed_gives_the_same_bytes_and_another_one_others() {
    let once = print(&fleet(Some(1)));
    assert_eq!(once, print(&fleet(Some(1))));
    let other =
        generate(&FleetParams { seed: 8, month: (2026, 3), zone: chrono_tz::Europe::Berlin, gpus: 64, days: Some(1) });
    assert_ne!(fleet(Some(1)).accounting, other.accounting);
}

#[test]
fn the_fleet_has_the_size_that_was_asked_for() {
    for (gpus, nodes) in [(64, [4, 3, 2]), (1_000, [62, 47, 32])] {
        let hardware = Hardware::new(7, gpus);
        assert_eq!(hardware.cards.len(), gpus as usize);
        assert_eq!([ALPHA, BETA, KUBE].map(|c| hardware.clusters[c].nodes.len()), nodes);
        for card in &hardware.cards {
            let shares: i64 = card.slots.clone().map(|s| hardware.slots[s].units).sum();
            assert_eq!(shares, CARD_UNITS, "{}", card.uuid);
        }
    }
}

#[test]
fn no_slot_is_held_twice_and_nothing_runs_on_what_is_broken() {
    let fleet = fleet(None);
    let world = &fleet.world;
    let mut taken: BTreeMap<usize, Vec<Window>> = BTreeMap::new();
    for run in world.jobs.iter().flat_map(|j| &j.runs) {
        assert!(run.start_ms < run.end_ms && run.submit_ms <= run.start_ms, "{run:?}");
        assert_eq!((run.start_ms % 1_000, run.end_ms % 1_000), (0, 0), "{run:?}");
        for slot in &run.slots {
            taken.entry(*slot).or_default().push(Window { from_ms: run.start_ms, to_ms: run.end_ms });
        }
    }
    for (slot, windows) in &mut taken {
        windows.sort_by_key(|w| w.from_ms);
        assert!(windows.windows(2).all(|w| w[0].to_ms <= w[1].from_ms), "slot {slot}");
        let card = world.hardware.slots[*slot].card;
        let lost = world.incidents.lost;
        if card == lost.0 {
            let held: i64 = windows.iter().map(|w| overlap(*w, lost.1)).sum();
            assert!(held < 120_000, "the lost card is held for {held} ms");
        }
        if world.hardware.cards[card].node == world.incidents.drained.0 {
            assert!(windows.iter().all(|w| overlap(*w, world.incidents.drained.1) == 0));
        }
    }
}

/// What the first rule of the reference file that fits a job says.
fn by_rules(rules: &[Vec<&str>], job: &plan::Job) -> String {
    let on_slurm = job.cluster != KUBE;
    let fits = |rule: &&Vec<&str>| {
        let pattern = rule[7].trim_end_matches('*');
        let words = [(rule[2], on_slurm.then_some(job.kind.queue)), (rule[3], on_slurm.then_some(job.kind.qos))];
        words.iter().all(|(word, have)| word.is_empty() || Some(*word) == *have)
            && (rule[5].is_empty() || !on_slurm && job.name.starts_with("prepare-"))
            && (rule[6].is_empty() || !on_slurm && rule[6] == job.kind.qos)
            && job.name.starts_with(pattern)
    };
    rules.iter().find(fits).map_or("unknown", |r| r[8]).to_owned()
}

#[test]
fn the_rules_give_every_job_the_type_it_is_meant_to_have() {
    let fleet = fleet(None);
    let text = fleet.references.iter().find(|r| r.0 == "rules").map(|r| r.2.as_str()).unwrap_or_default();
    let rules: Vec<Vec<&str>> = text.lines().skip(1).map(|l| l.split(',').collect()).collect();
    for job in &fleet.world.jobs {
        assert_eq!(by_rules(&rules, job), job.kind.task.as_str(), "{} {}", job.id, job.name);
    }
}

#[test]
fn every_task_type_and_every_ending_is_there() {
    let fleet = fleet(None);
    let types: BTreeSet<TaskType> = fleet.world.jobs.iter().map(|j| j.kind.task).collect();
    assert_eq!(types.len(), TaskType::ALL.len(), "{types:?}");
    let text: String = fleet.accounting.iter().map(|a| a.text.as_str()).collect();
    for word in [
        "|COMPLETED|",
        "|FAILED|",
        "|CANCELLED by ",
        "|TIMEOUT|",
        "|OUT_OF_MEMORY|",
        "|NODE_FAIL|",
        "|REQUEUED|",
        "|RUNNING|",
        "|PENDING|",
        "|Unknown|",
        "|None assigned|",
        "_[0-31%4]|",
        "|2026-02-",
        "gres/gpu:1g.10gb=1",
    ] {
        assert!(text.contains(word), "no record has `{word}`");
    }
    assert!(text.lines().any(|l| l.contains("|CANCELLED by ") && l.contains("|None assigned|")));
    let width = text.lines().next().map(|l| l.split('|').count());
    assert!(text.lines().all(|l| Some(l.split('|').count()) == width));
}

#[test]
fn a_requeued_run_ends_before_the_next_record_of_its_job_is_submitted() {
    let fleet = fleet(None);
    let twice: Vec<_> = fleet.world.jobs.iter().filter(|j| j.runs.len() > 1).collect();
    assert!(twice.len() > 3);
    for job in twice {
        assert!(job.runs.windows(2).all(|r| r[0].end_ms <= r[1].submit_ms), "{}", job.id);
    }
}

#[test]
fn jobs_of_the_first_days_are_the_same_without_the_rest() {
    let (whole, part) = (fleet(None), fleet(Some(2)));
    // Id, raw id, user, submission and start of what started on the first day.
    let started = |f: &Fleet| -> Vec<String> {
        let lines = f.accounting.iter().flat_map(|a| a.text.lines().map(|l| l.split('|').collect::<Vec<_>>()));
        lines.filter(|c| *c[9] < *"2026-03-02").map(|c| [c[0], c[1], c[2], c[7], c[9]].join("|")).collect()
    };
    assert!(started(&part).len() > 60);
    assert_eq!(started(&whole), started(&part));
    assert_eq!(part.span.to_ms - part.span.from_ms, 2 * DAY_MS);
    assert_eq!(whole.span.to_ms - whole.span.from_ms, 743 * HOUR_MS);
}

#[test]
fn device_and_process_rows_of_a_tick_agree() {
    let fleet = fleet(Some(2));
    let mut instances = 0;
    for node in rows(&fleet, 1) {
        let mut by_tick: BTreeMap<(i64, i64, i64), Vec<&ProcessMinuteRow>> = BTreeMap::new();
        for row in &node.processes {
            by_tick.entry((row.device_id, row.boot_id, row.seq)).or_default().push(row);
        }
        let minutes: BTreeSet<_> = node.minutes.iter().map(|m| (m.device_id, m.boot_id, m.seq)).collect();
        assert_eq!(minutes.len(), node.minutes.len(), "a tick is written once");
        for minute in &node.minutes {
            let own = by_tick.remove(&(minute.device_id, minute.boot_id, minute.seq)).unwrap_or_default();
            assert_eq!(own.len() as i64, minute.process_count);
            check(minute, &own);
            instances += i64::from(own.iter().any(|r| r.instance_id.is_some()));
        }
        assert!(by_tick.is_empty(), "every process row has its device's tick");
    }
    assert!(instances > 0);
}

fn check(minute: &DeviceMinuteRow, own: &[&ProcessMinuteRow]) {
    let busy: i64 = own.iter().filter_map(|r| r.busy_ms).sum();
    match minute.gpu_util_ppm {
        Some(util) if !own.is_empty() => assert_eq!(util, busy * 1_000_000 / minute.dur_ms),
        Some(_) => {}
        None => assert_eq!(minute.reason.as_deref(), Some("mig")),
    }
    for row in own {
        assert!(row.busy_ms <= Some(row.covered_ms) && row.covered_ms <= minute.dur_ms, "{row:?}");
        assert_eq!((row.tick_ms, row.day), (minute.tick_ms, minute.day));
        assert!([row.sm_ppm, row.dram_ppm, row.tensor_ppm].iter().all(|p| p.is_some_and(|p| p % 10_000 == 0)));
    }
    assert!(minute.reason.is_some() || busy <= minute.dur_ms);
    assert!(minute.mem_used_bytes <= minute.mem_total_bytes, "{minute:?}");
}

#[test]
fn ticks_cover_the_data_without_gap_or_overlap_but_for_the_incidents() {
    let fleet = fleet(None);
    let world = &fleet.world;
    for node in 0..world.hardware.nodes.len() {
        let ticks: Vec<_> = fleet.days.iter().flat_map(|d| world.ticks(node, *d)).collect();
        assert_eq!(ticks.first().map(|t| t.window.from_ms), Some(fleet.span.from_ms));
        assert_eq!(ticks.last().map(|t| t.window.to_ms), Some(fleet.span.to_ms));
        let gaps: i64 = ticks.windows(2).map(|t| t[1].window.from_ms - t[0].window.to_ms).sum();
        let (dark, reboot) = (world.incidents.dark, world.incidents.reboot);
        let missing = if node == dark.0 { dark.1 } else { reboot.1 };
        let expected = missing.to_ms - missing.from_ms;
        assert_eq!(gaps, if node == dark.0 || node == reboot.0 { expected } else { 0 });
        let keys: BTreeSet<_> = ticks.iter().map(|t| (world.lives[node][t.life].boot_id, t.seq)).collect();
        assert_eq!(keys.len(), ticks.len());
    }
}

#[test]
fn the_month_is_plausible() {
    let fleet = fleet(None);
    let world = &fleet.world;
    let (mut held, mut busy, mut measured) = (0, 0, 0);
    for day in [3, 9, 17, 25] {
        for run in world.jobs.iter().flat_map(|j| &j.runs) {
            let ms = overlap(Window { from_ms: run.start_ms, to_ms: run.end_ms }, fleet.days[day]);
            held += run.slots.iter().map(|s| ms / 1_000 * world.hardware.slots[*s].units).sum::<i64>() / CARD_UNITS;
        }
        for node in rows(&fleet, day) {
            busy += node.processes.iter().filter_map(|p| p.busy_ms).sum::<i64>() / 1_000;
            measured += node.minutes.iter().filter(|m| m.reason.as_deref() != Some("GPU is lost")).count();
        }
    }
    let capacity = 4 * DAY_MS / 1_000 * 64;
    let (held, busy) = (held * 100 / capacity, busy * 100 / held);
    assert!((68..=86).contains(&held), "{held} % held");
    assert!((52..=70).contains(&busy), "{busy} % of held busy");
    assert!(measured > 360_000);
}

#[test]
fn incidents_are_in_the_rows() {
    let fleet = fleet(None);
    let world = &fleet.world;
    let lost_card = &world.hardware.cards[world.incidents.lost.0];
    let day = fleet.days.iter().position(|d| overlap(*d, world.incidents.lost.1) > 0).expect("in the month");
    let lost = telemetry::node_day(world, lost_card.node, fleet.days[day]);
    let rows: Vec<_> = lost.minutes.iter().filter(|m| m.device_id == device_id(&lost_card.uuid)).collect();
    assert_eq!(rows.iter().filter(|m| m.xid == Some(79)).count(), 1);
    assert!(rows.iter().filter(|m| m.state == "lost").all(|m| m.gpu_util_ppm.is_none() && m.process_count == 0));
    let stranger = world.incidents.stranger.expect("a free card is found");
    let day = fleet.days.iter().position(|d| overlap(*d, stranger.1) > 0).expect("in the month");
    let seen = telemetry::node_day(world, world.hardware.cards[stranger.0].node, fleet.days[day]);
    assert!((24..=28).contains(&seen.processes.iter().filter(|p| p.evidence == "session").count()));
    let drained: Vec<_> = fleet.days.iter().flat_map(|d| watch::cluster_day(world, BETA, *d).nodes).collect();
    let away: i64 = drained.iter().filter(|n| n.state == "drained").filter_map(|n| Some(n.to_ms? - n.from_ms)).sum();
    assert_eq!(away, DAY_MS);
    let versions: usize = (0..fleet.days.len())
        .map(|d| telemetry::node_day(world, world.incidents.reboot.0, fleet.days[d]).devices.len())
        .sum();
    assert_eq!(versions, 16, "a reboot with another driver is a new version of eight cards");
}

#[test]
fn pods_are_read_every_day_until_they_end() {
    let fleet = fleet(Some(3));
    let days: Vec<_> = fleet.days.iter().map(|d| watch::cluster_day(&fleet.world, KUBE, *d)).collect();
    let mut keys = BTreeSet::new();
    for day in &days {
        // the others wait, or were deleted while they did
        let placed = day.jobs.iter().filter(|j| j.pending_reason.is_none());
        assert_eq!(placed.count(), day.allocations.len());
        for run in &day.allocations {
            assert!(keys.insert((run.allocation_id, run.as_of_ms, run.terminal)));
            assert_eq!(run.terminal, run.end_ms.is_some());
        }
    }
    let held: BTreeSet<_> = days.iter().flat_map(|d| d.holdings.iter().map(|h| h.allocation_id)).collect();
    assert!(days.iter().flat_map(|d| &d.allocations).all(|a| held.contains(&a.allocation_id)));
    assert!(days[0].holdings.iter().any(|h| h.share_units == CARD_UNITS / 4));
    assert_eq!(ProcessMinuteRow::TABLE.key.len(), 5);
}
