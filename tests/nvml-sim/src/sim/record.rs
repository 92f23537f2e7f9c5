//! Accounting mode: what the driver keeps of processes, living and dead.

use super::Sim;
use crate::world::meter::FULL;

/// The driver's limits: entries of living processes, and of dead ones.
const LIVE: usize = 3872;
const DEAD: usize = 128;

/// What accounting says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) pid: u32,
    pub(crate) running: bool,
    /// Wall clock at its start, in microseconds.
    pub(crate) start_us: i64,
    /// Lifetime after its end; 0 while it runs.
    pub(crate) time_ms: u64,
    /// Whole percent, cut off.
    pub(crate) gpu_percent: u32,
    pub(crate) memory_percent: u32,
    pub(crate) memory_peak_bytes: u64,
    /// Seconds sampled, and the sums of their levels in basis points.
    pub(crate) samples: u32,
    pub(crate) gpu_sum: u64,
    pub(crate) memory_sum: u64,
}

impl Sim {
    /// When accounting was switched on, if it is on: a reload of the driver switches it off.
    pub(crate) fn accounting_since(&self, gpu: usize, now: i64) -> Option<i64> {
        let since = self.gpus[gpu].accounting.filter(|since| *since <= now)?;
        (self.loads(since) == self.loads(now)).then_some(since)
    }

    /// The dead, oldest end first, then the living: all that accounting still has.
    pub(crate) fn records(&mut self, gpu: usize, now: i64) -> Vec<Record> {
        let Some(since) = self.accounting_since(gpu, now) else { return Vec::new() };
        let cleared = self.gpus[gpu].cleared;
        let tasks = self.tasks(gpu);
        // Only who came after the switch and holds memory has an entry.
        let known =
            |at: &usize| tasks[*at].life.0 >= since && tasks[*at].life.0 <= now && tasks[*at].memory_peak(now) > 0;
        let (mut dead, live): (Vec<usize>, Vec<usize>) =
            (0..tasks.len()).filter(known).partition(|at| tasks[*at].life.1 <= now);
        dead.retain(|at| tasks[*at].life.1 > cleared);
        dead.sort_by_key(|at| tasks[*at].life.1);
        // One dead entry a pid: the later end has it.
        let later = |place: usize, at: usize| dead[place + 1..].iter().any(|other| tasks[*other].pid == tasks[at].pid);
        let mut kept: Vec<usize> =
            dead.iter().enumerate().filter(|(place, at)| !later(*place, **at)).map(|(_, at)| *at).collect();
        kept.drain(..kept.len().saturating_sub(DEAD));
        let entries: Vec<usize> = kept.into_iter().chain(live.into_iter().take(LIVE)).collect();
        entries.into_iter().filter_map(|at| self.record(gpu, at, now)).collect()
    }

    fn record(&mut self, gpu: usize, at: usize, now: i64) -> Option<Record> {
        let busy = self.busy(gpu, now)[at];
        let task = &self.tasks(gpu)[at];
        let (start, end) = (task.life.0, task.life.1.min(now));
        let lived = end.saturating_sub(start).max(1) as u64;
        let memory = (busy as f64 * task.engines.memory / 100.0) as u64;
        let percent = |sum: u64| (sum / lived / (FULL / 100)) as u32;
        Some(Record {
            pid: task.pid?,
            running: task.life.1 > now,
            start_us: self.wall(start),
            time_ms: if task.life.1 > now { 0 } else { lived / 1000 },
            gpu_percent: percent(busy),
            memory_percent: percent(memory),
            memory_peak_bytes: task.memory_peak(now),
            samples: (lived / 1_000_000) as u32,
            gpu_sum: busy / 1_000_000,
            memory_sum: memory / 1_000_000,
        })
    }
}
