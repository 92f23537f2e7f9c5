//! A driver that does not answer, or not this process any more.

use std::time::Duration;

use gpuledger_collector::node::config::Accounting;
use gpuledger_collector::node::source::nvml::Outcome;
use gpuledger_collector::node::tick::Rows;

use super::machine::Machine;

/// States of the cards in the order of their minor numbers, as of the tick's rows, with the busy time of each.
fn states(machine: &Machine, rows: &Rows) -> Vec<(String, Option<String>, Option<i64>)> {
    let of = |uuid: &String| {
        let id = gpuledger_schema::id::device_id(uuid);
        let row = rows.minutes.iter().find(|m| m.device_id == id).unwrap();
        let busy: Vec<i64> = rows.processes.iter().filter(|p| p.device_id == id).filter_map(|p| p.busy_ms).collect();
        (row.state.clone(), row.reason.clone(), busy.first().copied())
    };
    machine.uuids.iter().map(of).collect()
}

fn hung() -> (String, Option<String>, Option<i64>) {
    ("error".to_owned(), Some("hung".to_owned()), None)
}

#[test]
fn a_card_that_hangs_is_one_row_and_its_neighbours_have_no_gap() {
    // 09b: GPU 0's memory call hangs for 20 s at 60 s, GPU 1's utilization call for ever at 120 s
    let mut machine = Machine::patient("09b_hang.toml", Duration::from_secs(2));
    let first = machine.tick();
    let seen = states(&machine, &first);
    assert_eq!(seen[0], hung());
    assert_eq!((seen[1].0.as_str(), seen[2].0.as_str()), ("ok", "ok"));
    assert_eq!(machine.nvml.stuck(), [machine.uuids[0].clone()]);

    // at 80 s the call comes back: GPU 0 is read again, and what nobody polled is not covered
    let second = machine.tick();
    let seen = states(&machine, &second);
    assert_eq!(seen[0].0, "ok");
    assert_eq!((seen[1].clone(), seen[2].0.as_str()), (hung(), "ok"));
    let id = gpuledger_schema::id::device_id(&machine.uuids[0]);
    let row = second.processes.iter().find(|p| p.device_id == id).unwrap();
    // its thread may be seen to be back a poll later
    assert!((20_000..60_000).contains(&row.covered_ms), "{} ms", row.covered_ms);

    // never more than one thread inside the hanging call, however often it is due
    machine.tick();
    assert_eq!(machine.nvml.stuck(), [machine.uuids[1].clone()]);
    let third = machine.tick();
    let gpu2 = gpuledger_schema::id::device_id(&machine.uuids[2]);
    let well = third.processes.iter().find(|p| p.device_id == gpu2).unwrap();
    assert_eq!((well.busy_ms, well.covered_ms), (Some(30_000), 60_000));
    machine.sim.control.release();
}

#[test]
fn a_driver_exchanged_below_the_process_ends_it() {
    // 09c: from 120 s every call answers 18, init too
    let mut machine = Machine::shipped("09c_upgrade.toml", Accounting::Read);
    machine.tick();
    assert_eq!(machine.nvml.outcome(), &Outcome::Go);
    machine.tick();
    machine.tick();
    let Outcome::Exit(why) = machine.nvml.outcome() else { panic!("it must leave it to its supervisor") };
    assert!(why.contains("18"), "{why}");
}
