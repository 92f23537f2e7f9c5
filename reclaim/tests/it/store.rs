//! The control file as a store: one leader with a fence, moves that are moves, events that stay.

use gpuledger_control::{CaseError, Control, Switch, Switched};
use gpuledger_reclaim::port::Store;
use gpuledger_reclaim::store::{ControlStore, KillPath};
use gpuledger_schema::reclaim::{Case, CaseEvent, CaseState, Class, EventKind, MOVES};

fn opened(allocation: i64, at: i64) -> (Case, CaseEvent) {
    let event = CaseEvent { deadline_ms: Some(at + 100), ..CaseEvent::of(at, "engine", EventKind::Opened) };
    (Case::opened(allocation, Class::IdleSince, "default", "{}".to_owned(), &event), event)
}

#[test]
fn whoever_lost_the_lead_writes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sqlite");
    let (mut a, mut b) = (Control::open(&path).unwrap(), Control::open(&path).unwrap());
    let fence = a.lead("a", 1_000, 100).unwrap().expect("a leads");
    assert_eq!(b.lead("b", 1_050, 100).unwrap(), None);
    assert_eq!(a.lead("a", 1_050, 100).unwrap(), Some(fence));
    let (case, event) = opened(7, 1_060);
    a.open_case(fence, &case, &event).unwrap();
    // a sleeps; b leads from when the lease is over
    let next = b.lead("b", 1_150, 100).unwrap().expect("b leads");
    assert!(next > fence);
    let warned = CaseEvent::of(1_160, "engine", EventKind::Warned);
    assert!(matches!(a.move_case(Some(fence), case.case_id, 1, &warned), Err(CaseError::NotLeader)));
    assert!(matches!(a.lead("a", 1_160, 100), Ok(None)));
    let moved = b.move_case(Some(next), case.case_id, 1, &warned).unwrap();
    assert_eq!((moved.state, moved.seq), (CaseState::Warned, 2));
    // a lease that ran out is none, even for its holder
    let late = CaseEvent::of(1_300, "engine", EventKind::Warned);
    assert!(matches!(b.move_case(Some(next), case.case_id, 2, &late), Err(CaseError::NotLeader)));
    // and whoever takes it up again has a new fence
    assert!(b.lead("b", 1_300, 100).unwrap().unwrap() > next);
}

#[test]
fn a_case_moves_as_it_may_and_from_where_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sqlite");
    let mut control = Control::open(&path).unwrap();
    let fence = control.lead("a", 0, 1_000_000).unwrap().unwrap();
    let (case, event) = opened(7, 10);
    control.open_case(fence, &case, &event).unwrap();
    let (twice, event) = opened(7, 20);
    assert!(matches!(control.open_case(fence, &twice, &event), Err(CaseError::Open(7))));
    let due = CaseEvent::of(30, "engine", EventKind::DuePassed);
    let error = control.move_case(Some(fence), case.case_id, 1, &due).unwrap_err();
    assert_eq!(error.to_string(), "a case that is observed cannot be due_passed");
    let kept = CaseEvent { until_ms: Some(90), ..CaseEvent::of(40, "ada", EventKind::Kept) };
    control.move_case(None, case.case_id, 1, &kept).unwrap();
    let error = control.move_case(None, case.case_id, 1, &kept).unwrap_err();
    assert!(error.to_string().ends_with("is at event 2, not 1: it has moved since it was read"), "{error}");
    drop(control);
    let read = Control::open_read_only(&path).unwrap();
    let case = read.case(case.case_id).unwrap().unwrap();
    assert_eq!((case.state, case.seq, case.until_ms, case.deadline_ms), (CaseState::Kept, 2, Some(90), Some(110)));
    assert_eq!(read.case_events(case.case_id).unwrap().len(), 2);
    assert_eq!(read.open_cases().unwrap(), [case]);
}

#[test]
fn every_state_is_reached_and_left_by_a_move_of_the_list() {
    for state in CaseState::ALL {
        let to = MOVES.iter().any(|(_, _, to)| *to == Some(*state)) || *state == CaseState::Observed;
        let from = MOVES.iter().any(|(_, from, _)| from.contains(state));
        assert!(to, "{state} is never reached");
        assert_eq!(from, !state.is_over(), "{state}");
    }
    for kind in EventKind::ALL {
        let listed = MOVES.iter().any(|(k, _, _)| k == kind);
        assert_eq!(listed, *kind != EventKind::Opened, "{kind}");
    }
}

#[test]
fn a_bounce_goes_back_to_before_its_notice() {
    let (case, _) = opened(7, 10);
    let step = |c: &Case, kind| c.after(&CaseEvent::of(20, "x", kind)).unwrap();
    let warned = step(&case, EventKind::Warned);
    let last = step(&warned, EventKind::FinalWarned);
    let bounce =
        |c: &Case, phase| c.after(&CaseEvent { phase, ..CaseEvent::of(30, "mail", EventKind::Bounced) }).unwrap();
    use gpuledger_schema::reclaim::Phase;
    let back = bounce(&last, Some(Phase::Order));
    assert_eq!((back.state, back.warned_ms, back.final_ms), (CaseState::Warned, Some(20), None));
    let back = bounce(&last, Some(Phase::Signal));
    assert_eq!((back.state, back.warned_ms, back.final_ms, back.bounces), (CaseState::Observed, None, None, 1));
}

#[test]
fn switches_say_who_and_why_and_a_file_kills_too() {
    let folder = tempfile::tempdir().unwrap();
    let control = Control::open(&folder.path().join("control.sqlite")).unwrap();
    let kill = folder.path().join("STOP");
    let mut store = ControlStore { control, holder: "a".to_owned(), kill_file: KillPath(kill.clone()) };
    let s = store.switches().unwrap();
    assert!(s.notify && s.act && s.killed.is_none() && s.breaker.is_none());
    std::fs::write(&kill, "").unwrap();
    assert_eq!(store.switches().unwrap().killed.as_deref(), Some("the kill file is there"));
    std::fs::remove_file(&kill).unwrap();
    let to = |is_on| Switched { is_on, at_ms: 5, actor: "olga".to_owned(), reason: "look first".to_owned() };
    store.control.switch(Switch::Kill, &to(true)).unwrap();
    assert_eq!(store.switches().unwrap().killed.as_deref(), Some("look first by olga"));
    store.control.switch(Switch::Kill, &to(false)).unwrap();
    assert_eq!(store.switches().unwrap().killed, None);
    store.trip(6, "coverage_falls: 40 %").unwrap();
    assert_eq!(store.switches().unwrap().breaker.as_deref(), Some("coverage_falls: 40 %"));
    assert!(store.is_news("x", "text", 0).unwrap());
    assert!(!store.is_news("x", "text", 1_000).unwrap());
    assert!(store.is_news("x", "another text", 1_000).unwrap());
    assert!(store.is_news("x", "another text", 100_000_000).unwrap());
}
