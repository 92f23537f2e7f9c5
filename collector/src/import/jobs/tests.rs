//! Small tables, one rule each.

use super::*;

const TIMES: &str = r#"
source = "t"
[time]
submit = { column = "submit", format = "epoch_s" }
start = { column = "start", format = "epoch_s" }
end = { column = "end", format = "epoch_s" }
[job]
id = "id"
user = "user"
[granted]
gpus = "gpus"
"#;

fn input(name: &str, text: &str) -> Input {
    Input { name: name.to_owned(), bytes: text.as_bytes().to_vec(), problem: None }
}

fn options(map: &str) -> JobsOptions {
    JobsOptions { cluster: "c".into(), map: Map::parse(map).unwrap(), zone: None, as_of_ms: None }
}

fn read(map: &str, text: &str) -> Imported {
    import(&[input("t.csv", text)], &options(map)).unwrap()
}

/// Line, field and reason of every refusal.
fn refused(got: &Imported) -> Vec<(i64, &str, &str)> {
    let one = |q: &gpuledger_schema::table::QuarantineRow| q.line.unwrap_or(0);
    got.quarantine.iter().map(|q| (one(q), q.field.as_deref().unwrap_or("-"), q.reason.as_str())).collect()
}

#[test]
fn a_record_becomes_a_request_a_run_and_a_holding() {
    let got = read(TIMES, "id,submit,start,end,user,gpus\n7,100,160,460.5,ann,2\n");
    let (job, run, held) = (&got.jobs[0], &got.allocations[0], &got.allocation_devices[0]);
    assert_eq!((job.job_raw.as_str(), job.submit_ms, job.user.as_deref()), ("7", 100_000, Some("ann")));
    assert_eq!((run.start_ms, run.end_ms, run.terminal, run.state.as_str()), (160_000, Some(460_500), true, "ENDED"));
    assert_eq!((run.gpu_units, run.gpu_count, run.gpu_exact), (144_144_000, 2, true));
    assert_eq!((run.allocation_id, run.job_id), (gpuledger_schema::id::allocation_id("c", "7", 160_000), job.job_id));
    assert_eq!(
        (held.allocation_id, held.share_units, held.evidence.as_str()),
        (run.allocation_id, 144_144_000, "count")
    );
    assert_eq!((held.node.as_deref(), held.device_id, held.from_ms, held.to_ms), (None, None, None, None));
    assert_eq!((job.as_of_ms, run.as_of_ms, held.as_of_ms), (460_500, 460_500, 460_500));
    let look = &got.readings[0];
    assert_eq!((look.source.as_str(), look.kind.as_str(), look.rows, look.ok), ("t.csv", "import", 1, true));
    assert_eq!((look.from_ms, look.to_ms, look.read_at_ms), (100_000, 460_500, 460_500));
}

#[test]
fn bad_records_are_refused_alone_with_line_field_and_reason() {
    let got = read(
        TIMES,
        "id,submit,start,end,user,gpus\n\
         1,100,160,460,ann,1\n\
         2,100,160,150,ann,1\n\
         3,100,160,460,ann,-1\n\
         4,100,160,460,ann,many\n\
         5,100,160,460,ann,\n\
         6,soon,160,460,ann,1\n\
         7,100,,460,ann,1\n\
         8,100,160,460,ann\n\
         ,100,160,460,ann,1\n\
         10,100,1600000000000,460,ann,1\n\
         11,100,160,460,ann,17592186044134\n\
         12,100,160,460,\"a\nnn\",1\n\
         13,100,160,460,\"ann,1\n\
         14,100,160,460,ann,1\n",
    );
    assert_eq!(
        refused(&got),
        [
            (3, "end", "the end is before the start"),
            (4, "gpus", "`-1` is below zero"),
            (5, "gpus", "`many` is no number"),
            (6, "gpus", "no number of GPUs"),
            (7, "submit", "`soon` is no number"),
            (8, "start", "no start"),
            (9, "-", "5 fields where 6 are expected"),
            (10, "id", "no job id"),
            (11, "start", "`1600000000000` is not between 1970 and 2200: is the format right?"),
            (12, "gpus", "`17592186044134` is more than 10000000, which is no count of such things"),
            (15, "-", "a quote is opened in this record and not closed"),
        ]
    );
    assert_eq!(got.quarantine[0].raw, "2,100,160,150,ann,1");
    assert_eq!(got.jobs.iter().map(|j| j.job_raw.as_str()).collect::<Vec<_>>(), ["1", "12", "14"]);
    assert_eq!((got.records, got.readings[0].rows), (14, 3));
}

