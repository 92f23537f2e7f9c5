//! Every call that a collector makes, answered with every code that NVML has, one at a time: what is not known is absent. No error
//! makes a number smaller, and no card that works looks as if it were at rest.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use gpuledger_collector::node::config::Accounting;
use gpuledger_collector::node::tick::Rows;
use gpuledger_nvml_sim::scenario::Scenario;
use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow};

use super::machine::{Machine, Pids};

/// Return codes of NVML, but for success.
const CODES: [u32; 30] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 999];
/// The minute in which calls fail. The first is short, the second is whole and well.
const FAILS: usize = 2;
/// A card that rests uses no more, mW: the floor of power by which a verdict is made.
const FLOOR_MW: i64 = 75_000;

/// What is never to be said of a card that works.
const AT_REST: &str = "a card that works looks as if it were at rest";

/// So many cards that work half of the time; on each of them a call answers with a code for a minute.
fn scene(faults: &[(Option<usize>, u32)], cards: usize, call: &str) -> Scenario {
    let mut text = "[clock]\nmode = \"virtual\"\n".to_owned();
    for gpu in 0..cards {
        let pid = 4_000 + gpu;
        write!(
            text,
            "[[gpu]]\n[[process]]\nwho = {{ pid = {pid} }}\ngpus = [{gpu}]\nsm = {{ constant = 50 }}\n\
             mem_bytes = 8589934592\n"
        )
        .unwrap();
    }
    for (gpu, code) in faults {
        let of = gpu.map_or_else(String::new, |gpu| format!("gpu = {gpu}\n"));
        let (from, to) = (FAILS * 60, FAILS * 60 + 60);
        write!(
            text,
            "[[fault]]\n{of}from_s = {from}\nto_s = {to}\nwhat = {{ code = {{ call = \"{call}\", code = {code} }} }}\n"
        )
        .unwrap();
    }
    Scenario::parse(&text).unwrap()
}

fn machine(scene: Scenario) -> Machine {
    Machine::of(scene, Accounting::Read, Pids::default(), Duration::from_secs(20))
}

/// Whether an answer is no error but says that nothing ran: of the utilization of processes, that nothing was found. A number may be
/// smaller for it; that the card worked is then said by its power and its own utilization.
fn says_nothing_ran(call: &str, code: u32) -> bool {
    call == "nvmlDeviceGetProcessUtilization" && code == 6
}

/// What was measured of a card, by name.
fn of_card(m: &DeviceMinuteRow) -> BTreeMap<&'static str, Option<i64>> {
    [
        ("gpu_util_ppm", m.gpu_util_ppm),
        ("mem_util_ppm", m.mem_util_ppm),
        ("sm_ppm", m.sm_ppm),
        ("dram_ppm", m.dram_ppm),
        ("tensor_ppm", m.tensor_ppm),
        ("mem_used_bytes", m.mem_used_bytes),
        ("mem_total_bytes", m.mem_total_bytes),
        ("power_mw", m.power_mw),
        ("power_limit_mw", m.power_limit_mw),
        ("energy_mj", m.energy_mj),
        ("temperature_c", m.temperature_c),
    ]
    .into()
}

fn of_process(p: &ProcessMinuteRow) -> BTreeMap<&'static str, Option<i64>> {
    [
        // as a part of what was looked at: a minute that was seen by half is not half as busy
        ("busy_ppm", p.busy_ms.filter(|_| p.covered_ms > 0).map(|busy| busy * 1_000_000 / p.covered_ms)),
        ("peak_ppm", p.peak_ppm),
        ("mem_peak_bytes", p.mem_peak_bytes),
        ("sm_ppm", p.sm_ppm),
        ("dram_ppm", p.dram_ppm),
        ("tensor_ppm", p.tensor_ppm),
    ]
    .into()
}

/// Whether a verdict may take a tick of a card for rest, as `sql/idle/30_idle_tick.sql` says it: all of its processes measured at no
/// more than 1 %, or none there and the utilization measured; and the power under the floor.
fn may_rest(card: &DeviceMinuteRow, processes: &[&ProcessMinuteRow]) -> bool {
    let is_calm = |ppm: Option<i64>| ppm.is_some_and(|ppm| ppm <= 10_000);
    let polls = if processes.is_empty() {
        card.gpu_util_ppm.is_some()
    } else {
        processes.iter().all(|p| p.busy_ms.is_some() && is_calm(p.peak_ppm))
    };
    card.state == "ok"
        && polls
        && card.power_mw.is_some_and(|power| power <= FLOOR_MW)
        && card.gpu_util_ppm.is_none_or(|util| util <= 10_000)
}

