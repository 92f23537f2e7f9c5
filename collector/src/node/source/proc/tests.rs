//! Processes of a `/proc` of our own, then real children on the real one.

use std::fs;
use std::process::{Child, Command, Stdio};

use gpuledger_schema::id::hint_of_session;

use super::*;
use gpuledger_schema::state::SchedulerKind;

use crate::node::attribute::{Records, Runs, Site, belongs};
use crate::node::seen::Boot;
use crate::node::source::scratch::Scratch;

/// A `/proc` of our own.
struct FakeProc {
    scratch: Scratch,
    root: PathBuf,
}

/// A process in it.
#[derive(Debug, Clone)]
struct Fake {
    pid: u32,
    start_ticks: u64,
    session: u32,
    uid: u32,
    cpu_ticks: u64,
    read_bytes: u64,
    io_wait_ticks: u64,
    cgroup: &'static str,
    environ: &'static str,
}

fn fake(pid: u32, start_ticks: u64) -> Fake {
    Fake {
        pid,
        start_ticks,
        session: pid,
        uid: 1000,
        cpu_ticks: 0,
        read_bytes: 0,
        io_wait_ticks: 0,
        cgroup: "0::/\n",
        environ: "",
    }
}

impl FakeProc {
    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.write("sys/kernel/task_delayacct", "1\n");
        Self { root: scratch.path.clone(), scratch }
    }

    fn put(&self, fake: &Fake) {
        let Fake { pid, start_ticks, session, uid, cpu_ticks, read_bytes, io_wait_ticks, .. } = fake;
        let stat = format!(
            "{pid} (train) S 1 {session} {session} 0 -1 0 0 0 0 0 {cpu_ticks} 0 0 0 20 0 1 0 {start_ticks} 0 25 0 0 0 0 0 0 0 \
             0 0 0 0 0 0 17 0 0 0 {io_wait_ticks} 0 0 0 0 0 0 0 0 0 0\n"
        );
        self.scratch.write(&format!("{pid}/stat"), &stat);
        let status = format!("Name:\ttrain\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}\t7\n");
        self.scratch.write(&format!("{pid}/status"), &status);
        let io = format!(
            "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {read_bytes}\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
        );
        self.scratch.write(&format!("{pid}/io"), &io);
        self.scratch.write(&format!("{pid}/cgroup"), fake.cgroup);
        self.scratch.write(&format!("{pid}/environ"), fake.environ);
    }

    fn take(&self, pid: u32) {
        fs::remove_dir_all(self.root.join(pid.to_string())).unwrap();
    }

    /// Reads it with 100 clock ticks a second and pages of 4 KiB; 1000 is alice, 2000 is bob.
    fn reader(&self) -> Proc {
        let settings = ProcSettings { root: self.root.clone(), ticks_per_second: 100, page_bytes: 4096, environ: true };
        Proc::new(
            settings,
            Box::new(|uid| match uid {
                1000 => Some("alice".into()),
                2000 => Some("bob".into()),
                _ => None,
            }),
        )
    }
}

fn at(boot_ms: i64) -> Moment {
    Moment { wall_ms: 0, boot_ms, awake_ms: boot_ms, synchronised: true }
}

fn absent(look: &Look, column: &str) -> Option<Absent> {
    look.absent.iter().find(|(c, _)| *c == column).map(|(_, why)| why.clone())
}

/// Meets a pid and looks at it at the end of the tick that began a minute before `end_boot_ms`.
fn minute(proc: &mut Proc, pid: u32, end_boot_ms: i64) -> Look {
    let process = proc.meet(pid).unwrap();
    let look = proc.look(process, end_boot_ms - 60_000, at(end_boot_ms));
    proc.end_tick();
    look
}

