//! Cases of money: exact sums, price changes, price lookup, rounding (C36, C38, C42, C43).

use std::fmt::Write as _;

use crate::case_time::table_of;
use crate::site::Site;
use crate::table::{Table, decimal};

const MARCH: [&str; 2] = ["--month", "2026-03"];

/// One GPU held for March of Shanghai.
fn all_march(site: &Site) {
    site.jobs(&table_of(&[("a", "2026-02-28T16:00:00Z", "2026-03-31T16:00:00Z", 1)]));
}

fn charge(site: &Site, rest: &[&str]) -> Table {
    site.table(&[&["report", "charge"][..], rest].concat())
}

/// 43 200 jobs of 36 s at 10.00 are 43 200 lines of 0.10.
#[test]
fn c36_many_small_lines_add_up_exactly_whatever_the_partitions() {
    let site = Site::new();
    site.reference("rates", "price,currency\n10,USD\n");
    let mut csv = "id,account,start,end,gpus\n".to_owned();
    for n in 0..43_200_i64 {
        let at = |s: i64| chrono::DateTime::from_timestamp(1_772_409_600 + s, 0).unwrap().to_rfc3339();
        writeln!(csv, "{n},a{},{},{},1", n % 7, at(n * 36), at(n * 36 + 36)).unwrap();
    }
    site.jobs(&csv);
    let month = ["report", "charge", "--month", "2026-03", "--zone", "UTC"];
    let lines = site.table(&[&month[..], &["--by", "job"]].concat());
    assert!(lines.rows.len() == 43_200 && lines.column("charge").iter().all(|c| *c == "0.10"));
    assert_eq!(lines.sum("charge"), decimal("4320.00"));

    let mut first = None;
    for run in 0..20 {
        let config = site.file("partitions.toml", format!("partitions = {}\n", 1 + run % 16));
        let text = site.ok(&[&month[..], &["--by", "account", "--step", "day", "--config", &config]].concat());
        assert!(text.contains("4,320.00 USD"), "{text}");
        assert_eq!(first.get_or_insert_with(|| text.clone()), &text, "run {run}");
    }
}

#[test]
fn c36_prices_are_exact_to_their_last_digit() {
    for (price, hours, expected) in
        [("120.50", 8, "964.00"), ("0.000001", 5_000, "0.01"), ("999999.999999", 9_999, "9998999999.99")]
    {
        let site = Site::billed("UTC", "USD");
        site.price(price);
        let end = chrono::DateTime::parse_from_rfc3339("2026-03-02T00:00:00Z").unwrap() + chrono::Duration::hours(1);
        let end = end.to_rfc3339();
        site.jobs(&table_of(&[("a", "2026-03-02T00:00:00Z", &end, hours)]));
        assert_eq!(charge(&site, &MARCH).one("charge"), expected, "{price} x {hours}");
    }
    let site = Site::billed("UTC", "USD");
    for price in ["1.0000001", "1e3", "-1", "NaN", "12,5", "99999999999999999999999999999999999999", ""] {
        let file = site.file("rates.csv", format!("price,model\n\"{price}\",x\n"));
        site.run(&["rates", "import", &file]).fails(1, &["rates.csv, line 2, column `price`"]);
    }
}

