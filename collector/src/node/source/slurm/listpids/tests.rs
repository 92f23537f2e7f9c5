//! The process list of Slurm's daemons, from texts and from a program of our own.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::node::source::scratch::Scratch;

const LIST: &str = "PID      JOBID    STEPID   LOCALID GLOBALID\n-1       13073    extern   0       0\n\
                    3913206  13073    extern   -       -\n3913212  13073    batch    0       0\n\
                    77       14       0        1       5\n";

fn at(boot_ms: i64) -> Moment {
    Moment { wall_ms: 0, boot_ms, awake_ms: boot_ms, synchronised: true }
}

fn listed(pid: u32, job: &str, step: &str) -> Listed {
    Listed { pid, job: job.into(), step: step.into() }
}

/// A `scontrol` of our own.
fn program(folder: &Scratch, script: &str) -> PathBuf {
    let path = folder.write("scontrol", &format!("#!/bin/sh\n[ \"$1\" = listpids ] || exit 0\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    // A test that forked while the file was open for writing keeps it busy for a moment.
    while std::process::Command::new(&path).status().is_err() {
        std::thread::yield_now();
    }
    path
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn rows_are_processes_of_steps_and_a_step_without_one_is_passed_over() {
    let expected =
        vec![listed(3_913_206, "13073", "extern"), listed(3_913_212, "13073", "batch"), listed(77, "14", "0")];
    assert_eq!(parse(LIST).unwrap(), expected);
}

#[test]
fn columns_are_found_by_their_heads() {
    assert_eq!(parse("JOBID NODE PID STEPID\n7 n1 42 0\n").unwrap(), vec![listed(42, "7", "0")]);
}

#[test]
fn a_node_without_steps_is_an_empty_list_and_anything_else_is_none() {
    assert_eq!(parse("No job steps exist on this node.\n").unwrap(), Vec::new());
    assert_eq!(parse("PID JOBID STEPID LOCALID GLOBALID\nNo job steps exist on this node.\n").unwrap(), Vec::new());
    for text in ["", "slurm_load_ctl_conf error: Unable to contact slurm controller\n", "PID JOBID\n1 2\n"] {
        assert!(matches!(parse(text), Err(SlurmError::NoProcessList)), "{text:?}");
    }
}

#[test]
fn rows_that_are_not_rows_are_passed_over() {
    let text = "PID JOBID STEPID LOCALID GLOBALID\n0 7 0 0 0\nx 7 0 0 0\n42 -1 0 0 0\n43 7\n44 7 0 0 0\n";
    assert_eq!(parse(text).unwrap(), vec![listed(44, "7", "0")]);
}

#[test]
fn a_pid_that_was_given_again_after_the_list_is_nobodys() {
    let folder = Scratch::new();
    let mut list = ProcessList::new(program(&folder, &format!("cat <<'END'\n{LIST}END")), 5_000);
    block(list.refresh(at(100_000))).unwrap();
    let of = |pid, start_ticks| list.job(Process { pid, start_ticks }, 100).map(str::to_owned);
    assert_eq!(of(77, 10_000), Some("14".into()), "it started at 100 000 ms, when the list was asked for");
    assert_eq!(of(77, 10_001), None, "it started 10 ms later");
    assert_eq!(of(78, 1), None);
}

#[test]
fn it_is_run_at_most_once_a_minute() {
    let folder = Scratch::new();
    let calls = folder.path.join("calls");
    let script = format!("echo x >> {}\nprintf 'PID JOBID STEPID\\n42 7 0\\n'", calls.display());
    let mut list = ProcessList::new(program(&folder, &script), 5_000);
    for boot_ms in [1_000, 31_000, 60_999, 61_000] {
        block(list.refresh(at(boot_ms))).unwrap();
    }
    assert_eq!(std::fs::read_to_string(calls).unwrap(), "x\nx\n");
}

#[test]
fn an_old_list_is_no_evidence_after_a_failure() {
    let folder = Scratch::new();
    let mut list = ProcessList::new(program(&folder, "printf 'PID JOBID STEPID\\n42 7 0\\n'"), 5_000);
    block(list.refresh(at(1_000))).unwrap();
    let process = Process { pid: 42, start_ticks: 1 };
    assert_eq!(list.job(process, 100), Some("7"));
    program(&folder, "exit 3");
    assert!(matches!(block(list.refresh(at(61_000))), Err(SlurmError::Status { .. })));
    assert_eq!(list.job(process, 100), None);
}

#[test]
fn a_call_that_hangs_is_ended_and_one_that_is_not_there_is_said() {
    let folder = Scratch::new();
    let mut list = ProcessList::new(program(&folder, "exec sleep 600"), 50);
    assert!(matches!(block(list.refresh(at(1_000))), Err(SlurmError::Late { deadline_ms: 50, .. })));
    let mut list = ProcessList::new(folder.path.join("missing"), 50);
    assert!(matches!(block(list.refresh(at(1_000))), Err(SlurmError::Run { .. })));
}

#[test]
fn nothing_runs_is_not_a_failure_whatever_its_exit_status() {
    let folder = Scratch::new();
    let mut list = ProcessList::new(program(&folder, "echo 'No job steps exist on this node.' >&2\nexit 1"), 5_000);
    block(list.refresh(at(1_000))).unwrap();
}
