//! Lines that cannot be used: each is named by file, line, field and reason, and the good ones beside it go in.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

use crate::site::{Done, PLAIN_MAP, Site};

/// Zone of the accounting: it has a skipped and a doubled hour in 2026.
const ZONE: &str = "Europe/Berlin";
const HEADER: &str = "JobID|State|Submit|Start|End|AllocTRES|NodeList";

/// Good lines, each bad one between two of them.
fn between(header: &str, good: impl Fn(usize) -> String, bad: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("{header}\n{}\n", good(0)).into_bytes();
    for (n, line) in bad.iter().enumerate() {
        out.extend([line, &b"\n"[..], good(n + 1).as_bytes(), b"\n"].concat());
    }
    out
}

/// Every bad line is refused at its line and for its reason, on stderr and in the lake; every good one is in, and
/// nothing else.
#[track_caller]
fn each_costs_itself(site: &Site, done: &Done, file: &str, first_line: usize, says: &[&str]) {
    let mut expected = Vec::new();
    for (n, says) in says.iter().enumerate() {
        let line = first_line + 2 * n;
        done.fails(3, &[&format!("{file}:{line}: {says}")]);
        expected.push(line.to_string());
    }
    assert_eq!(done.err.lines().count(), says.len(), "{}", done.err);
    let aside = site.sql("SELECT line, source, field, reason FROM quarantine ORDER BY line");
    assert_eq!(aside.column("line"), expected);
    for (row, says) in aside.rows.iter().zip(says) {
        let field = if row[2].is_empty() { String::new() } else { format!("{}: ", row[2]) };
        assert!(row[1] == file && format!("{field}{}", row[3]).starts_with(says), "{row:?} for {says}");
    }
}

fn good_record(id: usize) -> String {
    format!("{}|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|gres/gpu=1|n1", 100 + id)
}

#[test]
fn accounting_one_bad_line_costs_itself() {
    let at = |start: &str, end: &str| format!("2|COMPLETED|2026-03-02T09:00:00|{start}|{end}|gres/gpu=1|n1");
    let noon = "2026-03-02T12:00:00";
    let cases = [
        // truncated, and too long
        ("2|COMPLETED|2026-03-02T09:00:00|2026-03-02T10".to_owned(), "4 fields where 7 are expected"),
        (format!("{}|one|more", at(noon, noon)), "9 fields where 7 are expected"),
        (at(noon, noon).replace("COMPLETED", "SLEEPING"), "State: unknown Slurm job state `SLEEPING`"),
        // impossible
        (at("2026-02-30T10:00:00", noon), "Start: `2026-02-30T10:00:00` is no time"),
        (at("2026-03-29T02:30:00", "2026-03-29T04:00:00"), "Start: local time 2026-03-29T02:30:00 does not exist"),
        (at(noon, "9999-01-01T00:00:00"), "End: `9999-01-01T00:00:00` is an impossible time"),
        // ambiguous
        (at("2026-10-25T02:10:00", "2026-10-25T02:20:00"), "End: local time 2026-10-25T02:20:00 is ambiguous"),
        (at(noon, "2026-03-02T11:59:59"), "End: the job ends before it starts"),
        (at(noon, noon).replace("gpu=1", "gpu=many"), "AllocTRES: GPU count `many`"),
        (at(noon, noon).replace("gpu=1", "gpu=-1"), "AllocTRES: GPU count `-1`"),
        (at(noon, noon).replace("gpu=1", "gpu=99999999999999999999"), "AllocTRES: GPU count `99999999999999999999`"),
        (at(noon, noon).replace("2|C", "two|C"), "JobID: "),
        (at(noon, noon).replace("2026-03-02T09:00:00", "Unknown"), "Submit: the record has no submit time"),
        (
            "100|FAILED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T12:00:00|gres/gpu=4|n1".to_owned(),
            "JobID: differs from line 2 of acct.txt, which has the same job id and start",
        ),
    ];
    let site = Site::new();
    let mut bad: Vec<&[u8]> = cases.iter().map(|(line, _)| line.as_bytes()).collect();
    bad.push(b"2|COMPLETED|\xff\xfe|x|y|z|n1");
    let file = site.file("acct.txt", between(HEADER, good_record, &bad));
    let done = site.run(&["import", "sacct", "--cluster", "alpha", "--zone", ZONE, &file]);
    let says: Vec<&str> = cases.iter().map(|(_, says)| *says).chain(["the record is not UTF-8"]).collect();
    each_costs_itself(&site, &done, "acct.txt", 3, &says);
    let held = site.table(&["report", "usage", "--month", "2026-03", "--zone", ZONE, "--by", "job"]);
    assert_eq!((held.rows.len(), held.sum("held_hours")), (bad.len() + 1, 10_000 * (bad.len() as i128 + 1)));
}

