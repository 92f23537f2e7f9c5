//! Seeded worlds: whatever happens, what is done was warned of, was at rest, was fresh, and had room. The planner and the checker
//! agree on every plan, and a plan that somebody changed is refused.

use gpuledger_reclaim::check::check;
use gpuledger_reclaim::plan::{Doing, Plan, Step};
use gpuledger_schema::reclaim::{CaseState, EventKind, Mode, Reason, Verdict};

use super::fleet::{Server, server};
use super::month::Seed;
use super::sim::{Load, MINUTE, Shared, lock};

const POLICY: &str = r#"
switch = { notify = true, act = true }
[caps]
actions_per_round = 2
actions_per_hour = 5
actions_per_team_hour = 3
actions_per_node_hour = 3
[breaker]
newly_idle_min = 6
newly_idle_percent = 50
[defaults]
approval = "automatic"
never_touched = { warned_minutes = 30, final_minutes = 45, due_minutes = 60 }
idle = { warned_minutes = 40, final_minutes = 55, due_minutes = 70 }
"#;

fn load(seed: &mut Seed) -> Load {
    match seed.below(9) {
        0 => Load::Busy,
        1 | 2 => Load::Idle,
        3 => Load::Pauses { every: 60, pause: 20 },
        4 => Load::Token { every: 25 },
        5 => Load::Then { busy: 30 },
        6 => Load::Lies,
        7 => Load::Copies,
        _ => Load::Sparse { every: 35, work: 2 },
    }
}

/// Something happens to the world.
fn happen(fleet: &Shared, seed: &mut Seed, n: i64) {
    let mut f = lock(fleet);
    match seed.below(60) {
        0..=5 => {
            let (load, team) = (load(seed), seed.below(3));
            let gpus = 1 + seed.below(2) as usize;
            f.job(&format!("{n}"), "ada", &format!("t{team}"), "debug", gpus, load);
        }
        6 | 7 => {
            let ids: Vec<i64> = f.runs.values().filter(|r| r.is_there()).map(|r| r.id).collect();
            if !ids.is_empty() {
                let id = ids[seed.below(ids.len() as i64) as usize];
                f.end(id);
            }
        }
        8 => f.blind = vec!["n1".to_owned()],
        9 | 10 => f.blind.clear(),
        11 => f.scheduler_error = Some("Unable to contact slurm controller".to_owned()),
        12..=15 => f.scheduler_error = None,
        16 => {
            let ids: Vec<i64> = f.runs.values().filter(|r| r.is_there()).map(|r| r.id).collect();
            if let Some(id) = ids.first() {
                let (now, load) = (f.now_ms, load(seed));
                if let Some(run) = f.runs.get_mut(id) {
                    run.load = load;
                    run.load_from_ms = now;
                }
            }
        }
        _ => {}
    }
}

/// What has to hold of every action at its moment, from the truth of the fleet.
fn right(engine: &Server, fleet: &Shared, step: &Step, at_ms: i64) {
    let Doing::Order { .. } = step.doing else { return };
    let f = lock(fleet);
    let kept = engine.store.0.lock().unwrap();
    let (case, events) = &kept.cases[&step.case_id.unwrap()];
    let when = |kind| events.iter().rfind(|e| e.kind == kind).map(|e| e.at_ms);
    let (first, last) = (when(EventKind::Warned).unwrap(), when(EventKind::FinalWarned).unwrap());
    assert!(first < last && at_ms - last >= 15 * MINUTE, "warnings before action");
    assert!(f.scheduler_error.is_none(), "an action during an outage of the scheduler");
    let run = &f.runs[&step.allocation_id];
    let fresh = |d: &i64| f.cards[d].newest_ms.is_some_and(|at| at_ms - at <= 2 * MINUTE);
    assert!(run.devices.iter().all(fresh), "an action during an outage of telemetry");
    assert!(run.identity.is_same(&step.identity));
    // what it did for a window, by its own script and not by anything that was measured
    let minute = (at_ms - run.load_from_ms) / MINUTE;
    let worked = (0..minute.min(60)).any(|back| match &run.load {
        Load::Busy | Load::Lies | Load::Copies => true,
        Load::Pauses { every, pause } => (minute - back - 1) % every >= *pause,
        Load::Token { every } => (minute - back - 1) % every == 0,
        Load::Then { busy } => minute - back - 1 < *busy,
        Load::Sparse { every, work } => (minute - back - 1) % every < *work,
        _ => false,
    });
    assert!(!worked, "an action on {:?} that worked within the hour before", run.load);
    assert!(case.approved_by.is_some());
    let hour = f.ended_by_us.iter().filter(|(_, at)| *at > at_ms - 60 * MINUTE).count();
    assert!(hour <= 5, "{hour} actions in an hour");
}

