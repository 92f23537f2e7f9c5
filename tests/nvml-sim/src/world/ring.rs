//! The driver's ring of engine samples.
//!
//! 72 samples, about ten seconds. Each sample has one pid an engine: the whole load of the sample is credited to one
//! of those that made it, drawn by their parts. Over many samples that is a fair split; over a few it is luck, and
//! what is older than the ring is lost to who did not look.

use super::meter::{FULL, add_busy};
use super::task::Task;
use super::{draw, duty};

/// Samples in the ring.
pub(crate) const SAMPLES: i64 = 72;
const RING_US: i64 = 10_000_000;

/// Load of one engine in one sample: whose it is, and how much in basis points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Credit {
    pub(crate) task: usize,
    pub(crate) level: u64,
}

/// One sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// When it ended.
    pub(crate) at: i64,
    pub(crate) compute: Option<Credit>,
    pub(crate) memory: Option<Credit>,
    pub(crate) encoder: Option<Credit>,
    pub(crate) decoder: Option<Credit>,
}

/// The samples that are in the ring at `now`, oldest first: those whose end is wanted.
pub(crate) fn samples(tasks: &[Task], gpu: usize, now: i64, wanted: impl Fn(i64) -> bool) -> Vec<Sample> {
    let done = (now * SAMPLES).div_euclid(RING_US);
    let first = (done - SAMPLES).max(0);
    (first..done).filter(|slot| wanted(ends_at(*slot))).map(|slot| sample(tasks, gpu, slot)).collect()
}

fn ends_at(slot: i64) -> i64 {
    (slot + 1) * RING_US / SAMPLES
}

fn sample(tasks: &[Task], gpu: usize, slot: i64) -> Sample {
    let (from, to) = (slot * RING_US / SAMPLES, ends_at(slot));
    let length = (to - from) as u64;
    let mut busy = vec![0; tasks.len()];
    add_busy(tasks, from, to, &mut busy);
    let memory: Vec<u64> = busy.iter().zip(tasks).map(|(us, task)| part(*us, task.engines.memory)).collect();
    let engine = |percent: fn(&Task) -> f64| -> Vec<u64> {
        tasks.iter().map(|task| part(task.presence(from, to) * FULL, percent(task))).collect()
    };
    let words = [gpu as u64, slot as u64];
    Sample {
        at: to,
        compute: credit(&busy, length, &[words[0], words[1], 0]),
        memory: credit(&memory, length, &[words[0], words[1], 1]),
        encoder: credit(&engine(|task| task.engines.encoder), length, &[words[0], words[1], 2]),
        decoder: credit(&engine(|task| task.engines.decoder), length, &[words[0], words[1], 3]),
    }
}

fn part(amount: u64, percent: f64) -> u64 {
    amount * u64::from(duty::basis_points(percent)) / FULL
}

/// Who gets the sample of an engine.
fn credit(parts: &[u64], length: u64, words: &[u64]) -> Option<Credit> {
    let all: u64 = parts.iter().sum();
    if all == 0 {
        return None;
    }
    let mut ticket = draw(words) % all;
    for (task, part) in parts.iter().enumerate() {
        if ticket < *part {
            return Some(Credit { task, level: (all / length).min(FULL) });
        }
        ticket -= part;
    }
    None
}

/// A process in the samples asked for: when it was last seen, and the sums of its levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) task: usize,
    pub(crate) last: i64,
    pub(crate) compute: u64,
    pub(crate) memory: u64,
    pub(crate) encoder: u64,
    pub(crate) decoder: u64,
}

/// By process: its sums over the samples. Who was credited nothing is not there.
pub(crate) fn by_task(samples: &[Sample]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for sample in samples {
        let mut add = |credit: Option<Credit>, sum: fn(&mut Seen) -> &mut u64| {
            let Some(credit) = credit.filter(|credit| credit.level > 0) else { return };
            let at = seen.iter().position(|s| s.task == credit.task).unwrap_or_else(|| {
                seen.push(Seen { task: credit.task, ..Seen::default() });
                seen.len() - 1
            });
            seen[at].last = sample.at;
            *sum(&mut seen[at]) += credit.level;
        };
        add(sample.compute, |s| &mut s.compute);
        add(sample.memory, |s| &mut s.memory);
        add(sample.encoder, |s| &mut s.encoder);
        add(sample.decoder, |s| &mut s.decoder);
    }
    seen
}
