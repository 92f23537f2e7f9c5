//! Running the probe: in a process group of its own, with a deadline and a bound, and never waited for beyond it.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Ended;

/// A probe and its bounds.
#[derive(Debug)]
pub struct Probe {
    /// Program and arguments; no shell stands between.
    command: Vec<String>,
    deadline: Duration,
    output_max_bytes: u64,
    /// Waits for the run of before. While it does, none is started: a program that hangs in the driver cannot be
    /// ended, and one a minute would fill the node with them.
    waiting: Option<JoinHandle<()>>,
}

impl Probe {
    /// A probe that runs `command`, program first.
    pub fn new(command: Vec<String>, deadline: Duration, output_max_bytes: u64) -> Self {
        Self { command, deadline, output_max_bytes, waiting: None }
    }

    /// Runs it once. Blocks for at most the deadline; call it where that may be.
    pub fn run(&mut self) -> Ended {
        if self.waiting.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ended::StillRunning;
        }
        let child = match start(&self.command) {
            Ok(child) => child,
            Err(why) => return Ended::NotStarted(why),
        };
        let group = i32::try_from(child.id()).ok().map(Pid::from_raw);
        let (tell, told) = mpsc::channel();
        let bound = self.output_max_bytes;
        // Not joined: a process in uninterruptible sleep would take us with it.
        self.waiting = Some(std::thread::spawn(move || {
            let _ = tell.send(wait(child, bound));
        }));
        match told.recv_timeout(self.deadline) {
            Ok(ended) => ended,
            Err(_) => {
                if let Some(group) = group {
                    let _ = killpg(group, Signal::SIGKILL);
                }
                Ended::Late { deadline_ms: u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX) }
            }
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a probe is a program that the configuration names")]
fn start(command: &[String]) -> Result<Child, String> {
    let (program, arguments) = command.split_first().ok_or("no command is configured")?;
    let mut run = Command::new(program);
    // A group of its own, so that what it started ends with it.
    run.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    run.spawn().map_err(|e| format!("{program}: {e}"))
}

/// Reads what the child prints, up to the bound, and waits for its end.
fn wait(mut child: Child, bound: u64) -> Ended {
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // One byte more than the bound tells whether there was more. Dropping the pipe ends who still writes.
        let _ = stdout.take(bound.saturating_add(1)).read_to_end(&mut output);
    }
    let cut = output.len() as u64 > bound;
    output.truncate(usize::try_from(bound).unwrap_or(usize::MAX));
    match child.wait() {
        Ok(status) => Ended::Exited { code: status.code(), output, cut },
        Err(e) => Ended::NotStarted(e.to_string()),
    }
}
