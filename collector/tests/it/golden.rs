//! Every scenario of the simulation as rows, compared with a file that was written by reasoning.
//!
//! `GPULEDGER_GOLDEN=write` writes what is seen after the file's header; a changed file is to be read, not believed.

use std::path::Path;

use gpuledger_collector::node::config::Accounting;

use super::machine::{Machine, Pids};
use super::show::Names;

/// Ticks of a machine as text, compared with `golden/<name>.txt`; lines of its header begin with `#`.
fn check(name: &str, machine: &mut Machine, minutes: usize) {
    let mut names = Names::default();
    let mut seen = String::new();
    for minute in 0..minutes {
        let rows = machine.tick();
        seen.push_str(&names.show(minute, &rows));
        for (uuid, rejects) in &machine.rejects {
            let card = machine.uuids.iter().position(|u| u == uuid).unwrap();
            let counts = rejects.by_reason().into_iter().filter(|r| r.1 > 0).map(|(why, n)| format!(" {why} {n}"));
            seen.push_str(&format!("  rejected on card {card}:{}\n", counts.collect::<String>()));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(format!("{name}.txt"));
    let file = std::fs::read_to_string(&path).unwrap_or_default();
    let header: String = file.lines().filter(|l| l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    if std::env::var("GPULEDGER_GOLDEN").as_deref() == Ok("write") {
        std::fs::write(&path, format!("{header}{seen}")).unwrap();
        return;
    }
    let wanted: String = file.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    assert!(seen == wanted, "{name}: seen\n{seen}\nwanted\n{wanted}");
}

#[test]
fn idle_cards_are_measured_zero() {
    check("01_idle", &mut Machine::shipped("01_idle.toml", Accounting::Read), 2);
}

#[test]
fn the_ring_is_read_without_loss() {
    check("02_ring", &mut Machine::shipped("02_ring.toml", Accounting::Read), 2);
}

#[test]
fn a_reader_that_comes_once_a_minute_has_seen_ten_seconds() {
    let mut machine = Machine::shipped("02_ring.toml", Accounting::Read);
    machine.poll_ms = 60_000;
    check("02_ring_once_a_minute", &mut machine, 2);
}

#[test]
fn impossible_rows_do_not_touch_the_possible_ones() {
    check("03_rows", &mut Machine::shipped("03_rows.toml", Accounting::Read), 3);
}

#[test]
fn process_lists_name_each_process_once() {
    let starts_s = [(4405, vec![-100, 100])].into();
    let pids = Pids { starts_s, inner: [(324, vec![4406])].into(), ..Pids::default() };
    check("04_lists", &mut Machine::with_pids("04_lists.toml", Accounting::Read, pids), 2);
}

#[test]
fn drivers_of_several_ages() {
    check("05a_driver470", &mut Machine::shipped("05a_driver470.toml", Accounting::Read), 2);
    check("05b_driver535", &mut Machine::shipped("05b_driver535.toml", Accounting::Read), 2);
    check("05c_driver610", &mut Machine::shipped("05c_driver610.toml", Accounting::Read), 2);
}

#[test]
fn a_cut_a100_is_not_measured_and_follows_its_cuts() {
    check("06a_mig_a100", &mut Machine::shipped("06a_mig_a100.toml", Accounting::Read), 4);
}

#[test]
fn a_cut_h100_is_measured_by_instance() {
    check("06b_mig_h100", &mut Machine::shipped("06b_mig_h100.toml", Accounting::Read), 2);
}

#[test]
fn activity_over_the_minute() {
    check("07_gpm", &mut Machine::shipped("07_gpm.toml", Accounting::Read), 3);
}

#[test]
fn accounts_of_short_processes() {
    let pids = Pids { starts_s: [(4801, vec![10, 80])].into(), gone_from: 48_000, ..Pids::default() };
    check("08a_accounting", &mut Machine::with_pids("08a_accounting.toml", Accounting::Read, pids), 2);
    let mut machine = Machine::shipped("08b_accounting_no_rights.toml", Accounting::Enable);
    check("08b_accounting_no_rights", &mut machine, 2);
}

#[test]
fn a_lost_card_among_eight() {
    check("09a_lost", &mut Machine::shipped("09a_lost.toml", Accounting::Read), 9);
}

#[test]
fn counters_and_clocks_start_again() {
    check("10_resets", &mut Machine::shipped("10_resets.toml", Accounting::Read), 13);
}

#[test]
fn events_of_four_kinds() {
    check("11_events", &mut Machine::shipped("11_events.toml", Accounting::Read), 3);
}

#[test]
fn two_copies_know_nothing_of_each_other() {
    let mut one = Machine::shipped("12_isolation.toml", Accounting::Read);
    let mut other = Machine::shipped("12_isolation.toml", Accounting::Read);
    other.tick();
    check("12_isolation", &mut one, 1);
}

#[test]
fn a_minute_of_eight_cards_and_64_processes_takes_few_calls() {
    let mut machine = Machine::shipped("node8.toml", Accounting::Read);
    machine.tick();
    let count = |machine: &Machine| machine.nvml.library().calls().values().map(|c| c.count).sum::<u64>();
    let before = count(&machine);
    let rows = machine.tick();
    assert_eq!((rows.minutes.len(), rows.processes.len()), (8, 64));
    // a poll of a card: utilization of processes, two lists, samples of memory utilization; a minute of a card: events,
    // MIG mode, memory, energy, power limit, five for GPM, MPS list, temperature, limits, ECC, rows, accounting mode and
    // pids; an account of every process
    let (polls, minute, accounts) = (8 * 12 * 4, 8 * 17, 64);
    assert_eq!(count(&machine) - before, polls + minute + accounts);
}
