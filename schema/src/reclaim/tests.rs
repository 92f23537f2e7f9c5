//! Cases move as the list of moves says, words read back, and identities are the same only if nothing speaks against it.

use super::*;

fn opened() -> Case {
    let event =
        CaseEvent { deadline_ms: Some(100), rest_from_ms: Some(1), ..CaseEvent::of(10, "engine", EventKind::Opened) };
    Case::opened(7, Class::NeverTouched, "default", String::new(), &event)
}

fn step(case: &Case, kind: EventKind) -> Case {
    case.after(&CaseEvent::of(case.since_ms + 10, "x", kind)).unwrap()
}

#[test]
fn the_way_to_freed() {
    let mut case = opened();
    let way = [
        (EventKind::Warned, CaseState::Warned),
        (EventKind::FinalWarned, CaseState::Final),
        (EventKind::DuePassed, CaseState::Due),
        (EventKind::Approved, CaseState::Approved),
        (EventKind::Intended, CaseState::Acting),
        (EventKind::Asked, CaseState::Acting),
        (EventKind::Failed, CaseState::Failed),
        (EventKind::Intended, CaseState::Acting),
        (EventKind::Freed, CaseState::Freed),
    ];
    for (kind, state) in way {
        case = step(&case, kind);
        assert_eq!(case.state, state);
    }
    assert_eq!((case.seq, case.failures), (10, 1));
    let error = case.after(&CaseEvent::of(500, "x", EventKind::Kept)).unwrap_err();
    assert_eq!(error.to_string(), "a case that is freed cannot be kept");
}

#[test]
fn a_hold_is_lifted_and_what_stands_behind_it_stays() {
    let kept = opened().after(&CaseEvent { until_ms: Some(900), ..CaseEvent::of(20, "ada", EventKind::Kept) }).unwrap();
    let held = step(&kept, EventKind::Held);
    assert!(held.held.is_some());
    let lifted = step(&held, EventKind::Resumed);
    assert_eq!((lifted.state, lifted.held.clone(), lifted.until_ms), (CaseState::Kept, None, Some(900)));
    let again = step(&lifted, EventKind::Resumed);
    assert_eq!((again.state, again.warned_ms, again.until_ms), (CaseState::Observed, None, None));
}

#[test]
fn a_deadline_stays_until_an_event_names_another() {
    let warned = step(&opened(), EventKind::Warned);
    assert_eq!(warned.deadline_ms, Some(100));
    let event = CaseEvent { deadline_ms: Some(700), ..CaseEvent::of(50, "engine", EventKind::Postponed) };
    let later = warned.after(&event).unwrap();
    assert_eq!((later.state, later.deadline_ms, later.since_ms), (CaseState::Warned, Some(700), warned.since_ms));
}

#[test]
fn what_cannot_be_told_apart_is_not_the_same() {
    let process = |pid, start_ticks| Identity::Process {
        node: "n1".to_owned(),
        boot: "b".to_owned(),
        pid: Some(pid),
        start_ticks,
        start_ms: 0,
    };
    // a number that was given again, and one whose start nobody could read
    assert!(process(4242, Some(1)).is_same(&process(4242, Some(1))));
    assert!(!process(4242, Some(1)).is_same(&process(4242, Some(2))));
    assert!(!process(4242, None).is_same(&process(4242, None)));
    let pod = |uid: &str| Identity::Kubernetes {
        cluster: "c".to_owned(),
        namespace: "n".to_owned(),
        pod: "db-0".to_owned(),
        uid: uid.to_owned(),
        owner: None,
        start_ms: 0,
    };
    assert!(pod("u1").is_same(&pod("u1")) && !pod("u1").is_same(&pod("u2")));
    assert!(!pod("u1").is_same(&process(1, Some(1))));
}

#[test]
fn every_word_reads_back() {
    for word in CaseState::ALL {
        assert_eq!(word.as_str().parse::<CaseState>(), Ok(*word));
    }
    assert_eq!("sleeping".parse::<CaseState>().unwrap_err().to_string(), "unknown case state `sleeping`");
    assert!(Class::IdleSince.can_act() && !Class::MemoryHeld.can_act());
}
