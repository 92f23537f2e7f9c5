//! Rows of a tick, from what was gathered.

use gpuledger_native::accounting::Account;

use super::*;
use crate::node::integrate::{Key, ProcessUse, Who};
use crate::node::seen::{Absent, Measure};
use crate::node::source::nvml::look::{CardFacts, InstanceFacts, InstanceMinute, MemoryNow, RatesPpm, Rejects};

const GIB: i64 = 1 << 30;
/// The wall clock is this far ahead of the boot clock.
const OFFSET_MS: i64 = 1_772_000_000_000;
const NONE: Measure<i64> = Err(Absent::NotSupported);

fn at(boot_ms: i64) -> Moment {
    Moment { wall_ms: OFFSET_MS + boot_ms, boot_ms, awake_ms: boot_ms, synchronised: true }
}

fn node() -> NodeFacts {
    NodeFacts {
        cluster: "alpha".to_owned(),
        boot: Boot { node: "n1".to_owned(), boot: "b1".to_owned() },
        queue: None,
        scheduler: SchedulerKind::Slurm,
        interconnect: None,
        collector_id: 7,
    }
}

fn facts(uuid: &str) -> CardFacts {
    CardFacts {
        uuid: uuid.to_owned(),
        model: Some("NVIDIA H100 80GB HBM3".to_owned()),
        memory_bytes: Some(80 * GIB),
        compute_capability: Some("9.0".to_owned()),
        driver: Some("570.86.15".to_owned()),
        minor: Some(0),
        pci: Some("00000000:17:00.0".to_owned()),
        mig: false,
        card_slices: None,
    }
}

fn activity(gpu: i64, sm: i64, dram: i64, tensor: i64) -> Activity {
    Activity { gpu_ppm: Ok(gpu), sm_ppm: Ok(sm), dram_ppm: Ok(dram), tensor_ppm: Ok(tensor), source: "gpm" }
}

fn minute(uuid: &str, activity: Measure<Activity>) -> CardMinute {
    CardMinute {
        at: at(120_000),
        facts: facts(uuid),
        memory: Ok(MemoryNow { used_bytes: 40 * GIB, reserved_bytes: Ok(GIB), total_bytes: 80 * GIB }),
        power_mw: Ok(500_000),
        power_limit_mw: Ok(700_000),
        energy_mj: Ok(30_000_000),
        temperature_c: Ok(61),
        limit_reasons: Ok("none".to_owned()),
        ecc_uncorrected: Ok(0),
        xid: Ok(None),
        remapped: Err(Absent::NotSupported),
        activity,
        accounts: Err(Absent::NotSupported),
        instances: Vec::new(),
    }
}

fn process(pid: u32) -> Process {
    Process { pid, start_ticks: 100 }
}

fn used(list: &[(Who, Measure<i64>)]) -> CardUse {
    let processes = list.iter().map(|(who, busy_ms)| {
        let peak_ppm = busy_ms.clone().map(|_| 900_000);
        let own = ProcessUse { busy_ms: busy_ms.clone(), covered_ms: 60_000, peak_ppm, memory_peak_bytes: Ok(GIB) };
        (Key { instance: None, who: *who }, own)
    });
    CardUse {
        covered_ms: 60_000,
        listed: Ok(()),
        rates: RatesPpm { gpu_ppm: Ok(420_000), memory_ppm: Ok(110_000) },
        processes: processes.collect(),
        rejects: Rejects::default(),
    }
}

fn card(uuid: &str, used: CardUse, activity: Measure<Activity>) -> CardTick {
    let minute = Some(minute(uuid, activity));
    CardTick { uuid: uuid.to_owned(), state: CardState::Ok, used, minute, last_xid: None }
}

fn span() -> TickSpan {
    TickSpan::starting(at(60_000))
}

