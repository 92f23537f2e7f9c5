//! Budgets and the cost of pools, over one GPU that a team held for March at 10.00 an hour.

use crate::case_time::table_of;
use crate::site::Site;

fn site() -> Site {
    let site = Site::billed("Asia/Shanghai", "CNY");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.jobs(&table_of(&[("a", "2026-02-28T16:00:00Z", "2026-03-31T16:00:00Z", 1)]));
    site
}

#[test]
fn a_budget_says_what_was_spent_when_it_was_reached_and_where_it_goes() {
    let site = site();
    site.reference(
        "budgets",
        "team,amount,gpu_hours,alert_at,from,to\na,8000,1000,\"25,50,90\",2026-03-01,2026-04-01\nb,100,,,2026-03-01,2026-04-01\n",
    );
    site.reference("quotas", "team,pool,gpus\na,default,1\n");
    let half = site.table(&["report", "budgets", "--at", "2026-03-16"]);
    let of_a = |column: &str| half.get(&[("team", "a")], column).to_owned();
    assert_eq!(
        ["budget", "spent", "used", "run_rate", "low", "high"].map(of_a),
        ["8000.00", "3600.00", "0.450000", "7440.00", "7440.00", "7440.00"]
    );
    assert_eq!(
        ["budget_hours", "held_hours", "held_of_budget", "run_rate_hours", "high_hours"].map(of_a),
        ["1000.0000", "360.0000", "0.360000", "744.0000", "744.0000"]
    );
    // 9 days of 240.00 are 2 160.00; 11 days of 24 hours are 264 of 1 000
    assert_eq!(of_a("reached"), "25 % 2026-03-09, 25 % of hours 2026-03-11");
    assert_eq!(["quota_hours", "quota_used_hours", "borrowed_hours"].map(of_a), ["360.0000", "360.0000", "0.0000"]);
    assert_eq!(half.get(&[("team", "b")], "spent"), "0.00");
    assert_eq!(half.get(&[("team", "b")], "reached"), "-");

    // Without an instant: all that is known, which is all of March.
    let text = site.ok(&["report", "budgets"]);
    assert!(text.contains("2 budgets at 2026-04-01T00:00:00+08:00: 7,440.00 CNY spent of 8,100.00 CNY"), "{text}");
    assert!(text.contains("50 % 2026-03-17, 90 % 2026-03-30"), "{text}");
    let charge = site.table(&["report", "charge", "--month", "2026-03", "--by", "team"]);
    assert_eq!(charge.get(&[("team", "a")], "charge"), "7440.00");
}

#[test]
fn manual_lines_are_spent_and_what_is_over_is_named() {
    let site = site();
    site.reference("budgets", "team,amount,from,to\na,7400,2026-03-01,2026-04-01\n");
    let spent = || site.table(&["report", "budgets"]).one("spent").to_owned();
    assert_eq!(spent(), "7440.00");
    assert!(site.ok(&["report", "budgets"]).contains("over their budget: a"));
    let credit = ["--team", "a", "--kind", "credit", "--amount", "-100", "--reason", "r", "--approver", "g"];
    site.ok(&[&["manual-lines", "add", "--period", "2026-03"][..], &credit].concat());
    assert_eq!(spent(), "7340.00");
    site.ok(&["manual-lines", "withdraw", "2026-03-1", "--reason", "wrong team"]);
    assert_eq!(spent(), "7440.00");
    // of another month, and outside any budget
    site.ok(&[&["manual-lines", "add", "--period", "2026-04"][..], &credit].concat());
    assert_eq!(spent(), "7440.00");
    assert!(site.ok(&["report", "budgets", "--at", "2026-05-01"]).starts_with("no budget holds at 2026-05-01"));
}

#[test]
fn a_budget_over_months_adds_their_bills_up() {
    let site = Site::billed("Asia/Shanghai", "CNY");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    // from the middle of January to the middle of March
    site.jobs(&table_of(&[("a", "2026-01-14T16:00:00Z", "2026-03-14T16:00:00Z", 2)]));
    site.reference("budgets", "team,amount,from,to\na,50000,2026-01-01,2026-04-01\n");
    let all = site.table(&["report", "budgets"]);
    // 59 days x 24 h x 2 cards x 10.00
    assert_eq!(all.one("spent"), "28320.00");
    assert_eq!(all.one("held_hours"), "2832.0000");
    // quiet days of January count: of 73 whole days the 10th percentile is nothing
    assert_eq!(all.one("low"), "28320.00");
    assert_eq!(all.one("high"), "36480.00");
}

#[test]
fn a_pool_costs_what_its_rows_say_by_time() {
    let site = site();
    site.reference(
        "cost-pools",
        "pool,kind,amount,from,to\ndefault,depreciation,3720,2026-03-01,2026-04-01\ndefault,power,620,2026-03-16,2026-04-16\n\
         other,operations,5,2026-03-01,2026-03-02\n",
    );
    let cost = site.table(&["report", "cost", "--month", "2026-03"]);
    let of = |column: &str| cost.get(&[("pool", "default")], column).to_owned();
    // of the 31 days of power, 16 lie in March
    assert_eq!(
        ["depreciation", "power", "cost", "billed", "recovery"].map(of),
        ["3720.00", "320.00", "4040.00", "7440.00", "3400.00"]
    );
    assert_eq!((of("capacity_hours"), of("full_cost_per_gpu_hour")), ("744.0000".to_owned(), "5.430108".to_owned()));
    assert_eq!(cost.get(&[("pool", "other")], "recovery"), "-5.00");
    let text = site.ok(&["report", "cost", "--month", "2026-03"]);
    assert!(text.contains("2026-03: pools cost 4,045.00 CNY; over-recovered by 3,395.00 CNY"), "{text}");
    let april = site.table(&["report", "cost", "--month", "2026-04"]);
    assert_eq!(april.get(&[("pool", "default")], "power"), "300.00");
}
