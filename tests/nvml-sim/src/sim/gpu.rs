//! One GPU's state that is not a function of the time alone, and what is read from it.

use super::{Sim, code};
use crate::scenario::{Gpu, Health, What, us};
use crate::world::meter::{FULL, Meter, gpm_percent};
use crate::world::mig;
use crate::world::task::Task;

/// What a GPU remembers.
#[derive(Debug)]
pub(crate) struct GpuState {
    pub(crate) meter: Meter,
    /// When accounting was switched on; None: it is off.
    pub(crate) accounting: Option<i64>,
    /// Dead entries of processes that ended by then were cleared.
    pub(crate) cleared: i64,
    pub(crate) streaming: bool,
    /// Resets of the energy counter that the meter has passed, and the energy at the last of them.
    resets: usize,
    energy_base_joules: f64,
}

/// A GPM sample that was taken.
#[derive(Debug, Clone)]
pub(crate) struct GpmSample {
    pub(crate) gpu: usize,
    pub(crate) gi: Option<u32>,
    pub(crate) at: i64,
    busy: Vec<u64>,
}

impl GpuState {
    pub(super) fn new(gpu: &Gpu, tasks: usize) -> Self {
        Self {
            meter: Meter::new(tasks),
            accounting: gpu.accounting_from_s.map(us),
            cleared: i64::MIN,
            streaming: false,
            resets: 0,
            energy_base_joules: 0.0,
        }
    }
}

impl Sim {
    pub(crate) fn gpu(&self, gpu: usize) -> &Gpu {
        &self.world.scenario.gpus[gpu]
    }

    pub(crate) fn tasks(&self, gpu: usize) -> &[Task] {
        &self.world.tasks[gpu]
    }

    /// Busy time by task since the start, up to `at`. Where the energy counter was reset on the way, its value there is
    /// kept, whoever asked.
    pub(crate) fn busy(&mut self, gpu: usize, at: i64) -> &[u64] {
        for reset in self.energy_resets(gpu, at).into_iter().skip(self.gpus[gpu].resets) {
            self.gpus[gpu].meter.advance(&self.world.tasks[gpu], reset);
            self.gpus[gpu].energy_base_joules = self.joules(gpu, reset);
            self.gpus[gpu].resets += 1;
        }
        self.gpus[gpu].meter.advance(&self.world.tasks[gpu], at)
    }

    /// When the energy counter began again, up to `at`, in order of time.
    fn energy_resets(&self, gpu: usize, at: i64) -> Vec<i64> {
        let faults = self.world.scenario.faults.iter().filter(|fault| fault.gpu.is_none_or(|named| named == gpu));
        let resets = faults.filter_map(|fault| match fault.what {
            What::EnergyReset => Some(us(fault.from_s)),
            What::Reload => Some(us(fault.to_s.unwrap_or(fault.from_s))),
            _ => None,
        });
        let mut resets: Vec<i64> = resets.filter(|reset| *reset <= at).collect();
        resets.sort_unstable();
        resets
    }

    /// Power in watts and load of the whole GPU in percent, as means over a span that ends now.
    pub(crate) fn load(&self, gpu: usize, from: i64, to: i64) -> (f64, f64) {
        let mut busy = vec![0; self.tasks(gpu).len()];
        let from = from.max(0).min(to - 1);
        crate::world::meter::add_busy(self.tasks(gpu), from, to, &mut busy);
        let load = self.weigh(gpu, &busy) / ((to - from) as f64 * FULL as f64);
        let (idle, max) = self.watts(gpu);
        (idle + (max - idle) * load, load * 100.0)
    }

    /// Power when idle and when full, in watts.
    pub(crate) fn watts(&self, gpu: usize) -> (f64, f64) {
        let gpu = self.gpu(gpu);
        let (idle, max) = gpu.model.product().watts;
        (gpu.idle_watts.unwrap_or(idle), gpu.max_watts.unwrap_or(max))
    }

    /// Energy since the driver's load or the last reset, in joules.
    pub(crate) fn energy_joules(&mut self, gpu: usize, now: i64) -> f64 {
        self.busy(gpu, now);
        self.joules(gpu, now) - self.gpus[gpu].energy_base_joules
    }

    /// Energy since the scenario's start, where the meter stands at `at`.
    fn joules(&self, gpu: usize, at: i64) -> f64 {
        let (idle, max) = self.watts(gpu);
        let busy = self.weigh(gpu, self.gpus[gpu].meter.busy());
        (idle * at as f64 + (max - idle) * busy / FULL as f64) / 1e6
    }

    /// Busy time of all tasks, each weighed by the part of the GPU that it runs on.
    fn weigh(&self, gpu: usize, busy: &[u64]) -> f64 {
        let weight = |task: &Task| {
            let instance = task.gi.and_then(|gi| mig::instance(self.gpu(gpu), task.planned.0.max(0), gi));
            instance.map_or(1.0, |instance| f64::from(instance.slices) / 7.0)
        };
        busy.iter().zip(self.tasks(gpu)).map(|(busy, task)| *busy as f64 * weight(task)).sum()
    }

    /// Takes a GPM sample.
    pub(crate) fn gpm_sample(&mut self, gpu: usize, gi: Option<u32>, now: i64) -> GpmSample {
        GpmSample { gpu, gi, at: now, busy: self.busy(gpu, now).to_vec() }
    }

    /// Mean of a metric between two samples: its return code and its value.
    pub(crate) fn gpm_metric(&self, first: &GpmSample, second: &GpmSample, metric: u32) -> (u32, f64) {
        let fault = self.faults(first.gpu, second.at).find_map(|what| match what {
            What::Gpm { metric: named, value, code } if *named == metric => Some((*code, value.unwrap_or(f64::NAN))),
            _ => None,
        });
        if let Some(fault) = fault {
            return fault;
        }
        let window = second.at - first.at;
        if window < 100_000 {
            return (0, f64::NAN);
        }
        let tasks = self.tasks(first.gpu).iter().zip(first.busy.iter().zip(&second.busy));
        let sampled = tasks.filter(|(task, _)| first.gi.is_none() || task.gi == first.gi);
        let parts = sampled.map(|(task, (before, after))| (&task.engines, after.saturating_sub(*before)));
        match gpm_percent(metric, parts, window) {
            Some(percent) => (0, percent),
            None => (code::NOT_SUPPORTED, 0.0),
        }
    }

    /// Health readings at `at`: of each the last that was given.
    pub(crate) fn health(&self, gpu: usize, at: i64) -> Health {
        let given = self.gpu(gpu).health.iter().filter(|health| us(health.at_s) <= at);
        given.fold(Health::default(), |held, next| {
            let next = next.clone();
            Health {
                at_s: next.at_s,
                temperature_c: next.temperature_c.or(held.temperature_c),
                memory_temperature_c: next.memory_temperature_c.or(held.memory_temperature_c),
                sm_clock_mhz: next.sm_clock_mhz.or(held.sm_clock_mhz),
                memory_clock_mhz: next.memory_clock_mhz.or(held.memory_clock_mhz),
                limits: next.limits.or(held.limits),
                ecc: next.ecc.or(held.ecc),
                ecc_corrected: next.ecc_corrected.or(held.ecc_corrected),
                ecc_uncorrected: next.ecc_uncorrected.or(held.ecc_uncorrected),
                remapped_corrected: next.remapped_corrected.or(held.remapped_corrected),
                remapped_uncorrected: next.remapped_uncorrected.or(held.remapped_uncorrected),
                remapped_pending: next.remapped_pending.or(held.remapped_pending),
                remapped_failed: next.remapped_failed.or(held.remapped_failed),
            }
        })
    }
}
