//! Polls of a card, and what each process did by them.

use super::*;
use crate::node::seen::Moment;
use crate::node::source::nvml::look::Present;

/// The wall clock is this far ahead of the boot clock.
const OFFSET_MS: i64 = 1_000_000_000;
const GIB: i64 = 1 << 30;

/// A `/proc` in which each pid is what the test says.
#[derive(Default)]
struct Pids {
    alive: BTreeMap<u32, u64>,
    inner: BTreeMap<u32, Vec<u32>>,
    contained: bool,
}

impl Pids {
    fn of(alive: &[(u32, u64)]) -> Self {
        Self { alive: alive.iter().copied().collect(), ..Self::default() }
    }
}

impl PidMap for Pids {
    fn process(&self, pid: u32) -> Option<Process> {
        self.alive.get(&pid).map(|start_ticks| Process { pid, start_ticks: *start_ticks })
    }
    fn host_pids(&self, pid: u32) -> Vec<u32> {
        self.inner.get(&pid).cloned().unwrap_or_default()
    }
    fn sees_host(&self) -> bool {
        !self.contained
    }
}

fn known(pid: u32, start_ticks: u64) -> Who {
    Who::Known(Process { pid, start_ticks })
}

/// A poll of `[from, to)`, with rows (pid, percent, last seen at boot ms) and a list of (pid, memory).
fn poll(from_ms: i64, to_ms: i64, rows: &[(u32, u32, i64)], list: &[(u32, i64)]) -> CardPoll {
    let use_of = |r: &(u32, u32, i64)| Use { pid: r.0, at_us: ((OFFSET_MS + r.2) * 1_000) as u64, percent: r.1 };
    let present = |p: &(u32, i64)| Present { pid: p.0, memory_bytes: Ok(p.1) };
    CardPoll {
        at: Moment { wall_ms: OFFSET_MS + to_ms, boot_ms: to_ms, awake_ms: to_ms, synchronised: true },
        from_boot_ms: from_ms,
        average_ms: to_ms - from_ms,
        uses: Ok(rows.iter().map(use_of).collect()),
        rejects: Rejects::default(),
        places: vec![Place { instance: None, processes: Ok(list.iter().map(present).collect()) }],
        rates: Ok(RatesPpm { gpu_ppm: Ok(500_000), memory_ppm: Err(Absent::NotSupported) }),
    }
}

/// (who, busy_ms, covered_ms, peak percent) of every process; -1 stands for an absent busy time in these tests only.
fn shown(tick: &CardUse) -> Vec<(Who, i64, i64, i64)> {
    let percent = |m: &Measure<i64>| m.as_ref().map_or(-1, |v| v / PERCENT_PPM);
    tick.processes
        .iter()
        .map(|(k, p)| (k.who, p.busy_ms.clone().unwrap_or(-1), p.covered_ms, percent(&p.peak_ppm)))
        .collect()
}

#[test]
fn busy_time_is_the_share_of_each_window_added_up_and_idle_is_a_measured_zero() {
    let pids = Pids::of(&[(7, 100), (8, 100)]);
    let mut meter = Meter::default();
    meter.add(poll(60_000, 60_000, &[], &[(7, GIB), (8, 0)]), &pids);
    meter.add(poll(60_000, 65_000, &[(7, 80, 64_900)], &[(7, 3 * GIB), (8, 0)]), &pids);
    meter.add(poll(65_000, 70_000, &[(7, 30, 69_900)], &[(7, 2 * GIB), (8, 0)]), &pids);
    let tick = meter.close(60_000, 70_000);
    // 4000 + 1500
    assert_eq!(shown(&tick), [(known(7, 100), 5_500, 10_000, 80), (known(8, 100), 0, 10_000, 0)]);
    assert_eq!(tick.covered_ms, 10_000);
    assert_eq!(tick.processes.values().next().unwrap().memory_peak_bytes, Ok(3 * GIB));
    assert_eq!(tick.rates.gpu_ppm, Ok(500_000));
    assert_eq!(tick.rates.memory_ppm, Err(Absent::NotSupported));
}

#[test]
fn processes_of_a_card_never_get_more_than_the_window() {
    let pids = Pids::of(&[(1, 1), (2, 1), (3, 1)]);
    let mut meter = Meter::default();
    let rows = [(1, 100, 64_000), (2, 100, 64_000), (3, 50, 64_000)];
    meter.add(poll(60_000, 65_000, &rows, &[(1, 0), (2, 0), (3, 0)]), &pids);
    // 5000, 5000 and 2500 wanted of 5000: floors of 2/5, 2/5, 1/5
    let tick = meter.close(60_000, 65_000);
    assert_eq!(tick.processes.values().map(|p| p.busy_ms.clone().unwrap()).collect::<Vec<_>>(), [2_000, 2_000, 1_000]);
}

