//! Processes as `/proc` shows them: who they are, whose they are, and what they used during a tick.
//!
//! A process is its pid and its start. Everything read of one is read between two looks at its start: where they
//! differ, the pid is another's by now and the process is gone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use procfs::process::Stat;

use crate::node::attribute::cgroup::{self, Cgroup};
use crate::node::attribute::{Environ, Leader, Witness};
use crate::node::seen::{Absent, Measure, Moment, Process, ProcessFacts};

mod folder;
pub mod held;
pub mod pids;
mod text;
pub mod usage;
pub mod users;

pub use folder::ProcError;

use folder::Folder;
use usage::Counters;
use users::{NameOf, UNREAD_USER, Users};

/// Most processes that are remembered between ticks; more are read, but have no differences.
const PROCESSES_MAX: usize = 16_384;

/// How `/proc` is read.
#[derive(Debug, Clone)]
pub struct ProcSettings {
    /// Where it is mounted.
    pub root: PathBuf,
    /// Clock ticks in a second.
    pub ticks_per_second: u64,
    /// Bytes in a page of memory.
    pub page_bytes: u64,
    /// Whether environments are read: only where the scheduler leaves its ids there.
    pub environ: bool,
}

impl ProcSettings {
    /// The units of this machine's kernel.
    pub fn of_this_machine(root: &Path, environ: bool) -> Self {
        Self {
            root: root.to_owned(),
            ticks_per_second: procfs::ticks_per_second(),
            page_bytes: procfs::page_size(),
            environ,
        }
    }
}

/// A process during a tick.
#[derive(Debug, Clone)]
pub struct Look {
    /// What it is and used.
    pub facts: ProcessFacts,
    /// What says whom it belongs to.
    pub witness: Witness,
    /// Its pids in all namespaces, outermost first.
    pub namespaced: Vec<u32>,
    /// Why facts are absent, by the names of their columns.
    pub absent: Vec<(&'static str, Absent)>,
}

/// What one reading gave.
#[derive(Debug, Clone)]
struct Snapshot {
    witness: Witness,
    namespaced: Vec<u32>,
    command: String,
    state: char,
    rss_bytes: Option<i64>,
    counters: Counters,
}

/// What is remembered of a process.
#[derive(Debug)]
struct Known {
    snapshot: Snapshot,
    /// Tick in which it was last asked for.
    asked: u64,
    /// Tick at whose end the counters of the snapshot were read; none where they are of its middle.
    closed: Option<u64>,
    /// The answer for the tick in progress.
    look: Option<Look>,
}

/// Reads processes, and remembers those of this tick and the last.
#[derive(Debug)]
pub struct Proc {
    settings: ProcSettings,
    users: Users,
    tick: u64,
    io_wait_counted: Measure<()>,
    known: HashMap<Process, Known>,
    /// Starts of session leaders with the tick in which a member was last seen: members outlive leaders.
    leaders: HashMap<u32, (u64, u64)>,
}

impl Proc {
    /// Nothing is known yet.
    pub fn new(settings: ProcSettings, name_of: NameOf) -> Self {
        let io_wait_counted = io_wait_counted(&settings.root);
        Self {
            settings,
            users: Users::new(name_of),
            tick: 1,
            io_wait_counted,
            known: HashMap::new(),
            leaders: HashMap::new(),
        }
    }

    /// Who has a pid now. At the first sight of a process everything is read, so that its user, its command and whom it
    /// belongs to are known even if it is gone at the end of the tick.
    pub fn meet(&mut self, pid: u32) -> Result<Process, ProcError> {
        let process = identity_of(pid, &Folder::open(&self.settings.root, pid)?.stat()?);
        if let Some(known) = self.known.get_mut(&process) {
            known.asked = self.tick;
            return Ok(process);
        }
        // A process that cannot be read further is one all the same; its look will say why.
        if let Ok(snapshot) = self.read(process) {
            self.remember(process, Known { snapshot, asked: self.tick, closed: None, look: None });
        }
        Ok(process)
    }

    /// Its pids in all namespaces, outermost first, as of the last reading; none where it was never read.
    pub fn namespaced(&self, process: Process) -> &[u32] {
        self.known.get(&process).map_or(&[], |known| known.snapshot.namespaced.as_slice())
    }

