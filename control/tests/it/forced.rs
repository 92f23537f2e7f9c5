//! Back-dating: what closed periods forbid, what force does to rows that are there, and ending rows by their selector.

use gpuledger_control::ReferenceTable::{self, Budgets, ManualLines, Owners, Quotas, Rates, Thresholds};
use gpuledger_control::{AuditQuery, ControlError, ImportOptions, ImportReport, Period, PeriodState, Who};
use gpuledger_schema::table::money::ManualLineRow;
use gpuledger_schema::table::reference::{OwnerRow, RateRow};

use crate::{JANUARY, Ledger, MID_MARCH, options};

/// 2026-02-01 and 2026-03-01 in Asia/Shanghai.
const FEBRUARY: i64 = 1_769_875_200_000;
const MARCH: i64 = 1_772_294_400_000;

fn closed_february() -> Ledger {
    let mut ledger = Ledger::new();
    ledger.import(Rates, "price,from\n10,2026-01-01\n");
    close(&mut ledger);
    ledger
}

fn close(ledger: &mut Ledger) {
    let period = Period {
        period: "2026-02".into(),
        state: PeriodState::Closed,
        zone: "Asia/Shanghai".into(),
        from_ms: FEBRUARY,
        to_ms: MARCH,
        close_id: Some("c1".into()),
        closed_ms: Some(MARCH + 1),
    };
    ledger.control.record_period(&period, &Who { actor: "anna".into(), at_ms: MARCH + 1, ..Who::default() }).unwrap();
}

fn forced() -> ImportOptions {
    ImportOptions { force: true, reason: Some("wrong price".into()), approver: Some("grace".into()), ..options() }
}