#[test]
fn a_pid_given_again_is_another_process() {
    // C04: 4242 of alice ends at 10:00:20, 4242 of bob starts at 10:00:40; the host started an hour before 10:00
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&Fake { cpu_ticks: 90_000, ..fake(4242, 350_000) });
    let alice = minute(&mut proc, 4242, 3_600_000);
    host.put(&Fake { uid: 2000, cpu_ticks: 1_500, ..fake(4242, 364_000) });
    let bob = minute(&mut proc, 4242, 3_660_000);

    assert_eq!((alice.facts.user.as_str(), bob.facts.user.as_str()), ("alice", "bob"));
    assert_eq!(alice.facts.process, Process { pid: 4242, start_ticks: 350_000 });
    assert_eq!(bob.facts.process, Process { pid: 4242, start_ticks: 364_000 });
    assert_eq!(bob.facts.cpu_ms, Some(15_000), "its own, and not 15 000 less 900 000");
    // whoever still asks for alice's process is told that it is gone, and not of bob
    let stale = proc.look(alice.facts.process, 3_660_000, at(3_720_000));
    assert_eq!((stale.facts.state, absent(&stale, "state")), (None, Some(Absent::Gone)));
    assert_ne!(stale.facts.user, "bob");
}

#[test]
fn a_number_that_no_name_service_knows_stays_on_the_row() {
    // C11
    let host = FakeProc::new();
    host.put(&Fake { uid: 20_117, ..fake(7, 10) });
    assert_eq!(minute(&mut host.reader(), 7, 60_000).facts.user, "uid:20117");
}

#[test]
fn use_is_a_difference_between_two_ends_of_ticks() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    let process = Fake { cpu_ticks: 1_000, read_bytes: 4_096, io_wait_ticks: 3, ..fake(7, 10) };
    host.put(&process);
    let first = minute(&mut proc, 7, 120_000);
    assert_eq!((first.facts.cpu_ms, absent(&first, "cpu_ms")), (None, Some(Absent::NoEarlier)));
    assert_eq!((first.facts.rss_bytes, first.facts.state), (Some(25 * 4096), Some('S')));

    host.put(&Fake { cpu_ticks: 4_000, read_bytes: 5_120, io_wait_ticks: 5, ..process });
    let second = minute(&mut proc, 7, 180_000);
    assert_eq!(second.facts.cpu_ms, Some(30_000));
    assert_eq!((second.facts.read_bytes, second.facts.io_wait_ms), (Some(1_024), Some(20)));
    assert_eq!(second.absent, vec![]);
}

#[test]
fn a_process_that_started_in_the_tick_used_all_it_has_used() {
    let host = FakeProc::new();
    host.put(&Fake { cpu_ticks: 200, ..fake(7, 6_000) });
    host.put(&Fake { cpu_ticks: 200, ..fake(8, 5_999) });
    let mut proc = host.reader();
    let look = |proc: &mut Proc, pid| {
        let process = proc.meet(pid).unwrap();
        proc.look(process, 60_000, at(120_000)).facts.cpu_ms
    };
    assert_eq!(look(&mut proc, 7), Some(2_000), "it started with the tick, at 60 000 ms");
    assert_eq!(look(&mut proc, 8), None, "it started 10 ms before");
}

#[test]
fn a_process_that_was_away_for_a_tick_has_no_difference() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&Fake { cpu_ticks: 100, ..fake(7, 10) });
    minute(&mut proc, 7, 120_000);
    proc.end_tick();
    assert_eq!(minute(&mut proc, 7, 240_000).facts.cpu_ms, None, "the difference would be of two minutes");
    assert_eq!(minute(&mut proc, 7, 300_000).facts.cpu_ms, Some(0), "measured zero");
}

#[test]
fn a_process_that_was_met_but_not_looked_at_has_no_difference() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&Fake { cpu_ticks: 100, ..fake(7, 10) });
    minute(&mut proc, 7, 120_000);
    proc.meet(7).unwrap();
    proc.end_tick();
    assert_eq!(minute(&mut proc, 7, 240_000).facts.cpu_ms, None, "the difference would be of two minutes");
}

