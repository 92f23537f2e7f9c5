//! Small accounting files: which rows they give, and what is refused with which words.

use gpuledger_schema::table::AllocationRow;
use gpuledger_schema::unit::CARD_UNITS;

use super::*;

const HEADER: &str = "JobID|JobIDRaw|User|Account|State|Submit|Start|End|NNodes|NodeList|AllocTRES";

/// A file whose records are given without their header; times stand as `10:00` on 2026-03-01.
fn file(name: &str, lines: &[&str]) -> Input {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text.push_str(&at_clock(line));
        text.push('\n');
    }
    Input { name: name.to_owned(), bytes: text.into_bytes(), problem: None }
}

fn at_clock(line: &str) -> String {
    let is_clock = |f: &str| f.len() == 5 && f.as_bytes()[2] == b':';
    let full = |f: &str| if is_clock(f) { format!("2026-03-01T{f}:00") } else { f.to_owned() };
    line.split('|').map(full).collect::<Vec<_>>().join("|")
}

fn options() -> SacctOptions {
    SacctOptions { cluster: "alpha".to_owned(), zone: Some(Tz::UTC), fields: None, as_of_ms: None }
}

fn read(lines: &[&str]) -> Imported {
    import(&[file("a.txt", lines)], &options()).unwrap()
}

fn clock(ms: i64) -> String {
    show_ms(ms, Tz::UTC)[11..16].to_owned()
}

/// Runs as `id start-end state gpus`.
fn runs(out: &Imported) -> Vec<String> {
    let show = |a: &AllocationRow| {
        let end = a.end_ms.map_or_else(|| "open".to_owned(), clock);
        format!("{} {}-{end} {} {}", a.job_raw, clock(a.start_ms), a.state, a.gpu_count)
    };
    out.allocations.iter().map(show).collect()
}

/// Refusals as `line field: reason`.
fn refused(out: &Imported) -> Vec<String> {
    let show = |q: &gpuledger_schema::table::QuarantineRow| {
        let line = q.line.map_or_else(|| "-".to_owned(), |l| l.to_string());
        format!("{line} {}: {}", q.field.as_deref().unwrap_or("-"), q.reason)
    };
    out.quarantine.iter().map(show).collect()
}

#[test]
fn a_run_its_request_and_its_gpus() {
    let out = read(&["7|7|ann|ml|COMPLETED|10:00|10:01|11:01|2|n[1-2]|cpu=8,gres/gpu:a100=4,mem=64G,node=2"]);
    assert_eq!(refused(&out), Vec::<String>::new());
    assert_eq!(runs(&out), ["7 10:01-11:01 COMPLETED 4"]);
    let (job, run) = (&out.jobs[0], &out.allocations[0]);
    assert_eq!((job.user.as_deref(), job.account.as_deref(), job.tasks), (Some("ann"), Some("ml"), 1));
    assert_eq!((run.model.as_deref(), run.cpus, run.mem_bytes), (Some("a100"), Some(8), Some(64 << 30)));
    assert_eq!((run.gpu_units, run.terminal, run.job_id), (4 * CARD_UNITS, true, job.job_id));
    let held: Vec<_> = out.allocation_devices.iter().map(|d| (d.node.as_deref().unwrap(), d.share_units)).collect();
    assert_eq!(held, [("n1", 2 * CARD_UNITS), ("n2", 2 * CARD_UNITS)]);
    let reading = &out.readings[0];
    assert_eq!((clock(reading.from_ms), clock(reading.to_ms)), ("10:00".into(), "11:01".into()));
    assert_eq!((reading.source.as_str(), reading.rows, reading.ok), ("a.txt", 1, true));
}

