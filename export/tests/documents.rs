//! Documents against the bill that they are made of: the same sums to the minor unit, names as they were typed, no formula
//! from outside, the same bytes each time.

use std::collections::BTreeMap;

use gpuledger_export::{
    ExportError, Lang, Warning, csv as lines_csv, json, parquet as lines_parquet, posting, rollup, table, xlsx,
};
use gpuledger_schema::bill::{Bill, State};

mod fixture;

use fixture::{Money, PLAIN_TEAMS, TEAMS, world};

const CURRENCIES: [Money; 3] = [Money("EUR", 2), Money("JPY", 0), Money("KWD", 3)];

/// A decimal as minor units.
fn minor(text: &str, digits: u32) -> i128 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    assert_eq!(part.len(), digits as usize, "digits of {text}");
    format!("{whole}{part}").parse().unwrap()
}

fn team_total(bill: &Bill) -> i128 {
    bill.lines.iter().filter(|l| !l.platform).map(|l| i128::from(l.amount_minor)).sum()
}

fn posting_options() -> posting::Options {
    posting::Options {
        expense_account: "62000".into(),
        recovery_account: "48500".into(),
        platform_cost_center: "CC-IT".into(),
        lang: Lang::En,
        bom: false,
    }
}

/// Records of a CSV by column.
fn records(bytes: &[u8]) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(bytes);
    let heads: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    reader.records().map(|r| heads.iter().cloned().zip(r.unwrap().iter().map(str::to_owned)).collect()).collect()
}

#[test]
fn the_fixture_is_a_bill() {
    for money in CURRENCIES {
        let bill = world(&TEAMS, money).bill;
        let fleet: i64 = bill
            .lines
            .iter()
            .filter(|l| l.corrects.is_none() && !["credit", "adjustment"].contains(&l.kind.as_str()))
            .map(|l| l.amount_minor)
            .sum();
        assert_eq!(fleet, bill.conservation.fleet_minor);
        assert!(bill.lines.len() > 40, "{}", bill.lines.len());
    }
}

#[test]
fn csv_has_every_line_and_its_amounts() {
    for money in CURRENCIES {
        let bill = world(&TEAMS, money).bill;
        let mut bytes = Vec::new();
        lines_csv::write(&bill, lines_csv::Options::default(), &mut bytes).unwrap();
        let rows = records(&bytes);
        assert_eq!(rows.len(), bill.lines.len());
        let sum = |teams: bool| -> i128 {
            let of = rows.iter().filter(|r| (r["platform"] == "false") == teams);
            of.map(|r| minor(&r["amount"], money.1)).sum()
        };
        assert_eq!(sum(true), team_total(&bill));
        for (row, line) in rows.iter().zip(&bill.lines) {
            assert_eq!(row["line_id"], line.line_id.to_string());
            assert_eq!(row["exact"].parse::<i128>().unwrap(), line.exact);
            assert_eq!(row["held_ms"].parse::<i64>().unwrap(), line.held_ms);
        }
        // what is unknown is empty, and not 0
        let unknown: Vec<_> =
            bill.lines.iter().zip(&rows).filter(|(l, _)| l.held_ms > 0 && l.covered_ms == 0).collect();
        assert!(!unknown.is_empty());
        for (line, row) in unknown {
            assert_eq!([&row["busy_ms"], &row["held_idle_ms"], &row["waste"]], ["", "", ""], "{}", line.line_id);
        }
    }
}

#[test]
fn no_cell_of_a_csv_is_a_formula_and_every_name_reads_back() {
    let bill = world(&TEAMS, Money("EUR", 2)).bill;
    let mut bytes = Vec::new();
    lines_csv::write(&bill, lines_csv::Options { bom: true }, &mut bytes).unwrap();
    assert_eq!(&bytes[..3], b"\xef\xbb\xbf");
    let text = String::from_utf8(bytes[3..].to_vec()).unwrap();
    assert_eq!(text.matches("\r\n").count(), bill.lines.len() + 1, "one end of line a record");
    let numbers = ["amount", "waste", "list_amount", "exact", "quantity_ms", "held_ms", "busy_ms", "held_idle_ms"];
    let more = ["held_unmeasured_ms", "covered_ms", "effective_ms", "energy_mj", "gpu_hours", "line_id", "rate_id"];
    for row in records(text.as_bytes()) {
        for (column, cell) in &row {
            let number = numbers.contains(&column.as_str()) || more.contains(&column.as_str());
            let risky = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
            assert!(
                !risky || number && cell.parse::<i128>().is_ok() || number && cell.contains('.'),
                "{column}: {cell}"
            );
        }
        let team = row["team"].strip_prefix('\'').unwrap_or(&row["team"]);
        assert!(TEAMS.contains(&team) || team == "(platform)", "{team}");
    }
}