fn people(pids: &[u32]) -> BTreeMap<Process, Person> {
    let person = |pid: u32| Person {
        facts: Some(ProcessFacts {
            process: process(pid),
            user: "alice".to_owned(),
            command: Some("python3".to_owned()),
            state: Some('R'),
            cpu_ms: Some(59_000),
            rss_bytes: Some(GIB),
            read_bytes: None,
            io_wait_ms: Some(0),
        }),
        belongs: Some(Belongs { hint_id: 5, hint: "slurm:alpha:5".to_owned(), evidence: "cgroup", conflict: false }),
        absent: Vec::new(),
    };
    pids.iter().map(|pid| (process(*pid), person(*pid))).collect()
}

/// C49: counters that read 0 while the engine was busy are no measure of idleness; busy time stays what it was.
#[test]
fn activity_that_reads_zero_beside_a_busy_engine_is_unknown() {
    let busy = used(&[(Who::Known(process(1)), Ok(59_000))]);
    let rows = rows_of(&[card("GPU-a", busy, Ok(activity(0, 0, 0, 0)))], &people(&[1]), &[]);
    let (minute, one) = (&rows.minutes[0], &rows.processes[0]);
    assert_eq!((minute.sm_ppm, minute.dram_ppm, minute.tensor_ppm), (None, None, None));
    assert!(
        minute.reason.as_ref().is_some_and(|r| r.contains("reads 0 beside a busy engine: ")),
        "{:?}",
        minute.reason
    );
    assert_eq!((one.busy_ms, one.sm_ppm), (Some(59_000), None));

    let idle =
        CardUse { rates: RatesPpm { gpu_ppm: Ok(0), memory_ppm: Ok(0) }, ..used(&[(Who::Known(process(1)), Ok(0))]) };
    let rows = rows_of(&[card("GPU-a", idle, Ok(activity(0, 0, 0, 0)))], &people(&[1]), &[]);
    assert_eq!((rows.minutes[0].sm_ppm, rows.processes[0].sm_ppm), (Some(0), Some(0)), "measured zero is zero");
}

fn rows_of(cards: &[CardTick], people: &BTreeMap<Process, Person>, outside: &[Outside]) -> Rows {
    rows(&node(), &span(), cards, people, outside, &mut Versions::default())
}

#[test]
fn a_tick_is_a_minute_of_the_boot_clock_and_the_first_may_be_short() {
    let first = TickSpan::starting(at(95_000));
    assert_eq!((first.seq(), first.dur_ms(), first.end_boot_ms), (1, 25_000, 120_000));
    let next = TickSpan::starting(at(120_000));
    assert_eq!((next.seq(), next.dur_ms()), (2, 60_000));
    assert_eq!(first.missed(&next), None);
}

#[test]
fn time_between_two_ticks_is_told_with_how_much_of_it_was_suspended() {
    let before = TickSpan::starting(at(60_000));
    // an hour later, 50 minutes of it asleep
    let after = TickSpan::starting(Moment { awake_ms: 3_660_000 - 3_000_000, ..at(3_660_000) });
    let missed = before.missed(&after).unwrap();
    assert_eq!((missed.from_boot_ms, missed.to_boot_ms, missed.suspended_ms), (120_000, 3_660_000, 3_000_000));
    assert_eq!(missed.to_ms - missed.from_ms, 3_540_000);
}

#[test]
fn a_process_alone_has_the_cards_activity_and_a_row_with_everything() {
    let cards =
        [card("GPU-0", used(&[(Who::Known(process(11)), Ok(25_200))]), Ok(activity(430_000, 388_100, 250_900, 0)))];
    let out = rows_of(&cards, &people(&[11]), &[]);
    let device = &out.minutes[0];
    assert_eq!((device.seq, device.tick_ms, device.mono_ms, device.dur_ms), (1, OFFSET_MS + 60_000, 60_000, 60_000));
    assert_eq!(
        (device.gpu_util_ppm, device.mem_util_ppm, device.sm_ppm),
        (Some(430_000), Some(110_000), Some(388_100))
    );
    assert_eq!((device.process_count, device.state.as_str(), &device.reason), (1, "ok", &None));
    assert_eq!(device.activity_source.as_deref(), Some("gpm"));
    let row = &out.processes[0];
    assert_eq!((row.busy_ms, row.covered_ms, row.peak_ppm), (Some(25_200), 60_000, Some(900_000)));
    assert_eq!((row.sm_ppm, row.dram_ppm, row.tensor_ppm), (Some(380_000), Some(250_000), Some(0)));
    assert_eq!((row.composite_ppm, row.weights_version), (Some(380_000), Some(1)));
    assert_eq!(row.apportionment, "exclusive");
    assert_eq!((row.hint.as_str(), row.evidence.as_str(), row.user.as_str()), ("slurm:alpha:5", "cgroup", "alice"));
    assert_eq!((row.mem_peak_bytes, row.mem_peak_source.as_deref()), (Some(GIB), Some("polled")));
    assert_eq!(row.reason.as_deref(), Some("no earlier reading: read_bytes"));
    assert_eq!(row.seq, device.seq);
}