#[test]
fn what_ran_and_what_never_did() {
    let out = read(&[
        "1|1|ann|ml|RUNNING|10:00|10:01|Unknown|1|n1|cpu=1,gres/gpu=1,node=1",
        "2|2|ann|ml|PENDING|10:00|Unknown|Unknown|1|None assigned|",
        "3|3|ann|ml|CANCELLED by 7|10:00|10:05|10:05|0|None assigned|",
        "4|4|ann|ml|FAILED|10:00|10:05|10:05|1|n1|cpu=1,gres/gpu=1,node=1",
        "5|5|ann|ml|COMPLETED|10:00|10:05|Unknown|1|n1|cpu=1,gres/gpu=1,node=1",
        "6|6|ann|ml|COMPLETING|10:00|10:05|10:30|1|n1|cpu=1,gres/gpu=1,node=1",
        "6.batch|6.batch|||COMPLETED|10:00|10:05|10:30|1|n1|cpu=1,gres/gpu=1,node=1",
        "8|8|ann|ml|COMPLETED|10:00|10:05|10:30|1|n1|cpu=1,gres/gpu=0,node=1",
    ]);
    assert_eq!(refused(&out), Vec::<String>::new());
    assert_eq!(
        runs(&out),
        [
            "1 10:01-open RUNNING 1",
            "4 10:05-10:05 FAILED 1",
            "5 10:05-open COMPLETED 1",
            "6 10:05-10:30 COMPLETING 1",
            "8 10:05-10:30 COMPLETED 0",
        ]
    );
    let terminal: Vec<_> = out.allocations.iter().map(|a| a.terminal).collect();
    assert_eq!(terminal, [false, true, false, true, true]);
    assert_eq!((out.records, out.skipped, out.jobs.len()), (8, 1, 7));
    assert_eq!(out.allocation_devices.len(), 4, "a run without GPUs holds none");
}

#[test]
fn gpus_that_do_not_divide_are_somewhere_on_the_cluster() {
    let out = read(&[
        "1|1|a|m|COMPLETED|10:00|10:01|11:00|2|n[1-2]|cpu=1,gres/gpu=3,node=2",
        "2|2|a|m|COMPLETED|10:00|10:01|11:00|3|n[1-2]|cpu=1,gres/gpu=6,node=3",
        "3|3|a|m|COMPLETED|10:00|10:01|11:00|1|n[1-|cpu=1,gres/gpu=6,node=1",
        "4|4|a|m|COMPLETED|10:00|10:01|11:00|1|n1|cpu=1,gres/gpu:1g.10gb=2,node=1",
    ]);
    let held: Vec<_> = out.allocation_devices.iter().map(|d| (d.node.as_deref(), d.share_units)).collect();
    let units = CARD_UNITS;
    assert_eq!(held, [(None, 3 * units), (None, 6 * units), (None, 6 * units), (Some("n1"), 2 * units / 7)]);
    assert_eq!((out.allocations[3].gpu_count, out.allocations[3].gpu_exact), (2, true));
    assert_eq!(
        refused(&out),
        [
            "3 NodeList: field ignored: it lists 2 nodes where the record counts 3",
            "4 NodeList: field ignored: host list part `n[1-` is cut off or malformed",
        ]
    );
}

#[test]
fn arrays_and_het_jobs() {
    let out = read(&[
        "123_[60-89,91-94,96-98]|123|a|m|PENDING|10:00|Unknown|Unknown|1|None assigned|",
        "123_4|130|a|m|RUNNING|10:00|10:01|Unknown|1|n1|cpu=1,gres/gpu=1,node=1",
        "123_5||a|m|RUNNING|10:00|10:01|Unknown|1|n1|cpu=1,gres/gpu=1,node=1",
        "500+0|500|a|m|COMPLETED|10:00|10:00|11:00|1|n1|cpu=1,gres/gpu=2,node=1",
        "500+1||a|m|COMPLETED|10:00|10:00|11:00|1|n2|cpu=1,gres/gpu=6,node=1",
    ]);
    assert_eq!(refused(&out), Vec::<String>::new());
    let shown: Vec<_> = out
        .jobs
        .iter()
        .map(|j| (j.job_raw.as_str(), j.tasks, j.array_job.as_deref(), j.array_task, j.het_leader.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            ("123", 37, Some("123"), None, None),
            ("130", 1, Some("123"), Some(4), None),
            ("123_5", 1, Some("123"), Some(5), None),
            ("500", 1, None, None, Some("500")),
            ("501", 1, None, None, Some("500")),
        ]
    );
    let het: i64 = out.allocations.iter().filter(|a| a.end_ms.is_some()).map(|a| a.gpu_count).sum();
    assert_eq!(het, 8);
}

