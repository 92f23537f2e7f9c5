//! `rates quote`: what it says by hand, and that a run of that time is charged exactly it.

use crate::site::Site;
use crate::table::decimal;

/// Nights of weekdays at 60 %, weekends (Saturday 08:00 to Monday 08:00) at half the price.
const WINDOWS: &str = "name,kind,days,from_time,to_time,percent_of_price\n\
                       night,off_peak,mon-fri,20:00,08:00,60\nweekend,off_peak,\"sat,sun\",08:00,08:00,50\n";

fn site() -> Site {
    let site = Site::billed("Europe/Berlin", "EUR");
    site.reference("rates", "model,price\nNVIDIA H100,3\n");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site
}

/// Bills a run of 8 cards of team x from a Friday 18:00 for three days; gives charge and list price.
fn charged(site: &Site, preemptible: &str) -> String {
    site.sacct(
        "Europe/Berlin",
        &format!(
            "JobID|Account|State|Submit|Start|End|AllocTRES|NodeList|QOS\n\
             1|x|COMPLETED|2026-10-02T18:00:00|2026-10-02T18:00:00|2026-10-05T18:00:00|gres/gpu:NVIDIA H100=8|n1|{preemptible}\n"
        ),
    );
    site.table(&["report", "charge", "--month", "2026-10", "--by", "team"]).get(&[("team", "x")], "charge").to_owned()
}

fn quote(site: &Site, rest: &[&str]) -> crate::table::Table {
    let asked =
        ["rates", "quote", "--gpus", "8", "--model", "NVIDIA H100", "--for", "3d", "--from", "2026-10-02T18:00"];
    site.table(&[&asked[..], &["--team", "x"], rest].concat())
}

#[test]
fn a_weekend_is_quoted_by_interval_and_charged_the_same() {
    let site = site();
    site.reference("discounts", WINDOWS);
    let quoted = quote(&site, &[]);
    assert_eq!(
        quoted.column("from"),
        [
            "2026-10-02T18:00:00+02:00",
            "2026-10-02T20:00:00+02:00",
            "2026-10-03T08:00:00+02:00",
            "2026-10-05T08:00:00+02:00"
        ]
    );
    assert_eq!(quoted.column("gpu_hours"), ["16.0000", "96.0000", "384.0000", "80.0000"]);
    assert_eq!(quoted.column("price"), ["3.00", "1.80", "1.50", "3.00"]);
    assert_eq!(quoted.column("discounts"), ["-", "night", "weekend", "-"]);
    assert_eq!(quoted.column("money"), ["48.00", "172.80", "576.00", "240.00"]);
    assert_eq!(quoted.sum("list"), decimal("1728.00"));
    let text = site.ok(&[
        "rates",
        "quote",
        "--gpus",
        "8",
        "--model",
        "NVIDIA H100",
        "--for",
        "72h",
        "--from",
        "2026-10-02T18:00:00+02:00",
        "--team",
        "x",
    ]);
    assert!(text.contains("cost x 1,036.80 EUR (1,728.00 EUR at list price)"), "{text}");
    assert_eq!(charged(&site, "normal"), "1036.80");
}

#[test]
fn a_price_that_changes_at_an_odd_second_is_quoted_to_the_millisecond() {
    let site = site();
    site.reference("discounts", WINDOWS);
    site.reference("rates", "model,price,from\nNVIDIA H100,3.141593,2026-10-04T12:07:13.217+02:00\n");
    site.reference("rates", "team,price,from\nx,2.718282,2026-10-05T09:59:59.999+02:00\n");
    site.reference("pools", "pool,model\nbig,NVIDIA H100\n");
    let quoted = quote(&site, &[]);
    assert_eq!(quoted.rows.len(), 6);
    assert!(quoted.column("from").contains(&"2026-10-04T12:07:13+02:00"), "{quoted:?}");
    assert!(quoted.column("pool").iter().all(|p| *p == "big"));
    let total = quoted.sum("money");
    assert_eq!(decimal(&charged(&site, "normal")), total);
}

#[test]
fn what_lies_above_the_quota_has_its_own_price() {
    let site = site();
    site.reference("quotas", "team,pool,gpus\nx,default,6\n");
    site.reference("discounts", "name,kind,percent_of_price\nabove,borrowed,110\n");
    let quoted = quote(&site, &[]);
    assert_eq!(quoted.column("above_quota"), ["no", "yes"]);
    // 6 x 72 h x 3.00 and 2 x 72 h x 3.30
    assert_eq!(quoted.column("money"), ["1296.00", "475.20"]);
    assert_eq!(decimal(&charged(&site, "normal")), quoted.sum("money"));
}

#[test]
fn what_has_no_price_is_said_and_in_no_sum() {
    let site = site();
    let text = site.ok(&[
        "rates",
        "quote",
        "--gpus",
        "2",
        "--model",
        "NVIDIA B300",
        "--for",
        "90m",
        "--from",
        "2026-10-02",
        "--team",
        "x",
    ]);
    assert!(text.contains("unpriced: no rate is for 3.0 of these GPU-hours"), "{text}");
    assert!(text.contains("no card `NVIDIA B300` is known"), "{text}");
}

#[test]
fn preemptible_runs_have_their_price() {
    let site = site();
    site.reference("discounts", "name,kind,percent_of_price\nspot,preemptible,25\n");
    assert_eq!(quote(&site, &[]).column("money"), ["1728.00"]);
    assert_eq!(quote(&site, &["--preemptible"]).column("money"), ["432.00"]);
}

#[test]
fn memory_is_an_estimate_with_its_parts() {
    let site = site();
    site.reference("inventory", "cluster,node,model,gpus,memory_gib\nalpha,n1,NVIDIA H100,8,80\n");
    let asked = [
        "rates",
        "quote",
        "--gpus",
        "1",
        "--model",
        "NVIDIA H100",
        "--for",
        "1h",
        "--from",
        "2026-10-02",
        "--team",
        "x",
    ];
    let text = site.ok(&[&asked[..], &["--params", "70b", "--precision", "bf16", "--task", "infer"]].concat());
    // 140 GB of weights, 70 layers of width 8960 and 4096 tokens of cache, a tenth more
    assert!(
        text.contains("estimate: 70000000000 parameters of 16 bits to infer with 4096 x 1 tokens need about 154.0 GiB"),
        "{text}"
    );
    assert!(text.contains("weights 130.4 GiB"), "{text}");
    assert!(text.contains("estimate: 2 x NVIDIA H100 (no tier, 80.0 GiB each; 8 known)"), "{text}");
    site.run(&[&asked[..], &["--params", "70x"]].concat()).fails(2, &["--params `70x`"]);
    site.run(&[&asked[..], &["--params", "7b", "--precision", "bf8"]].concat()).fails(2, &["--precision `bf8`"]);
    site.run(&[&asked[..], &["--context", "10"]].concat()).fails(2, &["--params"]);
}