#[tokio::test]
async fn whatever_happens_nothing_wrong_is_done() {
    let mut actions = 0;
    for seed in 1..=24 {
        let mut seed = Seed(seed);
        let (fleet, mut engine) = server(2, 4, POLICY);
        for n in 0..700 {
            happen(&fleet, &mut seed, n);
            lock(&fleet).tick();
            if n % 30 == 0 {
                // somebody looked, and goes on
                engine.store.0.lock().unwrap().switches.breaker = None;
            }
            let (plan, snapshot) = engine.plan().await.unwrap();
            assert_eq!(check(&plan, &snapshot, &engine.book), [], "the checker refuses what the planner planned");
            let at_ms = lock(&fleet).now_ms;
            let done = engine.apply((plan, snapshot)).await.unwrap();
            for step in &done.plan.body.steps {
                right(&engine, &fleet, step, at_ms);
            }
        }
        actions += lock(&fleet).ended_by_us.len();
    }
    println!("24 worlds of 700 minutes: {actions} actions, none wrong");
    assert!(actions > 40, "only {actions} actions: nothing was proved");
}

/// A world in which a case is about to be acted upon, with its plan.
async fn about_to_act() -> (Server, Shared) {
    let (fleet, mut engine) = server(1, 2, POLICY);
    lock(&fleet).job("7", "ada", "nlp", "debug", 1, Load::Idle).unwrap();
    for _ in 0..200 {
        lock(&fleet).tick();
        let (plan, _) = engine.plan().await.unwrap();
        if plan.body.steps.iter().any(|s| s.doing.is_act()) {
            return (engine, fleet);
        }
        engine.round().await.unwrap();
    }
    panic!("nothing was to be acted upon");
}

