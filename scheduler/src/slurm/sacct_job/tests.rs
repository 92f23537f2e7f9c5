//! One record at a time: what goes in, what is refused, what is ignored.

use super::*;
use crate::slurm::sacct_text;

const HEADER: &str = "JobID|JobIDRaw|User|UID|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|NodeList|ReqMem|ReqTRES|AllocTRES|Timelimit";
const GOOD: &str = "7|7|ann|1000|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:01:00|2026-03-01T11:01:00|3600|2|n[1-2]|4Gc|cpu=8,gres/gpu=4,node=2|cpu=8,gres/gpu:a100=4,mem=64G,node=2|1-00:00:00";

fn entry(line: &str, zone: Option<Tz>) -> Result<SacctEntry, Refused> {
    let text = sacct_text::read(format!("{HEADER}\n{line}\n").as_bytes(), None).unwrap().read;
    assert_eq!(text.problems, []);
    read(&text.facts[0], zone)
}

/// The good record with some of its text replaced.
fn with(changes: &[(&str, &str)]) -> Result<(SacctJob, Vec<String>), String> {
    let mut line = GOOD.to_owned();
    for (from, to) in changes {
        assert!(line.contains(from), "{from}");
        line = line.replacen(from, to, 1);
    }
    match entry(&line, Some(chrono_tz::Europe::Brussels)) {
        Ok(SacctEntry::Job(job, ignored)) => {
            let show = |p: Problem| format!("{}: {}", p.field.unwrap(), p.reason);
            Ok((*job, ignored.into_iter().map(show).collect()))
        }
        Ok(SacctEntry::Step) => Err("step".to_owned()),
        Err(Refused::Record(p)) => Err(format!("{}: {}", p.field.unwrap(), p.reason)),
        Err(Refused::NoZone(time)) => Err(time),
    }
}

#[test]
fn a_good_record() {
    let (job, ignored) = with(&[]).unwrap();
    assert_eq!(ignored, Vec::<String>::new());
    assert!(job.started());
    assert_eq!((job.job_raw.as_str(), job.state, job.user.as_deref()), ("7", RunState::Completed, Some("ann")));
    assert_eq!(job.end_ms.unwrap() - job.start_ms.unwrap(), 3_600_000);
    assert_eq!((job.granted.gpus.count, job.granted.gpus.model()), (4, Some("a100")));
    assert_eq!(job.nodes, Nodes::Listed("n[1-2]".into(), vec!["n1".into(), "n2".into()]));
    assert_eq!(job.asked_mem_bytes, Some(8 << 32), "4 GiB for each of 8 CPUs");
    assert_eq!(job.time_limit_ms, Some(86_400_000));
}

#[test]
fn what_bills_refuses_the_record() {
    for (from, to, reason) in [
        ("7|7|ann", "x|7|ann", "JobID: `x` is no job id"),
        ("7|7|ann", "7|x|ann", "JobIDRaw: `x` is no job id"),
        ("COMPLETED", "SLEEPING", "State: unknown Slurm job state `SLEEPING`"),
        ("2026-03-01T10:00:00", "Unknown", "Submit: the record has no submit time"),
        ("2026-03-01T10:01:00", "2016-13-45T10:01:00", "Start: `2016-13-45T10:01:00` is no time of the form"),
        ("2026-03-01T11:01:00", "2026-03-01T09:01:00", "End: the job ends before it starts"),
        (
            "2026-03-01T11:01:00",
            "2026-03-29T02:30:00",
            "End: local time 2026-03-29T02:30:00 does not exist in Europe/Brussels",
        ),
        ("gres/gpu:a100=4", "gres/gpu=", "AllocTRES: TRES part `gres/gpu=` is cut off"),
        ("gres/gpu:a100=4", "gres/gpu=four", "AllocTRES: GPU count `four`"),
        ("7|7|ann", "7.batch|7.batch|", "step"),
    ] {
        let error = with(&[(from, to)]).unwrap_err();
        assert!(error.starts_with(reason), "{to}: {error}");
    }
}