    /// What a process was and used in the tick that began at `tick_boot_ms` and ends now. Asked again within the tick,
    /// the answer is the same.
    pub fn look(&mut self, process: Process, tick_boot_ms: i64, now: Moment) -> Look {
        if let Some(look) = self.known.get(&process).and_then(|known| known.look.clone()) {
            return look;
        }
        match self.read(process) {
            Ok(snapshot) => self.look_alive(process, snapshot, tick_boot_ms, now),
            Err(error) => self.look_gone(process, &Absent::from(error), now),
        }
    }

    /// Ends the tick: forgets processes and sessions that were not seen in it.
    pub fn end_tick(&mut self) {
        let tick = self.tick;
        self.known.retain(|_, known| known.asked == tick);
        for known in self.known.values_mut() {
            known.look = None;
        }
        self.leaders.retain(|_, (_, seen)| *seen == tick);
        self.io_wait_counted = io_wait_counted(&self.settings.root);
        self.tick += 1;
    }

    fn look_alive(&mut self, process: Process, snapshot: Snapshot, tick_boot_ms: i64, now: Moment) -> Look {
        let before = match self.known.get(&process) {
            Some(known) if known.closed.is_some_and(|tick| tick + 1 == self.tick) => {
                Some(known.snapshot.counters.clone())
            }
            _ => self.started_since(process, tick_boot_ms).then(Counters::at_start),
        };
        let used = usage::used(before.as_ref(), &snapshot.counters, self.settings.ticks_per_second);
        let mut absent = Vec::new();
        let mut have =
            |column: &'static str, measure: Measure<i64>| measure.map_err(|why| absent.push((column, why))).ok();
        let facts = ProcessFacts {
            process,
            user: self.user(&snapshot, now),
            command: Some(snapshot.command.clone()),
            state: Some(snapshot.state),
            cpu_ms: have("cpu_ms", used.cpu_ms),
            rss_bytes: have("host_rss_bytes", snapshot.rss_bytes.ok_or(Absent::Rejected)),
            read_bytes: have("read_bytes", used.read_bytes),
            io_wait_ms: have("io_wait_ms", used.io_wait_ms),
        };
        let (witness, namespaced) = (snapshot.witness.clone(), snapshot.namespaced.clone());
        let look = Look { facts, witness, namespaced, absent };
        let (asked, closed) = (self.tick, Some(self.tick));
        self.remember(process, Known { snapshot, asked, closed, look: Some(look.clone()) });
        look
    }