#[test]
fn bytes_that_are_no_utf8_cost_one_record() {
    let mut bytes = b"id,submit,start,end,user,gpus\n1,1,1,2,".to_vec();
    bytes.extend(b"\xff\xfe,1\n2,1,1,2,ann,1\n");
    let file = Input { name: "t.csv".into(), bytes, problem: None };
    let got = import(&[file], &options(TIMES)).unwrap();
    assert_eq!(refused(&got), [(2, "user", "bytes that are no UTF-8")]);
    assert_eq!(got.allocations.len(), 1);
}

#[test]
fn runs_without_gpus_are_kept_and_hold_nothing() {
    let got = read(TIMES, "id,submit,start,end,user,gpus\n1,1,1,2,ann,0\n");
    assert_eq!((got.allocations[0].gpu_units, got.allocations[0].gpu_count), (0, 0));
    assert!(got.allocation_devices.is_empty());
}

#[test]
fn equal_records_collapse_and_different_ones_of_one_run_are_refused() {
    let text = "id,submit,start,end,user,gpus\n1,1,1,2,ann,1\n1,1,1,2,ann,1\n1,1,1,2,bob,1\n1,1,5,9,ann,1\n";
    let got = read(TIMES, text);
    assert_eq!(refused(&got), [(4, "id", "differs from line 2 of t.csv, which has the same id and start")]);
    assert_eq!((got.jobs.len(), got.allocations.len(), got.records), (1, 2, 4));
}

#[test]
fn a_request_is_in_the_state_of_its_newest_run() {
    let map = format!("{TIMES}\n[state]\ncolumn = \"state\"\nwords = {{ q = \"REQUEUED\", f = \"FAILED\" }}");
    for lines in [["1,1,1,2,a,1,q", "1,1,5,9,a,1,f"], ["1,1,5,9,a,1,f", "1,1,1,2,a,1,q"]] {
        let got = read(&map, &format!("id,submit,start,end,user,gpus,state\n{}\n", lines.join("\n")));
        assert_eq!((got.jobs.len(), got.jobs[0].state.as_str(), got.allocations.len()), (1, "FAILED", 2));
    }
}

#[test]
fn requests_that_never_started_cost_nothing_and_are_listed() {
    let map = TIMES.replace("[job]", "no_start = \"never_started\"\n[job]")
        + "[asked]\ngpus = \"gpus\"\n[state]\ncolumn = \"s\"\nwords = { w = \"PENDING\", c = \"CANCELLED\", r = \"RUNNING\" }";
    let got = read(
        &map,
        "id,submit,start,end,user,gpus,s\n1,1,,9,a,4,w\n2,1,,,a,4,c\n3,1,,,a,4,r\n4,1,2,,a,4,w\n5,1,2,,a,4,x\n",
    );
    assert_eq!(got.jobs.iter().map(|j| j.state.as_str()).collect::<Vec<_>>(), ["PENDING", "CANCELLED"]);
    assert_eq!(got.jobs[0].req_gpu_units, Some(4 * 72_072_000));
    assert!(got.allocations.is_empty() && got.allocation_devices.is_empty());
    assert_eq!(
        refused(&got),
        [
            (4, "s", "RUNNING and no start"),
            (5, "s", "PENDING and a start"),
            (6, "s", "unknown state `x`; the map has c, r, w")
        ]
    );
}

#[test]
fn the_end_of_a_run_that_is_not_over_is_only_how_far_it_had_come() {
    let map = format!("{TIMES}\n[state]\ncolumn = \"s\"");
    let got =
        read(&map, "id,submit,start,end,user,gpus,s\n1,1,1,9,a,1,RUNNING\n2,1,1,5,a,1,COMPLETED\n3,1,1,,a,1,FAILED\n");
    let ends: Vec<_> = got.allocations.iter().map(|a| (a.end_ms, a.terminal, a.as_of_ms)).collect();
    assert_eq!(ends, [(None, false, 9_000), (Some(5_000), true, 9_000), (None, true, 9_000)]);
    let by_end = read(TIMES, "id,submit,start,end,user,gpus\n1,1,1,,a,1\n");
    assert_eq!((by_end.allocations[0].state.as_str(), by_end.allocations[0].terminal), ("RUNNING", false));
}