/// What is wrong with the rows of a card, beside the same rows without an error; `None` of a number is never wrong.
fn wrong(card: usize, seen: &Rows, well: &Rows, ids: &BTreeMap<usize, i64>) -> Vec<String> {
    let mut out = Vec::new();
    let mut compare = |what: &str, seen: BTreeMap<&str, Option<i64>>, well: &BTreeMap<&str, Option<i64>>| {
        for (name, value) in seen {
            let right = well.get(name).copied().flatten();
            // another source of the same may differ a little
            let is_near = |v: i64| right.is_some_and(|r| (v - r).abs() * 10 <= r.abs());
            if value.is_some_and(|v| !is_near(v)) {
                out.push(format!("{what} {name} is {value:?}, {right:?} without the error"));
            }
        }
    };
    let id = ids[&card];
    let of = |rows: &Rows| -> Vec<ProcessMinuteRow> {
        rows.processes.iter().filter(|p| p.device_id == id).cloned().collect()
    };
    let Some(minute) = seen.minutes.iter().find(|m| m.device_id == id) else { return out };
    let clean = well.minutes.iter().find(|m| m.device_id == id).expect("a row of every card");
    compare("card", of_card(minute), &of_card(clean));
    let (mine, theirs) = (of(seen), of(well));
    for process in &mine {
        let right = theirs.iter().find(|p| p.pid == process.pid).expect("the same process");
        compare("process", of_process(process), &of_process(right));
    }
    if may_rest(minute, &mine.iter().collect::<Vec<_>>()) {
        out.push(AT_REST.to_owned());
    }
    out
}

/// Runs four minutes with errors in one of them, and says what is wrong in that and after it.
fn run(
    call: &str,
    faults: &[(Option<usize>, u32)],
    cards: usize,
    well: &[Rows],
    ids: &BTreeMap<usize, i64>,
) -> Vec<String> {
    let mut machine = machine(scene(faults, cards, call));
    let minutes: Vec<Rows> = (0..well.len()).map(|_| machine.tick()).collect();
    let mut out = Vec::new();
    for (gpu, code) in faults {
        for card in gpu.map_or(0..cards, |gpu| gpu..gpu + 1) {
            for (minute, (seen, well)) in minutes.iter().zip(well).enumerate() {
                let all = wrong(card, seen, well, ids).into_iter();
                let all = all.filter(|what| !says_nothing_ran(call, *code) || what == AT_REST);
                out.extend(all.map(|what| format!("{call} answers {code}, minute {minute}: {what}")));
            }
            // it is well again at the latest in the second minute after
            let last = minutes.last().and_then(|rows| rows.minutes.iter().find(|m| m.device_id == ids[&card]));
            if last.is_none_or(|m| m.state != "ok" || m.gpu_util_ppm.is_none() || m.power_mw.is_none()) {
                out.push(format!("{call} answered {code}, and two minutes later the card is not measured: {last:?}"));
            }
        }
    }
    out
}

#[test]
fn no_error_of_any_call_makes_a_number_smaller_or_a_busy_card_rest() {
    let cards = CODES.len();
    let mut clean = machine(scene(&[], cards, ""));
    let well: Vec<Rows> = (0..FAILS + 3).map(|_| clean.tick()).collect();
    let known = |uuid: &String| well[0].devices.iter().find(|d| d.uuid == *uuid).map(|d| d.device_id).unwrap();
    let ids: BTreeMap<usize, i64> = clean.uuids.iter().map(known).enumerate().collect();
    assert!(well[FAILS].processes.iter().all(|p| p.busy_ms.is_some_and(|busy| busy > 25_000)), "half of a minute each");
    let calls: Vec<String> = clean.nvml.library().calls().keys().map(|call| (*call).to_string()).collect();
    assert!(calls.len() > 20, "{calls:?}");
    let mut all = Vec::new();
    for call in &calls {
        // on its card alone, each with a code of its own
        let faults: Vec<_> = CODES.iter().enumerate().map(|(gpu, code)| (Some(gpu), *code)).collect();
        all.extend(run(call, &faults, cards, &well, &ids));
    }
    // calls that name no card, and every card at once
    for call in &calls {
        for code in CODES {
            all.extend(run(call, &[(None, code)], 2, &well, &ids));
        }
    }
    assert!(all.is_empty(), "{} wrong of {} calls and {} codes:\n{}", all.len(), calls.len(), cards, all.join("\n"));
}
