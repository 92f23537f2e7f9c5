//! What the past does to an import: prices that change, owners that change, files that come again.

use gpuledger_control::ReferenceTable::{Owners, Rates, Weights};
use gpuledger_schema::table::reference::{OwnerRow, RateRow};

use crate::{JANUARY, Ledger, MID_MARCH};

/// C38: 10 until 2026-03-15 00:00 local, 12 from then on.
#[test]
fn a_price_change_ends_the_open_price_to_the_millisecond() {
    let mut ledger = Ledger::new();
    let old = "price,from\n10,2026-01-01\n";
    ledger.import(Rates, old);
    let before: Vec<RateRow> = ledger.control.rows().unwrap();
    let report = ledger.import(Rates, "price,from\n12,2026-03-15\n");
    assert_eq!((report.added, report.unchanged, report.version), (1, 0, 2));
    assert_eq!(report.ended, ["price=10 currency=CNY from 2026-01-01T00:00:00+08:00 to 2026-03-15T00:00:00+08:00"]);
    let rows: Vec<RateRow> = ledger.control.rows().unwrap();
    assert_eq!(
        rows.iter().map(|r| (r.price_micros, r.from_ms, r.to_ms)).collect::<Vec<_>>(),
        [(10_000_000, JANUARY, Some(MID_MARCH)), (12_000_000, MID_MARCH, None)]
    );
    assert_eq!(rows[0].rate_id, before[0].rate_id, "an ended rate keeps its id");

    let edits = ledger.control.edits(Rates).unwrap();
    assert_eq!(
        edits.iter().map(|e| (e.version, e.before.is_some())).collect::<Vec<_>>(),
        [(1, false), (2, true), (2, false)]
    );
    assert_eq!(
        (edits[1].actor.as_str(), edits[1].file.as_str(), edits[1].at_ms),
        ("anna", "in.csv", 1_775_000_000_000)
    );
    assert!(edits[1].before.as_ref().unwrap().contains("\"to_ms\":null"), "{edits:?}");
    assert!(edits[1].after.as_ref().unwrap().contains(&format!("\"to_ms\":{MID_MARCH}")), "{edits:?}");

    // The file of January again: its price was ended by its successor, and stays so.
    let report = ledger.import(Rates, old);
    assert_eq!((report.added, report.unchanged, report.ended.len(), report.version), (0, 1, 0, 2));
}

#[test]
fn one_file_with_the_whole_history_is_the_same_as_two() {
    let history = "price,from,to\n10,2026-01-01,2026-03-15\n12,2026-03-15,\n";
    let mut whole = Ledger::new();
    whole.import(Rates, history);
    let mut grown = Ledger::new();
    grown.import(Rates, "price,from\n10,2026-01-01\n");
    let report = grown.import(Rates, history);
    assert_eq!((report.added, report.ended.len()), (1, 1));
    assert_eq!(grown.listed(Rates), whole.listed(Rates));
    assert_eq!(grown.import(Rates, history).unchanged, 2);
}

#[test]
fn several_later_prices_end_an_open_one_once_and_other_selectors_stay() {
    let mut ledger = Ledger::new();
    ledger.import(Rates, "team,price\n,10\nvision,9\n");
    let report = ledger.import(Rates, "price,from,to\n14,2026-05-01,\n12,2026-03-15,2026-05-01\n");
    assert_eq!((report.added, report.ended.len()), (2, 1));
    assert_eq!(
        ledger.listed(Rates),
        [
            ",,,,,10,CNY,,2026-03-15T00:00:00+08:00",
            ",,,,,12,CNY,2026-03-15T00:00:00+08:00,2026-05-01T00:00:00+08:00",
            ",,,,,14,CNY,2026-05-01T00:00:00+08:00,",
            "vision,,,,,9,CNY,,",
        ]
    );
}