#[test]
fn fractions_are_exact_where_the_unit_holds_them() {
    let map = TIMES.replace("gpus = \"gpus\"", "gpus = \"gpus\"\ngpu_share = { column = \"user\", of = 1000 }");
    let got = read(
        &map,
        "id,submit,start,end,user,gpus\n1,1,1,2,460,1\n2,1,1,2,1000,8\n3,1,1,2,1001,1\n4,1,1,2,333.3333333,1\n",
    );
    let units: Vec<_> = got.allocations.iter().map(|a| (a.gpu_units, a.gpu_count, a.gpu_exact)).collect();
    assert_eq!(units, [(33_153_120, 1, true), (576_576_000, 8, true), (24_023_999, 1, false)]);
    assert_eq!(refused(&got), [(4, "user", "a share of more than a whole GPU")]);
    let tenths = read(TIMES, "id,submit,start,end,user,gpus\n1,1,1,2,a,0.5\n");
    assert_eq!((tenths.allocations[0].gpu_units, tenths.allocations[0].gpu_count), (36_036_000, 1));
}

#[test]
fn facts_beside_the_run_are_left_out_and_noted() {
    let map = TIMES
        .replace("gpus = \"gpus\"", "gpus = \"gpus\"\nmem = { column = \"m\", unit = \"gib\" }\ncpus = \"cpus\"")
        + "[asked]\ntime_limit = { column = \"limit\", unit = \"hms\" }\n\
           [[average]]\nmeasure = \"gpu_util\"\ncolumn = \"util\"\nunit = \"percent\"\n";
    let header = "id,submit,start,end,user,gpus,m,cpus,limit,util\n";
    let got = read(&map, &format!("{header}1,1,1,2,a,1,0.5,4,1-00:00:00,50.5\n2,1,1,2,a,1,-1,x,UNLIMITED,2619\n"));
    let (good, bad) = (&got.allocations[0], &got.allocations[1]);
    assert_eq!((good.mem_bytes, good.cpus, got.jobs[0].time_limit_ms), (Some(1 << 29), Some(4), Some(86_400_000)));
    assert_eq!((bad.mem_bytes, bad.cpus, got.jobs[1].time_limit_ms), (None, None, None));
    assert_eq!(got.job_averages.iter().map(|a| a.value).collect::<Vec<_>>(), [505_000]);
    let fields: Vec<_> = refused(&got).iter().map(|(line, field, _)| (*line, *field)).collect();
    assert_eq!(fields, [(3, "limit"), (3, "cpus"), (3, "m"), (3, "util")]);
    assert!(got.quarantine.iter().all(|q| q.reason.ends_with("(left out; the record went in)")));
}

const LOCAL: &str = r#"
source = "t"
[file]
delimiter = ";"
columns = ["when", "dur", "n", "host", "team"]
absent = ["NULL"]
[time]
submit = { column = "when", format = "%d.%m.%Y %H:%M" }
start = { from = "submit" }
duration = { column = "dur", unit = "hms" }
[job]
account = "team"
qos = { constant = "normal" }
labels = { group = "team", site = { constant = "north" } }
[granted]
gpus = "n"
node = "host"
"#;

#[test]
fn local_times_need_one_zone_and_exist_once() {
    let berlin: Tz = "Europe/Berlin".parse().unwrap();
    let text = "29.03.2026 02:30;01:00:00;1;n1;x\n25.10.2026 02:30;01:00:00;1;n1;x\n29.03.2026 03:30;01:00:00;1;n1;x\n";
    let with = |zone| import(&[input("t.csv", text)], &JobsOptions { zone, ..options(LOCAL) });
    assert!(matches!(with(None), Err(JobsError::NoZone { key: "time.submit" })));
    let got = with(Some(berlin)).unwrap();
    let reasons: Vec<_> = refused(&got).into_iter().map(|(line, _, reason)| (line, reason.to_owned())).collect();
    assert!(reasons[0].0 == 1 && reasons[0].1.contains("does not exist in Europe/Berlin"), "{reasons:?}");
    assert!(reasons[1].0 == 2 && reasons[1].1.contains("is ambiguous in Europe/Berlin"), "{reasons:?}");
    assert_eq!(got.allocations[0].start_ms, 1_774_747_800_000);
    let both = options(&LOCAL.replace("[time]", "[time]\nzone = \"UTC\""));
    let two = import(&[], &JobsOptions { zone: Some(berlin), ..both });
    assert!(matches!(two, Err(JobsError::TwoZones { .. })));
}

