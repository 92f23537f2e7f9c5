//! Cases of time: period edges, local days, clock changes, sums of ranges (C22, C28, C29, C30).

use crate::site::Site;
use crate::table::{Table, decimal};

/// A job table from (account, start, end, GPUs).
pub(crate) fn table_of(rows: &[(&str, &str, &str, u32)]) -> String {
    let mut csv = "id,account,start,end,gpus\n".to_owned();
    for (n, (account, start, end, gpus)) in rows.iter().enumerate() {
        csv.push_str(&format!("{n},{account},{start},{end},{gpus}\n"));
    }
    csv
}

fn held(site: &Site, window: &[&str]) -> String {
    let usage = site.table(&[&["report", "usage"][..], window].concat());
    if usage.rows.is_empty() { "none".to_owned() } else { usage.one("held_hours").to_owned() }
}

#[test]
fn c22_a_job_over_a_period_edge_is_split_at_the_edge() {
    let site = Site::billed("Asia/Shanghai", "CNY");
    site.price("10");
    site.jobs(&table_of(&[
        ("a", "2026-03-31T20:00:00+08:00", "2026-04-01T04:00:00+08:00", 8),
        ("b", "2026-07-31T12:00:00+08:00", "2026-08-01T15:00:00+08:00", 1),
    ]));
    assert_eq!(held(&site, &["--month", "2026-03"]), "32.0000");
    assert_eq!(held(&site, &["--month", "2026-04"]), "32.0000");
    assert_eq!(held(&site, &["--from", "2026-03-01", "--to", "2026-05-01"]), "64.0000");
    assert_eq!(held(&site, &["--month", "2026-03", "--zone", "UTC"]), "64.0000", "by UTC months it is another split");
    assert_eq!(held(&site, &["--month", "2026-04", "--zone", "UTC"]), "none");
    let charge = |month: &str| site.table(&["report", "charge", "--month", month]).one("charge").to_owned();
    assert_eq!((charge("2026-03"), charge("2026-04")), ("320.00".to_owned(), "320.00".to_owned()));
    assert_eq!(held(&site, &["--month", "2026-07"]), "12.0000");
    assert_eq!(held(&site, &["--month", "2026-08"]), "15.0000");
    assert_eq!(held(&site, &["--from", "2026-08-01", "--to", "2026-08-02"]), "15.0000", "once, and on the first");
}

#[test]
fn c28_a_day_is_the_zones_own_and_a_bound_has_an_offset_or_is_local() {
    let site = Site::new();
    site.jobs(&table_of(&[("a", "2026-03-31T16:30:00Z", "2026-03-31T17:30:00Z", 1)]));
    let days = |zone: &str| {
        let window = ["--from", "2026-03-30", "--to", "2026-04-03", "--step", "day", "--zone", zone];
        let usage = site.table(&[&["report", "usage"][..], &window].concat());
        usage.column("day").join(" ")
    };
    assert_eq!(days("Asia/Shanghai"), "2026-04-01");
    assert_eq!(days("UTC"), "2026-03-31");

    let zone = ["--zone", "Asia/Shanghai"];
    let from = |from: &str, to: &str| held(&site, &[&["--from", from, "--to", to][..], &zone].concat());
    assert_eq!(from("2026-04-01", "2026-05-01"), "1.0000", "the month starts at 2026-03-31T16:00Z");
    assert_eq!(from("2026-03-31T16:00:00Z", "2026-04-30T16:00:00Z"), "1.0000");
    assert_eq!(from("2026-04-01T00:00:00+08:00", "2026-05-01T00:00:00+08:00"), "1.0000");
    assert_eq!(from("2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z"), "none");
    let naive = ["report", "usage", "--from", "2026-04-01 00:00:00", "--to", "2026-05-01", "--zone", "UTC"];
    site.run(&naive).fails(2, &["2026-04-01 00:00:00"]);
}

