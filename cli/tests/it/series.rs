//! Quota against held against queued by team, as a trace publishes it; and series that are wrong.

use crate::site::{Site, example, shared};
use crate::table::{Table, decimal};

/// SenseTime's Helios: 16 teams, each minute of a month, kept as changes.
#[test]
fn helios_quota_held_and_queued_by_team() {
    let Some(folder) = shared("helios_quota_held_and_queued_by_team", "data/helios-earth-vc") else { return };
    let (map, file) = (example("maps/helios.toml"), format!("{folder}/vc_gpu_changes_2020-05.csv.gz"));
    let site = Site::billed("Asia/Shanghai", "CNY");
    let until = ["--as-of", "2020-06-01T00:00:00+08:00"];
    let import = [&["import", "series", "--cluster", "earth", "--map", &map][..], &until, &[&file]].concat();
    assert!(site.ok(&import).contains("25725 points"), "every row is a point");
    let quota = site.table(&["report", "quota", "--month", "2020-05"]);
    let reference = Table::read(&std::fs::read_to_string(format!("{folder}/reference_by_vc.csv")).unwrap());
    assert_eq!(quota.rows.len(), reference.rows.len());
    for row in &reference.rows {
        let team = [("team", row[0].as_str())];
        let published = |column: &str| row[reference.at(column)].as_str();
        for (ours, theirs) in [
            ("quota_hours", "gpu_hours_capacity"),
            ("held_hours", "gpu_hours_allocated"),
            ("spare_hours", "gpu_hours_idle"),
            ("unmet_hours", "gpu_hours_pending_demand"),
        ] {
            assert_eq!(quota.get(&team, ours), published(theirs), "{team:?} {ours}");
        }
        assert_eq!(quota.get(&team, "borrowed_hours"), "0.0000", "nobody held more than the quota");
        // six decimals, rounded half up to the four that are published
        let mean = quota.get(&team, "mean").replace("0.", "").parse::<i128>().unwrap();
        assert_eq!((mean + 50) / 100, decimal(published("mean_of_upstream_gpu_utilization")), "{team:?}");
    }
    assert_eq!(quota.get(&[("team", "vcpDC")], "unmet_hours"), "10422.0833");

    // the same file again is nothing new, and half of the month is its own part
    assert!(site.ok(&import).contains("0 rows new"));
    let halves: i128 = [("2020-05-01", "2020-05-16"), ("2020-05-16", "2020-06-01")]
        .iter()
        .map(|(from, to)| site.table(&["report", "quota", "--from", from, "--to", to]).sum("unmet_hours"))
        .sum();
    let whole = quota.sum("unmet_hours");
    assert!((halves - whole).abs() <= 16, "{halves} {whole}: four decimals of 16 teams");
}

const MAP: &str = "source = \"q\"\n[time]\nzone = \"UTC\"\nat = { column = \"t\", format = \"%Y-%m-%d %H:%M\" }\n\
    [series]\nteam = \"team\"\npool = \"pool\"\nquota = \"quota\"\nheld = \"held\"\nqueued = \"queued\"\n";

fn quota_of(rows: &str, map: &str) -> Table {
    let site = Site::billed("UTC", "CNY");
    let map = site.file("map.toml", map);
    let file = site.file("s.csv", format!("t,team,pool,quota,held,queued\n{rows}"));
    let until = "2026-03-02T10:00:00Z";
    site.ok(&["import", "series", "--cluster", "alpha", "--map", &map, "--as-of", until, &file]);
    site.table(&["report", "quota", "--month", "2026-03"])
}

/// A borrows 4 of a pool's cards for an hour: B and C leave 6 and 2, and lend 3 and 1. D has no quota that anybody told.
#[test]
fn what_one_team_borrows_others_lend() {
    let at = "2026-03-02 09:00";
    let quota = quota_of(&format!("{at},a,p,4,8,2\n{at},b,p,8,2,1\n{at},c,p,4,2,\n{at},d,p,,5,3\n"), MAP);
    let of = |team: &str, column: &str| quota.get(&[("team", team)], column).to_owned();
    for (team, borrowed, lent, spare) in
        [("a", "4.0000", "0.0000", "0.0000"), ("b", "0.0000", "3.0000", "6.0000"), ("c", "0.0000", "1.0000", "2.0000")]
    {
        assert_eq!(
            (of(team, "borrowed_hours"), of(team, "lent_hours"), of(team, "spare_hours")),
            (borrowed.to_owned(), lent.to_owned(), spare.to_owned())
        );
    }
    // not told is not 0
    assert_eq!((of("d", "quota_hours"), of("d", "borrowed_hours"), of("c", "unmet_hours")), Default::default());
    assert_eq!(
        (of("a", "unmet_hours"), of("a", "unmet_in_quota_hours"), of("b", "unmet_in_quota_hours")),
        ("2.0000".to_owned(), "0.0000".to_owned(), "1.0000".to_owned())
    );
}

/// With a step of ten minutes a hole of half an hour is unknown, not a repetition of what stood before it.
#[test]
fn a_hole_in_a_series_with_a_step_is_unknown() {
    let rows = "2026-03-02 09:00,a,p,4,4,0\n2026-03-02 09:10,a,p,4,4,0\n2026-03-02 09:50,a,p,4,4,0\n";
    let with_step = MAP.replace("zone = \"UTC\"", "zone = \"UTC\"\nstep_s = 600");
    assert_eq!(quota_of(rows, &with_step).get(&[("team", "a")], "held_hours"), "2.0000");
    assert_eq!(quota_of(rows, MAP).get(&[("team", "a")], "held_hours"), "4.0000");
}

#[test]
fn a_series_that_cannot_be_read_says_where_and_why() {
    let site = Site::new();
    let map = site.file("map.toml", MAP);
    let file = site
        .file("s.csv", "t,team,pool,quota,held,queued\n2026-03-02 09:00,a,p,4,many,0\n2026-03-02 09:10,a,p,4,4,0\n");
    let import = |map: &str| site.run(&["import", "series", "--cluster", "alpha", "--map", map, &file]);
    import(&map).fails(3, &["s.csv:2", "held", "`many` is no number"]);
    import(&site.file("bad.toml", MAP.replace("queued = ", "queue = "))).fails(1, &["unknown field `queue`"]);
    import(&site.file("zone.toml", MAP.replace("zone = \"UTC\"\n", ""))).fails(1, &["time.at", "no zone"]);
    import(&site.file("column.toml", MAP.replace("\"held\"", "\"helt\""))).fails(1, &["series.held", "helt"]);
}