#[test]
fn constants_labels_and_nodes() {
    let zone = Some(Tz::UTC);
    let text = "01.01.2026 00:00;100:00:00;2;n1;NULL\n01.01.2026 00:00;1-00:00:00;2;n[1-2];y\n";
    let got = import(&[input("t.csv", text)], &JobsOptions { zone, ..options(LOCAL) }).unwrap();
    let (job, run) = (&got.jobs[0], &got.allocations[0]);
    assert_eq!((job.account.as_deref(), job.qos.as_deref()), (None, Some("normal")));
    assert_eq!(job.labels.as_deref(), Some("site=north"));
    assert_eq!((run.end_ms.unwrap() - run.start_ms, run.nodes.as_deref()), (360_000_000, Some("n1")));
    assert_eq!(got.allocation_devices[0].node.as_deref(), Some("n1"));
    assert_eq!((refused(&got)[0].0, refused(&got)[0].1), (2, "host"));
}

#[test]
fn records_without_id_count_the_larger_number_of_equal_ones() {
    let zone = Some(Tz::UTC);
    let (one, other) = ("01.01.2026 00:00;01:00:00;1;n1;x\n", "02.01.2026 00:00;01:00:00;1;n1;x\n");
    let ids = |files: &[String], source: &str| {
        let inputs: Vec<_> = files.iter().enumerate().map(|(n, text)| input(&format!("{n}.csv"), text)).collect();
        let map = LOCAL.replace("source = \"t\"", &format!("source = \"{source}\""));
        let options = JobsOptions { zone, as_of_ms: Some(1_800_000_000_000), ..options(&map) };
        let mut ids: Vec<_> = import(&inputs, &options).unwrap().allocations.iter().map(|a| a.allocation_id).collect();
        ids.sort_unstable();
        ids
    };
    let (two, three) = (one.repeat(2), one.repeat(3));
    assert_eq!(ids(std::slice::from_ref(&two), "t").len(), 2);
    assert_eq!(ids(&[two.clone(), three.clone()], "t"), ids(&[three], "t"));
    assert_eq!(ids(&[format!("{one}{other}")], "t"), ids(&[format!("{other}{one}")], "t"));
    assert!(ids(std::slice::from_ref(&two), "t").iter().all(|id| !ids(std::slice::from_ref(&two), "u").contains(id)));
}

#[test]
fn nothing_after_the_as_of_could_be_known() {
    let text = "id,submit,start,end,user,gpus\n1,1,1,9,a,1\n2,1,1,20,a,1\n";
    let got = import(&[input("t.csv", text)], &JobsOptions { as_of_ms: Some(10_000), ..options(TIMES) }).unwrap();
    assert_eq!((refused(&got)[0].0, got.allocations.len()), (3, 1));
    assert!(refused(&got)[0].2.starts_with("1970-01-01T00:00:20+00:00 is after the as-of"));
    assert_eq!((got.allocations[0].as_of_ms, got.readings[0].to_ms, got.readings[0].rows), (10_000, 10_000, 1));
}

#[test]
fn a_column_that_is_not_there_stops_the_import_with_key_and_header() {
    let says = |text: &str| import(&[input("t.csv", text)], &options(TIMES)).unwrap_err().to_string();
    let missing =
        "the map's `time.end` names the column `end`, which `t.csv` does not have; it has: id, submit, start, user";
    assert_eq!(says("id,submit,start,user\n"), missing);
    assert!(says("id,submit,start,end,user,user,gpus\n").contains("`job.user` names the column `user`"));
    assert!(says("\n\n").starts_with("`t.csv` holds no header line"));
    let empty = read(TIMES, "\u{feff}id,submit,start,end,user,gpus\n");
    assert_eq!((refused(&empty), empty.readings.len()), (vec![(0, "-", "no record in it could be used")], 0));
}

#[test]
fn a_cut_file_gives_what_it_has_and_says_so() {
    let problem = Some("the gzip stream ends early after 51 bytes".to_owned());
    let bytes = b"id,submit,start,end,user,gpus\n1,1,1,2,a,1\n2,1,1,2,a,1".to_vec();
    let got = import(&[Input { name: "t.csv.gz".into(), bytes, problem: problem.clone() }], &options(TIMES)).unwrap();
    assert_eq!((got.allocations.len(), got.records, got.readings[0].ok), (1, 2, false));
    assert_eq!(got.readings[0].error, problem);
    assert_eq!(refused(&got)[1], (3, "-", "the input ends inside this record"));
}