    /// A process that cannot be read any more: what it was is remembered, what it used is not known.
    fn look_gone(&mut self, process: Process, why: &Absent, now: Moment) -> Look {
        let last = self.known.get_mut(&process).map(|known| {
            known.asked = self.tick;
            known.snapshot.clone()
        });
        let mut absent: Vec<(&'static str, Absent)> =
            ["cpu_ms", "host_rss_bytes", "read_bytes", "io_wait_ms", "state"].map(|c| (c, why.clone())).into();
        if last.is_none() {
            absent.push(("command", why.clone()));
        }
        let facts = ProcessFacts {
            process,
            user: last.as_ref().map_or_else(|| UNREAD_USER.to_owned(), |s| self.user(s, now)),
            command: last.as_ref().map(|s| s.command.clone()),
            state: None,
            cpu_ms: None,
            rss_bytes: None,
            read_bytes: None,
            io_wait_ms: None,
        };
        let (witness, namespaced) = last.map_or_else(|| (unread(process), Vec::new()), |s| (s.witness, s.namespaced));
        Look { facts, witness, namespaced, absent }
    }

    fn user(&mut self, snapshot: &Snapshot, now: Moment) -> String {
        match snapshot.witness.uid {
            Some(uid) => self.users.name(uid, now.boot_ms),
            None => UNREAD_USER.to_owned(),
        }
    }

    fn remember(&mut self, process: Process, known: Known) {
        if self.known.len() < PROCESSES_MAX || self.known.contains_key(&process) {
            self.known.insert(process, known);
        }
    }

    fn started_since(&self, process: Process, boot_ms: i64) -> bool {
        let started_ms = u128::from(process.start_ticks) * 1000 / u128::from(self.settings.ticks_per_second.max(1));
        u128::try_from(boot_ms).is_ok_and(|boot_ms| started_ms >= boot_ms)
    }

    /// Reads a process between two looks at its identity.
    fn read(&mut self, process: Process) -> Result<Snapshot, ProcError> {
        let folder = Folder::open(&self.settings.root, process.pid)?;
        let before = folder.stat()?;
        let gone = |stat: &Stat| identity_of(process.pid, stat) != process;
        if gone(&before) {
            return Err(ProcError::Gone { pid: process.pid });
        }
        let (uid, namespaced) = folder.parse("status", text::status)?;
        let cgroups = folder.text("cgroup").map_or_else(|_| Vec::new(), |text| cgroup::findings(&text));
        let environ = self.environ(&folder, &before, &cgroups);
        let read_bytes = folder.parse("io", text::read_bytes).map_err(|error| match error {
            // the process is there, as is found below: its kernel does not count
            ProcError::Gone { .. } => Absent::NotSupported,
            error => Absent::from(error),
        });
        let stat = folder.stat()?;
        if gone(&stat) {
            return Err(ProcError::Gone { pid: process.pid });
        }
        let leader = self.leader(process, &stat);
        let io_wait_ticks = match (&self.io_wait_counted, stat.delayacct_blkio_ticks) {
            (Ok(()), Some(ticks)) => Ok(ticks),
            (Err(why), _) => Err(why.clone()),
            (Ok(()), None) => Err(Absent::NotSupported),
        };
        Ok(Snapshot {
            witness: Witness { process, uid: Some(uid), cgroups, environ, leader },
            namespaced,
            command: stat.comm.clone(),
            state: stat.state,
            rss_bytes: stat.rss.checked_mul(self.settings.page_bytes).and_then(|b| i64::try_from(b).ok()),
            counters: Counters { cpu_ticks: Ok(stat.utime + stat.stime), read_bytes, io_wait_ticks },
        })
    }

    /// The environment, where it is needed: a job's or a pod's cgroup says more. A process that hangs in the kernel may
    /// hold the lock that this file takes, and one that cannot be read is no hint.
    fn environ(&self, folder: &Folder, stat: &Stat, cgroups: &[Cgroup]) -> Environ {
        let decided = cgroups.iter().any(|c| matches!(c, Cgroup::SlurmJob { .. } | Cgroup::Pod { .. }));
        if !self.settings.environ || decided || stat.state == 'D' {
            return Environ::default();
        }
        folder.bytes("environ").map_or_else(|_| Environ::default(), |bytes| text::environ(&bytes))
    }

    /// The leader of a process's session. While a session has members the kernel gives its leader's pid to nobody else,
    /// so a start that was seen once stays right after the leader has ended.
    fn leader(&mut self, process: Process, stat: &Stat) -> Leader {
        let Some(pid) = u32::try_from(stat.session).ok().filter(|pid| *pid > 0 && *pid != process.pid) else {
            return Leader { pid: process.pid, start_ticks: Some(process.start_ticks) };
        };
        let alive = Folder::open(&self.settings.root, pid).and_then(|folder| folder.stat()).ok();
        let alive = alive.filter(|leader| leader.session == leader.pid).map(|leader| leader.starttime);
        let seen = || self.leaders.get(&pid).map(|(start, _)| *start);
        let start_ticks = alive.or_else(seen).filter(|start| *start <= process.start_ticks);
        if let Some(start) = start_ticks
            && (self.leaders.len() < PROCESSES_MAX || self.leaders.contains_key(&pid))
        {
            self.leaders.insert(pid, (start, self.tick));
        }
        Leader { pid, start_ticks }
    }
}

/// A process that was never read.
fn unread(process: Process) -> Witness {
    Witness {
        process,
        uid: None,
        cgroups: Vec::new(),
        environ: Environ::default(),
        leader: Leader { pid: process.pid, start_ticks: Some(process.start_ticks) },
    }
}

/// Whether the kernel counts waits for storage. Where it does not, it writes zeros, and they mean nothing.
fn io_wait_counted(root: &Path) -> Measure<()> {
    match std::fs::read_to_string(root.join("sys/kernel/task_delayacct")) {
        Ok(text) if text.trim() == "1" => Ok(()),
        _ => Err(Absent::NotSupported),
    }
}

fn identity_of(pid: u32, stat: &Stat) -> Process {
    Process { pid, start_ticks: stat.starttime }
}

#[cfg(test)]
mod tests;
