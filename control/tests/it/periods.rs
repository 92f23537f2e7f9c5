//! Periods, waivers and answers: what is kept, what is refused, and that each has its entry in the audit log.

use gpuledger_control::{AuditQuery, ControlError, LineAnswer, Period, PeriodState, Verdict, Waiver, Who};

use crate::Ledger;

fn period(state: PeriodState) -> Period {
    let closed = state == PeriodState::Closed;
    Period {
        period: "2026-02".into(),
        state,
        zone: "UTC".into(),
        from_ms: 1_769_904_000_000,
        to_ms: 1_772_323_200_000,
        close_id: closed.then(|| "c1".to_owned()),
        closed_ms: closed.then_some(1_772_600_000_000),
    }
}

fn anna(at_ms: i64) -> Who {
    Who { actor: "anna".into(), at_ms, ..Who::default() }
}

fn waiver(item: &str, reason: &str) -> Waiver {
    Waiver {
        period: "2026-02".into(),
        item: item.into(),
        reason: reason.into(),
        approver: "grace".into(),
        actor: "anna".into(),
        at_ms: 5,
    }
}

fn answer(line_id: i64, verdict: Verdict, reason: Option<&str>, at_ms: i64) -> LineAnswer {
    LineAnswer {
        period: "2026-02".into(),
        line_id,
        verdict,
        reason: reason.map(str::to_owned),
        by: "lead".into(),
        at_ms,
    }
}

#[test]
fn a_period_moves_forward_and_closed_is_final() {
    let mut ledger = Ledger::new();
    let control = &mut ledger.control;
    assert_eq!(control.period("2026-02").unwrap(), None);
    control.record_period(&period(PeriodState::Collecting), &anna(1)).unwrap();
    control.record_period(&period(PeriodState::Collecting), &anna(2)).unwrap();
    control.record_period(&period(PeriodState::Closed), &anna(3)).unwrap();
    assert_eq!(control.periods().unwrap(), [period(PeriodState::Closed)]);
    // The same close again is no change; anything else is refused.
    control.record_period(&period(PeriodState::Closed), &anna(4)).unwrap();
    for other in [period(PeriodState::Open), Period { close_id: Some("c2".into()), ..period(PeriodState::Closed) }] {
        let error = control.record_period(&other, &anna(5)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "2026-02 is closed: nothing of it can be changed any more; what is known later is corrected in the next open period"
        );
    }
    let log = control.audit(&AuditQuery::default()).unwrap();
    assert_eq!(
        log.iter().map(|e| (e.at_ms, e.subject.as_str(), e.before.is_some())).collect::<Vec<_>>(),
        [(1, "2026-02: collecting", false), (3, "2026-02: closed", true)]
    );
    assert!(log[1].after.as_ref().unwrap().contains("\"close_id\":\"c1\""));
}

#[test]
fn a_close_has_an_id_and_a_time() {
    let mut ledger = Ledger::new();
    for wrong in [
        Period { close_id: None, ..period(PeriodState::Closed) },
        Period { closed_ms: None, ..period(PeriodState::Closed) },
        Period { close_id: Some("c".into()), ..period(PeriodState::Open) },
    ] {
        let error = ledger.control.record_period(&wrong, &anna(1)).unwrap_err();
        assert!(matches!(error, ControlError::Not { table: "period", .. }), "{error:?}");
    }
    assert_eq!(ledger.control.periods().unwrap(), []);
}

#[test]
fn waivers_are_named_reasoned_approved_and_kept() {
    let mut ledger = Ledger::new();
    let control = &mut ledger.control;
    control.waive(&waiver("unmeasured", "sensor exchanged")).unwrap();
    control.waive(&waiver("gaps", "known")).unwrap();
    control.waive(&Waiver { reason: "exchanged twice".into(), ..waiver("unmeasured", "") }).unwrap();
    let now: Vec<(String, String)> =
        control.waivers("2026-02").unwrap().into_iter().map(|w| (w.item, w.reason)).collect();
    assert_eq!(now, [("gaps".into(), "known".into()), ("unmeasured".into(), "exchanged twice".into())]);
    assert_eq!(control.waivers("2026-03").unwrap(), []);

    control.withdraw_waiver(&waiver("gaps", "found")).unwrap();
    assert_eq!(control.waivers("2026-02").unwrap().len(), 1);
    let error = control.withdraw_waiver(&waiver("gaps", "again")).unwrap_err();
    assert_eq!(error.to_string(), "nothing was written to waiver: gaps is not waived in 2026-02");
    for bad in [waiver("x", " "), Waiver { approver: String::new(), ..waiver("x", "r") }] {
        let error = control.waive(&bad).unwrap_err();
        assert_eq!(error.to_string(), "nothing was written to waiver: x is waived for a reason and by an approver");
    }
    let log = control.audit(&AuditQuery { table: Some("waiver".into()), ..AuditQuery::default() }).unwrap();
    assert_eq!(
        log.iter().map(|e| (e.subject.as_str(), e.before.is_some(), e.approver.as_deref())).collect::<Vec<_>>(),
        [
            ("2026-02 unmeasured: waived", false, Some("grace")),
            ("2026-02 gaps: waived", false, Some("grace")),
            ("2026-02 unmeasured: waived", true, Some("grace")),
            ("2026-02 gaps: waived no more", true, Some("grace")),
        ]
    );
}

#[test]
fn answers_keep_their_history_and_the_newest_counts() {
    let mut ledger = Ledger::new();
    let control = &mut ledger.control;
    control.answer(&answer(7, Verdict::Disputed, Some("not ours"), 1)).unwrap();
    control.answer(&answer(3, Verdict::Accepted, None, 2)).unwrap();
    control.answer(&answer(7, Verdict::Accepted, None, 3)).unwrap();
    let now = control.answers("2026-02").unwrap();
    assert_eq!(
        now.iter().map(|a| (a.line_id, a.verdict)).collect::<Vec<_>>(),
        [(3, Verdict::Accepted), (7, Verdict::Accepted)]
    );
    assert_eq!(control.answer_history("2026-02").unwrap().len(), 3);
    let error = control.answer(&answer(7, Verdict::Disputed, None, 4)).unwrap_err();
    assert_eq!(error.to_string(), "nothing was written to line_answer: a line is disputed for a reason");
    let log = control.audit(&AuditQuery { table: Some("line_answer".into()), ..AuditQuery::default() }).unwrap();
    assert_eq!(log.len(), 3);
    assert!(log[2].before.as_ref().unwrap().contains("not ours"));
    assert_eq!(log[0].reason.as_deref(), Some("not ours"));
}

#[test]
fn nothing_is_said_of_a_closed_period() {
    let mut ledger = Ledger::new();
    let control = &mut ledger.control;
    control.record_period(&period(PeriodState::Closed), &anna(1)).unwrap();
    let errors = [
        control.waive(&waiver("gaps", "late")).unwrap_err(),
        control.answer(&answer(7, Verdict::Accepted, None, 4)).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, ControlError::PeriodClosed { .. }), "{error:?}");
    }
    assert_eq!(control.audit(&AuditQuery::default()).unwrap().len(), 1);
}