#[test]
fn processes_that_share_a_card_share_its_activity_and_never_exceed_it() {
    let list =
        [(Who::Known(process(11)), Ok(20_000)), (Who::Known(process(12)), Ok(10_000)), (Who::Unknown(13), Ok(1_000))];
    let cards = [card("GPU-0", used(&list), Ok(activity(520_000, 500_000, 100_000, 0)))];
    let out = rows_of(&cards, &people(&[11, 12]), &[]);
    // 20/31, 10/31 and 1/31 of 500 000: 322 580, 161 290, 16 129
    let sm: Vec<Option<i64>> = out.processes.iter().map(|p| p.sm_ppm).collect();
    assert_eq!(sm, [Some(320_000), Some(160_000), Some(10_000)]);
    assert!(out.processes.iter().all(|p| p.apportionment == "sm_share"));
    assert_eq!(out.minutes[0].process_count, 3);

    let stranger = &out.processes[2];
    assert_eq!((stranger.pid, stranger.start_ticks, stranger.hint.as_str()), (13, 0, "unattributed"));
    assert_eq!(stranger.busy_ms, Some(1_000), "the card's total is kept");
    let gone = "gone: start, command, cpu_ms, host_rss_bytes, read_bytes, io_wait_ms, state";
    assert_eq!(stranger.reason.as_deref(), Some(gone));
}

#[test]
fn eight_cards_of_which_one_is_idle_are_eight_rows() {
    // C02: NotFound is an empty list and no error
    let idle = CardUse { rates: RatesPpm { gpu_ppm: Ok(0), memory_ppm: Ok(0) }, ..used(&[]) };
    let cards: Vec<CardTick> =
        (0..8).map(|i| card(&format!("GPU-{i}"), idle.clone(), Ok(activity(0, 0, 0, 0)))).collect();
    let out = rows_of(&cards, &BTreeMap::new(), &[]);
    assert_eq!((out.minutes.len(), out.processes.len()), (8, 0));
    assert!(out.minutes.iter().all(|m| m.state == "ok" && m.gpu_util_ppm == Some(0) && m.reason.is_none()));
}

#[test]
fn a_lost_card_has_one_row_that_says_so_and_keeps_nobody_else_from_theirs() {
    // C06
    let mut cards: Vec<CardTick> = (0..8)
        .map(|i| card(&format!("GPU-{i}"), used(&[(Who::Known(process(20 + i)), Ok(6_000))]), Ok(activity(1, 0, 0, 0))))
        .collect();
    cards[6].state = CardState::Lost;
    cards[6].minute = None;
    cards[6].last_xid = Some(79);
    let out = rows_of(&cards, &people(&[20, 21, 22, 23, 24, 25, 26, 27]), &[]);
    let lost = &out.minutes[6];
    assert_eq!((lost.state.as_str(), lost.reason.as_deref(), lost.xid), ("lost", Some("lost"), Some(79)));
    assert_eq!((lost.gpu_util_ppm, lost.mem_used_bytes, lost.process_count), (None, None, 0));
    assert_eq!(out.minutes.iter().filter(|m| m.state == "ok").count(), 7);
    assert_eq!(out.processes.len(), 7);
    assert!(out.processes.iter().all(|p| p.pid != 26));
}