#[test]
fn every_bad_record_costs_itself_only() {
    let good = "9|9|a|m|COMPLETED|10:00|10:01|11:00|1|n1|cpu=1,gres/gpu=1,node=1";
    for (bad, reason) in [
        ("7|7|ann|ml|COMPLETED|10:00|10:0", "2 -: 7 fields where 11 are expected"),
        ("7|7|ann|ml|x|COMPLETED|10:00|10:01|11:00|1|n1|cpu=1", "2 -: 12 fields where 11 are expected"),
        ("7|7|ann|ml|SLEEPING|10:00|10:01|11:00|1|n1|cpu=1", "2 State: unknown Slurm job state `SLEEPING`"),
        ("7|7|ann|ml|FAILED|10:00|2016-13-45|11:00|1|n1|cpu=1", "2 Start: `2016-13-45` is no time of the form"),
        ("7|7|ann|ml|FAILED|10:00|10:01|09:00|1|n1|cpu=1", "2 End: the job ends before it starts"),
        ("7|7|ann|ml|FAILED|Unknown|10:01|11:00|1|n1|cpu=1", "2 Submit: the record has no submit time"),
        ("x|x|ann|ml|FAILED|10:00|10:01|11:00|1|n1|cpu=1", "2 JobID: `x` is no job id"),
        ("7|7|ann|ml|FAILED|10:00|10:01|11:00|1|n1|gres/gpu=two", "2 AllocTRES: GPU count `two`"),
        ("7|7|ann|ml|FAILED|10:00|10:01|11:00|1|n1|billing=1,cpu=1,gres/gp", "2 AllocTRES: TRES part `gres/gp`"),
        ("7|7|ann|ml|FAILED|10:00|10:01|11:00|1|n1|", "2 AllocTRES: it is empty although the job ran"),
        ("", ""),
    ] {
        let out = read(&[bad, good]);
        assert_eq!(runs(&out), ["9 10:01-11:00 COMPLETED 1"], "{bad}");
        let refused = refused(&out);
        assert!(refused.len() == usize::from(!bad.is_empty()) && refused.concat().starts_with(reason), "{refused:?}");
        assert!(out.quarantine.iter().all(|q| q.raw == at_clock(bad) && q.source == "a.txt"));
    }
}

#[test]
fn bytes_that_are_no_utf8_and_files_that_were_cut() {
    let mut bad = file("a.txt", &["7|7|ann|ml|RUNNING|10:00|10:01|Unknown|1|n1|cpu=1,gres/gpu=1,node=1"]);
    let mut bytes = bad.bytes.clone();
    bytes.extend_from_slice(b"8|8|\xff|ml|RUNNING|1|1|1|1|n1|cpu=1\n9|9|cut of");
    bad.bytes = bytes;
    bad.problem = Some("the gzip stream ends early after 9 bytes".to_owned());
    let out = import(&[bad], &options()).unwrap();
    assert_eq!(runs(&out), ["7 10:01-open RUNNING 1"]);
    assert_eq!(
        refused(&out),
        [
            "- -: the gzip stream ends early after 9 bytes",
            "4 -: the input ends inside this record",
            "3 -: the record is not UTF-8",
        ]
    );
    assert_eq!((out.records, out.readings[0].ok), (3, false));
}

#[test]
fn empty_files_are_said_to_be_empty() {
    for bytes in [&b""[..], b"\n\n", HEADER.as_bytes()] {
        let empty = Input { name: "e.txt".to_owned(), bytes: bytes.to_vec(), problem: None };
        let out = import(&[empty], &options()).unwrap();
        assert_eq!(refused(&out), ["- -: the file has no records"]);
        assert!(out.readings.is_empty() && out.segments("w").unwrap().len() == 1);
    }
}

#[test]
fn files_that_nothing_can_be_read_from_are_errors() {
    let fails = |text: &str, zone: Option<Tz>| {
        let input = Input { name: "f".to_owned(), bytes: text.as_bytes().to_vec(), problem: None };
        import(&[input], &SacctOptions { zone, ..options() }).unwrap_err()
    };
    let naive = format!("{HEADER}\n{}\n", at_clock("7|7|ann|ml|RUNNING|10:00|10:01|Unknown|1|n1|gres/gpu=1"));
    let error = fails(&naive, None).to_string();
    assert!(error.starts_with("line 2 of `f` has the naive local time `2026-03-01T10:00:00` and no zone"), "{error}");
    for column in ["State", "Submit", "Start", "End", "AllocTRES"] {
        let header = HEADER.replace(&format!("|{column}"), "");
        let missing = fails(&format!("{header}\n"), Some(Tz::UTC));
        assert!(matches!(missing, SacctError::NoColumn { column: named, .. } if named == column), "{column}");
    }
    assert!(matches!(fails("7|7|ann\n", Some(Tz::UTC)), SacctError::Text { .. }));
    assert!(matches!(fails("{\"jobs\": []}", None), SacctError::Json { .. }));
}