/// An hour that the clocks had twice is no riddle where the rest of the record tells which it was.
#[test]
fn accounting_an_ambiguous_hour_is_settled_by_the_elapsed_time() {
    let site = Site::new();
    site.sacct(
        ZONE,
        "JobID|State|Submit|Start|End|Elapsed|AllocTRES|NodeList\n\
         1|COMPLETED|2026-10-25T01:00:00|2026-10-25T01:30:00|2026-10-25T02:30:00|02:00:00|gres/gpu=1|n1\n",
    );
    let usage = site.table(&["report", "usage", "--month", "2026-10", "--zone", ZONE]);
    assert_eq!(usage.one("held_hours"), "2.0000");
}

#[test]
fn accounting_two_files_that_tell_of_one_run_differently() {
    // the first is kept, whichever that is
    let record = |state: &str, gpus: u32| {
        format!("{HEADER}\n1|{state}|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|gres/gpu={gpus}|n1\n")
    };
    let site = Site::new();
    site.sacct(ZONE, &record("COMPLETED", 1));
    let file = site.file("other.txt", record("FAILED", 8));
    let done = site.run(&["import", "sacct", "--cluster", "alpha", "--zone", ZONE, &file]);
    done.fails(3, &["quarantined: ", "allocation: another row with the same key"]);
    let usage = site.table(&["report", "usage", "--month", "2026-03", "--zone", ZONE]);
    assert_eq!(usage.one("held_hours"), "1.0000");
    assert!(site.ok(&["check"]).contains("quarantined"), "and the check lists it");
}

/// Whole files of accounting from which nothing can be read.
#[test]
fn accounting_files_that_say_nothing() {
    let one = "1|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|gres/gpu=1|n1\n";
    let site = Site::new();
    let import = |text: &str, more: &[&str]| {
        let file = site.file("acct.txt", text);
        site.run(&[&["import", "sacct", "--cluster", "alpha", &file][..], more].concat())
    };
    let zone = ["--zone", ZONE];
    import(one, &zone).fails(1, &["acct.txt", "--fields"]);
    import(&format!("JobID|State|Submit|Start|End\n{}", &one[..20]), &zone).fails(1, &["acct.txt", "AllocTRES"]);
    import(&format!("{HEADER}\n{one}"), &["--zone", "Europe/Atlantis"])
        .fails(2, &["unknown time zone `Europe/Atlantis`"]);
    import(&format!("{HEADER}\n{one}"), &["--zone", "UTC", "--fields", "JobID,State"])
        .fails(1, &["acct.txt", "header"]);
    import(&format!("{HEADER}\n{one}"), &["--zone", "UTC", "--as-of", "yesterday"]).fails(2, &["--as-of `yesterday`"]);
    import("", &zone).fails(1, &["acct.txt", "is empty"]);
    import(HEADER, &zone).fails(3, &["acct.txt: the file has no records"]);
    import("{\"jobs\": [{\"job_id\": 1}", &zone).fails(1, &["acct.txt", "--parsable2"]);
    // nothing of all that is in the lake
    let jobs = site.run(&["sql", "SELECT count(*) AS n FROM job", "--format", "csv"]);
    assert!(jobs.out.is_empty() || jobs.out == "n\n0\n", "{jobs:?}");
}

/// A job table with these bad lines in it, imported.
fn job_table(map: &str, bad: &[&[u8]]) -> (Site, Done) {
    let site = Site::new();
    let map = site.file("map.toml", map);
    let good = |id: usize| format!("{},a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1", 100 + id);
    let file = site.file("jobs.csv", between("id,account,start,end,gpus", good, bad));
    let done = site.run(&["import", "jobs", "--cluster", "alpha", "--map", &map, &file]);
    (site, done)
}