#[test]
fn a_pid_that_changes_hands_while_it_is_read_is_gone() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&fake(7, 10));
    let process = proc.meet(7).unwrap();
    // the reader waits at the cgroup until it is written, and by then the pid is bob's
    let cgroup = host.root.join("7/cgroup");
    fs::remove_file(&cgroup).unwrap();
    if !Command::new("mkfifo").arg(&cgroup).status().is_ok_and(|s| s.success()) {
        println!("skipped: no mkfifo here");
        return;
    }
    let stat = fs::read_to_string(host.root.join("7/stat")).unwrap().replace(" 1 0 10 0 25 ", " 1 0 11 0 25 ");
    let stat_path = host.root.join("7/stat");
    let (handed_over, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut waiting = fs::OpenOptions::new().write(true).open(cgroup).unwrap();
        fs::write(stat_path, stat).unwrap();
        std::io::Write::write_all(&mut waiting, b"0::/kubepods/podaaaaaaaa-0000-4000-8000-000000000001\n").unwrap();
        handed_over.send(()).unwrap();
    });
    let look = proc.look(process, 0, at(60_000));
    wait.recv_timeout(std::time::Duration::from_secs(60)).expect("the cgroup is read between two looks");
    assert_eq!(absent(&look, "cpu_ms"), Some(Absent::Gone));
    assert_eq!(look.witness.cgroups, vec![], "bob's pod is not alice's");
    fs::remove_file(host.root.join("7/cgroup")).unwrap();
    assert_eq!(proc.meet(7).unwrap().start_ticks, 11, "it was handed over");
}

#[test]
fn the_answer_of_a_tick_is_one_for_all_devices() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&fake(7, 10));
    minute(&mut proc, 7, 120_000);
    let process = proc.meet(7).unwrap();
    host.put(&Fake { cpu_ticks: 100, ..fake(7, 10) });
    let on_first = proc.look(process, 120_000, at(180_000)).facts;
    host.put(&Fake { cpu_ticks: 900, ..fake(7, 10) });
    assert_eq!(proc.look(process, 120_000, at(180_001)).facts, on_first);
    assert_eq!(on_first.cpu_ms, Some(1_000));
}

#[test]
fn a_process_that_ends_within_the_tick_keeps_who_it_was_and_loses_what_it_used() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&Fake { cgroup: "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", ..fake(7, 10) });
    let process = proc.meet(7).unwrap();
    host.take(7);
    let look = proc.look(process, 60_000, at(120_000));
    assert_eq!((look.facts.user.as_str(), look.facts.command.as_deref()), ("alice", Some("train")));
    assert_eq!(look.witness.cgroups, vec![Cgroup::SlurmJob { job: "7".into(), step: Some("0".into()) }]);
    assert_eq!((look.facts.cpu_ms, look.facts.rss_bytes, look.facts.state), (None, None, None));
    for column in ["cpu_ms", "host_rss_bytes", "read_bytes", "io_wait_ms", "state"] {
        assert_eq!(absent(&look, column), Some(Absent::Gone), "{column}");
    }
    assert_eq!(absent(&look, "command"), None);
}

#[test]
fn a_process_that_was_never_read_has_no_user_and_nobodys_either() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    assert!(matches!(proc.meet(7), Err(ProcError::Gone { pid: 7 })));
    let look = proc.look(Process { pid: 7, start_ticks: 1 }, 0, at(60_000));
    assert_eq!((look.facts.user.as_str(), look.facts.command.as_deref()), ("uid:unknown", None));
    assert_eq!((look.witness.uid, absent(&look, "command")), (None, Some(Absent::Gone)));
}