#[test]
fn three_copies_on_a_shared_card_add_up_to_the_card() {
    // C15: three pods, 0.714 of the card in all
    let pids = Pids::of(&[(1, 1), (2, 1), (3, 1)]);
    let mut meter = Meter::default();
    let rows = [(1, 24, 64_000), (2, 24, 64_000), (3, 23, 64_000)];
    meter.add(poll(60_000, 65_000, &rows, &[(1, 0), (2, 0), (3, 0)]), &pids);
    let busy: i64 = meter.close(60_000, 65_000).processes.values().map(|p| p.busy_ms.clone().unwrap()).sum();
    assert_eq!(busy, 5_000 * 71 / 100);
}

#[test]
fn a_window_over_the_edge_of_a_tick_is_cut_and_nothing_is_lost() {
    let pids = Pids::of(&[(7, 1)]);
    let mut meter = Meter::default();
    meter.add(poll(115_000, 122_000, &[(7, 33, 121_000)], &[(7, 0)]), &pids);
    let first = meter.close(60_000, 120_000);
    let second = meter.close(120_000, 180_000);
    // 33 % of 7000 is 2310; 5/7 of it is 1650
    assert_eq!(shown(&first), [(known(7, 1), 1_650, 5_000, 33)]);
    assert_eq!(shown(&second), [(known(7, 1), 660, 2_000, 33)]);
    assert!(meter.close(180_000, 240_000).processes.is_empty());
}

#[test]
fn time_beyond_the_drivers_ring_is_not_covered() {
    let pids = Pids::of(&[(7, 1)]);
    let mut meter = Meter::default();
    // no poll for a minute: the ring speaks of the last ten seconds
    let late = CardPoll { average_ms: 10_000, ..poll(60_000, 120_000, &[(7, 100, 119_900)], &[(7, 0)]) };
    meter.add(late, &pids);
    let tick = meter.close(60_000, 120_000);
    assert_eq!((tick.covered_ms, shown(&tick)), (10_000, vec![(known(7, 1), 10_000, 10_000, 100)]));
}

#[test]
fn a_mean_that_reaches_back_over_silence_counts_in_full() {
    let pids = Pids::of(&[(7, 1)]);
    let mut meter = Meter::default();
    // busy all through these 5 s after 5 s of silence: the driver says 50 % of 10 s
    let after = CardPoll { average_ms: 10_000, ..poll(65_000, 70_000, &[(7, 50, 69_900)], &[(7, 0)]) };
    meter.add(after, &pids);
    assert_eq!(shown(&meter.close(60_000, 70_000)), [(known(7, 1), 5_000, 5_000, 50)]);
}

#[test]
fn what_a_mean_shares_with_the_poll_before_is_counted_once() {
    let pids = Pids::of(&[(7, 1)]);
    let mut meter = Meter::default();
    meter.add(poll(60_000, 62_000, &[(7, 60, 61_870)], &[(7, 0)]), &pids);
    // its mean begins at the row of the poll before, which was 130 ms old then
    meter.add(CardPoll { average_ms: 2_130, ..poll(62_000, 64_000, &[(7, 60, 63_900)], &[(7, 0)]) }, &pids);
    assert_eq!(shown(&meter.close(60_000, 64_000)), [(known(7, 1), 2_400, 4_000, 60)]);
}

#[test]
fn what_the_driver_refused_is_not_zero() {
    let pids = Pids::of(&[(7, 1)]);
    let mut meter = Meter::default();
    let refused = |from, to| CardPoll { uses: Err(Absent::Mig), ..poll(from, to, &[], &[(7, GIB)]) };
    meter.add(refused(60_000, 65_000), &pids);
    let tick = meter.close(60_000, 65_000);
    let only = tick.processes.values().next().unwrap();
    assert_eq!((&only.busy_ms, &only.peak_ppm, only.covered_ms), (&Err(Absent::Mig), &Err(Absent::Mig), 0));
    assert_eq!(only.memory_peak_bytes, Ok(GIB), "its memory is known all the same");

    // one refusal among good polls only takes its own window
    meter.add(refused(65_000, 70_000), &pids);
    meter.add(poll(70_000, 75_000, &[(7, 10, 74_000)], &[(7, GIB)]), &pids);
    assert_eq!(shown(&meter.close(65_000, 75_000)), [(known(7, 1), 500, 5_000, 10)]);
}

#[test]
fn a_pid_that_came_again_is_another_process() {
    // C04: alice ends at 60.020, bob starts at 60.040
    let mut meter = Meter::default();
    meter.add(poll(55_000, 60_000, &[(4242, 40, 59_900)], &[(4242, GIB)]), &Pids::of(&[(4242, 1_000)]));
    meter.add(poll(60_000, 65_000, &[(4242, 20, 64_900)], &[(4242, GIB)]), &Pids::of(&[(4242, 6_004)]));
    let tick = meter.close(55_000, 65_000);
    assert_eq!(shown(&tick), [(known(4242, 1_000), 2_000, 5_000, 40), (known(4242, 6_004), 1_000, 4_960, 20),]);
}