#[test]
fn states_of_cards_that_could_not_be_read() {
    let state = |state: CardState| {
        let card = CardTick { state, minute: None, ..card("GPU-0", used(&[]), Err(Absent::Lost)) };
        let row = rows_of(&[card], &BTreeMap::new(), &[]).minutes.remove(0);
        (row.state, row.reason.unwrap())
    };
    let words = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(state(CardState::Hung), words("error", "hung"));
    assert_eq!(state(CardState::NotPermitted), words("not_permitted", "not permitted"));
    assert_eq!(state(CardState::Error("x: 999 (unknown error)".to_owned())), words("error", "x: 999 (unknown error)"));
    assert_eq!(state(CardState::Ok), words("error", "not looked at"), "a minute that never came is no health");
}

#[test]
fn a_card_whose_processes_nobody_listed_is_not_an_empty_card() {
    let mut card = card("GPU-0", used(&[]), Ok(activity(0, 0, 0, 0)));
    card.used.listed = Err(Absent::NotPermitted);
    let row = rows_of(&[card], &BTreeMap::new(), &[]).minutes.remove(0);
    assert_eq!((row.state.as_str(), row.reason.as_deref()), ("error", Some("processes not listed: not permitted")));
}

/// A card cut into a 3g and a 1g instance, with processes in them.
fn mig(own: [Measure<Activity>; 2], list: &[(u32, &str)]) -> CardTick {
    let instance = |uuid: &str, gi, slices, activity| InstanceMinute {
        facts: InstanceFacts {
            uuid: uuid.to_owned(),
            gpu_instance: gi,
            profile: Some(format!("{slices}g.40gb")),
            slices: Some(slices),
            memory_bytes: Some(40 * GIB),
            whole_gpu_instance: true,
        },
        memory: Ok(MemoryNow { used_bytes: GIB, reserved_bytes: Ok(0), total_bytes: 40 * GIB }),
        activity,
    };
    let [three, one] = own;
    let mut card = card("GPU-0", used(&[]), Err(Absent::Mig));
    card.used.covered_ms = 0;
    card.used.rates = RatesPpm { gpu_ppm: Err(Absent::Mig), memory_ppm: Err(Absent::Mig) };
    for (pid, uuid) in list {
        let key = Key { instance: Some((*uuid).to_owned()), who: Who::Known(process(*pid)) };
        let none = Err(Absent::Mig);
        let own = ProcessUse { busy_ms: none.clone(), covered_ms: 0, peak_ppm: none, memory_peak_bytes: Ok(GIB) };
        card.used.processes.insert(key, own);
    }
    if let Some(minute) = &mut card.minute {
        minute.facts.mig = true;
        minute.facts.card_slices = Some(7);
        minute.instances = vec![instance("MIG-a", 1, 3, three), instance("MIG-b", 9, 1, one)];
    }
    card
}

#[test]
fn an_a100_in_mig_mode_is_not_measured_and_never_zero() {
    // C12
    let card = mig([Err(Absent::NotSupported), Err(Absent::NotSupported)], &[(31, "MIG-a")]);
    let out = rows_of(&[card], &people(&[31]), &[]);
    let parent = out.minutes.iter().find(|m| m.device_id == id::device_id("GPU-0")).unwrap();
    assert_eq!((parent.state.as_str(), parent.process_count), ("ok", 1));
    assert_eq!((parent.gpu_util_ppm, parent.sm_ppm), (None, None));
    let why = "MIG: gpu_util_ppm, mem_util_ppm, sm_ppm, dram_ppm, tensor_ppm";
    assert_eq!(parent.reason.as_deref(), Some(why));
    let instance = out.minutes.iter().find(|m| m.device_id == id::device_id("MIG-a")).unwrap();
    assert_eq!((instance.gpu_util_ppm, instance.process_count), (None, 0));
    assert!(instance.reason.as_deref().unwrap().starts_with("not supported: gpu_util_ppm"));
    let row = &out.processes[0];
    assert_eq!((row.busy_ms, row.composite_ppm, row.apportionment.as_str()), (None, None, "none"));
    assert_eq!(row.mem_peak_bytes, Some(GIB));
    assert_eq!((row.device_id, row.instance_id), (parent.device_id, Some(id::device_id("MIG-a"))));
    let reason = row.reason.as_deref().unwrap();
    assert!(reason.starts_with("not supported: busy_ms, sm_ppm, dram_ppm, tensor_ppm; MIG: peak_ppm"), "{reason}");
}