#[test]
fn a_process_that_cannot_be_read_further_keeps_its_row_with_the_reason() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&fake(7, 10));
    host.scratch.write("7/status", "");
    let look = minute(&mut proc, 7, 60_000);
    assert_eq!(look.facts.process, Process { pid: 7, start_ticks: 10 });
    assert_eq!(look.facts.user, "uid:unknown");
    assert_eq!(absent(&look, "cpu_ms"), Some(Absent::Failed("cannot read `status` of process 7".into())));
}

#[test]
fn waits_that_the_kernel_does_not_count_are_not_zero() {
    let host = FakeProc::new();
    host.scratch.write("sys/kernel/task_delayacct", "0\n");
    let mut proc = host.reader();
    host.put(&fake(7, 10));
    minute(&mut proc, 7, 120_000);
    let look = minute(&mut proc, 7, 180_000);
    assert_eq!((look.facts.io_wait_ms, absent(&look, "io_wait_ms")), (None, Some(Absent::NotSupported)));
    assert_eq!(look.facts.cpu_ms, Some(0));
}

#[test]
fn a_missing_io_file_takes_only_its_own_value() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&fake(7, 10));
    fs::remove_file(host.root.join("7/io")).unwrap();
    minute(&mut proc, 7, 120_000);
    let look = minute(&mut proc, 7, 180_000);
    assert_eq!((look.facts.read_bytes, absent(&look, "read_bytes")), (None, Some(Absent::NotSupported)));
    assert_eq!(look.facts.cpu_ms, Some(0));
}

#[test]
fn the_environment_is_read_only_where_the_cgroup_does_not_decide() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    let environ = "SLURM_JOB_ID=9\0";
    host.put(&Fake { environ, ..fake(7, 10) });
    host.put(&Fake { environ, cgroup: "0::/system.slice/slurmstepd.scope/job_8/step_0\n", ..fake(8, 10) });
    assert_eq!(minute(&mut proc, 7, 60_000).witness.environ.slurm_job.as_deref(), Some("9"));
    assert_eq!(minute(&mut proc, 8, 60_000).witness.environ, Environ::default());
    proc.settings.environ = false;
    assert_eq!(minute(&mut proc, 7, 120_000).witness.environ, Environ::default());
}

#[test]
fn a_leader_that_ended_is_remembered_as_long_as_its_session_is_seen() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&fake(40, 800));
    host.put(&Fake { session: 40, ..fake(42, 900) });
    let led = |start_ticks| Leader { pid: 40, start_ticks };
    assert_eq!(minute(&mut proc, 42, 60_000).witness.leader, led(Some(800)));
    host.take(40);
    assert_eq!(minute(&mut proc, 42, 120_000).witness.leader, led(Some(800)));
    // a new member, started after the leader had ended
    host.put(&Fake { session: 40, ..fake(43, 9_000) });
    let newcomer = proc.meet(43).unwrap();
    assert_eq!(proc.look(newcomer, 120_000, at(180_000)).witness.leader, led(Some(800)));
    // nobody of the session was seen for a tick: what is known of it is no longer sure
    proc.end_tick();
    proc.end_tick();
    assert_eq!(minute(&mut proc, 42, 300_000).witness.leader, led(None));
}

#[test]
fn a_process_without_a_session_leads_itself() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&Fake { session: 0, ..fake(7, 10) });
    assert_eq!(minute(&mut proc, 7, 60_000).witness.leader, Leader { pid: 7, start_ticks: Some(10) });
}

#[test]
fn a_pid_that_is_not_a_leader_now_is_not_taken_for_one() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&Fake { session: 1, ..fake(40, 950) });
    host.put(&Fake { session: 40, ..fake(42, 900) });
    assert_eq!(minute(&mut proc, 42, 60_000).witness.leader, Leader { pid: 40, start_ticks: None });
}

#[test]
fn nobody_is_older_than_the_leader_of_their_session() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&fake(40, 950));
    host.put(&Fake { session: 40, ..fake(42, 900) });
    assert_eq!(minute(&mut proc, 42, 60_000).witness.leader, Leader { pid: 40, start_ticks: None });
}