#[test]
fn json_keeps_numbers_as_decimal_strings_and_sums_agree() {
    for money in CURRENCIES {
        let bill = world(&TEAMS, money).bill;
        let mut bytes = Vec::new();
        json::write(&bill, &mut bytes).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["format"], "gpuledger.bill/1");
        assert_eq!(value["state"]["state"], "closed");
        assert_eq!(
            (value["from"].as_str(), value["to"].as_str()),
            (Some("2026-09-30T22:00:00Z"), Some("2026-10-31T23:00:00Z"))
        );
        let amount = |v: &serde_json::Value| minor(v.as_str().unwrap(), money.1);
        let statements: i128 = value["statements"].as_array().unwrap().iter().map(|s| amount(&s["amount"])).sum();
        let lines: i128 = value["lines"].as_array().unwrap().iter().map(|l| amount(&l["amount"])).sum();
        let platform: i128 = value["platform"].as_array().unwrap().iter().map(|l| amount(&l["amount"])).sum();
        assert_eq!(statements, team_total(&bill));
        assert_eq!(amount(&value["total"]["amount"]), statements);
        assert_eq!(statements + platform, lines);
        let tops: i128 = value["cost_centers"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|n| n["depth"] == 0)
            .map(|n| amount(&n["total"]))
            .sum();
        assert_eq!(tops, statements);
        assert!(value["cost_centers"].as_array().unwrap().iter().all(|n| n["cost_center"] != "EMPTY"));
        // every number is a string, except small counts
        fn numbers(value: &serde_json::Value, path: &str, out: &mut Vec<String>) {
            match value {
                serde_json::Value::Number(_) => out.push(path.to_owned()),
                serde_json::Value::Array(all) => all.iter().for_each(|v| numbers(v, path, out)),
                serde_json::Value::Object(map) => map.iter().for_each(|(k, v)| numbers(v, k, out)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        numbers(&value, "", &mut found);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, ["depth", "digits", "lines"]);
    }
}

#[test]
fn postings_balance_and_are_what_teams_pay() {
    for money in CURRENCIES {
        let bill = world(&TEAMS, money).bill;
        let mut bytes = Vec::new();
        let warnings = posting::write(&bill, &posting_options(), &mut bytes).unwrap();
        let rows = records(&bytes);
        let sum = |column: &str, account: Option<&str>| -> i128 {
            let of = rows.iter().filter(|r| account.is_none_or(|a| r["account"] == a) && !r[column].is_empty());
            of.map(|r| minor(&r[column], money.1)).sum()
        };
        assert_eq!(sum("debit", None), sum("credit", None));
        assert_eq!(sum("debit", Some("62000")) - sum("credit", Some("62000")), team_total(&bill));
        assert!(rows.iter().all(|r| r["debit"].is_empty() != r["credit"].is_empty()));
        assert!(rows.iter().all(|r| !r["debit"].starts_with('-') && !r["credit"].starts_with('-')));
        assert!(rows.iter().all(|r| r["posting_date"] == "2026-10-31" && r["currency"] == money.0));
        // a cost centre that gets money back is credited
        assert!(rows.iter().any(|r| r["account"] == "62000" && !r["credit"].is_empty()));
        assert!(warnings.iter().all(|w| matches!(w, Warning::NoCostCenter { .. })) && !warnings.is_empty());
        let none: i128 = bill
            .lines
            .iter()
            .filter(|l| !l.platform && l.cost_center.is_none())
            .map(|l| i128::from(l.amount_minor))
            .sum();
        let empty = |c: &str| -> i128 {
            let of = rows.iter().filter(|r| r["account"] == "62000" && r["cost_center"].is_empty() && !r[c].is_empty());
            of.map(|r| minor(&r[c], money.1)).sum()
        };
        assert_eq!(empty("debit") - empty("credit"), none);
    }
}

#[test]
fn the_table_fits_and_names_the_sums() {
    let bill = world(&TEAMS, Money("EUR", 2)).bill;
    for lang in [Lang::En, Lang::Zh] {
        for team in [None, Some(TEAMS[0].to_owned()), Some(TEAMS[2].to_owned())] {
            let mut bytes = Vec::new();
            table::write(&bill, &table::Options { team, lang }, &mut bytes).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let widest = text.lines().skip(3).filter(|l| !l.contains("held GPU-hours")).map(columns).max().unwrap();
            assert!(widest <= 105, "{widest} columns\n{text}");
            assert!(!text.contains('\u{1b}') && text.lines().count() > 8);
        }
    }
    let mut bytes = Vec::new();
    table::write(&bill, &table::Options::default(), &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let total = text.lines().find(|l| l.starts_with("Total")).unwrap().rsplit(' ').next().unwrap().replace(',', "");
    assert_eq!(minor(&total, 2), team_total(&bill));
    let error = table::write(&bill, &table::Options { team: Some("nobody".into()), lang: Lang::En }, &mut Vec::new());
    assert!(matches!(error, Err(ExportError::NoTeam { .. })));
}

fn columns(line: &str) -> usize {
    line.chars().map(|c| if u32::from(c) > 0x2e7f { 2 } else { 1 }).sum()
}

#[test]
fn the_same_bill_gives_the_same_bytes() {
    let bill = world(&TEAMS, Money("EUR", 2)).bill;
    let twice = |write: &dyn Fn(&Bill) -> Vec<u8>| assert!(write(&bill) == write(&bill.clone()));
    twice(&|b| {
        let mut out = Vec::new();
        xlsx::write(b, xlsx::Options { lang: Lang::Zh }, &mut out).unwrap();
        out
    });
    twice(&|b| {
        let mut out = Vec::new();
        lines_parquet::write(b, &mut out).unwrap();
        out
    });
    twice(&|b| {
        let mut out = Vec::new();
        json::write(b, &mut out).unwrap();
        out
    });
}

#[test]
fn a_bill_without_lines_is_still_a_document() {
    let mut bill = world(&PLAIN_TEAMS, Money("EUR", 2)).bill;
    bill.lines.clear();
    bill.cost_centers.clear();
    bill.conservation = Default::default();
    bill.state = State::Draft { cut: 3, as_of_ms: bill.from_ms };
    let mut out = Vec::new();
    table::write(&bill, &table::Options::default(), &mut out).unwrap();
    json::write(&bill, &mut out).unwrap();
    lines_csv::write(&bill, lines_csv::Options::default(), &mut out).unwrap();
    lines_parquet::write(&bill, &mut out).unwrap();
    xlsx::write(&bill, xlsx::Options::default(), &mut out).unwrap();
    posting::write(&bill, &posting_options(), &mut out).unwrap();
}

#[test]
fn months_make_a_quarter() {
    let october = world(&TEAMS, Money("EUR", 2)).bill;
    let mut november = october.clone();
    november.period = "2026-11".into();
    (november.from_ms, november.to_ms) = (october.to_ms, october.to_ms + 30 * 86_400_000);
    november.lines.iter_mut().for_each(|l| l.period = "2026-11".into());
    let both = rollup::several("2026-Q4", &[november.clone(), october.clone()]).unwrap();
    assert_eq!(team_total(&both), 2 * team_total(&october));
    assert_eq!((both.from_ms, both.to_ms), (october.from_ms, november.to_ms));
    assert_eq!(both.conservation.fleet_minor, 2 * october.conservation.fleet_minor);
    let order: Vec<(bool, &str)> = both.lines.iter().map(|l| (l.platform, l.team.as_str())).collect();
    assert!(order.is_sorted());
    xlsx::write(&both, xlsx::Options::default(), &mut Vec::new()).unwrap();
    let apart = |change: &dyn Fn(&mut Bill)| {
        let mut other = november.clone();
        change(&mut other);
        rollup::several("x", &[october.clone(), other]).unwrap_err().to_string()
    };
    assert!(apart(&|b| b.from_ms += 1).ends_with("one does not begin where the other ends"));
    assert!(apart(&|b| b.currency = "USD".into()).ends_with("they are in different currencies"));
    assert!(apart(&|b| b.zone = "UTC".into()).ends_with("they are cut in different zones"));
    assert!(apart(&|b| b.issuer = "x".into()).ends_with("they have different issuers"));
    assert!(matches!(rollup::several("x", &[]), Err(ExportError::NoBill)));
}

#[test]
fn an_amount_that_a_cell_would_round_is_refused() {
    let mut bill = world(&PLAIN_TEAMS, Money("EUR", 2)).bill;
    bill.lines[0].amount_minor = 1_000_000_000_000_000;
    let error = xlsx::write(&bill, xlsx::Options::default(), &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::TooManyDigits { .. }), "{error}");
}
