//! Lines that cannot be used: each is named by file, line, field and reason, and the good ones beside it go in.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

use crate::site::{Done, PLAIN_MAP, Site};

/// Accounting with a good line before and after the bad one.
struct Accounting {
    site: Site,
    done: Done,
}

/// Zone of the accounting: it has a skipped and a doubled hour in 2026.
const ZONE: &str = "Europe/Berlin";
const HEADER: &str = "JobID|State|Submit|Start|End|AllocTRES|NodeList";

fn accounting(bad: &[u8]) -> Accounting {
    let good = |id: u32| {
        format!("{id}|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|gres/gpu=1|n1\n")
    };
    let site = Site::new();
    let text = [HEADER.as_bytes(), b"\n", good(1).as_bytes(), bad, b"\n", good(3).as_bytes()].concat();
    let file = site.file("acct.txt", text);
    let done = site.run(&["import", "sacct", "--cluster", "alpha", "--zone", ZONE, &file]);
    Accounting { site, done }
}

impl Accounting {
    /// One refusal, at the second record, in the lake too; the two good records are there and nothing else.
    #[track_caller]
    fn refused(&self, says: &str) {
        self.done.fails(3, &[&format!("acct.txt:3: {says}")]);
        assert_eq!(self.done.err.lines().count(), 1, "{}", self.done.err);
        let runs = self.site.sql("SELECT job_raw FROM allocation ORDER BY job_raw");
        assert_eq!(runs.column("job_raw"), ["1", "3"]);
        let aside = self.site.sql("SELECT source, line, field, reason, raw FROM quarantine");
        assert_eq!((aside.one("source"), aside.one("line")), ("acct.txt", "3"));
        let said = format!("{}{}", aside.one("field"), aside.one("reason"));
        let word = says.split(": ").last().unwrap();
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn accounting_one_bad_line_costs_itself() {
    let at = |start: &str, end: &str| format!("2|COMPLETED|2026-03-02T09:00:00|{start}|{end}|gres/gpu=1|n1");
    let noon = "2026-03-02T12:00:00";
    for (bad, says) in [
        // truncated, and too long
        ("2|COMPLETED|2026-03-02T09:00:00|2026-03-02T10".to_owned(), "4 fields where 7 are expected"),
        (format!("{}|one|more", at(noon, noon)), "9 fields where 7 are expected"),
        (at(noon, noon).replace("COMPLETED", "SLEEPING"), "State: unknown state `SLEEPING`"),
        // impossible
        (at("2026-02-30T10:00:00", noon), "Start: `2026-02-30T10:00:00` is no time"),
        (at("2026-03-29T02:30:00", "2026-03-29T04:00:00"), "Start: local time 2026-03-29T02:30:00 does not exist"),
        (at(noon, "9999-01-01T00:00:00"), "End: `9999-01-01T00:00:00` is an impossible time"),
        // ambiguous
        (at("2026-10-25T02:10:00", "2026-10-25T02:20:00"), "Start: local time 2026-10-25T02:10:00 is ambiguous"),
        (at(noon, "2026-03-02T11:59:59"), "End: the job ends before it starts"),
        (at(noon, noon).replace("gpu=1", "gpu=many"), "AllocTRES: "),
        (at(noon, noon).replace("gpu=1", "gpu=-1"), "AllocTRES: "),
        (at(noon, noon).replace("gpu=1", "gpu=99999999999999999999"), "AllocTRES: "),
        (at(noon, noon).replace("2|C", "two|C"), "JobID: "),
        (at(noon, noon).replace("2026-03-02T09:00:00", "Unknown"), "Submit: the record has no submit time"),
    ] {
        accounting(bad.as_bytes()).refused(says);
    }
    accounting(b"2|COMPLETED|\xff\xfe|x|y|z|n1").refused("the record is not UTF-8");
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
fn accounting_two_records_of_one_run_that_differ() {
    let contradiction = "1|FAILED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T12:00:00|gres/gpu=4|n1";
    accounting(contradiction.as_bytes()).refused("JobID: differs from line 2 of acct.txt, which has the same job id and start");

    // the same, in files that come one after the other: the first is kept, whichever that is
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
    import(&format!("{HEADER}\n{one}"), &["--zone", "Europe/Atlantis"]).fails(2, &["unknown time zone `Europe/Atlantis`"]);
    import(&format!("{HEADER}\n{one}"), &["--zone", "UTC", "--fields", "JobID,State"]).fails(1, &["acct.txt", "header"]);
    import(&format!("{HEADER}\n{one}"), &["--zone", "UTC", "--as-of", "yesterday"]).fails(2, &["--as-of `yesterday`"]);
    import("", &zone).fails(1, &["acct.txt", "is empty"]);
    import(HEADER, &zone).fails(3, &["acct.txt: the file has no records"]);
    import("{\"jobs\": [{\"job_id\": 1}", &zone).fails(1, &["acct.txt", "--parsable2"]);
    // nothing of all that is in the lake
    let jobs = site.run(&["sql", "SELECT count(*) AS n FROM job", "--format", "csv"]);
    assert!(jobs.out.is_empty() || jobs.out == "n\n0\n", "{jobs:?}");
}

/// A job table with a good line before and after the bad one.
fn job_table(map: &str, bad: &[u8]) -> (Site, Done) {
    let site = Site::new();
    let map = site.file("map.toml", map);
    let good = |id: u32| format!("{id},a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1\n");
    let text = [b"id,account,start,end,gpus\n", good(1).as_bytes(), bad, b"\n", good(3).as_bytes()].concat();
    let file = site.file("jobs.csv", text);
    let done = site.run(&["import", "jobs", "--cluster", "alpha", "--map", &map, &file]);
    (site, done)
}

#[test]
fn job_table_one_bad_line_costs_itself() {
    for (bad, says) in [
        ("2,a,2026-03-02T10:00:00Z", "3 fields where 5 are expected"),
        ("2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1,extra", "6 fields where 5 are expected"),
        ("2,\"a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1", "a quote is opened in this record and not closed"),
        ("2,a,2026-02-30T10:00:00Z,2026-03-02T11:00:00Z,1", "start: `2026-02-30T10:00:00Z`"),
        ("2,a,2026-03-02T10:00:00,2026-03-02T11:00:00Z,1", "start: `2026-03-02T10:00:00`"),
        ("2,a,2026-03-02T10:00:00Z,2026-03-02T09:00:00Z,1", "end: the end is before the start"),
        ("2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,many", "gpus: `many` is no number"),
        ("2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,-1", "gpus: `-1` is below zero"),
        ("2,a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,", "gpus: no number of GPUs"),
        (",a,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1", "id: no job id"),
        ("1,a,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,8", "id: differs from line 2 of jobs.csv"),
    ] {
        let (site, done) = job_table(PLAIN_MAP, bad.as_bytes());
        done.fails(3, &[&format!("jobs.csv:3: {says}")]);
        let runs = site.sql("SELECT job_raw FROM allocation ORDER BY job_raw");
        assert_eq!(runs.column("job_raw"), ["1", "3"], "{bad}");
        assert_eq!(site.sql("SELECT line FROM quarantine").column("line"), ["3"], "{bad}");
    }
    let (site, done) = job_table(PLAIN_MAP, b"2,\xff\xfe,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1");
    done.fails(3, &["jobs.csv:3: account: bytes that are no UTF-8"]);
    assert_eq!(site.sql("SELECT count(*) AS n FROM allocation").one("n"), "2");
}

#[test]
fn job_table_states_and_local_times() {
    let map = PLAIN_MAP.replace("constant = \"ENDED\"", "column = \"account\"\nwords = { a = \"COMPLETED\" }");
    let (site, done) = job_table(&map, b"2,lost,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,1");
    done.fails(3, &["jobs.csv:3: account: unknown state `lost`"]);
    assert_eq!(site.sql("SELECT count(*) AS n FROM allocation").one("n"), "2");

    let local = PLAIN_MAP.replace("format = \"rfc3339\"", "format = \"%Y-%m-%dT%H:%M:%SZ\"");
    let (_, done) = job_table(&local, b"");
    done.fails(1, &["time.start", "no zone"]);
    let zoned = local.replace("[time]", "[time]\nzone = \"Europe/Berlin\"");
    for (time, says) in [("2026-03-29T02:30:00Z", "does not exist"), ("2026-10-25T02:30:00Z", "is ambiguous")] {
        let (site, done) = job_table(&zoned, format!("2,a,{time},2026-12-01T00:00:00Z,1").as_bytes());
        done.fails(3, &["jobs.csv:3: start: local time ", says]);
        assert_eq!(site.sql("SELECT count(*) AS n FROM allocation").one("n"), "2");
    }
}

#[test]
fn a_map_that_does_not_fit_stops_before_the_first_record() {
    for (from, to, says) in [
        ("account = \"account\"", "account = \"acct\"", vec!["`job.account`", "`acct`", "jobs.csv", "id, account, start"]),
        ("[job]", "[job]\ncolour = \"red\"", vec!["column map", "colour"]),
        ("\"ENDED\"", "\"OVER\"", vec!["state.constant", "OVER"]),
        ("rfc3339", "rfc9999", vec!["rfc9999"]),
        ("gpus = \"gpus\"", "gpus = { column = \"gpus\", of = 0 }", vec!["`of` must be"]),
        ("[time]", "[time]\nzone = \"Mars/Olympus\"", vec!["time.zone", "Mars/Olympus"]),
        ("[time]", "[time", vec!["column map"]),
    ] {
        let (site, done) = job_table(&PLAIN_MAP.replace(from, to), b"");
        done.fails(1, &says);
        assert!(!site.data().join("inbox").exists() && !site.data().join("tables").exists(), "{to}");
    }
    let (site, _) = job_table(PLAIN_MAP, b"");
    let file = site.file("jobs.csv", "id,account,start,end,gpus\n");
    let missing = site.beside("no-such-map.toml");
    let args = ["import", "jobs", "--cluster", "alpha", "--map", missing.to_str().unwrap(), &file];
    site.run(&args).fails(1, &["no-such-map.toml` does not exist"]);
}

#[test]
fn samples_one_bad_line_costs_itself() {
    let good = |minute: u32, job: u32| format!("2026-03-02T10:{minute:02}:00+00:00,n1,64,u,{job},cmd,100,1024,1,50,10,1024\n");
    for (bad, says) in [
        ("2026-03-02T10:05:00+00:00,n1,64,u", "4 fields where 12 are expected"),
        ("2026-03-02 10:05,n1,64,u,2,cmd,100,1024,1,50,10,1024", "time: `2026-03-02 10:05` is no RFC 3339 time"),
        ("2026-03-02T10:05:00+00:00,n1,64,u,2,cmd,100,1024,12,50,10,1024", "gpus: `12` is no mask of GPUs"),
        ("2026-03-02T10:05:00+00:00,,64,u,2,cmd,100,1024,1,50,10,1024", "host: empty"),
    ] {
        let site = Site::new();
        let file = site.file("samples.csv", format!("{}{bad}\n{}", good(0, 1), good(5, 1)));
        let done = site.run(&["import", "sonar", &file]);
        done.fails(3, &[&format!("samples.csv:2: {says}")]);
        assert_eq!(site.sql("SELECT count(*) AS n FROM sample").one("n"), "2", "{bad}");
    }
    // an impossible reading is no reading: the row goes in without it
    let site = Site::new();
    let wild = "2026-03-02T10:05:00+00:00,n1,64,u,2,cmd,100,1024,1,37100,10,17592186044134\n";
    let file = site.file("samples.csv", format!("{}{wild}", good(0, 1)));
    site.run(&["import", "sonar", &file]).fails(3, &["samples.csv:2: gpu%: `37100`", "samples.csv:2: gpu_mem_kib: `17592186044134`"]);
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
    import(&gz[..gz.len() * 6 / 10]).fails(3, &["jobs.csv.gz: the gzip stream ends early", "the input ends inside this record"]);
    let before: usize = site.sql("SELECT count(*) AS n FROM allocation").one("n").parse().unwrap();
    assert!((1_000..3_000).contains(&before), "{before}");
    assert_eq!(import(&gz).code, 0);
    assert_eq!(site.sql("SELECT count(*) AS n FROM allocation").one("n"), "3000");
    let mut damaged = gz;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    import(&damaged).fails(3, &["jobs.csv.gz: the gzip stream is damaged"]);
    assert_eq!(site.sql("SELECT count(*) AS n FROM allocation").one("n"), "3000", "what is there stays");
    import(b"id,account\n").fails(1, &["jobs.csv.gz` is named .gz but holds no gzip data"]);
}