#[test]
fn an_instances_only_process_has_its_activity_in_time_of_the_whole_card() {
    let own = [Ok(activity(700_000, 610_000, 300_000, 0)), Ok(activity(0, 0, 0, 0))];
    let card = mig(own, &[(31, "MIG-a"), (32, "MIG-b"), (33, "MIG-b")]);
    let out = rows_of(&[card], &people(&[31, 32, 33]), &[]);
    let instance = out.minutes.iter().find(|m| m.device_id == id::device_id("MIG-a")).unwrap();
    assert_eq!((instance.gpu_util_ppm, instance.sm_ppm), (Some(700_000), Some(610_000)), "its row speaks of itself");
    // 3/7 of 700 000 is 300 000: 18 of 60 s; 3/7 of 610 000 is 261 428
    let row = &out.processes[0];
    assert_eq!((row.busy_ms, row.covered_ms, row.sm_ppm), (Some(18_000), 60_000, Some(260_000)));
    assert_eq!(row.apportionment, "exclusive");
    // two on an idle instance: zero is measured for both
    assert_eq!([out.processes[1].busy_ms, out.processes[2].busy_ms], [Some(0), Some(0)]);
}

#[test]
fn several_processes_in_a_busy_instance_cannot_be_told_apart() {
    let own = [Ok(activity(700_000, 610_000, 300_000, 0)), Err(Absent::NoEarlier)];
    let out = rows_of(&[mig(own, &[(31, "MIG-a"), (32, "MIG-a")])], &people(&[31, 32]), &[]);
    assert_eq!([out.processes[0].busy_ms, out.processes[1].busy_ms], [None, None]);
    assert!(out.processes[0].reason.as_deref().unwrap().contains("several processes in one instance: "));
}

#[test]
fn outside_activity_stands_in_where_the_driver_gives_none() {
    let dcgm = Activity { source: "dcgm", tensor_ppm: NONE, ..activity(450_000, 410_000, 90_000, 0) };
    let outside = [Outside { uuid: "GPU-0".to_owned(), gpu_instance: None, activity: dcgm }];
    let list = [(Who::Known(process(11)), Ok(25_200))];
    let out = rows_of(&[card("GPU-0", used(&list), Err(Absent::NotSupported))], &people(&[11]), &outside);
    let device = &out.minutes[0];
    assert_eq!((device.sm_ppm, device.activity_source.as_deref()), (Some(410_000), Some("dcgm")));
    assert_eq!(device.reason.as_deref(), Some("not supported: tensor_ppm"));
    assert_eq!(out.processes[0].sm_ppm, Some(410_000));
    // the driver's own is preferred
    let out = rows_of(&[card("GPU-0", used(&list), Ok(activity(1, 2, 3, 4)))], &people(&[11]), &outside);
    assert_eq!((out.minutes[0].sm_ppm, out.minutes[0].activity_source.as_deref()), (Some(2), Some("gpm")));
}

#[test]
fn a_short_process_is_estimated_from_its_account_within_what_is_left_of_the_card() {
    let mut tick = card("GPU-0", used(&[(Who::Known(process(11)), Ok(25_000))]), Err(Absent::NotSupported));
    let account = Account {
        pid: 77,
        start_us: ((OFFSET_MS + 71_000) * 1_000) as u64,
        time_ms: 3_000,
        running: false,
        gpu_percent: Some(80),
        memory_peak_bytes: Some(3 << 30),
        sums: None,
    };
    if let Some(minute) = &mut tick.minute {
        minute.accounts = Ok(vec![account]);
    }
    let out = rows_of(&[tick], &people(&[11]), &[]);
    // 42 % of the tick is 25.2 s, of which 25 s are known: 200 ms are left of the 2400 wanted
    let short = &out.processes[1];
    assert_eq!((short.pid, short.busy_ms, short.covered_ms), (77, Some(200), 3_000));
    assert_eq!((short.mem_peak_bytes, short.mem_peak_source.as_deref()), (Some(3 * GIB), Some("accounting")));
    assert!(short.reason.as_deref().unwrap().ends_with("busy_ms estimated from accounting"));
    assert_eq!(out.minutes[0].process_count, 2);
}

