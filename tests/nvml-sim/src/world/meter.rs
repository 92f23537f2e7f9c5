//! Busy time added up: what the hardware counts, whoever looks.

use super::task::Task;
use crate::scenario::Engines;

/// Full load of an engine, in basis points.
pub(crate) const FULL: u64 = 10_000;

/// Adds to `busy`, by task, the level times the microseconds of `[from, to)`.
///
/// An engine cannot be more than fully busy: where tasks of the same GPU instance (or of the whole GPU) ask for more,
/// each gets its part of what there is.
pub(crate) fn add_busy(tasks: &[Task], from: i64, to: i64, busy: &mut [u64]) {
    let live: Vec<usize> = (0..tasks.len()).filter(|at| tasks[*at].life.0 < to && tasks[*at].life.1 > from).collect();
    let mut levels = vec![0_u64; live.len()];
    let mut at = from;
    while at < to {
        let mut next = to;
        for (level, index) in levels.iter_mut().zip(&live) {
            let (now, change) = tasks[*index].level(at);
            *level = u64::from(now);
            next = next.min(change);
        }
        let span = (next - at) as u64;
        for (level, index) in levels.iter().zip(&live).filter(|(level, _)| **level > 0) {
            let peers = levels.iter().zip(&live).filter(|(_, other)| tasks[**other].gi == tasks[*index].gi);
            let asked: u64 = peers.map(|(level, _)| *level).sum();
            busy[*index] += level * FULL / asked.max(FULL) * span;
        }
        at = next;
    }
}

/// Counters of one GPU since the scenario's start.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    at: i64,
    /// By task: basis points times microseconds.
    busy: Vec<u64>,
}

impl Meter {
    pub(crate) fn new(tasks: usize) -> Self {
        Self { at: 0, busy: vec![0; tasks] }
    }

    /// Counters where the meter stands.
    pub(crate) fn busy(&self) -> &[u64] {
        &self.busy
    }

    /// Counters at `to`; time only goes on.
    pub(crate) fn advance(&mut self, tasks: &[Task], to: i64) -> &[u64] {
        if to > self.at {
            add_busy(tasks, self.at, to, &mut self.busy);
            self.at = to;
        }
        &self.busy
    }
}

/// Mean of a GPM metric over a window, in percent, from the busy time of each task in it.
///
/// `tasks` are those whose GPU (or GPU instance) was sampled; `window` is in microseconds. None: no such metric.
pub(crate) fn gpm_percent<'a>(
    metric: u32,
    tasks: impl Iterator<Item = (&'a Engines, u64)>,
    window: i64,
) -> Option<f64> {
    let part: fn(&Engines) -> f64 = match metric {
        1 => |_| 100.0,
        2 => |e| e.sm_active,
        3 => |e| e.occupancy,
        5 => |e| e.tensor,
        7 => |e| e.tensor,
        10 => |e| e.dram,
        4 | 6 | 8 | 9 | 11..=13 => |_| 0.0,
        20 | 21 => |_| 0.0,
        _ => return None,
    };
    let weighted: f64 = tasks.map(|(engines, busy)| busy as f64 * part(engines) / 100.0).sum();
    Some(weighted / (window as f64 * FULL as f64) * 100.0)
}
