//! What the driver's own accounts add to the polls: memory peaks, and processes too short for any poll.

use std::collections::BTreeMap;

use gpuledger_native::accounting::Account;

use super::TickSpan;
use crate::node::integrate::{Key, ProcessUse, Who};
use crate::node::seen::{Absent, Measure, Moment};
use crate::node::source::nvml::last_seen::{RING_MS, boot_ms_of};

/// How much earlier than the process an account may have started and still be its own. It may start later: a context
/// is made when the program first needs the GPU.
const EARLIER_MS: i64 = 2_000;
/// Clock ticks of `/proc` last this long.
const CLOCK_TICK_MS: i64 = 10;

/// The memory peak of a process, and where it comes from.
pub(super) fn memory_peak(
    who: Who,
    polled: &Measure<i64>,
    accounts: &[Account],
    now: Moment,
) -> Measure<(i64, &'static str)> {
    let own = accounts.iter().find(|a| a.pid == who.pid() && is_fresh(a, who, now));
    let accounted = own.and_then(|a| a.memory_peak_bytes).and_then(|b| i64::try_from(b).ok());
    match (polled, accounted) {
        (Ok(polled), Some(peak)) if peak > *polled => Ok((peak, "accounting")),
        (Ok(polled), _) => Ok((*polled, "polled")),
        (Err(_), Some(peak)) => Ok((peak, "accounting")),
        (Err(why), None) => Err(why.clone()),
    }
}

/// Whether an account is of this process, and not of an earlier one with its pid: the driver looks among the dead
/// first.
fn is_fresh(account: &Account, who: Who, now: Moment) -> bool {
    let Who::Known(process) = who else { return true };
    let start_ms = i64::try_from(process.start_ticks).unwrap_or(i64::MAX / 100).saturating_mul(CLOCK_TICK_MS);
    let account_ms = boot_ms_of(account.start_us, now);
    account_ms >= start_ms - EARLIER_MS && account_ms <= now.boot_ms + EARLIER_MS
}

/// Processes that lived and died between two polls: their time is estimated as life times mean use, and never more
/// than what the others left of the card.
pub(super) fn short_lived(
    accounts: &[Account],
    polled: &BTreeMap<Key, ProcessUse>,
    span: &TickSpan,
    gpu_util_ppm: &Measure<i64>,
    now: Moment,
) -> Vec<(Key, ProcessUse)> {
    let mut found: Vec<(u32, i64, Measure<i64>, Measure<i64>)> = Vec::new();
    for account in accounts {
        let life_ms = i64::try_from(account.time_ms).unwrap_or(i64::MAX);
        let seen = polled.keys().any(|k| k.who.pid() == account.pid);
        // a longer life than a poll's reach was seen by one, in this tick or before
        if account.running || life_ms == 0 || life_ms > RING_MS || seen {
            continue;
        }
        let start_ms = boot_ms_of(account.start_us, now);
        let from_ms = start_ms.max(span.start.boot_ms);
        let present_ms = (start_ms + life_ms).min(span.end_boot_ms) - from_ms;
        if present_ms <= 0 {
            continue;
        }
        let percent = account.gpu_percent.filter(|p| *p <= 100).ok_or(Absent::NotSupported);
        let busy_ms = percent.map(|p| present_ms * i64::from(p) / 100);
        let memory = account.memory_peak_bytes.and_then(|b| i64::try_from(b).ok()).ok_or(Absent::NotSupported);
        found.push((account.pid, present_ms, busy_ms, memory));
    }
    let rest_ms = rest(polled, span.dur_ms(), gpu_util_ppm);
    let wanted_ms: i64 = found.iter().filter_map(|f| f.2.as_ref().ok()).sum();
    let held_down = |ms: i64| if wanted_ms > rest_ms { ms * rest_ms / wanted_ms } else { ms };
    let as_use = |(pid, covered_ms, busy_ms, memory): (u32, i64, Measure<i64>, Measure<i64>)| {
        let key = Key { instance: None, who: Who::Unknown(pid) };
        let busy_ms = busy_ms.map(held_down);
        (key, ProcessUse { busy_ms, covered_ms, peak_ppm: Err(Absent::Gone), memory_peak_bytes: memory })
    };
    found.into_iter().map(as_use).collect()
}