#[test]
fn c38_a_price_changes_at_local_midnight() {
    let site = Site::billed("Asia/Shanghai", "CNY");
    site.price("10");
    all_march(&site);
    let first_half = ["--from", "2026-03-01", "--to", "2026-03-15"];
    assert_eq!(charge(&site, &first_half).one("charge"), "3360.00");
    assert_eq!(charge(&site, &MARCH).one("charge"), "7440.00");

    let told = site.reference("rates", "price,from\n12,2026-03-15\n");
    assert!(told.contains("ended: "), "the open price is ended, not edited: {told}");
    assert_eq!(charge(&site, &MARCH).one("charge"), "8256.00");
    assert_eq!(charge(&site, &first_half).one("charge"), "3360.00", "known late, and the first half stays");
    let steps = charge(&site, &["--month", "2026-03", "--step", "day"]);
    assert_eq!(steps.get(&[("day", "2026-03-14")], "charge"), "240.00");
    assert_eq!(steps.get(&[("day", "2026-03-15")], "charge"), "288.00");
    let list = site.table(&["rates", "list"]);
    assert_eq!((list.column("price"), list.rows.len()), (vec!["10", "12"], 2));

    // a price that has started cannot be given another value in place
    let file = site.file("edit.csv", "price,from\n13,2026-03-15\n");
    site.run(&["rates", "import", &file]).fails(1, &["edit.csv, line 2"]);
    assert_eq!(charge(&site, &MARCH).one("charge"), "8256.00");
}

#[test]
fn c42_a_price_of_one_is_one() {
    let site = Site::billed("UTC", "USD");
    site.reference("rates", "team,task_type,pool,model,tier,price\n,,,,,1\n,unknown,,,,1\n,,default,,,1.00\n");
    site.jobs(&table_of(&[("a", "2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z", 1)]));
    assert_eq!(charge(&site, &MARCH).one("charge"), "1.00");
}

#[test]
fn c42_a_model_without_a_price_is_listed_and_not_free() {
    let site = Site::billed("UTC", "USD");
    site.reference("rates", "model,price\nNVIDIA A100,10\n");
    site.sacct(
        "UTC",
        "JobID|Account|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|a|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T02:00:00|gres/gpu:NVIDIA A100=1|n1\n\
         2|a|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T03:00:00|gres/gpu:NVIDIA H200 NVL=1|n2\n",
    );
    let models = charge(&site, &["--month", "2026-03", "--by", "model"]);
    assert_eq!(models.get(&[("model", "NVIDIA A100")], "charge"), "20.00");
    assert_eq!(models.get(&[("model", "NVIDIA H200 NVL")], "unpriced_hours"), "3.0000");
    let text = site.ok(&["report", "charge", "--month", "2026-03"]);
    assert!(text.contains("unpriced: 3.0 of the held GPU-hours have no rate"), "{text}");
    let check = site.ok(&["check"]);
    assert!(check.lines().any(|l| l.contains("unpriced") && l.contains("NVIDIA H200 NVL")), "{check}");
}

#[test]
fn c42_eighty_matches_eighty_and_eighty_point_nought() {
    let site = Site::billed("UTC", "USD");
    site.reference("tiers", "tier,memory_min_gib,memory_max_gib\nlarge,80,80\n");
    site.reference("rates", "tier,price\nlarge,7\n");
    site.reference(
        "inventory",
        "cluster,node,model,gpus,memory_gib\nalpha,n1,A,1,80\nalpha,n2,B,1,80.0\nalpha,n3,C,1,80.00\n",
    );
    site.sacct(
        "UTC",
        "JobID|Account|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|a|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T01:00:00|gres/gpu=1|n1\n\
         2|b|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T01:00:00|gres/gpu=1|n2\n\
         3|c|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T01:00:00|gres/gpu=1|n3\n",
    );
    let by = charge(&site, &["--month", "2026-03", "--by", "account,tier"]);
    for account in ["a", "b", "c"] {
        assert_eq!(by.get(&[("account", account), ("tier", "large")], "charge"), "7.00", "{account}");
    }
}

/// Three times 12 000 s at 10.00 are 33.333... each and 100.00 together.
#[test]
fn c43_a_hundred_over_three_teams() {
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    let (from, to) = ("2026-03-02T00:00:00Z", "2026-03-02T03:20:00Z");
    site.jobs(&table_of(&[("c", from, to, 1), ("a", from, to, 1), ("b", from, to, 1)]));
    for _ in 0..3 {
        let lines = charge(&site, &MARCH);
        assert_eq!(lines.column("team"), ["a", "b", "c"]);
        assert_eq!(lines.column("charge"), ["33.34", "33.33", "33.33"], "the odd cent goes to the first by name");
    }
}