#[test]
fn what_is_remembered_is_bounded_by_what_was_seen_in_the_last_tick() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    for pid in 1..=20 {
        host.put(&Fake { session: 1, ..fake(pid, 10) });
        proc.meet(pid).unwrap();
    }
    assert_eq!((proc.known.len(), proc.leaders.len()), (20, 1));
    proc.end_tick();
    proc.meet(3).unwrap();
    proc.end_tick();
    assert_eq!((proc.known.len(), proc.leaders.len()), (1, 0));
}

#[test]
fn a_garbled_process_is_an_error_and_no_panic() {
    let host = FakeProc::new();
    let mut proc = host.reader();
    host.put(&fake(7, 10));
    host.scratch.write("7/stat", "7 (x");
    let error = proc.meet(7).unwrap_err();
    assert_eq!(error.to_string(), "cannot read `stat` of process 7");
    assert_eq!(Absent::from(error), Absent::Failed("cannot read `stat` of process 7".into()));
}

// From here on: the /proc of this machine, and children that this test starts.

/// A child that is ended with the test.
struct Started(Child);

impl Started {
    fn new(program: &str, arguments: &[&str]) -> Option<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().ok().map(Self)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn this_machine() -> Proc {
    Proc::new(ProcSettings::of_this_machine(Path::new("/proc"), true), users::system_names())
}

/// Now, by the first number of `/proc/uptime`.
fn now() -> Moment {
    let text = fs::read_to_string("/proc/uptime").unwrap();
    let (seconds, hundredths) = text.split_whitespace().next().unwrap().split_once('.').unwrap();
    at(seconds.parse::<i64>().unwrap() * 1000 + hundredths.parse::<i64>().unwrap() * 10)
}

#[test]
fn a_child_is_read_as_it_is_and_is_gone_when_it_has_ended() {
    let mut proc = this_machine();
    let mut child = Started::new("sleep", &["600"]).expect("a sleep");
    let process = proc.meet(child.0.id()).unwrap();
    let look = proc.look(process, now().boot_ms, now());
    assert_eq!(look.facts.process.pid, child.0.id());
    assert_eq!(look.facts.user, Users::new(users::system_names()).name(nix::unistd::getuid().as_raw(), 0));
    assert!(look.facts.rss_bytes.is_some());
    assert_eq!(look.namespaced.first(), Some(&child.0.id()));
    proc.end_tick();

    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let look = proc.look(process, now().boot_ms, now());
    assert_eq!(absent(&look, "cpu_ms"), Some(Absent::Gone));
    assert_eq!(look.facts.user, Users::new(users::system_names()).name(nix::unistd::getuid().as_raw(), 0));
    assert!(matches!(proc.meet(child.0.id()), Err(ProcError::Gone { .. })));
}

#[test]
fn a_child_that_computes_uses_cpu_time() {
    let mut proc = this_machine();
    let tick_boot_ms = now().boot_ms - 10;
    let Some(child) = Started::new("sh", &["-c", "while :; do :; done"]) else { return };
    let process = proc.meet(child.0.id()).unwrap();
    let first = loop {
        let look = proc.look(process, tick_boot_ms, now());
        proc.end_tick();
        match look.facts.cpu_ms.expect("it started in this tick, or was looked at in the last") {
            0 => proc.meet(child.0.id()).unwrap(),
            ms => break ms,
        };
    };
    assert!(first >= 10 && first <= now().boot_ms - tick_boot_ms + 10, "{first} ms");
}

#[test]
fn a_shell_in_its_own_session_leads_its_children() {
    let mut proc = this_machine();
    // it says its pid, then stays; its child is the process that would use a GPU
    let script = "sleep 600 & echo $$ $!; wait";
    let Some(mut child) = Started::new("setsid", &["sh", "-c", script]) else {
        println!("skipped: no setsid here");
        return;
    };
    let mut line = String::new();
    let out = child.0.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|w| w.parse().unwrap()).collect();
    let [shell, sleeper] = pids[..] else { panic!("two pids: {line}") };

