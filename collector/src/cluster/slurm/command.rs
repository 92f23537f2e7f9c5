//! Running Slurm's commands: read-only, in a process group of their own, with a deadline and a bound. A command that does
//! not end is killed, and none of its kind is started while it still hangs.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::sync::oneshot;

use crate::cluster::LookError;

/// Bytes of what a command says on standard error that are kept.
const SAID_MAX: u64 = 8 << 10;

/// Variables that change what the commands print, and which cluster they ask.
const UNSET: &[&str] = &[
    "SLURM_CLUSTERS",
    "SLURM_BITSTR_LEN",
    "SCONTROL_ALL",
    "SCONTROL_FEDERATION",
    "SCONTROL_FUTURE",
    "SCONTROL_LOCAL",
    "SCONTROL_SIBLING",
    "SACCT_FEDERATION",
    "SACCT_LOCAL",
    "SQUEUE_FORMAT",
    "SQUEUE_FORMAT2",
    "SQUEUE_STATES",
    "SQUEUE_USERS",
    "SQUEUE_PARTITION",
    "SQUEUE_SORT",
    "SQUEUE_FEDERATION",
    "SQUEUE_ARRAY",
];

/// Slurm's commands and their bounds.
#[derive(Debug)]
pub(super) struct Commands {
    conf: Option<PathBuf>,
    deadline: Duration,
    output_max_bytes: u64,
    /// Threads that wait for a command, by its kind.
    waiting: BTreeMap<&'static str, JoinHandle<()>>,
    counts: BTreeMap<&'static str, u64>,
}

/// How a command ended.
struct Ended {
    code: Option<i32>,
    output: Vec<u8>,
    said: String,
}

/// A running command's group: it ends with the look that waits for it.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

impl Commands {
    pub(super) fn new(conf: Option<PathBuf>, deadline_s: u64, output_max_bytes: u64) -> Self {
        let deadline = Duration::from_secs(deadline_s);
        Self { conf, deadline, output_max_bytes, waiting: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// Commands run since the start, by kind.
    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count)).collect()
    }

    /// What a command printed. `kind` names it in errors and counts.
    pub(super) async fn run(
        &mut self,
        kind: &'static str,
        program: &Path,
        arguments: &[&str],
    ) -> Result<String, LookError> {
        let failed = |why: String| LookError::new(format!("{kind}: {why}"));
        if self.waiting.get(kind).is_some_and(|thread| !thread.is_finished()) {
            return Err(failed("an earlier call still hangs; none is made before it ends".to_owned()));
        }
        *self.counts.entry(kind).or_default() += 1;
        let child =
            self.start(program, arguments).map_err(|e| failed(format!("cannot start {}: {e}", program.display())))?;
        let mut group = Group(i32::try_from(child.id()).ok().map(Pid::from_raw));
        let (tell, told) = oneshot::channel();
        let bound = self.output_max_bytes;
        // Not joined: a process in uninterruptible sleep would take us with it.
        let thread = std::thread::spawn(move || drop(tell.send(wait(child, bound))));
        self.waiting.insert(kind, thread);
        let ended = match tokio::time::timeout(self.deadline, told).await {
            Ok(Ok(ended)) => ended.map_err(|e| failed(e.to_string()))?,
            Ok(Err(_)) => return Err(failed("its end was not told".to_owned())),
            Err(_) => {
                return Err(failed(format!("does not answer within {} s and was ended", self.deadline.as_secs())));
            }
        };
        group.0 = None;
        if ended.output.len() as u64 > bound {
            return Err(failed(format!("prints more than {bound} bytes (`output_max_bytes`)")));
        }
        if ended.code != Some(0) {
            let code = ended.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
            return Err(failed(format!("ended with {code}: {}", ended.said)));
        }
        String::from_utf8(ended.output).or_else(|e| Ok(String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    #[allow(clippy::disallowed_methods, reason = "the commands are Slurm's, which the configuration names")]
    fn start(&self, program: &Path, arguments: &[&str]) -> std::io::Result<Child> {
        let mut command = Command::new(program);
        for name in UNSET {
            command.env_remove(name);
        }
        if let Some(conf) = &self.conf {
            command.env("SLURM_CONF", conf);
        }
        // Times as epoch seconds; lists of array tasks are not shortened by "..."
        command.env("SLURM_TIME_FORMAT", "%s").env("TZ", "UTC").env("LC_ALL", "C.UTF-8").env("SLURM_BITSTR_LEN", "0");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).spawn()
    }
}

/// Reads what the child prints, one byte more than the bound at most, and waits for its end.
fn wait(mut child: Child, bound: u64) -> std::io::Result<Ended> {
    let errors = child.stderr.take();
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(errors) = errors {
            let _ = errors.take(SAID_MAX).read_to_end(&mut said);
        }
        said
    });
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // Dropping the pipe ends who still writes.
        stdout.take(bound.saturating_add(1)).read_to_end(&mut output)?;
    }
    let status = child.wait()?;
    let said = said.join().unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let said = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ");
    Ok(Ended { code: status.code(), output, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(script: &str, deadline_s: u64, bound: u64) -> Result<String, String> {
        let mut commands = Commands::new(None, deadline_s, bound);
        commands.run("scontrol", Path::new("sh"), &["-c", script]).await.map_err(|e| e.what)
    }

    #[tokio::test]
    async fn what_is_printed_or_why_there_is_nothing() {
        let printed = run("echo $TZ $SLURM_TIME_FORMAT $SLURM_BITSTR_LEN", 9, 1 << 20).await;
        assert_eq!(printed, Ok("UTC %s 0\n".to_owned()));
        let failed = run("echo half; echo 'Unable to contact slurm controller' >&2; exit 1", 9, 1 << 20).await;
        assert_eq!(failed, Err("scontrol: ended with code 1: Unable to contact slurm controller".to_owned()));
        let long = run("head -c 4096 /dev/zero", 9, 1_000).await;
        assert_eq!(long, Err("scontrol: prints more than 1000 bytes (`output_max_bytes`)".to_owned()));
        let mut commands = Commands::new(None, 1, 9);
        let absent = commands.run("sacct", Path::new("/nowhere/sacct"), &[]).await.unwrap_err().what;
        assert!(absent.starts_with("sacct: cannot start /nowhere/sacct"), "{absent}");
        assert_eq!(commands.counts(), [("sacct", 1)]);
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 60 & echo $! > {}; wait", file.display());
        let hung = run(&script, 1, 9).await;
        assert_eq!(hung, Err("scontrol: does not answer within 1 s and was ended".to_owned()));
        let pid = std::fs::read_to_string(file).unwrap();
        let is_gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.map_or(true, |s| s.contains(") Z "))
        };
        for _ in 0..100 {
            if is_gone() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("its child {pid} still runs");
    }
}
