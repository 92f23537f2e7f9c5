//! Cases of what words mean: parts of cards, idle pools, held against used (C13, C41, C48).

use crate::case_time::table_of;
use crate::site::Site;

/// A job table with an average, a limit and a submit time of its own.
const MEASURED_MAP: &str = r#"
source = "measured"
[time]
submit = { column = "submit", format = "rfc3339" }
start = { column = "start", format = "rfc3339" }
end = { column = "end", format = "rfc3339" }
[job]
id = "id"
account = "account"
[granted]
gpus = "gpus"
[asked]
gpus = "gpus"
time_limit = { column = "limit_s", unit = "s" }
[[average]]
measure = "gpu_util"
column = "util"
unit = "percent"
"#;

fn measured(rows: &str) -> Site {
    let site = Site::billed("UTC", "CNY");
    site.price("10");
    let map = site.file("measured.toml", MEASURED_MAP);
    let jobs = site.file("measured.csv", format!("id,account,submit,start,end,gpus,limit_s,util\n{rows}"));
    site.ok(&["import", "jobs", "--cluster", "alpha", "--map", &map, &jobs]);
    site
}

/// Seven slices of a card for a day are one card for a day.
#[test]
fn c13_seven_slices_are_one_card() {
    let site = Site::billed("UTC", "CNY");
    site.price("10");
    site.reference("inventory", "cluster,node,model,gpus,declared_up\nalpha,n1,H100-80GB,1,true\n");
    let mut text = "JobID|State|Submit|Start|End|AllocTRES|NodeList\n".to_owned();
    for job in 1..=7 {
        text.push_str(&format!(
            "{job}|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-03T00:00:00|gres/gpu:1g.10gb=1|n1\n"
        ));
    }
    site.sacct("UTC", &text);
    let month = ["--from", "2026-03-02", "--to", "2026-03-03"];
    let usage = site.table(&[&["report", "usage", "--by", "job"][..], &month].concat());
    assert_eq!(usage.rows.iter().filter(|r| r[usage.at("job")] != "-").count(), 7);
    for job in 1..=7 {
        assert_eq!(usage.get(&[("job", &job.to_string())], "held_hours"), "3.4286");
    }
    let all = site.table(&[&["report", "usage", "--by", "cluster"][..], &month].concat());
    assert_eq!((all.one("held_hours"), all.one("capacity_hours")), ("24.0000", "24.0000"));
    assert_eq!((all.one("unallocated_hours"), all.one("conflict_hours")), ("0.0000", "0.0000"));
    let charge = site.table(&[&["report", "charge", "--by", "cluster"][..], &month].concat());
    assert_eq!(charge.one("charge"), "240.00");
    assert!(!site.ok(&["check"]).contains("VIOLATED"));
}

/// Compute slices are the measure: 3g.40gb is three sevenths, although it has half of the memory.
#[test]
fn c13_a_slice_counts_by_compute() {
    let site = Site::new();
    site.sacct(
        "UTC",
        "JobID|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T07:00:00|gres/gpu:3g.40gb=1|n1\n",
    );
    let usage = site.table(&["report", "usage", "--month", "2026-03", "--zone", "UTC"]);
    assert_eq!(usage.one("held_hours"), "3.0000");
}