impl Ledger {
    fn force(&mut self, table: ReferenceTable, csv: &str) -> ImportReport {
        self.control.import(table, "in.csv", csv.as_bytes(), forced()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn rates(&self) -> Vec<(i64, i64, Option<i64>)> {
        let mut rows: Vec<RateRow> = self.control.rows().unwrap();
        rows.sort_by_key(|r| r.from_ms);
        rows.iter().map(|r| (r.price_micros / 1_000_000, r.from_ms, r.to_ms)).collect()
    }
}

const CLOSED: &str = "the row changes what 2026-02 was billed by, which is closed: start it later, or force it (--force with \
                      --reason and --approver), which corrects it in the next open period";

#[test]
fn a_closed_period_refuses_what_touches_it_and_nothing_else() {
    let mut ledger = closed_february();
    for (table, csv) in [
        (Rates, "price,from\n12,2026-02-10\n"),
        (Rates, "team,price\na,7\n"),
        (Rates, "price,from,to\n10,2026-01-01,2026-02-28\n"),
        (Owners, "kind,value,team\nuser,ann,a\n"),
        (Quotas, "team,pool,gpus,from,to\na,p,1,2026-01-01,2026-02-02\n"),
    ] {
        assert_eq!(ledger.refused(table, csv), [format!("in.csv, line 2: {CLOSED}")], "{csv}");
    }
    // Before, after and beside it, and tables that price nothing.
    for (table, csv) in [
        (Rates, "team,price,from,to\na,7,2026-01-01,2026-02-01\n"),
        (Rates, "team,price,from\na,8,2026-03-01\n"),
        (Rates, "price,from\n12,2026-03-15\n"),
        (Owners, "kind,value,team,from\nuser,ann,a,2026-03-01\n"),
        (Budgets, "team,amount,from,to\na,1,2026-02-01,2026-03-01\n"),
        (Thresholds, "rule,name,value\nidle_since,window_minutes,30\n"),
    ] {
        assert_eq!(ledger.import(table, csv).corrects, Vec::<String>::new(), "{csv}");
    }
    // While nothing is closed there, a row may start before now.
    assert_eq!(Ledger::new().import(Rates, "price,from\n12,2026-01-10\n").added, 1);
}

#[test]
fn several_closed_periods_are_named() {
    let mut ledger = closed_february();
    let january = Period {
        period: "2026-01".into(),
        state: PeriodState::Closed,
        zone: "Asia/Shanghai".into(),
        from_ms: JANUARY,
        to_ms: FEBRUARY,
        close_id: Some("c0".into()),
        closed_ms: Some(FEBRUARY + 1),
    };
    ledger.control.record_period(&january, &Who::default()).unwrap();
    let refused = ledger.refused(Rates, "team,price\na,7\n");
    assert!(refused[0].contains("what 2026-01, 2026-02 was billed by, which are closed"), "{refused:?}");
    assert_eq!(ledger.force(Rates, "team,price\na,7\n").corrects, ["2026-01", "2026-02"]);
}

#[test]
fn force_needs_a_reason_and_an_approver() {
    let mut ledger = closed_february();
    for options in [
        ImportOptions { reason: None, ..forced() },
        ImportOptions { approver: None, ..forced() },
        ImportOptions { approver: Some("  ".into()), ..forced() },
    ] {
        let error = ledger.control.import(Rates, "in.csv", b"team,price\na,7\n", options).unwrap_err();
        assert_eq!(error.problems()[0].reason, "what is forced needs a reason and an approver");
    }
}

#[test]
fn a_forced_price_in_the_middle_splits_the_price_that_is_there() {
    let mut ledger = closed_february();
    let report = ledger.force(Rates, "price,from,to\n12,2026-02-01,2026-03-01\n");
    assert_eq!(report.ended, ["price=10 currency=CNY from 2026-01-01T00:00:00+08:00 to 2026-02-01T00:00:00+08:00"]);
    assert_eq!(report.split, ["price=10 currency=CNY from 2026-03-01T00:00:00+08:00"]);
    assert_eq!((report.added, report.superseded.len(), report.corrects), (1, 0, vec!["2026-02".to_owned()]));
    assert_eq!(ledger.rates(), [(10, JANUARY, Some(FEBRUARY)), (12, FEBRUARY, Some(MARCH)), (10, MARCH, None)]);

    let log = ledger.control.audit(&AuditQuery { table: Some("rate".into()), ..AuditQuery::default() }).unwrap();
    assert_eq!(log.iter().map(|e| e.action.as_str()).collect::<Vec<_>>(), ["add", "end", "split", "add"]);
    assert_eq!((log[1].reason.as_deref(), log[1].approver.as_deref()), (Some("wrong price"), Some("grace")));
    assert!(log[1].before.as_ref().unwrap().contains("\"to_ms\":null"));
    assert!(log[1].after.as_ref().unwrap().contains(&format!("\"to_ms\":{FEBRUARY}")));
    // The same file again changes nothing.
    let again = ledger.force(Rates, "price,from,to\n12,2026-02-01,2026-03-01\n");
    assert!(!again.changed(), "{again:?}");
    assert_eq!(again.corrects, Vec::<String>::new());
}

#[test]
fn a_forced_price_over_later_ones_supersedes_them_and_the_log_keeps_them() {
    let mut ledger = Ledger::new();
    ledger.import(Rates, "price,from,to\n10,2026-01-01,2026-02-01\n11,2026-02-01,2026-03-01\n12,2026-03-01,\n");
    assert_eq!(ledger.refused(Rates, "price,from,to\n9,2026-01-15,2026-03-15\n").len(), 3);
    let report = ledger.force(Rates, "price,from,to\n9,2026-01-15,2026-03-15\n");
    assert_eq!(
        report.superseded,
        [
            "price=11 currency=CNY from 2026-02-01T00:00:00+08:00 to 2026-03-01T00:00:00+08:00",
            "price=12 currency=CNY from 2026-03-01T00:00:00+08:00"
        ]
    );
    assert_eq!((report.ended.len(), report.split.len()), (1, 1));
    let mid_january = 1_768_406_400_000;
    assert_eq!(
        ledger.rates(),
        [(10, JANUARY, Some(mid_january)), (9, mid_january, Some(MID_MARCH)), (12, MID_MARCH, None)]
    );
    let log = ledger.control.audit(&AuditQuery::default()).unwrap();
    let gone: Vec<_> = log.iter().filter(|e| e.action == "supersede").collect();
    assert_eq!(gone.len(), 2);
    assert!(gone[0].before.as_ref().unwrap().contains("\"price_micros\":11000000") && gone[0].after.is_none());
    assert_eq!(ledger.control.verify_audit(&[]).unwrap().broken, None);
}

#[test]
fn a_forced_end_may_be_earlier_or_later_than_the_one_that_is_there() {
    for (to, end) in [("2026-02-01", Some(FEBRUARY)), ("2026-03-15", Some(MID_MARCH))] {
        let mut ledger = Ledger::new();
        ledger.import(Rates, "price,from,to\n10,2026-01-01,2026-03-01\n");
        let report = ledger.force(Rates, &format!("price,from,to\n10,2026-01-01,{to}\n"));
        assert_eq!(ledger.rates()[0], (10, JANUARY, end), "{report:?}");
        // What a shorter row leaves over still holds: it was not said that it should not.
        assert_eq!(ledger.rates().len(), if end == Some(FEBRUARY) { 2 } else { 1 });
    }
}

#[test]
fn a_forced_split_of_owners_replaces_all_teams_of_its_key() {
    let mut ledger = Ledger::new();
    ledger.import(Owners, "kind,value,team,share_percent\nuser,ann,a,60\nuser,ann,b,40\nuser,bob,a,\n");
    close(&mut ledger);
    let new = "kind,value,team,share_percent,from,to\nuser,ann,c,50,2026-02-01,2026-03-01\nuser,ann,a,50,2026-02-01,2026-03-01\n";
    assert_eq!(ledger.refused(Owners, new), [format!("in.csv, line 2: {CLOSED}"), format!("in.csv, line 3: {CLOSED}")]);
    let report = ledger.force(Owners, new);
    assert_eq!((report.added, report.ended.len(), report.split.len()), (2, 2, 2));
    assert_eq!(report.corrects, ["2026-02"]);
    let mut rows: Vec<OwnerRow> = ledger.control.rows().unwrap();
    rows.retain(|r| r.value == "ann");
    rows.sort_by(|a, b| (a.from_ms, &a.team).cmp(&(b.from_ms, &b.team)));
    assert_eq!(
        rows.iter().map(|r| (r.team.as_str(), r.parts, r.from_ms, r.to_ms)).collect::<Vec<_>>(),
        [
            ("a", 6_000, 0, Some(FEBRUARY)),
            ("b", 4_000, 0, Some(FEBRUARY)),
            ("a", 5_000, FEBRUARY, Some(MARCH)),
            ("c", 5_000, FEBRUARY, Some(MARCH)),
            ("a", 6_000, MARCH, None),
            ("b", 4_000, MARCH, None),
        ]
    );
    // Force does not make wrong sums right.
    let error = ledger.control.import(Owners, "in.csv", b"kind,value,team,share_percent\nuser,bob,c,50\n", forced());
    assert!(error.unwrap_err().problems()[0].reason.contains("add up to 50 %"));
}

fn selector(words: &[(&str, &str)]) -> Vec<(String, String)> {
    words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_rate_is_ended_by_its_selector() {
    let mut ledger = Ledger::new();
    ledger.import(Rates, "model,price,from\n,10,2026-01-01\nH200,12,2026-01-01\n");
    let report = ledger.control.end(Rates, &selector(&[("model", "H200")]), MARCH, options()).unwrap();
    assert_eq!(
        report.ended,
        ["model=H200 price=12 currency=CNY from 2026-01-01T00:00:00+08:00 to 2026-03-01T00:00:00+08:00"]
    );
    assert_eq!((report.added, report.version), (0, 2));
    assert_eq!(ledger.rates(), [(10, JANUARY, None), (12, JANUARY, Some(MARCH))]);
    let last = ledger.control.edits(Rates).unwrap().pop().unwrap();
    assert_eq!(last.file, "what was typed");

    let mut problems = |words: &[(&str, &str)], at_ms| -> Vec<String> {
        let error = ledger.control.end(Rates, &selector(words), at_ms, options()).unwrap_err();
        error.problems().iter().map(|p| p.reason.clone()).collect()
    };
    assert_eq!(
        problems(&[("model", "H200")], MID_MARCH),
        ["no row of rate with model=H200 holds at 2026-03-15T00:00:00+08:00"]
    );
    assert_eq!(problems(&[("price", "10")], MID_MARCH), ["rows are named by team, task_type, pool, model, tier"]);
    assert_eq!(problems(&[("task_type", "fun")], MID_MARCH).len(), 1);
    assert_eq!(
        problems(&[], JANUARY),
        ["the row starts after 2025-12-31T23:59:59.999+08:00, when it would end (price=10 currency=CNY \
             from 2026-01-01T00:00:00+08:00)"]
    );
}

#[test]
fn an_end_inside_a_closed_period_is_back_dating_too() {
    let mut ledger = closed_february();
    let error = ledger.control.end(Rates, &[], FEBRUARY, options()).unwrap_err();
    assert_eq!(error.problems()[0].reason, CLOSED);
    assert_eq!(ledger.control.end(Rates, &[], FEBRUARY, forced()).unwrap().corrects, ["2026-02"]);
    let mut open = closed_february();
    assert_eq!(open.control.end(Rates, &[], MARCH, options()).unwrap().ended.len(), 1);
}

#[test]
fn owners_end_together() {
    let mut ledger = Ledger::new();
    ledger.import(Owners, "kind,value,team,share_percent\nuser,ann,a,60\nuser,ann,b,40\n");
    let report =
        ledger.control.end(Owners, &selector(&[("kind", "user"), ("value", "ann")]), MARCH, options()).unwrap();
    assert_eq!(report.ended.len(), 2);
}

#[test]
fn manual_lines_stay_out_of_closed_periods_even_by_force() {
    let mut ledger = Ledger::new();
    let line = "line,period,kind,team,amount,reason,approver,from\nx,2026-02,credit,a,-1,r,g,2026-02-15\n";
    ledger.import(ManualLines, line);
    close(&mut ledger);
    let closed = "2026-02 is closed: book a line in the next open period, 2026-03";
    let other = line.replace("x,", "y,");
    assert_eq!(ledger.refused(ManualLines, &other), [format!("in.csv, line 2, column `period`: {closed}")]);
    let error = ledger.control.import(ManualLines, "in.csv", other.as_bytes(), forced()).unwrap_err();
    assert_eq!(error.problems()[0].reason, closed);
    let error = ledger.control.end(ManualLines, &selector(&[("line", "x")]), MARCH, options()).unwrap_err();
    assert!(matches!(&error, ControlError::Refused { .. }) && error.problems()[0].reason == closed, "{error}");

    // An open period takes lines, and gives them back.
    ledger.import(ManualLines, other.replace("2026-02,", "2026-03,"));
    ledger.control.end(ManualLines, &selector(&[("line", "y")]), MID_MARCH, options()).unwrap();
    let rows: Vec<ManualLineRow> = ledger.control.rows().unwrap();
    assert_eq!(
        rows.iter().map(|r| (r.line.as_str(), r.to_ms)).collect::<Vec<_>>(),
        [("x", None), ("y", Some(MID_MARCH))]
    );
}
