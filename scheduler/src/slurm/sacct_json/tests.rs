//! Dialects and damage; whole recorded documents are in `tests/samples.rs`.

use super::*;

fn document(dialect: &str, jobs: &str) -> String {
    format!(r#"{{"meta": {{"plugin": {{"data_parser": "{dialect}"}}}}, "jobs": [{jobs}]}}"#)
}

fn job(more: &str) -> String {
    format!(
        r#"{{"job_id": 7, "nodes": "n1", "array": {{"job_id": 0}}, "het": {{"job_id": 0}},
            "time": {{"submission": 1700000000, "eligible": 1700000000, "start": 1700000060, "end": 0}},
            "tres": {{"allocated": [{{"type": "gres", "name": "gpu:a100", "count": 4}}], "requested": []}},
            "state": {{"current": ["RUNNING", "COMPLETING"]}}{more}}}"#
    )
}

#[test]
fn a_job_becomes_the_record_that_text_would_give() {
    let read = read(document("data_parser/v0.0.40", &job("")).as_bytes()).unwrap();
    let record = &read.facts[0];
    for (column, value) in [
        ("jobid", "7"),
        ("jobidraw", "7"),
        ("state", "COMPLETING"),
        ("end", "Unknown"),
        ("alloctres", "gres/gpu:a100=4"),
        ("reqtres", ""),
        ("user", ""),
    ] {
        assert_eq!(record.get(column), Some(value), "{column}");
    }
}

#[test]
fn ids_of_arrays_and_het_jobs() {
    for (keys, shown) in [
        (r#""array": {"job_id": 5, "task_id": {"set": true, "infinite": false, "number": 3}}"#, "5_3"),
        (r#""array": {"job_id": 5, "task_id": 0}"#, "5_0"),
        (r#""array": {"job_id": 5, "task_id": null, "task": "1-9%2"}"#, "5_[1-9%2]"),
        (r#""array": {"job_id": 0}, "het": {"job_id": 500, "job_offset": 1}"#, "500+1"),
        (r#""array": {"job_id": 0}"#, "7"),
    ] {
        let job: Value = serde_json::from_str(&format!(r#"{{"job_id": 7, {keys}}}"#)).unwrap();
        assert_eq!(shown_id(&job).unwrap(), shown, "{keys}");
    }
}

#[test]
fn an_unknown_dialect_is_refused_by_name() {
    let refused = read(document("data_parser/v0.0.99", "").as_bytes());
    assert_eq!(refused, Err(SacctJsonError::Dialect { name: "data_parser/v0.0.99".into() }));
    assert_eq!(read(br#"{"jobs": []}"#), Err(SacctJsonError::NoDialect));
    assert!(read(document("data_parser/v0.0.41+fast", "").as_bytes()).unwrap().facts.is_empty());
    let none = br#"{"meta": {"plugin": {"type": "openapi/dbv0.0.38"}}}"#;
    assert!(matches!(read(none), Err(SacctJsonError::NoJobs(_))));
}

#[test]
fn a_bad_or_cut_job_costs_itself_only() {
    let jobs = format!("{},\n{{\"job_id\": \"x\"}},\n{{bad: 1}},\n{}", job(""), job(""));
    let text = document("data_parser/v0.0.39", &jobs);
    let out = read(text.as_bytes()).unwrap();
    assert_eq!(out.facts.len(), 2);
    let problems: Vec<_> = out.problems.iter().map(|p| (p.line.unwrap(), p.field.as_deref())).collect();
    assert_eq!(problems, [(5, Some("job_id")), (6, None)]);
    let cut = read(&text.as_bytes()[..text.len() - 30]).unwrap();
    assert_eq!((cut.facts.len(), cut.problems.len()), (1, 3));
    assert_eq!(cut.problems[2].reason, "the JSON ends in the middle: it was cut off");
    let mut bytes = text.into_bytes();
    let at = bytes.windows(2).position(|w| w == b"n1").unwrap();
    bytes[at] = 0xff;
    assert_eq!(read(&bytes).unwrap().facts.len(), 1);
}

#[test]
fn a_missing_part_is_named() {
    let text = document("data_parser/v0.0.39", &job("").replace("\"end\"", "\"ending\""));
    let out = read(text.as_bytes()).unwrap();
    assert_eq!(out.problems[0].field.as_deref(), Some("time/end"));
}