#[test]
fn job_table_one_bad_line_costs_itself() {
    let cases: [(&[u8], &str); 12] = [
        (b"2,a,2026-03-02T10:00:00Z", "3 fields where 5 are expected"),
        (b"2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1,extra", "6 fields where 5 are expected"),
        (b"2,\"a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1", "a quote is opened in this record and not closed"),
        (b"2,a,2026-02-30T10:00:00Z,2026-03-02T11:00:00Z,1", "start: `2026-02-30T10:00:00Z`"),
        (b"2,a,2026-03-02T10:00:00,2026-03-02T11:00:00Z,1", "start: `2026-03-02T10:00:00`"),
        (b"2,a,2026-03-02T10:00:00Z,2026-03-02T09:00:00Z,1", "end: the end is before the start"),
        (b"2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,many", "gpus: `many` is no number"),
        (b"2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,-1", "gpus: `-1` is below zero"),
        (b"2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,", "gpus: no number of GPUs"),
        (b",a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1", "id: no job id"),
        (b"100,a,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,8", "id: differs from line 2 of jobs.csv"),
        (b"2,\xff\xfe,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1", "account: bytes that are no UTF-8"),
    ];
    let (bad, says) = (cases.map(|(line, _)| line), cases.map(|(_, says)| says));
    let (site, done) = job_table(PLAIN_MAP, &bad);
    each_costs_itself(&site, &done, "jobs.csv", 3, &says);
    let held = site.table(&["report", "usage", "--month", "2026-03", "--zone", "UTC", "--by", "job"]);
    assert_eq!((held.rows.len(), held.sum("held_hours")), (13, 130_000));
}

#[test]
fn job_table_states_and_local_times() {
    let local = PLAIN_MAP.replace("format = \"rfc3339\"", "format = \"%Y-%m-%dT%H:%M:%SZ\"");
    let (_, done) = job_table(&local, &[]);
    done.fails(1, &["time.start", "no zone"]);
    let map = local
        .replace("[time]", "[time]\nzone = \"Europe/Berlin\"")
        .replace("constant = \"ENDED\"", "column = \"account\"\nwords = { a = \"COMPLETED\" }");
    let (site, done) = job_table(
        &map,
        &[
            b"2,lost,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1",
            b"2,a,2026-03-29T02:30:00Z,2026-12-01T00:00:00Z,1",
            b"2,a,2026-10-25T02:30:00Z,2026-12-01T00:00:00Z,1",
        ],
    );
    let says = [
        "account: unknown state `lost`",
        "start: local time 2026-03-29 02:30:00 does not exist",
        "start: local time 2026-10-25 02:30:00 is ambiguous",
    ];
    each_costs_itself(&site, &done, "jobs.csv", 3, &says);
}

#[test]
fn a_map_that_does_not_fit_stops_before_the_first_record() {
    for (from, to, says) in [
        (
            "account = \"account\"",
            "account = \"acct\"",
            vec!["`job.account`", "`acct`", "jobs.csv", "id, account, start"],
        ),
        ("[job]", "[job]\ncolour = \"red\"", vec!["column map", "colour"]),
        ("\"ENDED\"", "\"OVER\"", vec!["state.constant", "OVER"]),
        ("rfc3339", "rfc9999", vec!["rfc9999"]),
        ("gpus = \"gpus\"", "gpus = { column = \"gpus\", of = 0 }", vec!["`of` must be"]),
        ("[time]", "[time]\nzone = \"Mars/Olympus\"", vec!["time.zone", "Mars/Olympus"]),
        ("[time]", "[time", vec!["column map"]),
    ] {
        let (site, done) = job_table(&PLAIN_MAP.replace(from, to), &[]);
        done.fails(1, &says);
        assert!(!site.data().join("inbox").exists() && !site.data().join("tables").exists(), "{to}");
    }
    let site = Site::new();
    let file = site.file("jobs.csv", "id,account,start,end,gpus\n");
    let missing = site.beside("no-such-map.toml");
    let args = ["import", "jobs", "--cluster", "alpha", "--map", missing.to_str().unwrap(), &file];
    site.run(&args).fails(1, &["no-such-map.toml` does not exist"]);
}

