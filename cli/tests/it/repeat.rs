//! Importing again, overlapping, or in another order changes nothing (L6); and a lake can be asked as of before.

use crate::site::Site;

const HEADER: &str =
    "JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|AllocTRES|Timelimit|NodeList|JobName\n";

/// A record of accounting on 2 March 2026.
fn record(id: &str, who: &str, state: &str, start: &str, end: &str, gpus: u32) -> String {
    let at = |t: &str| if t.contains(':') { format!("2026-03-{t}:00") } else { t.to_owned() };
    let (start, end) = (at(start), at(end));
    let nodes = if start == "Unknown" { "None assigned" } else { "n1" };
    let tres = if start == "Unknown" { String::new() } else { format!("cpu=4,gres/gpu={gpus},node=1") };
    format!(
        "{id}|{who}|{who}-lab|train|normal|{state}|2026-03-01T08:00:00|2026-03-01T08:00:00|{start}|{end}|{tres}|1-00:00:00|{nodes}|job{id}\n"
    )
}

/// Three overlapping looks at one cluster, each later than the one before.
fn looks() -> [(&'static str, &'static str, String); 3] {
    let first = [
        record("1", "ann", "COMPLETED", "01T09:00", "01T12:00", 2),
        record("2", "bob", "RUNNING", "01T10:00", "Unknown", 4),
        record("3", "cyd", "PENDING", "Unknown", "Unknown", 1),
    ];
    let second = [
        record("1", "ann", "COMPLETED", "01T09:00", "01T12:00", 2),
        record("2", "bob", "REQUEUED", "01T10:00", "02T08:00", 4),
        record("3", "cyd", "RUNNING", "02T06:00", "Unknown", 1),
    ];
    let third = [
        record("2", "bob", "REQUEUED", "01T10:00", "02T08:00", 4),
        record("3", "cyd", "TIMEOUT", "02T06:00", "03T06:00", 1),
        record("4", "ann", "COMPLETED", "03T01:00", "03T01:00", 8),
    ];
    [
        ("first.txt", "2026-03-01T18:00:00Z", first),
        ("second.txt", "2026-03-02T12:00:00Z", second),
        ("third.txt", "2026-03-03T12:00:00Z", third),
    ]
    .map(|(name, as_of, rows)| (name, as_of, format!("{HEADER}{}", rows.concat())))
}

fn look(site: &Site, n: usize) {
    let (name, as_of, text) = &looks()[n];
    let file = site.file(name, text);
    let done = site.run(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", "--as-of", as_of, &file]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:#?}");
}

fn priced() -> Site {
    let site = Site::billed("Asia/Kolkata", "INR");
    site.price("123.45");
    site.reference(
        "owners",
        "kind,value,team,share_percent\naccount,ann-lab,red,60\naccount,ann-lab,blue,40\naccount,*,{value},\n",
    );
    site
}

/// Every report there is, as bytes.
fn everything(site: &Site) -> Vec<String> {
    let month = ["--month", "2026-03", "--format", "csv"];
    let report = |kind: &str, by: &[&str]| site.ok(&[&["report", kind][..], &month, by].concat());
    vec![
        report("accounting", &["--by", "user,state", "--step", "day"]),
        report("usage", &["--by", "job,user", "--step", "day"]),
        report("charge", &["--by", "team,account", "--step", "day"]),
        report("gaps", &["--by", "job,team"]),
        site.ok(&["report", "charge", "--month", "2026-03"]),
        site.sql("SELECT * FROM usage ORDER BY unit_id, cell, holder, from_ms").rows.concat().join(","),
        site.ok(&["check"]).lines().skip(1).collect::<Vec<_>>().join("\n"),
    ]
}

#[test]
fn l6_order_repetition_and_moments_of_ingest_change_nothing() {
    let expected = priced();
    (0..3).for_each(|n| look(&expected, n));
    let expected = everything(&expected);
    assert!(expected[4].contains("INR"), "{}", expected[4]);
    for order in [&[2, 1, 0][..], &[1, 0, 2], &[0, 0, 1, 1, 2, 0], &[2, 0, 1, 2, 1, 0]] {
        let site = priced();
        for n in order {
            look(&site, *n);
            // in between the ledger is built, so that it is mended rather than made
            site.ok(&["ingest"]);
        }
        assert_eq!(everything(&site), expected, "order {order:?}");
    }
    // all at once, from the inbox
    let site = priced();
    for n in [1, 2, 0, 1] {
        let (name, as_of, text) = &looks()[n];
        let file = site.file(name, text);
        let args = ["import", "sacct", "--cluster", "alpha", "--zone", "UTC", "--as-of", as_of, "--no-ingest", &file];
        site.ok(&args);
    }
    site.ok(&["ingest"]);
    assert_eq!(everything(&site), expected, "at once");
}

/// Files given together are one import; a file twice, or under another name, adds nothing.
#[test]
fn l6_a_file_twice_in_one_command() {
    let text = format!(
        "{HEADER}{}{}",
        record("1", "ann", "COMPLETED", "01T09:00", "01T12:00", 2),
        record("2", "bob", "FAILED", "01T10:00", "01T13:00", 1)
    );
    let (once, twice) = (priced(), priced());
    let file = once.file("a.txt", &text);
    once.ok(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", &file]);
    let (a, b) = (twice.file("a.txt", &text), twice.file("b.txt", &text));
    twice.ok(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", &a, &a, &b]);
    twice.ok(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", &b]);
    assert_eq!(everything(&twice), everything(&once));
}

/// A lake keeps what it knew: a report as of an earlier cut is the report that was made then.
#[test]
fn history_can_be_asked_as_of_a_version() {
    let site = priced();
    let report = |site: &Site, cut: &[&str]| site.ok(&[&["report", "charge", "--month", "2026-03"][..], cut].concat());
    let cut_of = |site: &Site| {
        let check = site.ok(&["check"]);
        check.lines().next().unwrap().strip_prefix("checks of cut ").unwrap().to_owned()
    };
    look(&site, 0);
    let (before, cut) = (report(&site, &[]), cut_of(&site));
    look(&site, 2);
    let after = report(&site, &[]);
    assert_ne!(before, after);
    assert_eq!(report(&site, &["--cut", &cut]), before);
    assert_eq!(report(&site, &["--cut", &cut_of(&site)]), after);
    let runs = ["sql", "SELECT count(*) AS n FROM allocation", "--format", "csv"];
    assert_eq!((site.ok(&[&runs[..], &["--cut", &cut]].concat()), site.ok(&runs)), ("n\n2\n".into(), "n\n5\n".into()));
    site.run(&["check", "--cut", "999"]).fails(1, &["999"]);
}