#[test]
fn duplicates_requeues_and_conflicts() {
    let run = "7|7|a|m|PREEMPTED|10:00|10:01|10:30|1|n1|cpu=1,gres/gpu=1,node=1";
    let again = "7|7|a|m|COMPLETED|10:00|10:40|11:00|1|n2|cpu=1,gres/gpu=1,node=1";
    let other = "7|7|a|m|PREEMPTED|10:00|10:01|10:45|1|n1|cpu=1,gres/gpu=1,node=1";
    let out = read(&[run, again, run, other]);
    assert_eq!(runs(&out), ["7 10:01-10:30 PREEMPTED 1", "7 10:40-11:00 COMPLETED 1"]);
    assert_eq!(refused(&out), ["5 JobID: differs from line 2 of a.txt, which has the same job id and start"]);
    assert_eq!((out.jobs.len(), out.jobs[0].state.as_str()), (1, "COMPLETED"), "one request, in its newest state");
    assert_eq!((out.records, out.readings[0].rows), (4, 3));
}

#[test]
fn files_of_different_times_both_go_in() {
    let running = "7|7|a|m|RUNNING|10:00|10:01|Unknown|1|n1|cpu=1,gres/gpu=1,node=1";
    let ended = "7|7|a|m|COMPLETED|10:00|10:01|10:30|1|n1|cpu=1,gres/gpu=1,node=1";
    let files = [file("a.txt", &[running]), file("b.txt", &[ended])];
    let out = import(&files, &options()).unwrap();
    assert_eq!(runs(&out), ["7 10:01-open RUNNING 1", "7 10:01-10:30 COMPLETED 1"]);
    let as_of: Vec<_> = out.allocations.iter().map(|a| clock(a.as_of_ms)).collect();
    assert_eq!(as_of, ["10:01", "10:30"]);
    let given = SacctOptions { as_of_ms: Some(out.allocations[1].as_of_ms), ..options() };
    let out = import(&files, &given).unwrap();
    assert_eq!((out.allocations.len(), out.jobs.len(), refused(&out).len()), (2, 1, 0));
    assert_eq!(out.jobs[0].state, "COMPLETED");
    let early = SacctOptions { as_of_ms: Some(given.as_of_ms.unwrap() - 60_000), ..options() };
    let late = refused(&import(&files, &early).unwrap());
    assert_eq!(
        late,
        [
            "2 -: 2026-03-01T10:30:00+00:00 is after the as-of 2026-03-01T10:29:00+00:00, at which nothing of it could be known"
        ]
    );
}

#[test]
fn a_waiting_job_of_next_month_does_not_move_the_as_of() {
    let text = "JobID|State|Submit|Eligible|Start|End|AllocTRES\n\
                1|RUNNING|1772359200|1772359200|1772359260|Unknown|cpu=1,gres/gpu=1,node=1\n\
                2|PENDING|1772359300|1775000000|1775000000|Unknown|\n";
    let input = Input { name: "f".to_owned(), bytes: text.as_bytes().to_vec(), problem: None };
    let out = import(&[input], &SacctOptions { zone: None, ..options() }).unwrap();
    assert_eq!(out.readings[0].read_at_ms, 1_772_359_300_000);
    assert_eq!(refused(&out), ["3 Start: field ignored: a PENDING job has no start yet"]);
    assert_eq!((out.jobs.len(), out.allocations.len(), out.allocation_devices[0].node.as_deref()), (2, 1, None));
}

#[test]
fn a_cut_json_file_keeps_its_whole_jobs() {
    let job = r#"{"job_id": 7, "nodes": "n1", "state": {"current": "RUNNING"},
        "time": {"submission": 1700000000, "eligible": 1700000000, "start": 1700000060, "end": 0},
        "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 4}], "requested": []}}"#;
    let text = format!(r#"{{"meta": {{"plugin": {{"type": "openapi/dbv0.0.38"}}}}, "jobs": [{job}, {{"job_id": 8, "#);
    let problem = Some("the gzip stream ends early after 9 bytes".to_owned());
    let input = Input { name: "f.json.gz".to_owned(), bytes: text.into_bytes(), problem };
    let out = import(&[input], &SacctOptions { zone: None, ..options() }).unwrap();
    assert_eq!(out.allocations.len(), 1);
    assert_eq!(
        refused(&out),
        ["- -: the gzip stream ends early after 9 bytes", "3 -: the JSON ends in the middle: it was cut off"]
    );
}