#[test]
fn samples_one_bad_line_costs_itself() {
    let good = |n: usize| format!("2026-03-02T10:{:02}:00+00:00,n1,64,u,{n},cmd,100,1024,1,50,10,1024", 5 * n);
    let cases = [
        ("2026-03-02T10:05:00+00:00,n1,64,u", "4 fields where 12 are expected"),
        ("2026-03-02 10:05,n1,64,u,2,cmd,100,1024,1,50,10,1024", "time: `2026-03-02 10:05` is no RFC 3339 time"),
        ("2026-03-02T10:05:00+00:00,n1,64,u,2,cmd,100,1024,12,50,10,1024", "gpus: `12` is no mask of GPUs"),
        ("2026-03-02T10:05:00+00:00,,64,u,2,cmd,100,1024,1,50,10,1024", "host: empty"),
    ];
    let site = Site::new();
    let text = between(&good(0), |n| good(n + 1), &cases.map(|(line, _)| line.as_bytes()));
    let file = site.file("samples.csv", text);
    let done = site.run(&["import", "sonar", &file]);
    each_costs_itself(&site, &done, "samples.csv", 3, &cases.map(|(_, says)| says));
    assert_eq!(site.sql("SELECT count(*) AS n FROM sample").one("n"), "6");
}

#[test]
fn samples_an_impossible_reading_is_none() {
    let good = "2026-03-02T10:00:00+00:00,n1,64,u,1,cmd,100,1024,1,50,10,1024\n";
    let site = Site::new();
    let wild = "2026-03-02T10:05:00+00:00,n1,64,u,2,cmd,100,1024,1,37100,10,17592186044134\n";
    let file = site.file("samples.csv", format!("{good}{wild}"));
    site.run(&["import", "sonar", &file])
        .fails(3, &["samples.csv:2: gpu%: `37100`", "samples.csv:2: gpu_mem_kib: `17592186044134`"]);
    let row = site.sql("SELECT gpu_ppm IS NULL AND gpu_mem_bytes IS NULL AS absent FROM sample WHERE job = '2'");
    assert_eq!(row.one("absent"), "true");
    let file = site.file("prose.csv", "Dear all,\nplease find attached\n");
    site.run(&["import", "sonar", &file]).fails(1, &["`prose.csv` holds no sample"]);
}

/// What a cut stream still gives goes in, but for the record that the cut fell into; sent again whole it completes.
#[test]
fn a_cut_gz_gives_its_whole_records_and_says_so() {
    let mut csv = "id,account,start,end,gpus\n".to_owned();
    for n in 0..3_000_u64 {
        let minute = n * 2_654_435_761 % 59;
        csv.push_str(&format!("{n},a{minute},2026-03-02T10:{minute:02}:00Z,2026-03-02T11:{minute:02}:00Z,1\n"));
    }
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(csv.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let site = Site::new();
    let map = site.file("map.toml", PLAIN_MAP);
    let import = |bytes: &[u8]| {
        let file = site.file("jobs.csv.gz", bytes);
        site.run(&["import", "jobs", "--cluster", "alpha", "--map", &map, "--as-of", "2026-03-03T00:00:00Z", &file])
    };
    import(&gz[..gz.len() * 6 / 10])
        .fails(3, &["jobs.csv.gz: the gzip stream ends early", "the input ends inside this record"]);
    let before: usize = site.sql("SELECT count(*) AS n FROM allocation").one("n").parse().unwrap();
    assert!((1_000..3_000).contains(&before), "{before}");
    assert_eq!(import(&gz).code, 0);
    assert_eq!(site.sql("SELECT count(*) AS n FROM allocation").one("n"), "3000");
    let mut damaged = gz;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    import(&damaged).fails(1, &["jobs.csv.gz` is a damaged gzip stream, so nothing in it can be trusted"]);
    assert_eq!(site.sql("SELECT count(*) AS n FROM allocation").one("n"), "3000", "what is there stays");
    import(b"id,account\n").fails(1, &["jobs.csv.gz` is named .gz but holds no gzip data"]);
}