#[test]
fn a_row_from_before_a_process_started_is_its_predecessors() {
    let mut meter = Meter::default();
    meter.add(poll(55_000, 60_000, &[], &[(4242, GIB)]), &Pids::of(&[(4242, 1_000)]));
    // bob started at 64.5; the row was last seen at 61.0
    meter.add(poll(60_000, 65_000, &[(4242, 10, 61_000)], &[(4242, GIB)]), &Pids::of(&[(4242, 6_450)]));
    let tick = meter.close(55_000, 65_000);
    assert_eq!(shown(&tick), [(known(4242, 1_000), 500, 10_000, 10), (known(4242, 6_450), 0, 500, 0)]);
}

#[test]
fn a_process_gone_before_it_could_be_read_keeps_its_time() {
    let mut meter = Meter::default();
    meter.add(poll(60_000, 65_000, &[(9, 60, 62_000)], &[]), &Pids::default());
    assert_eq!(shown(&meter.close(60_000, 65_000)), [(Who::Unknown(9), 3_000, 5_000, 60)]);

    // seen alive once, its last row is still its own
    meter.add(poll(65_000, 70_000, &[], &[(9, GIB)]), &Pids::of(&[(9, 6_400)]));
    meter.add(poll(70_000, 75_000, &[(9, 20, 71_000)], &[]), &Pids::default());
    assert_eq!(shown(&meter.close(65_000, 75_000)), [(known(9, 6_400), 1_000, 10_000, 20)]);
}

#[test]
fn pids_of_a_container_are_matched_through_its_namespace() {
    // C03: the list says 324, the rows say 645400; a host process 324 exists and has nothing to do with it
    let pids = Pids { inner: [(324, vec![645_400])].into(), ..Pids::of(&[(324, 5), (645_400, 900)]) };
    let mut meter = Meter::default();
    meter.add(poll(60_000, 65_000, &[], &[(324, GIB)]), &pids);
    meter.add(poll(65_000, 70_000, &[(645_400, 13, 69_000)], &[(324, 2 * GIB)]), &pids);
    let tick = meter.close(60_000, 70_000);
    assert_eq!(shown(&tick), [(known(645_400, 900), 650, 10_000, 13)], "13 % of 5 s, and nothing for 324");
    assert_eq!(tick.processes.values().next().unwrap().memory_peak_bytes, Ok(2 * GIB));
}

#[test]
fn without_a_match_the_use_stays_on_the_card_and_nobody_is_said_to_be_idle() {
    // C03, collector in a container: it cannot see 645400, and 324 is perhaps the one
    let pids = Pids { contained: true, ..Pids::of(&[(324, 5)]) };
    let mut meter = Meter::default();
    meter.add(poll(60_000, 65_000, &[], &[(324, GIB)]), &pids);
    meter.add(poll(65_000, 70_000, &[(645_400, 13, 69_000)], &[(324, GIB)]), &pids);
    let tick = meter.close(60_000, 70_000);
    assert_eq!(shown(&tick), [(known(324, 5), -1, 5_000, -1), (Who::Unknown(645_400), 650, 5_000, 13)]);
    let listed = tick.processes.values().next().unwrap();
    assert_eq!(listed.busy_ms, Err(Absent::Failed("process ids of another namespace".to_owned())));
}

#[test]
fn rejects_are_counted_for_the_tick() {
    let mut meter = Meter::default();
    let rejects = Rejects { above_100: 2, ..Rejects::default() };
    meter.add(CardPoll { rejects, ..poll(60_000, 65_000, &[], &[]) }, &Pids::default());
    meter.add(CardPoll { rejects, ..poll(65_000, 70_000, &[], &[]) }, &Pids::default());
    assert_eq!(meter.close(60_000, 70_000).rejects.above_100, 4);
    assert_eq!(meter.close(70_000, 80_000).rejects.total(), 0);
}

#[test]
fn a_tick_in_which_nobody_looked_does_not_say_that_nobody_was_there() {
    let mut meter = Meter::default();
    assert_eq!(meter.close(60_000, 120_000).listed, Err(Absent::Failed("not polled".to_owned())));
    let unlisted = Place { instance: None, processes: Err(Absent::NotPermitted) };
    meter.add(CardPoll { places: vec![unlisted], ..poll(120_000, 125_000, &[], &[]) }, &Pids::default());
    assert_eq!(meter.close(120_000, 125_000).listed, Err(Absent::NotPermitted));
    meter.add(poll(125_000, 130_000, &[], &[]), &Pids::default());
    assert_eq!(meter.close(125_000, 130_000).listed, Ok(()));
}
