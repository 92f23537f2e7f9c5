//! Cases of Slurm: how many GPUs, which record, which id (C21, C23, C26).

use crate::site::Site;

/// A record of one hour with its GPU columns.
fn hour(id: usize, header: &str, cells: &str) -> String {
    format!(
        "JobID|State|Submit|Start|End|NodeList|{header}\n\
         {id}|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|n{id}|{cells}\n"
    )
}

/// Every form in a file of its own, because the columns differ; all in one lake.
#[test]
fn c21_four_gpus_however_they_are_written() {
    let site = Site::new();
    let forms = [
        ("AllocGRES|ReqGRES", "gpu:4|gpu:4"),
        ("AllocTRES|ReqTRES|ReqGRES", "cpu=8,gres/gpu=4,node=1|cpu=8,gres/gpu=4,node=1|N/A"),
        ("AllocTRES", "billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=64G,node=1"),
        ("AllocTRES", "billing=8,cpu=8,gres/gpu:a100=4,mem=64G,node=1"),
        ("AllocTRES|AllocGRES", "billing=8,cpu=8,mem=64G,node=1|gpu:h100:4(IDX:0-3)"),
        ("AllocTRES", "cpu=8,gres/gpu=4,gres/gpu:nvidia_h200_nvl_4g.71gb=4,node=1"),
    ];
    for (n, (header, cells)) in forms.iter().enumerate() {
        let file = site.file(&format!("form{n}.txt"), hour(n + 1, header, cells));
        site.ok(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", &file]);
    }
    let usage = site.table(&["report", "usage", "--month", "2026-03", "--zone", "UTC", "--by", "job,gpus"]);
    assert_eq!(usage.column("gpus"), ["4"; 6]);
    for (n, (_, cells)) in forms.iter().enumerate() {
        // four instances of four slices of seven are less than four cards
        let hours = if n == 5 { "2.2857" } else { "4.0000" };
        assert_eq!(usage.get(&[("job", &(n + 1).to_string())], "held_hours"), hours, "{cells}");
    }
}

#[test]
fn c21_a_clipped_column_is_an_error_and_no_gpus_are_no_gpu_job() {
    let site = Site::new();
    for clipped in
        ["billing=8,cpu=8,gres/g", "billing=8,cpu=8,gres/gpu", "billing=8,cpu=8,gres/gpu=", "billing=8,cp+", ""]
    {
        let file = site.file("clipped.txt", hour(1, "AllocTRES", clipped));
        let done = site.run(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", &file]);
        done.fails(3, &["clipped.txt:2: AllocTRES: "]);
    }
    site.sacct("UTC", &hour(2, "AllocTRES", "billing=8,cpu=8,gres/gpu=0,mem=64G,node=1"));
    let accounting = site.table(&["report", "accounting", "--month", "2026-03", "--zone", "UTC", "--by", "job,gpus"]);
    assert_eq!((accounting.one("job"), accounting.one("gpus"), accounting.one("gpu_hours")), ("2", "0", "0.0000"));
    let usage = site.table(&["report", "usage", "--month", "2026-03", "--zone", "UTC", "--by", "job"]);
    assert!(usage.rows.is_empty(), "{usage:?}");
}

#[test]
fn c23_an_old_job_of_the_same_id_is_another_job() {
    let site = Site::billed("America/New_York", "USD");
    site.price("10");
    site.sacct(
        "America/New_York",
        "JobID|User|Account|State|Submit|Start|End|AllocTRES|NodeList\n\
         12728301|stranger|old|COMPLETED|2017-05-01T10:00:00|2017-05-01T10:00:00|2017-05-01T12:00:00|gres/gpu=1|x9\n\
         12728301|alice|live|RUNNING|2026-03-02T08:00:00|2026-03-02T08:00:00|Unknown|gres/gpu=2|n1\n\
         7|bob|live|COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T11:00:00|gres/gpu=1|n2\n",
    );
    let charge = site.table(&["report", "charge", "--month", "2026-03", "--by", "job,user,state"]);
    assert_eq!(charge.get(&[("job", "12728301")], "user"), "alice");
    assert_eq!(charge.get(&[("job", "12728301")], "state"), "RUNNING");
    assert_eq!(charge.get(&[("job", "12728301")], "charge"), "60.00", "two GPUs to the as-of, 11:00");
    let old = site.table(&["report", "charge", "--month", "2017-05", "--by", "job,user"]);
    assert_eq!((old.one("user"), old.one("charge")), ("stranger", "20.00"));
    // 08:00 in New York is 13:00 UTC before the clocks change
    let run = site.sql("SELECT start_ms, open FROM run WHERE job_raw = '12728301' AND open");
    assert_eq!(run.one("start_ms"), "1772456400000");
    assert!(site.ok(&["check"]).contains("end not recorded"));
}

#[test]
fn c23_a_naive_time_without_a_zone_is_refused() {
    let site = Site::new();
    let file = site.file("naive.txt", hour(1, "AllocTRES", "gres/gpu=1"));
    let done = site.run(&["import", "sacct", "--cluster", "alpha", &file]);
    done.fails(1, &["line 2 of `naive.txt`", "2026-03-02T10:00:00", "--zone"]);
    assert_eq!(done.out, "");
}

#[test]
fn c26_arrays_and_het_jobs() {
    let site = Site::new();
    let header = "JobID|JobIDRaw|Account|State|Submit|Start|End|AllocTRES|NodeList\n";
    let text = format!(
        "{header}\
         123_[60-89,91-94,96-98]|123|a|PENDING|2026-03-02T08:00:00|Unknown|Unknown||None assigned\n\
         123_4|130|a|RUNNING|2026-03-02T08:00:00|2026-03-02T09:00:00|Unknown|gres/gpu=1|n1\n\
         123_5|131|a|RUNNING|2026-03-02T08:00:00|2026-03-02T09:00:00|Unknown|gres/gpu=1|n1\n\
         500+0|500|h|COMPLETED|2026-03-02T08:00:00|2026-03-02T09:00:00|2026-03-02T10:00:00|gres/gpu=2|n2\n\
         500+1|501|h|COMPLETED|2026-03-02T08:00:00|2026-03-02T09:00:00|2026-03-02T10:00:00|gres/gpu=6|n3\n"
    );
    site.sacct("UTC", &text);
    let check = site.ok(&["check"]);
    let waiting = check.lines().find(|l| l.contains("never started")).unwrap();
    assert!(waiting.contains("37"), "{waiting}");
    let month = ["report", "usage", "--month", "2026-03", "--zone", "UTC", "--by", "account"];
    assert_eq!(site.table(&month).get(&[("account", "h")], "held_hours"), "8.0000", "each component once");
    let het = site.sql("SELECT het_leader, count(*) AS n FROM job WHERE het_leader IS NOT NULL GROUP BY het_leader");
    assert_eq!((het.one("het_leader"), het.one("n")), ("500", "2"));
    assert!(site.ok(&["explain", "130", "--zone", "UTC"]).contains("RUNNING"), "found by its raw id");

    // an hour later 123_4 alone was cancelled
    let later = format!(
        "{header}\
         123_4|130|a|CANCELLED by 0|2026-03-02T08:00:00|2026-03-02T09:00:00|2026-03-02T10:30:00|gres/gpu=1|n1\n\
         123_5|131|a|RUNNING|2026-03-02T08:00:00|2026-03-02T09:00:00|Unknown|gres/gpu=1|n1\n"
    );
    let file = site.file("later.txt", later);
    site.ok(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", "--as-of", "2026-03-02T11:00:00Z", &file]);
    let by_job = ["report", "usage", "--month", "2026-03", "--zone", "UTC", "--by", "job,state"];
    let usage = site.table(&by_job);
    assert_eq!(usage.get(&[("job", "130"), ("state", "CANCELLED")], "held_hours"), "1.5000");
    assert_eq!(usage.get(&[("job", "131"), ("state", "RUNNING")], "held_hours"), "2.0000", "to the new as-of");
}