/// 81 lines of which the exact total is 23 072.5296.
#[test]
fn c43_many_lines_add_up_to_the_rounded_total() {
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    // 23 072.5296 at 10.00 an hour, in milliseconds, split unevenly
    let total: i64 = 8_306_110_656;
    let mut left = total;
    let mut csv = "id,account,start,end,gpus\n".to_owned();
    for n in 0..81 {
        let part = if n == 80 { left } else { total / 81 + (n - 40) * 700_003 };
        left -= part;
        let at = |ms: i64| chrono::DateTime::from_timestamp_millis(1_772_409_600_000 + ms).unwrap().to_rfc3339();
        writeln!(csv, "{n},t{n:02},{},{},1", at(0), at(part)).unwrap();
    }
    site.jobs(&csv);
    let lines = charge(&site, &MARCH);
    assert_eq!((lines.rows.len(), lines.sum("charge")), (81, decimal("23072.53")));
    let text = site.ok(&["report", "charge", "--month", "2026-03"]);
    assert!(text.contains("charged 23,072.53 USD"), "{text}");
}

/// Inside one hour a run of one A100 ends, one of four H100 begins, and the price of an H100 changes at an odd second: each second has
/// its own count, model and price. 2.00 + 1 033 s x 4 x 10 / 3 600 + 1 367 s x 4 x 12 / 3 600 = 31.7044.
#[test]
fn what_changes_inside_an_hour_is_priced_by_the_second() {
    let site = Site::billed("UTC", "USD");
    let rates = "model,price,from,to\nA100,6,2026-03-01T00:00:00Z,\nH100,10,2026-03-01T00:00:00Z,2026-03-02T10:37:13Z\nH100,12,2026-03-02T10:37:13Z,\n";
    site.reference("rates", rates);
    site.sacct(
        "UTC",
        "JobID|Account|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|a|COMPLETED|2026-03-02T00:00:00|2026-03-02T10:00:00|2026-03-02T10:20:00|gres/gpu:A100=1|n1\n\
         2|a|COMPLETED|2026-03-02T00:00:00|2026-03-02T10:20:00|2026-03-02T11:00:00|gres/gpu:H100=4|n2\n",
    );
    let models = charge(&site, &["--month", "2026-03", "--by", "model"]);
    assert_eq!(
        (models.get(&[("model", "A100")], "charge"), models.get(&[("model", "A100")], "held_hours")),
        ("2.00", "0.3333")
    );
    assert_eq!(
        (models.get(&[("model", "H100")], "charge"), models.get(&[("model", "H100")], "held_hours")),
        ("29.70", "2.6667")
    );
    let lines = site.table(&["statement", "2026-03"]);
    let exact = |price: &str| lines.get(&[("price", price)], "exact").parse::<i128>().unwrap();
    assert_eq!(exact("6.000000"), 1_200_000 * 6_000_000);
    assert_eq!(exact("10.000000"), 4 * 1_033_000 * 10_000_000);
    assert_eq!(exact("12.000000"), 4 * 1_367_000 * 12_000_000);
    assert_eq!(lines.sum("amount"), decimal("31.70"));
}

/// A price is of a GPU-hour and of nothing else: what would be a price of a month is out of bounds, or reads as what it is.
#[test]
fn a_price_has_one_unit() {
    let site = Site::billed("UTC", "USD");
    let file = site.file("rates.csv", "price\n1000001\n");
    site.run(&["rates", "import", &file]).fails(1, &["rates.csv, line 2, column `price`"]);
    let file = site.file("rates.csv", "price_per_month\n1460\n");
    site.run(&["rates", "import", &file]).fails(1, &["price_per_month"]);
    site.price("2");
    site.jobs(&table_of(&[("a", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z", 1)]));
    assert_eq!(charge(&site, &MARCH).one("charge"), "48.00", "24 hours, and not 24 / 730 months");
}