#[test]
fn overlaps_with_what_is_there_are_refused_naming_both_rows() {
    for (there, file, problem) in [
        (
            "price,from\n10,2026-03-15\n",
            "price,from\n11,2026-03-15\n",
            "in.csv, line 2: the row overlaps a row that is there \
             (price=10 currency=CNY from 2026-03-15T00:00:00+08:00)",
        ),
        (
            "price,from,to\n10,2026-01-01,2026-05-01\n",
            "price,from\n11,2026-03-15\n",
            "in.csv, line 2: the row overlaps a row that is there \
             (price=10 currency=CNY from 2026-01-01T00:00:00+08:00 to 2026-05-01T00:00:00+08:00)",
        ),
        (
            "price,from\n10,2026-03-15\n",
            "price,from\n9,2026-01-01\n",
            "in.csv, line 2: the row overlaps a row that is there \
             (price=10 currency=CNY from 2026-03-15T00:00:00+08:00)",
        ),
        (
            "price,to\n10,2026-03-15\n",
            "price,to\n10,2026-05-01\n",
            "in.csv, line 2: the row overlaps a row that is there \
             (price=10 currency=CNY from the beginning to 2026-03-15T00:00:00+08:00)",
        ),
    ] {
        let mut ledger = Ledger::new();
        ledger.import(Rates, there);
        assert_eq!(ledger.refused(Rates, file), [problem]);
    }
    // Half-open: a row may start where another ends, and end where another starts.
    let mut ledger = Ledger::new();
    ledger.import(Rates, "price,from,to\n10,2026-03-15,2026-04-01\n");
    let report = ledger.import(Rates, "price,from,to\n9,,2026-03-15\n11,2026-04-01,\n");
    assert_eq!((report.added, report.ended.len()), (2, 0));
}

#[test]
fn new_owners_end_all_open_ones_of_their_key() {
    let mut ledger = Ledger::new();
    let old = "kind,value,team,share_percent\nlabel,project=x,a,60\nlabel,project=x,b,40\nlabel,project=y,a,\n";
    ledger.import(Owners, old);
    let report = ledger.import(Owners, "kind,value,team,from\nlabel,project=x,c,2026-03-15\n");
    assert_eq!((report.added, report.ended.len(), report.version), (1, 2, 2));
    let rows: Vec<OwnerRow> = ledger.control.rows().unwrap();
    assert_eq!(
        rows.iter().map(|r| (r.value.as_str(), r.team.as_str(), r.parts, r.to_ms)).collect::<Vec<_>>(),
        [
            ("project=x", "a", 6_000, Some(MID_MARCH)),
            ("project=x", "b", 4_000, Some(MID_MARCH)),
            ("project=x", "c", 10_000, None),
            ("project=y", "a", 10_000, None),
        ]
    );
    assert_eq!(ledger.import(Owners, old).unchanged, 3);
    assert_eq!(
        ledger.refused(Owners, "kind,value,team,share_percent,from\nlabel,project=x,c,50,2026-05-01\n"),
        ["in.csv, line 2, column `share_percent`: the shares of label project=x add up to 50 %, not 100 %, \
             from 2026-05-01T00:00:00+08:00"]
    );
}

#[test]
fn a_second_currency_is_refused_naming_the_first() {
    let mut ledger = Ledger::new();
    assert_eq!(
        ledger.refused(Rates, "team,price,currency\na,1,USD\nb,1,EUR\nc,1,\n"),
        [
            "in.csv, line 3, column `currency`: the rate is in EUR, but line 2 is in USD: a ledger has one currency",
            "in.csv, line 4, column `currency`: the rate is in CNY, but line 2 is in USD: a ledger has one currency",
        ]
    );
    ledger.import(Rates, "price\n1\n");
    assert_eq!(
        ledger.refused(Rates, "team,price,currency\na,1,USD\n"),
        ["in.csv, line 2, column `currency`: the rate is in USD, but the rates that are there are in CNY: \
             a ledger has one currency"]
    );
}

#[test]
fn tables_have_versions_of_their_own() {
    let mut ledger = Ledger::new();
    ledger.import(Rates, "price\n1\n");
    ledger.import(Rates, "team,price\na,1\n");
    ledger.import(Weights, "task_type,sm,dram,tensor\ntrain,1,1,1\n");
    let version = |table| ledger.control.version(table).unwrap();
    assert_eq!((version(Rates), version(Weights), version(Owners)), (2, 1, 0));
}