#[test]
fn devices_are_written_when_new_or_changed_and_not_otherwise() {
    let mut versions = Versions::default();
    let mut tick = card("GPU-0", used(&[]), Err(Absent::NotSupported));
    let first = rows(&node(), &span(), &[tick.clone()], &BTreeMap::new(), &[], &mut versions);
    assert_eq!(first.devices.len(), 1);
    assert_eq!((first.devices[0].first_seen_ms, first.devices[0].scheduler.as_str()), (OFFSET_MS + 60_000, "slurm"));
    let next = TickSpan::starting(at(120_000));
    assert_eq!(rows(&node(), &next, &[tick.clone()], &BTreeMap::new(), &[], &mut versions).devices, []);
    if let Some(minute) = &mut tick.minute {
        minute.facts.driver = Some("580.82.07".to_owned());
    }
    let changed = rows(&node(), &next, &[tick], &BTreeMap::new(), &[], &mut versions).devices;
    assert_eq!((changed.len(), changed[0].first_seen_ms), (1, OFFSET_MS + 120_000));
}

#[test]
fn a_clock_put_back_keeps_numbers_apart_and_writes_devices_again_where_they_were() {
    // C08, row side: 60 ticks, the clock put back by 20 minutes after the 30th
    let mut versions = Versions::default();
    let tick = card("GPU-0", used(&[(Who::Known(process(11)), Ok(60_000))]), Err(Absent::NotSupported));
    let mut all = Rows::default();
    for minute in 0..60 {
        let back_ms = if minute < 30 { 0 } else { 1_200_000 };
        let start = at(60_000 * (minute + 1));
        let span = TickSpan::starting(Moment { wall_ms: start.wall_ms - back_ms, ..start });
        let rows = rows(&node(), &span, std::slice::from_ref(&tick), &people(&[11]), &[], &mut versions);
        all.minutes.extend(rows.minutes);
        all.processes.extend(rows.processes);
        all.devices.extend(rows.devices);
    }
    let keys: std::collections::BTreeSet<_> = all.minutes.iter().map(|m| (m.boot_id, m.seq)).collect();
    assert_eq!(keys.len(), 60, "(node, GPU, wall minute) would keep only 40");
    assert_eq!(all.processes.iter().filter_map(|p| p.busy_ms).sum::<i64>(), 60 * 60_000);
    assert!(all.minutes.windows(2).all(|w| w[1].mono_ms - w[0].mono_ms == 60_000));
    // known from its true first minute by both clocks
    let seen: Vec<i64> = all.devices.iter().map(|d| d.first_seen_ms).collect();
    assert_eq!(seen, [OFFSET_MS + 60_000, OFFSET_MS + 60_000 - 1_200_000]);
}

#[test]
fn a_power_limit_that_the_driver_does_not_say_is_absent_with_its_reason() {
    let known = card("GPU-a", used(&[]), Ok(activity(0, 0, 0, 0)));
    let mut silent = known.clone();
    silent.minute.as_mut().unwrap().power_limit_mw = NONE;
    let rows = rows_of(&[known, silent], &people(&[]), &[]);
    assert_eq!(rows.minutes.iter().map(|m| m.power_limit_mw).collect::<Vec<_>>(), [Some(700_000), None]);
    let says = |at: usize| rows.minutes[at].reason.as_deref().unwrap_or_default().contains("power_limit_mw");
    assert_eq!((says(0), says(1)), (false, true));
}