#[test]
fn what_does_not_is_left_out_and_reported() {
    for (from, to, reported) in [
        ("1-00:00:00", "soon", "Timelimit: field ignored: `soon` is no duration"),
        ("cpu=8,gres/gpu=4,node=2", "cpu=8,gres/gp", "ReqTRES: field ignored: TRES part `gres/gp` is cut off"),
        ("n[1-2]", "n[1-", "NodeList: field ignored: host list part `n[1-`"),
        ("|2|n", "|two|n", "NNodes: field ignored: `two` is no number"),
        ("4Gc", "?", "ReqMem: field ignored: `?` is no memory size"),
        ("gres/gpu:a100=4", "gres/shard=2", "AllocTRES: field ignored: gres/shard=2"),
        ("COMPLETED", "RUNNING", "End: field ignored: a RUNNING job has no end yet"),
        ("COMPLETED", "PENDING", "Start: field ignored: a PENDING job has no start yet"),
    ] {
        let (_, ignored) = with(&[(from, to)]).unwrap();
        assert!(ignored.first().is_some_and(|i| i.starts_with(reported)), "{to}: {ignored:?}");
    }
    let (job, _) = with(&[("n[1-2]", "n[1-")]).unwrap();
    assert!(job.started(), "it got nodes, even if their names cannot be read");
}

#[test]
fn who_never_got_nodes_never_started() {
    assert!(!with(&[("n[1-2]", "None assigned")]).unwrap().0.started());
    assert!(!with(&[("n[1-2]", "")]).unwrap().0.started());
    assert!(!with(&[("COMPLETED", "PENDING")]).unwrap().0.started());
    assert!(!with(&[("2026-03-01T10:01:00", "Unknown")]).unwrap().0.started());
    let zero = with(&[("2026-03-01T11:01:00", "2026-03-01T10:01:00")]).unwrap().0;
    assert!(zero.started() && zero.start_ms == zero.end_ms);
}

#[test]
fn users_without_a_name_have_a_number() {
    assert_eq!(with(&[("|ann|", "||")]).unwrap().0.user.as_deref(), Some("uid:1000"));
    assert_eq!(with(&[("|ann|1000|", "|||")]).unwrap().0.user, None);
}

#[test]
fn naive_times_need_a_zone() {
    assert!(matches!(entry(GOOD, None), Err(Refused::NoZone(_))));
}

#[test]
fn a_doubled_hour_is_read_by_the_elapsed_time_or_refused() {
    // Clocks went back at 03:00 to 02:00 on 2026-10-25; 02:30 first is 00:30Z, then 01:30Z.
    let times = |start: &str, end: &str, elapsed: &str| {
        with(&[("2026-03-01T10:01:00", start), ("2026-03-01T11:01:00", end), ("|3600|", &format!("|{elapsed}|"))])
            .map(|(job, _)| ((job.start_ms.unwrap() / 60_000) % 1_440, (job.end_ms.unwrap() / 60_000) % 1_440))
    };
    let (night, morning) = ("2026-10-25T02:30:00", "2026-10-25T06:30:00");
    assert_eq!(times(night, morning, "18000"), Ok((30, 330)));
    assert_eq!(times(night, morning, "14400"), Ok((90, 330)));
    assert_eq!(times(night, "2026-10-25T02:10:00", ""), Ok((30, 70)), "the end is the later one: it follows the start");
    assert_eq!(
        times(night, morning, "").unwrap_err(),
        "Start: local time 2026-10-25T02:30:00 is ambiguous in Europe/Brussels (clocks were put back) and both readings fit"
    );
    assert!(times(night, morning, "5").unwrap_err().contains("no reading fits"));
    assert!(times(night, "2026-10-25T02:40:00", "600").unwrap_err().contains("both readings fit"));
}
