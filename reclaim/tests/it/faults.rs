//! Every error of a scheduler, in turn, at every command: no action that was not meant, nothing done twice, no warning forgotten.

use gpuledger_schema::reclaim::CaseState;

use super::fleet::server;
use super::sim::{Fault, Load, MINUTE, lock};

const POLICY: &str = r#"
switch = { notify = true, act = true }
[defaults]
approval = "automatic"
never_touched = { warned_minutes = 30, final_minutes = 45, due_minutes = 60 }
idle = { warned_minutes = 30, final_minutes = 45, due_minutes = 60 }
retry_minutes = 10
confirm_minutes = 10
attempts_max = 3
checkpoint = { signal = "USR1", wait_minutes = 10 }
"#;

fn kinds() -> Vec<Fault> {
    vec![
        Fault::Fail("slurm_load_jobs error: Unable to contact slurm controller (connect failure)".to_owned()),
        Fault::Fail("scontrol: error: Invalid user id".to_owned()),
        Fault::Hang,
        Fault::HangDone,
        Fault::NoEffect,
        Fault::Garbage,
    ]
}

#[tokio::test]
async fn each_error_at_each_command_leaves_a_case_that_is_visible_and_ends_the_run_at_most_once() {
    for command in ["scontrol show", "scancel --signal", "scontrol requeue", "scontrol update"] {
        for fault in kinds() {
            for times in [1, 2, 20] {
                let (fleet, mut engine) = server(1, 2, POLICY);
                let id = lock(&fleet).job("7", "ada", "nlp", "debug", 1, Load::Idle).unwrap();
                lock(&fleet).job("8", "bob", "cv", "debug", 1, Load::Busy).unwrap();
                if let Some(run) = lock(&fleet).runs.get_mut(&id) {
                    run.checkpoints_in_s = Some(60);
                }
                lock(&fleet).faults = vec![(command.to_owned(), fault.clone()); times];
                for _ in 0..400 {
                    lock(&fleet).tick();
                    engine.round().await.unwrap();
                }
                let what = format!("{command} {fault:?} {times} times");
                let fleet = lock(&fleet);
                // what works is never touched, and what was ended was ended once
                assert!(fleet.ended_by_us.iter().all(|(run, _)| *run == id), "{what}");
                assert!(fleet.ended_by_us.len() <= 1, "{what}: {:?}", fleet.ended_by_us);
                let orders = fleet.commands.iter().filter(|c| c.starts_with("scontrol requeue")).count();
                assert!(orders <= 3, "{what}: asked {orders} times");
                let kept = engine.store.0.lock().unwrap();
                let (case, events) = kept.cases.values().next().expect("a case");
                assert_eq!(kept.cases.len(), 1, "{what}");
                assert!(case.warned_ms.is_some() && case.final_ms.is_some(), "{what}: a warning was forgotten");
                let gone = !fleet.runs[&id].is_there();
                let right = if gone { CaseState::Freed } else { CaseState::NeedsOperator };
                let few = events.len();
                assert_eq!(case.state, right, "{what} after {few} events");
                assert!(few < 40, "{what}: {few} events");
            }
        }
    }
}

#[tokio::test]
async fn an_outage_of_any_length_never_starts_an_action_and_restarts_the_clock() {
    for outage in [3, 16, 40, 200] {
        for what in ["telemetry", "scheduler"] {
            let (fleet, mut engine) = server(1, 2, POLICY);
            let id = lock(&fleet).job("7", "ada", "nlp", "debug", 1, Load::Idle).unwrap();
            if let Some(run) = lock(&fleet).runs.get_mut(&id) {
                run.checkpoints_in_s = Some(60);
            }
            let mut during = 0;
            for minute in 0..400 {
                let is_out = (55..55 + outage).contains(&minute);
                {
                    let mut f = lock(&fleet);
                    f.blind = if is_out && what == "telemetry" { vec!["n1".to_owned()] } else { vec![] };
                    f.scheduler_error = (is_out && what == "scheduler").then(|| "timed out".to_owned());
                    f.tick();
                }
                let before = lock(&fleet).commands.len();
                engine.round().await.unwrap();
                let after = lock(&fleet).commands.len();
                during += if is_out { after - before } else { 0 };
            }
            assert_eq!(during, 0, "{what} out for {outage} minutes");
            let fleet = lock(&fleet);
            let freed = fleet.ended_by_us.first().map(|(_, at)| (at - super::sim::START) / MINUTE);
            if what == "telemetry" && outage > 15 {
                // coverage fell: the breaker waits for a person
                assert!(freed.is_none() || freed.unwrap() >= 55 + outage + 60, "{freed:?}");
            } else if what == "telemetry" {
                assert!(freed.is_none() || freed.unwrap() >= 55 + outage + 60, "{outage}: {freed:?}");
            } else {
                assert!(freed.unwrap() >= 55 + outage, "{freed:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_reading_that_lost_most_jobs_pauses_everything_until_somebody_looks() {
    let (fleet, mut engine) = server(4, 4, POLICY);
    for n in 0..16 {
        let load = if n < 2 { Load::Idle } else { Load::Busy };
        lock(&fleet).job(&format!("{n}"), "ada", &format!("t{n}"), "debug", 1, load).unwrap();
    }
    for minute in 0..300 {
        lock(&fleet).short_to = (50..52).contains(&minute).then_some(3);
        lock(&fleet).tick();
        engine.round().await.unwrap();
    }
    assert!(lock(&fleet).commands.is_empty(), "{:?}", lock(&fleet).commands);
    let why = engine.store.0.lock().unwrap().switches.breaker.clone().expect("an open breaker");
    assert!(why.starts_with("scheduler_short: alpha: 3 jobs, 16 before"), "{why}");
    // what the list lost is no case, and nothing was "seen free"
    let kept = engine.store.0.lock().unwrap();
    assert!(kept.cases.values().all(|(c, _)| c.state != CaseState::Freed));
}
