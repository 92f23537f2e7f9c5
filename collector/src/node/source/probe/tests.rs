//! Probes that are well, sick, broken, slow and talkative.

use std::time::Duration;

use super::run::Probe;
use super::*;

fn said(code: i32, output: &str) -> ProbeReading {
    ProbeReading::of(Ended::Exited { code: Some(code), output: output.as_bytes().to_vec(), cut: false })
}

fn unknown(why: &str) -> Health {
    Health::Unknown(why.to_owned())
}

#[test]
fn exit_codes_say_healthy_sick_or_nothing() {
    assert_eq!(said(0, "").node, Health::Healthy);
    assert_eq!(said(2, "fan 3 stands still\n").node, Health::Sick("fan 3 stands still".to_owned()));
    assert_eq!(said(2, "").node, Health::Sick("the probe gave no reason".to_owned()));
    for failed in [1, 3, 126, 127] {
        assert_eq!(said(failed, "").node, unknown(&format!("the probe failed with exit code {failed}")));
    }
    let signal = ProbeReading::of(Ended::Exited { code: None, output: vec![], cut: false });
    assert_eq!(signal.node, unknown("the probe was ended by a signal"));
}

#[test]
fn gpus_are_as_the_json_says_and_the_others_as_the_node() {
    let reading = said(
        2,
        r#"{"reason":"one card", "gpus":[{"uuid":"GPU-a","healthy":true},{"uuid":"GPU-b","healthy":false,"reason":"row remap"},
            {"uuid":"GPU-c","reason":"not asked"},{"uuid":"GPU-d","healthy":null}]}"#,
    );
    assert_eq!(reading.gpu("GPU-a"), &Health::Healthy);
    assert_eq!(reading.gpu("GPU-b"), &Health::Sick("row remap".to_owned()));
    assert_eq!(reading.gpu("GPU-c"), &unknown("not asked"));
    assert_eq!(reading.gpu("GPU-d"), &unknown("the probe gave no reason"));
    assert_eq!(reading.gpu("GPU-e"), &Health::Sick("one card".to_owned()));
}

#[test]
fn any_object_is_kept_as_it_was_said() {
    let reading = said(0, r#"{"nvlink": {"errors": 3}}"#);
    assert_eq!((reading.node, reading.gpus.len()), (Health::Healthy, 0));
    assert_eq!(reading.said.as_deref(), Some(r#"{"nvlink": {"errors": 3}}"#));
}

#[test]
fn what_cannot_be_read_is_unknown_not_sick() {
    for broken in [r#"{"gpus":[{"uuid":"#, r#"{"gpus": 7}"#, r#"{"gpus":[{"healthy":false}]}"#] {
        for code in [0, 2] {
            assert!(matches!(said(code, broken).node, Health::Unknown(_)), "{broken}");
        }
    }
    let cut = ProbeReading::of(Ended::Exited { code: Some(2), output: b"{}".to_vec(), cut: true });
    assert_eq!(cut.node, unknown("the probe printed more than its bound"));
    assert_eq!(said(1, r#"{"gpus":[{"uuid":"GPU-a","healthy":false}]}"#).gpus, [], "it failed half way");
}

#[test]
fn a_reason_is_cut_between_characters() {
    let long = format!("a{}", "\u{e4}".repeat(REASON_MAX_BYTES));
    let Health::Sick(why) = said(2, &long).node else { panic!("sick") };
    assert_eq!(why, format!("a{}", "\u{e4}".repeat(249)));
}

#[test]
fn the_row_says_whether_the_probe_could_tell() {
    let sick = said(2, r#"{"gpus":[{"uuid":"GPU-a","healthy":false}]}"#).row("alpha", "n1", 120_000, 60_000);
    assert_eq!((sick.ok, sick.rows, sick.node.as_deref()), (true, 1, Some("n1")));
    assert!(sick.error.unwrap().starts_with("sick: "));
    let late = ProbeReading::of(Ended::Late { deadline_ms: 500 }).row("alpha", "n1", 120_000, 60_000);
    assert_eq!((late.ok, late.error.as_deref()), (false, Some("the probe did not end within 500 ms")));
    assert_eq!((late.from_ms, late.to_ms), (60_000, 120_000));
}

fn shell(script: &str, deadline: Duration, bytes: u64) -> Probe {
    Probe::new(["/bin/sh", "-c", script].map(str::to_owned).to_vec(), deadline, bytes)
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_program_is_run_and_its_output_bounded() {
    let exited = |code, output: &str, cut| Ended::Exited { code: Some(code), output: output.into(), cut };
    assert_eq!(shell("echo bad; exit 2", MINUTE, 100).run(), exited(2, "bad\n", false));
    assert_eq!(shell("printf 12345", MINUTE, 5).run(), exited(0, "12345", false));
    let cut = shell("printf 123456", MINUTE, 5).run();
    assert!(matches!(&cut, Ended::Exited { output, cut: true, .. } if output == b"12345"), "{cut:?}");
    let endless = shell("yes", MINUTE, 1_000).run();
    assert!(matches!(endless, Ended::Exited { cut: true, .. }), "the pipe is closed, and that ends it: {endless:?}");
}

#[test]
fn a_program_that_is_not_there_is_not_started() {
    let ended = Probe::new(vec!["/no/such/probe".to_owned()], MINUTE, 10).run();
    assert!(matches!(&ended, Ended::NotStarted(why) if why.starts_with("/no/such/probe: ")), "{ended:?}");
    assert_eq!(Probe::new(vec![], MINUTE, 10).run(), Ended::NotStarted("no command is configured".to_owned()));
}

#[test]
fn a_program_that_hangs_is_ended_with_what_it_started() {
    let mut probe = shell("sleep 1000 & sleep 1000", Duration::from_millis(50), 10);
    assert_eq!(probe.run(), Ended::Late { deadline_ms: 50 });
    // The whole group is gone, so the wait ends too, and the next run is started.
    while probe.run() == Ended::StillRunning {
        std::thread::yield_now();
    }
}