#[test]
fn c29_days_of_23_and_25_hours() {
    let site = Site::billed("Europe/Brussels", "EUR");
    site.price("10");
    site.sacct(
        "Europe/Brussels",
        "JobID|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|COMPLETED|2026-02-28T23:00:00|2026-03-01T00:00:00|2026-04-01T00:00:00|gres/gpu=1|n1\n\
         2|COMPLETED|2026-09-30T23:00:00|2026-10-01T00:00:00|2026-11-01T00:00:00|gres/gpu=1|n1\n",
    );
    for (month, hours, day, length) in
        [("2026-03", "743.0000", "2026-03-29", "23.0000"), ("2026-10", "745.0000", "2026-10-25", "25.0000")]
    {
        assert_eq!(held(&site, &["--month", month]), hours);
        let days = site.table(&["report", "usage", "--month", month, "--step", "day"]);
        assert_eq!(days.rows.len(), 31);
        assert_eq!(days.get(&[("day", day)], "held_hours"), length);
        let others = days.rows.iter().filter(|r| r[days.at("day")] != day);
        assert!(others.map(|r| &r[days.at("held_hours")]).all(|h| h == "24.0000"));
    }
    let charge = site.table(&["report", "charge", "--month", "2026-10"]);
    assert_eq!(charge.one("charge"), "7450.00");
}

#[test]
fn c29_both_half_past_two_fall_on_the_25th_of_october() {
    let site = Site::new();
    site.jobs(&table_of(&[
        ("first", "2026-10-25T02:30:00+02:00", "2026-10-25T02:45:00+02:00", 1),
        ("second", "2026-10-25T02:30:00+01:00", "2026-10-25T02:45:00+01:00", 1),
    ]));
    let window = ["--month", "2026-10", "--zone", "Europe/Brussels", "--step", "day", "--by", "account"];
    let days = site.table(&[&["report", "usage"][..], &window].concat());
    assert_eq!((days.column("day"), days.column("held_hours")), (vec!["2026-10-25"; 2], vec!["0.2500"; 2]));
}

#[test]
fn c30_single_days_add_up_to_their_range_in_every_zone() {
    let site = Site::billed("UTC", "USD");
    site.price("12");
    let mut rows = Vec::new();
    for n in 0..40_u32 {
        // 2025-01-05 18:00 on, of many lengths, over every midnight in question; in steps of 6 min, which are 0.1 h
        let at = |minutes: u32| {
            let start = chrono::DateTime::parse_from_rfc3339("2025-01-05T18:00:00Z").unwrap();
            (start + chrono::Duration::minutes(i64::from(minutes))).to_rfc3339()
        };
        rows.push((format!("a{}", n % 3), at(n * 174), at(n * 174 + 36 + n * 18), 1 + n % 4));
    }
    let rows: Vec<(&str, &str, &str, u32)> =
        rows.iter().map(|(a, s, e, g)| (a.as_str(), s.as_str(), e.as_str(), *g)).collect();
    site.jobs(&table_of(&rows));
    let charge = |zone: &str, from: &str, to: &str, step: &[&str]| -> Table {
        let window = ["report", "charge", "--by", "account", "--zone", zone, "--from", from, "--to", to];
        site.table(&[&window[..], step].concat())
    };
    let days = ["2025-01-06", "2025-01-07", "2025-01-08", "2025-01-09", "2025-01-10", "2025-01-11"];
    for zone in ["Asia/Kolkata", "Asia/Shanghai", "America/Bogota"] {
        let range = charge(zone, days[0], days[5], &[]);
        let by_day = charge(zone, days[0], days[5], &["--step", "day"]);
        let mut single = (0, 0);
        for pair in days.windows(2) {
            let day = charge(zone, pair[0], pair[1], &[]);
            assert!(!day.rows.is_empty(), "{zone} {pair:?}");
            single.0 += day.sum("held_hours");
            single.1 += day.sum("charge");
        }
        assert_eq!((range.sum("held_hours"), range.sum("charge")), single, "{zone}");
        assert_eq!((by_day.sum("held_hours"), by_day.sum("charge")), single, "{zone}");
        assert!(single.1 > decimal("100"));
    }
}

#[test]
fn c30_a_month_is_labelled_as_its_own_zone_calls_it() {
    let site = Site::new();
    site.jobs(&table_of(&[("a", "2024-12-31T22:00:00Z", "2025-01-01T01:00:00Z", 1)]));
    let window = ["--from", "2024-12-01", "--to", "2025-02-01", "--step", "month", "--zone", "Europe/Budapest"];
    let months = site.table(&[&["report", "usage"][..], &window].concat());
    assert_eq!(months.column("month"), ["2024-12", "2025-01"]);
    assert_eq!(months.column("held_hours"), ["1.0000", "2.0000"]);
    assert_eq!(held(&site, &["--month", "2025-01", "--zone", "Europe/Budapest"]), "2.0000");
}