    let (shell_process, process) = (proc.meet(shell).unwrap(), proc.meet(sleeper).unwrap());
    let leader = Leader { pid: shell, start_ticks: Some(shell_process.start_ticks) };
    let witness = proc.look(process, 0, now()).witness;
    assert_eq!(witness.leader, leader);
    proc.end_tick();

    // on a bare host that is whom the process belongs to
    let site = Site {
        cluster: "lab".into(),
        scheduler: SchedulerKind::None,
        boot: Boot { node: "n1".into(), boot: "b1".into() },
    };
    let belongs = belongs(&site, &witness, &Records::default(), &Runs::default());
    let start = shell_process.start_ticks.to_string();
    assert_eq!(belongs.hint_id, hint_of_session("n1", "b1", &shell.to_string(), &start));
    assert_eq!((belongs.hint, belongs.evidence), (format!("session:{shell}"), "session"));

    // the login shell ends, its background process stays: the session is the same
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(shell).unwrap()), nix::sys::signal::SIGKILL)
        .unwrap();
    child.0.wait().unwrap();
    assert_eq!(proc.meet(sleeper).unwrap(), process);
    assert_eq!(proc.look(process, 0, now()).witness.leader, leader);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(sleeper).unwrap()), nix::sys::signal::SIGKILL)
        .unwrap();
}

#[test]
fn a_childs_environment_gives_the_wanted_key_alone() {
    let mut proc = this_machine();
    let mut command = Command::new("sleep");
    command.arg("600").env("SLURM_JOB_ID", "4711").env("GPULEDGER_TOKEN", "secret");
    let child = Started(command.spawn().unwrap());
    // the environment is the new program's only once the child has become it
    let process = loop {
        if fs::read_to_string(format!("/proc/{}/comm", child.0.id())).unwrap() == "sleep\n" {
            break proc.meet(child.0.id()).unwrap();
        }
    };
    let look = proc.look(process, 0, now());
    if look.witness.cgroups.iter().any(|c| matches!(c, Cgroup::SlurmJob { .. } | Cgroup::Pod { .. })) {
        println!("skipped: this test runs in a job or pod, whose cgroup decides");
        return;
    }
    assert_eq!(look.witness.environ, Environ { slurm_job: Some("4711".into()), slurm_sluid: None });
    assert!(!format!("{look:?}").contains("secret"));
}

#[test]
fn device_files_are_found_by_their_minor_numbers() {
    let host = FakeProc::new();
    let descriptors = host.scratch.make("7/fd");
    let targets = [
        "/dev/nvidia3",
        "/dev/nvidia0",
        "/dev/nvidia3",
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia-caps/nvidia-cap1",
        "/dev/null",
    ];
    for (i, target) in targets.iter().enumerate() {
        std::os::unix::fs::symlink(target, descriptors.join(i.to_string())).unwrap();
    }
    let counted = held::device_minors(&host.root, 7).unwrap();
    assert_eq!((counted.found, counted.whole), ([0, 3].into(), true));
    assert!(held::device_minors(&host.root, 8).is_err());
    assert!(held::device_minors(Path::new("/proc"), std::process::id()).unwrap().whole);
}

#[test]
fn threads_that_cannot_be_ended_are_counted() {
    let host = FakeProc::new();
    for (thread, state) in [(7, 'S'), (8, 'D'), (9, 'D')] {
        host.scratch.write(&format!("7/task/{thread}/stat"), &format!("{thread} (a) D b) {state} 1 1\n"));
    }
    assert_eq!(held::blocked_threads(&host.root, 7).unwrap().found, 2);
    assert!(held::blocked_threads(Path::new("/proc"), std::process::id()).unwrap().whole);
}