/// 2.7 idle GPU-hours at 10 are 27.00 that nobody used and that stay visible.
#[test]
fn c41_an_idle_pool_stays_visible() {
    let site = Site::billed("UTC", "CNY");
    site.price("10");
    site.reference(
        "inventory",
        "cluster,node,model,gpus,declared_up,from,to\n\
         alpha,n1,H100,1,true,2026-03-02T00:00:00Z,2026-03-02T02:42:00Z\n",
    );
    site.jobs(&table_of(&[("a", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z", 0)]));
    let charge = site.table(&["report", "charge", "--month", "2026-03", "--by", "cluster"]);
    assert_eq!((charge.one("unallocated_hours"), charge.one("unallocated_cost")), ("2.7000", "27.00"));
    assert_eq!(charge.one("charge"), "0.00");
    let text = site.ok(&["report", "charge", "--month", "2026-03"]);
    assert!(text.contains("unallocated 27.00 CNY") && text.contains("= fleet 27.00 CNY"), "{text}");
}

#[test]
fn c41_a_cluster_without_gpus_costs_nothing() {
    let site = Site::billed("UTC", "CNY");
    site.price("10");
    site.jobs(&table_of(&[("a", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z", 0)]));
    let text = site.ok(&["report", "charge", "--month", "2026-03"]);
    assert!(text.contains("= fleet 0.00 CNY"), "{text}");
    assert_eq!(site.table(&["report", "charge", "--month", "2026-03"]).sum("charge"), 0);
    assert!(!site.ok(&["check"]).contains("VIOLATED"));
}

#[test]
fn c41_what_nobody_reports_is_idle_not_absent() {
    let site = Site::new();
    site.reference(
        "inventory",
        "cluster,node,model,gpus,declared_up,from\nalpha,n1,H100,8,true,2026-03-02T00:00:00Z\n",
    );
    site.sacct(
        "UTC",
        "JobID|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T10:00:00|gres/gpu=1|n1\n",
    );
    let usage = site.table(&["report", "usage", "--month", "2026-03", "--zone", "UTC"]);
    let of = |column: &str| usage.one(column);
    assert_eq!((of("held_hours"), of("unallocated_hours"), of("capacity_hours")), ("10.0000", "70.0000", "80.0000"));
}

#[test]
fn c48_held_is_not_used() {
    let site = measured("1,a,2026-03-02T00:00:00Z,2026-03-02T00:00:00Z,2026-03-02T01:00:00Z,1,3600,50\n");
    let gaps = site.table(&["report", "gaps", "--month", "2026-03", "--by", "account"]);
    assert_eq!((gaps.one("held_hours"), gaps.one("effective_hours")), ("1.0000", "0.5000"));
    let accounting = site.table(&["report", "accounting", "--month", "2026-03"]);
    assert_eq!(accounting.one("wall_hours"), "1.0000", "an hour is 3 600 s, whatever was used");
}

#[test]
fn c48_a_mean_is_weighted_by_time() {
    let site = measured(
        "1,a,2026-03-02T00:00:00Z,2026-03-02T00:00:00Z,2026-03-02T01:00:00Z,1,3600,90\n\
         2,a,2026-03-03T00:00:00Z,2026-03-03T00:00:00Z,2026-03-07T03:00:00Z,1,360000,10\n",
    );
    let gaps = site.table(&["report", "gaps", "--month", "2026-03", "--by", "account"]);
    assert_eq!((gaps.one("held_hours"), gaps.one("effective_hours")), ("100.0000", "10.8000"));
    assert_eq!(gaps.one("effective_share"), "0.108000");
}

#[test]
fn c48_jobs_that_die_early_cost_what_they_held() {
    let rows: String = (1..=4)
        .map(|n| format!("{n},a,2026-03-02T00:00:00Z,2026-03-02T00:00:00Z,2026-03-02T00:02:00Z,8,14400,0\n"))
        .collect();
    let site = measured(&rows);
    let gaps = site.table(&["report", "gaps", "--month", "2026-03", "--by", "account"]);
    assert_eq!((gaps.one("held_hours"), gaps.one("time_limit_gap_gpu_hours")), ("1.0667", "126.9333"));
    assert_eq!((gaps.one("charge"), gaps.one("runs")), ("10.67", "4"));
}

#[test]
fn c48_waiting_is_neither_held_nor_charged() {
    let site = measured("1,a,2026-03-02T00:00:00Z,2026-03-02T05:00:00Z,2026-03-02T06:00:00Z,1,3600,50\n");
    let accounting = site.table(&["report", "accounting", "--month", "2026-03"]);
    assert_eq!((accounting.one("wait_from_submit_hours"), accounting.one("gpu_hours")), ("5.0000", "1.0000"));
    assert_eq!(site.table(&["report", "usage", "--month", "2026-03"]).one("capacity_hours"), "1.0000");
    assert_eq!(site.table(&["report", "charge", "--month", "2026-03"]).one("charge"), "10.00");
}
