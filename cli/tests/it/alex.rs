//! ClusterCockpit's job table with measured averages: allocated, effective and the gap by project.

use crate::site::{Site, example, shared, text_of};
use crate::table::{Table, decimal};

#[test]
fn alex_allocated_effective_and_gap_by_project() {
    let Some(folder) = shared("alex_allocated_effective_and_gap_by_project", "data/alex-gpu-jobs") else { return };
    let (map, jobs) = (example("maps/alex.toml"), format!("{folder}/jobs.csv"));
    let site = Site::billed("UTC", "EUR");
    site.price("1");
    site.ok(&["import", "jobs", "--cluster", "alex", "--map", &map, &jobs]);
    let window = ["--from", "2023-02-07", "--to", "2023-02-11"];

    let gaps = site.table(&[&["report", "gaps"][..], &window, &["--by", "account"]].concat());
    let reference = Table::read(&text_of(&format!("{folder}/reference_by_project.csv")));
    assert_eq!((gaps.rows.len(), reference.rows.len()), (23, 24));
    for row in reference.rows.iter().filter(|r| r[0] != "TOTAL") {
        let ours = |column: &str| gaps.get(&[("account", &row[0])], column);
        let theirs = |column: &str| row[reference.at(column)].as_str();
        let (held, effective) = (ours("held_hours"), ours("effective_hours"));
        assert_eq!(ours("runs"), theirs("jobs"), "{row:?}");
        assert_eq!(ours("gpus_granted"), theirs("gpus_requested_sum"), "{row:?}");
        assert_eq!(held, theirs("gpu_hours_allocated"), "{row:?}");
        // milliseconds of effective time are floored cell by cell: a ten-thousandth of an hour at most
        assert!((decimal(effective) - decimal(theirs("gpu_hours_effective"))).abs() <= 1, "{effective} for {row:?}");
        assert!((decimal(ours("gap_hours")) - decimal(held) + decimal(effective)).abs() <= 1, "{row:?}");
        // ours has six decimals
        let share = decimal(&ours("effective_share")[..6]);
        assert!((share - decimal(theirs("effective_share"))).abs() <= 1, "{share} for {row:?}");
    }
    totals(&site, &window);
}

fn totals(site: &Site, window: &[&str]) {
    let of = |by: &str| site.table(&[&["report", "gaps"][..], window, &["--by", by]].concat());
    let all = of("cluster");
    assert_eq!((all.one("held_hours"), all.one("effective_hours"), all.one("runs")), ("3980.0372", "2859.8816", "303"));
    let by_model = of("model");
    for (model, held, effective) in
        [("a40", "2175.3683", "1453.4448"), ("a100", "1152.6667", "868.7726"), ("a100m80", "652.0022", "537.6642")]
    {
        let ours = |column: &str| by_model.get(&[("model", model)], column);
        assert_eq!((ours("held_hours"), ours("effective_hours")), (held, effective), "{model}");
    }
    // an average tells what was effective, not which minutes were busy
    let usage = site.table(&[&["report", "usage"][..], window].concat());
    assert_eq!((usage.one("held_unmeasured_hours"), usage.one("busy_hours")), ("3980.0372", "0.0000"));
}
