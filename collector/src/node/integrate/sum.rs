//! A tick of a card, added up.

use std::collections::BTreeMap;

use super::{CardUse, Key, OTHER_NAMESPACE, ProcessUse, Span, Who};
use crate::node::seen::{Absent, Measure, Process};
use crate::node::source::nvml::look::{RatesPpm, Rejects};

/// The part of `value`, spread evenly over `[from, to)`, that lies in `[a, b)`: telescoping floors, so that the parts
/// of neighbouring pieces add up.
fn piece(value: i64, from: i64, to: i64, a: i64, b: i64) -> i64 {
    if to <= from {
        return 0;
    }
    let until = |at: i64| (i128::from(value) * i128::from(at.clamp(from, to) - from) / i128::from(to - from)) as i64;
    until(b) - until(a)
}

/// A tick being added up from pieces of windows.
#[derive(Debug, Default)]
pub(super) struct Sum {
    covered_ms: i64,
    listed: Option<Measure<()>>,
    gpu: Mean,
    memory: Mean,
    pub(super) processes: BTreeMap<Key, ProcessUse>,
}

/// A mean weighted by time.
#[derive(Debug, Default)]
struct Mean {
    ppm_ms: i128,
    ms: i64,
    why_not: Option<Absent>,
}

impl Sum {
    pub(super) fn add(&mut self, span: &Span, a: i64, b: i64, aliases: &BTreeMap<u32, Process>) {
        let length_ms = (b - a).max(0);
        if span.measured.is_ok() {
            self.covered_ms += length_ms;
        }
        if self.listed != Some(Ok(())) {
            self.listed = Some(span.listed.clone());
        }
        match &span.rates {
            Ok(rates) => {
                self.gpu.add(&rates.gpu_ppm, length_ms);
                self.memory.add(&rates.memory_ppm, length_ms);
            }
            Err(why) => {
                self.gpu.add(&Err(why.clone()), length_ms);
                self.memory.add(&Err(why.clone()), length_ms);
            }
        }
        for part in &span.parts {
            let mut key = part.key.clone();
            // named by its inner pid before it was known whom that means
            if let Some(process) = aliases.get(&key.who.pid()).filter(|_| !matches!(part.peak_ppm, Ok(1..))) {
                key.who = Who::Known(*process);
            }
            if part.from_ms >= b && part.from_ms > a {
                continue;
            }
            let covered_ms = if part.busy_ms.is_ok() { b - a.max(part.from_ms).min(b) } else { 0 };
            let busy_ms = part.busy_ms.clone().map(|v| piece(v, part.from_ms, span.to_ms, a, b));
            let memory = part.memory_bytes.clone();
            let entry = self.processes.entry(key).or_insert_with(|| ProcessUse {
                busy_ms: Err(Absent::NoEarlier),
                covered_ms: 0,
                peak_ppm: Err(Absent::NoEarlier),
                memory_peak_bytes: Err(Absent::Gone),
            });
            entry.covered_ms += covered_ms;
            entry.busy_ms = merge(&entry.busy_ms, busy_ms, |x, y| x + y);
            entry.peak_ppm = merge(&entry.peak_ppm, part.peak_ppm.clone(), i64::max);
            if let Some(memory) = memory {
                entry.memory_peak_bytes = merge(&entry.memory_peak_bytes, memory, i64::max);
            }
        }
    }

    pub(super) fn finish(self, rejects: Rejects) -> CardUse {
        let rates = RatesPpm { gpu_ppm: self.gpu.finish(), memory_ppm: self.memory.finish() };
        let listed = self.listed.unwrap_or_else(|| Err(Absent::Failed("not polled".to_owned())));
        CardUse { covered_ms: self.covered_ms, listed, rates, processes: self.processes, rejects }
    }
}

impl Mean {
    fn add(&mut self, value: &Measure<i64>, ms: i64) {
        match value {
            Ok(ppm) => {
                self.ppm_ms += i128::from(*ppm) * i128::from(ms);
                self.ms += ms;
            }
            Err(why) => self.why_not = Some(why.clone()),
        }
    }

    fn finish(self) -> Measure<i64> {
        if self.ms > 0 {
            Ok((self.ppm_ms / i128::from(self.ms)) as i64)
        } else {
            Err(self.why_not.unwrap_or(Absent::NoEarlier))
        }
    }
}

/// Two measures of the same thing: what is absent in one does not take away the other; the later reason stands. Only
/// a use that may be another process's makes the whole unknown: the zeroes around it say nothing.
fn merge(before: &Measure<i64>, new: Measure<i64>, both: impl FnOnce(i64, i64) -> i64) -> Measure<i64> {
    let confused = |m: &Measure<i64>| matches!(m, Err(Absent::Failed(why)) if why == OTHER_NAMESPACE);
    match (before, new) {
        (before, _) if confused(before) => before.clone(),
        (_, new) if confused(&new) => new,
        (Ok(x), Ok(y)) => Ok(both(*x, y)),
        (Ok(x), Err(_)) => Ok(*x),
        (Err(_), new) => new,
    }
}
