//! Utilization of a whole card between two polls: the mean of what the driver sampled by itself, else a spot reading.

use gpuledger_native::device::{Sample, Sampling};
use gpuledger_native::{Device, Error};

use super::look::{RatesPpm, absent};
use crate::node::seen::{Absent, Measure, Moment};

/// Parts per million in a percent.
const PERCENT_PPM: i64 = 10_000;
/// How far a sample's time may lie ahead of ours.
const FUTURE_US: u64 = 5_000_000;

/// Where the reading of a card's samples stands.
#[derive(Debug, Default)]
pub(super) struct Rates {
    gpu_seen_us: u64,
    memory_seen_us: u64,
}

impl Rates {
    /// Utilization since the reading before; that of the engine only where it is wanted.
    pub(super) fn read(&mut self, device: Device, now: Moment, gpu: bool) -> Result<RatesPpm, Error> {
        let memory_ppm = since(device, Sampling::Memory, &mut self.memory_seen_us, now)?;
        let gpu_ppm =
            if gpu { since(device, Sampling::Gpu, &mut self.gpu_seen_us, now)? } else { Err(Absent::NoEarlier) };
        if memory_ppm == Err(Absent::NotSupported) || gpu_ppm == Err(Absent::NotSupported) {
            return spot(device);
        }
        Ok(RatesPpm { gpu_ppm, memory_ppm })
    }
}

fn since(device: Device, kind: Sampling, seen_us: &mut u64, now: Moment) -> Result<Measure<i64>, Error> {
    match device.samples(kind, *seen_us) {
        Ok(samples) => Ok(mean(&samples, seen_us, now)),
        Err(error) if error.is_gone() || error.needs_restart() => Err(error),
        Err(error) => Ok(Err(absent(&error))),
    }
}

fn spot(device: Device) -> Result<RatesPpm, Error> {
    let percent = |p: u32| if p <= 100 { Ok(i64::from(p) * PERCENT_PPM) } else { Err(Absent::Rejected) };
    match device.rates() {
        Ok(rates) => Ok(RatesPpm { gpu_ppm: percent(rates.gpu_percent), memory_ppm: percent(rates.memory_percent) }),
        Err(error) if error.is_gone() || error.needs_restart() => Err(error),
        Err(error) => Ok(RatesPpm { gpu_ppm: Err(absent(&error)), memory_ppm: Err(absent(&error)) }),
    }
}

/// The mean of the samples that are new and possible; `seen_us` becomes the time of the newest.
fn mean(samples: &[Sample], seen_us: &mut u64, now: Moment) -> Measure<i64> {
    let now_us = u64::try_from(now.wall_ms).unwrap_or(0).saturating_mul(1_000);
    if *seen_us > now_us.saturating_add(FUTURE_US) {
        // the wall clock was put back
        *seen_us = 0;
    }
    let before_us = *seen_us;
    let fresh = samples.iter().filter(|s| s.at_us > before_us && s.at_us <= now_us.saturating_add(FUTURE_US));
    let (mut count, mut sum, mut newest_us) = (0, 0, before_us);
    for sample in fresh.clone().filter(|s| s.percent <= 100) {
        count += 1;
        sum += i64::from(sample.percent) * PERCENT_PPM;
        newest_us = newest_us.max(sample.at_us);
    }
    *seen_us = newest_us;
    if count > 0 {
        return Ok(sum / count);
    }
    Err(if fresh.count() > 0 { Absent::Rejected } else { Absent::NoEarlier })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment { wall_ms: 1_000_000, boot_ms: 1, awake_ms: 1, synchronised: true };

    fn sample(at_ms: u64, percent: u32) -> Sample {
        Sample { at_us: at_ms * 1_000, percent }
    }

    #[test]
    fn the_mean_is_of_possible_samples_and_each_counts_once() {
        // C01: 59 samples of 50 and one of 2619
        let mut samples: Vec<Sample> = (0..59).map(|i| sample(990_000 + i, 50)).collect();
        samples.push(sample(990_100, 2_619));
        let mut seen_us = 0;
        assert_eq!(mean(&samples, &mut seen_us, NOW), Ok(500_000));
        assert_eq!(seen_us, 990_058_000);
        samples.push(sample(991_000, 10));
        assert_eq!(mean(&samples, &mut seen_us, NOW), Ok(100_000));
        assert_eq!(mean(&samples, &mut seen_us, NOW), Err(Absent::NoEarlier));
    }

    #[test]
    fn nothing_but_impossible_samples_is_not_zero() {
        assert_eq!(mean(&[sample(999_000, 4_000_000_000)], &mut 0, NOW), Err(Absent::Rejected));
        assert_eq!(mean(&[sample(1_006_000, 5)], &mut 0, NOW), Err(Absent::NoEarlier), "from the future");
    }
}
