//! A process on one GPU.

use super::duty::{self, NEVER};
use crate::scenario::{Duty, Engines, Kind, Process, Who, us};

/// A process on one GPU: its part of the scenario, repeats written out.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) who: Who,
    pub(crate) kind: Kind,
    pub(crate) gi: Option<u32>,
    pub(crate) ci: Option<u32>,
    pub(crate) namespace_pid: Option<u32>,
    pub(crate) hidden: bool,
    pub(crate) mem_unknown: bool,
    pub(crate) engines: Engines,
    /// When it is there, by the scenario.
    pub(crate) planned: (i64, i64),
    /// When it is there in fact; differs where it is a real process of the machine.
    pub(crate) life: (i64, i64),
    /// Its pid, once known.
    pub(crate) pid: Option<u32>,
    duty: Duty,
    memory: Vec<(i64, u64)>,
}

/// Those of the processes that are on this GPU.
pub(super) fn on_gpu(processes: &[Process], gpu: usize) -> Vec<Task> {
    let here = processes.iter().filter(|process| process.gpus.contains(&gpu));
    here.flat_map(|process| (0..process.repeat.map_or(1, |r| r.count)).map(|nth| Task::new(process, nth))).collect()
}

impl Task {
    fn new(process: &Process, nth: u32) -> Self {
        let (every, pid_step) = process.repeat.map_or((0, 0), |r| (us(r.every_s), r.pid_step));
        let later = every.saturating_mul(i64::from(nth));
        let who = match &process.who {
            Who::Pid(pid) => Who::Pid(pid.wrapping_add(nth.wrapping_mul(pid_step))),
            Who::PidFile(path) => Who::PidFile(path.clone()),
        };
        let planned =
            (us(process.from_s).saturating_add(later), process.to_s.map_or(NEVER, |to| us(to).saturating_add(later)));
        let first = (i64::MIN, process.mem_bytes);
        let steps = process.mem_steps.iter().map(|step| (us(step.at_s).saturating_add(later), step.bytes));
        let pid = match who {
            Who::Pid(pid) => Some(pid),
            Who::PidFile(_) => None,
        };
        Self {
            kind: process.kind,
            gi: process.gi,
            ci: process.ci,
            namespace_pid: process.namespace_pid,
            hidden: process.hidden,
            mem_unknown: process.mem_unknown,
            engines: process.engines.clone(),
            life: if pid.is_some() { planned } else { (NEVER, NEVER) },
            planned,
            pid,
            who,
            duty: process.sm.clone(),
            memory: std::iter::once(first).chain(steps).collect(),
        }
    }

    pub(crate) fn is_there(&self, at: i64) -> bool {
        self.life.0 <= at && at < self.life.1
    }

    /// Memory held at `at`, in bytes; 0 when it is not there.
    pub(crate) fn memory_at(&self, at: i64) -> u64 {
        if !self.is_there(at) {
            return 0;
        }
        self.memory.iter().take_while(|(from, _)| *from <= at).last().map_or(0, |(_, bytes)| *bytes)
    }

    /// Most memory held up to `at`, in bytes.
    pub(crate) fn memory_peak(&self, at: i64) -> u64 {
        let until = at.min(self.life.1.saturating_sub(1));
        let held = self.memory.iter().filter(|(from, _)| *from <= until);
        let first = self.memory_at(self.life.0);
        held.filter(|(from, _)| *from >= self.life.0).map(|(_, bytes)| *bytes).fold(first, u64::max)
    }

    /// How busy it keeps the compute engine at `at`, and when that changes next.
    pub(super) fn level(&self, at: i64) -> (u32, i64) {
        if at < self.life.0 {
            return (0, self.life.0);
        }
        if at >= self.life.1 {
            return (0, NEVER);
        }
        let (level, next) = duty::level(&self.duty, at.saturating_sub(self.planned.0));
        let next = if next == NEVER { NEVER } else { next.saturating_add(self.planned.0) };
        (level, next.min(self.life.1))
    }

    /// How long of a span it is there, in microseconds.
    pub(super) fn presence(&self, from: i64, to: i64) -> u64 {
        let (from, to) = (from.max(self.life.0), to.min(self.life.1));
        to.saturating_sub(from).max(0) as u64
    }
}
