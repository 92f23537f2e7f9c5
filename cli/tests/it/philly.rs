//! Microsoft's Philly trace: a month of teams at scale, to the cent.

use std::collections::BTreeMap;

use crate::site::{Site, example, shared, text_of};
use crate::table::{Table, decimal, four_places};

/// October 2017 in UTC, in seconds.
const OCTOBER: (i64, i64) = (1_506_816_000, 1_509_494_400);

/// Card-seconds inside October by virtual cluster: a plain loop over the lines of the file.
fn exact(path: &str) -> BTreeMap<String, i128> {
    let mut out: BTreeMap<String, i128> = BTreeMap::new();
    for row in Table::read(&text_of(path)).rows {
        let start = chrono::NaiveDateTime::parse_from_str(&row[0], "%Y-%m-%d %H:%M:%S").unwrap().and_utc().timestamp();
        let (seconds, part) = row[1].split_once('.').unwrap();
        assert_eq!(part.trim_matches('0'), "", "whole seconds: {row:?}");
        let end = start + seconds.parse::<i64>().unwrap();
        let inside = end.min(OCTOBER.1) - start.max(OCTOBER.0);
        if inside > 0 {
            *out.entry(row[4].clone()).or_default() += i128::from(inside) * row[2].parse::<i128>().unwrap();
        }
    }
    out
}

#[test]
fn philly_october_by_team_to_the_cent() {
    let Some(folder) = shared("philly_october_by_team_to_the_cent", "data/philly-vc-jobs") else { return };
    let (map, jobs) = (example("maps/philly.toml"), format!("{folder}/philly_jobs.csv.gz"));
    let site = Site::billed("UTC", "USD");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.price("10.00");
    site.ok(&["import", "jobs", "--cluster", "philly", "--map", &map, &jobs]);
    let month = ["--month", "2017-10", "--by", "team"];

    let exact = exact(&jobs);
    let all: i128 = exact.values().sum();
    assert_eq!(four_places(all, 3_600), "442067.6128");
    let charge = site.table(&[&["report", "charge"][..], &month].concat());
    assert_eq!(charge.rows.len(), 11, "eleven teams ran then");
    let mut cents = 0;
    for (team, seconds) in &exact {
        assert_eq!(charge.get(&[("team", team)], "held_hours"), four_places(*seconds, 3_600), "{team}");
        // 10.00 an hour is 5/18 of a cent times 100 a second: a line may be one cent off its own rounding, no more
        let line = decimal(charge.get(&[("team", team)], "charge")) / 100;
        assert!((line * 3_600 - seconds * 1_000).abs() < 3_600, "{team}: {line} cents for {seconds} s");
        cents += line;
    }
    assert_eq!(cents, (all * 1_000 * 2 + 3_600) / 7_200, "lines add up to the total, rounded once");
    assert_eq!(charge.sum("unpriced_hours"), 0);

    let reference = Table::read(&text_of(&format!("{folder}/reference_by_vc.csv")));
    for row in &reference.rows {
        let published = &row[reference.at("gpu_hours_run_inside_2017_10_if_started_at_submit")];
        match row[0].as_str() {
            "TOTAL" => assert_eq!(published, "442067.6128"),
            team if published == "0.0000" => assert_eq!(charge.find(&[("team", team)], "held_hours"), None),
            team => assert_eq!(charge.get(&[("team", team)], "held_hours"), published, "{team}"),
        }
    }
    let usage = site.table(&["report", "usage", "--month", "2017-10"]);
    assert_eq!((usage.one("held_hours"), usage.one("capacity_hours")), ("442067.6128", "442067.6128"));
    assert_eq!(
        usage.one("held_unmeasured_hours"),
        "442067.6128",
        "a trace without measurements is neither busy nor idle"
    );
}