/// What the polled processes left of the card's busy time, or of the tick where that is not known.
fn rest(polled: &BTreeMap<Key, ProcessUse>, dur_ms: i64, gpu_util_ppm: &Measure<i64>) -> i64 {
    let used_ms: i64 = polled.values().filter_map(|p| p.busy_ms.as_ref().ok()).sum();
    let busy_ms = gpu_util_ppm.as_ref().map_or(dur_ms, |ppm| ppm * dur_ms / 1_000_000);
    (busy_ms.min(dur_ms) - used_ms).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::seen::Process;

    const NOW: Moment = Moment { wall_ms: 1_000_120_000, boot_ms: 120_000, awake_ms: 120_000, synchronised: true };

    fn span() -> TickSpan {
        let start = Moment { wall_ms: 1_000_060_000, boot_ms: 60_000, awake_ms: 60_000, synchronised: true };
        TickSpan { start, end_boot_ms: 120_000 }
    }

    /// A dead process's account: start by the boot clock, life, mean percent.
    fn account(pid: u32, start_boot_ms: u64, time_ms: u64, percent: u32) -> Account {
        Account {
            pid,
            start_us: (1_000_000_000 + start_boot_ms) * 1_000,
            time_ms,
            running: false,
            gpu_percent: Some(percent),
            memory_peak_bytes: Some(7 << 30),
            sums: None,
        }
    }

    fn polled(pid: u32, busy_ms: i64) -> BTreeMap<Key, ProcessUse> {
        let key = Key { instance: None, who: Who::Known(Process { pid, start_ticks: 1 }) };
        let own = ProcessUse { busy_ms: Ok(busy_ms), covered_ms: 60_000, peak_ppm: Ok(0), memory_peak_bytes: Ok(0) };
        [(key, own)].into()
    }

    fn busy(accounts: &[Account], polled: &BTreeMap<Key, ProcessUse>, util: &Measure<i64>) -> Vec<(u32, i64)> {
        let found = short_lived(accounts, polled, &span(), util, NOW);
        found.iter().map(|(k, p)| (k.who.pid(), p.busy_ms.clone().unwrap())).collect()
    }

    #[test]
    fn a_process_between_two_polls_is_estimated_from_its_life_and_mean() {
        let unknown = Err(Absent::NotSupported);
        let accounts = [account(50, 71_000, 3_000, 80), account(51, 30_000, 4_000, 90), account(7, 80_000, 2_000, 50)];
        // 51 lived before this tick; 7 was seen by a poll
        assert_eq!(busy(&accounts, &polled(7, 1_000), &unknown), [(50, 2_400)]);
        // one second of it lies in this tick
        assert_eq!(busy(&[account(52, 58_000, 3_000, 50)], &BTreeMap::new(), &unknown), [(52, 500)]);
        // a long life was seen by an earlier poll
        assert_eq!(busy(&[account(53, 20_000, 41_000, 90)], &BTreeMap::new(), &unknown), []);
    }

    #[test]
    fn estimates_never_exceed_what_the_others_left_of_the_card() {
        let accounts = [account(50, 71_000, 3_000, 100), account(51, 80_000, 1_000, 100)];
        // half of the tick was busy, 28 s of it are known: 2 s are left for 4 s wanted
        assert_eq!(busy(&accounts, &polled(7, 28_000), &Ok(500_000)), [(50, 1_500), (51, 500)]);
        assert_eq!(busy(&accounts, &polled(7, 60_000), &Err(Absent::Rejected)), [(50, 0), (51, 0)]);
    }

    #[test]
    fn a_mean_that_is_not_there_is_not_zero() {
        let none = Account { gpu_percent: None, ..account(50, 71_000, 3_000, 0) };
        let found = short_lived(&[none], &BTreeMap::new(), &span(), &Ok(0), NOW);
        assert_eq!(found[0].1.busy_ms, Err(Absent::NotSupported));
    }

    #[test]
    fn an_account_of_an_earlier_process_with_the_pid_is_not_believed() {
        let who = Who::Known(Process { pid: 50, start_ticks: 7_000 }); // 70 s after boot
        let peak = |start| memory_peak(who, &Ok(2 << 30), &[account(50, start, 0, 0)], NOW);
        assert_eq!(peak(67_900), Ok((2 << 30, "polled")), "2.1 s too early");
        assert_eq!(peak(68_000), Ok((7 << 30, "accounting")));
        assert_eq!(peak(90_000), Ok((7 << 30, "accounting")), "its context came later");
        assert_eq!(memory_peak(who, &Ok(8 << 30), &[account(50, 70_000, 0, 0)], NOW), Ok((8 << 30, "polled")));
        assert_eq!(memory_peak(who, &Err(Absent::NotSupported), &[], NOW), Err(Absent::NotSupported));
    }
}