#[tokio::test]
async fn the_checker_refuses_what_it_cannot_prove() {
    let (mut engine, _) = about_to_act().await;
    let (plan, good) = engine.plan().await.unwrap();
    assert_eq!(check(&plan, &good, &engine.book), []);
    type Change = fn(&mut gpuledger_schema::reclaim::Snapshot);
    let changes: [(&str, Change); 21] = [
        ("no verdict", |s| s.allocations[0].judgement.verdict = Verdict::Unknown),
        ("busy", |s| s.allocations[0].judgement.verdict = Verdict::Busy),
        ("works", |s| s.allocations[0].judgement.active_from_ms = Some(s.at_ms - 1)),
        ("coverage", |s| s.allocations[0].judgement.coverage_ppm = Some(899_999)),
        ("no coverage", |s| s.allocations[0].judgement.coverage_ppm = None),
        ("old tick", |s| s.allocations[0].judgement.newest_ms = Some(s.at_ms - 121_000)),
        ("tick of another clock", |s| s.allocations[0].judgement.newest_ms = Some(s.at_ms + 600_000)),
        ("short rest", |s| s.allocations[0].judgement.rest_from_ms = Some(s.at_ms - 30 * MINUTE)),
        ("old reading", |s| s.sources[0].read_ms = Some(s.at_ms - 121_000)),
        ("failed reading", |s| s.sources[0].failed_ms = Some(s.at_ms + 1)),
        ("no source", |s| s.sources.clear()),
        ("another job", |s| {
            if let gpuledger_schema::reclaim::Identity::Slurm { start_ms, .. } = &mut s.allocations[0].identity {
                *start_ms += 1_000;
            }
        }),
        ("gone", |s| s.allocations.clear()),
        ("no warning", |s| s.cases[0].warned_ms = None),
        ("no last warning", |s| s.cases[0].final_ms = None),
        ("deadline ahead", |s| s.cases[0].deadline_ms = Some(s.at_ms + 1)),
        ("not approved", |s| s.cases[0].approved_by = None),
        ("killed", |s| s.switches.killed = Some("x".to_owned())),
        ("act off", |s| s.switches.act = false),
        ("held", |s| s.cases[0].held = Some("x".to_owned())),
        ("moved", |s| s.cases[0].seq += 1),
    ];
    for (what, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        let mut body = plan.body.clone();
        body.snapshot_hash = gpuledger_reclaim::plan::hash_of(&bad);
        let refused = check(&Plan::of(body), &bad, &engine.book);
        assert!(!refused.is_empty(), "{what} was not refused");
        // and the planner does not plan it either
        let planned = gpuledger_reclaim::plan::plan(&bad, &engine.book, plan.body.made_ms);
        let acts = planned.body.steps.iter().any(|s| s.doing.is_act());
        assert!(
            !acts || what == "moved" || what.contains("warning") || what == "deadline ahead" || what == "not approved",
            "{what} was planned"
        );
    }
    let full = |n: i64| -> Vec<_> {
        (0..n)
            .map(|i| gpuledger_schema::reclaim::Past {
                at_ms: good.at_ms - i,
                case_id: i,
                team: "nlp".to_owned(),
                nodes: vec!["n9".to_owned()],
            })
            .collect()
    };
    let mut bad = good.clone();
    bad.past = full(3);
    let mut body = plan.body.clone();
    body.snapshot_hash = gpuledger_reclaim::plan::hash_of(&bad);
    let refused = check(&Plan::of(body), &bad, &engine.book);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].to_string(), "step 0: R2: a cap is used up");
}

#[tokio::test]
async fn a_plan_that_was_changed_or_is_of_the_past_is_not_applied() {
    let (mut engine, fleet) = about_to_act().await;
    let (plan, snapshot) = engine.plan().await.unwrap();
    let mut changed = plan.clone();
    changed.body.steps[0].team = "another".to_owned();
    let refused = engine.apply((changed, snapshot.clone())).await.unwrap_err().to_string();
    assert!(refused.contains("it does not say what it said when it was made"), "{refused}");
    let mut past = snapshot.clone();
    past.mode = Mode::Past;
    let made = gpuledger_reclaim::plan::plan(&past, &engine.book, plan.body.made_ms);
    let refused = engine.apply((made, past)).await.unwrap_err().to_string();
    assert!(refused.contains("what was planned of the past moves no case"), "{refused}");
    // a plan waits, and its job works meanwhile: each step looks again
    {
        let mut f = lock(&fleet);
        let now = f.now_ms;
        if let Some(run) = f.runs.values_mut().next() {
            (run.load, run.load_from_ms) = (Load::Busy, now);
        }
        f.tick();
    }
    let done = engine.apply((plan, snapshot)).await.unwrap();
    assert!(format!("{:?}", done.outcomes).contains("Refused"), "{:?}", done.outcomes);
    assert!(lock(&fleet).commands.is_empty());
    let kept = engine.store.0.lock().unwrap();
    assert!(kept.cases.values().all(|(c, _)| c.state == CaseState::Approved));
}

#[tokio::test]
async fn equal_snapshots_give_equal_plans() {
    let (mut engine, _) = about_to_act().await;
    let (a, snapshot) = engine.plan().await.unwrap();
    let text = serde_json::to_string(&snapshot).unwrap();
    let again: gpuledger_schema::reclaim::Snapshot = serde_json::from_str(&text).unwrap();
    let b = gpuledger_reclaim::plan::plan(&again, &engine.book, a.body.made_ms);
    assert_eq!(a.hash, b.hash);
    let read: Plan = serde_json::from_str(&serde_json::to_string(&a).unwrap()).unwrap();
    assert!(read.is_whole());
    assert_eq!(Reason::ALL.len(), 11);
}
