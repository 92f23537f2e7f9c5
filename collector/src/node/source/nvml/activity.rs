//! Activity over a tick: two samples of the GPM counters, one of them kept from the tick before.

use gpuledger_native::gpm::{self, GpmSample, Metric};
use gpuledger_native::{Device, Error};

use super::look::{Activity, absent};
use crate::node::seen::{Absent, Measure, Moment};

/// Two samples closer than this say nothing.
const SHORTEST_MS: i64 = 1_000;
/// Two samples further apart than this speak of more than a tick, a stall or a suspension.
const LONGEST_MS: i64 = 600_000;

/// The sample kept of a device or of one of its GPU instances.
#[derive(Debug)]
pub(super) struct Kept {
    sample: GpmSample,
    at: Moment,
    /// Which instances the device was cut into: numbers of instances are given again after a reconfiguration.
    cut: String,
}

/// What to do with a kept sample.
#[derive(Debug, PartialEq, Eq)]
enum Window {
    /// Compare with it, then keep the new one.
    Compare,
    /// Too early: keep the old one.
    TooShort,
    /// It speaks of something else or of too long a time: keep the new one only.
    Reseed,
}

impl Kept {
    /// A first sample.
    fn take(device: Device, gpu_instance: Option<u32>, now: Moment, cut: &str) -> Result<Self, Error> {
        let sample = match gpu_instance {
            Some(gi) => device.gpm_mig_sample(gi)?,
            None => device.gpm_sample()?,
        };
        Ok(Self { sample, at: now, cut: cut.to_owned() })
    }

    /// Gives the sample up without asking the driver, whose handles are dead.
    pub(super) fn forget(self) {
        self.sample.forget();
    }
}

/// Activity since the sample in `kept`, which is replaced.
pub(super) fn since(
    kept: &mut Option<Kept>,
    device: Device,
    gpu_instance: Option<u32>,
    now: Moment,
    cut: &str,
) -> Result<Measure<Activity>, Error> {
    let new = Kept::take(device, gpu_instance, now, cut)?;
    let Some(old) = kept.as_ref() else {
        *kept = Some(new);
        return Ok(Err(Absent::NoEarlier));
    };
    match window(old.at, now, old.cut == cut) {
        Window::TooShort => Ok(Err(Absent::NoEarlier)),
        Window::Reseed => {
            *kept = Some(new);
            Ok(Err(Absent::NoEarlier))
        }
        Window::Compare => {
            let wanted = [Metric::Graphics, Metric::Sm, Metric::Dram, Metric::Tensor];
            let compared = gpm::metrics(&old.sample, &new.sample, wanted);
            *kept = Some(new);
            let [gpu, sm, dram, tensor] = compared?.map(ppm);
            Ok(Ok(Activity { gpu_ppm: gpu, sm_ppm: sm, dram_ppm: dram, tensor_ppm: tensor, source: "gpm" }))
        }
    }
}

/// Whether the time between two samples is one to speak of. By the clock that stops in suspension: the counters do too.
fn window(old: Moment, new: Moment, same_cut: bool) -> Window {
    let length_ms = new.awake_ms - old.awake_ms;
    let suspended_ms = (new.boot_ms - new.awake_ms) - (old.boot_ms - old.awake_ms);
    if !same_cut || !(0..=LONGEST_MS).contains(&length_ms) || suspended_ms > SHORTEST_MS {
        Window::Reseed
    } else if length_ms < SHORTEST_MS {
        Window::TooShort
    } else {
        Window::Compare
    }
}

/// A metric as a measure.
fn ppm(metric: Result<Option<i64>, Error>) -> Measure<i64> {
    metric.map_err(|error| absent(&error))?.ok_or(Absent::Rejected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuledger_native::Code;

    fn at(awake_ms: i64, suspended_ms: i64) -> Moment {
        Moment { wall_ms: 0, boot_ms: awake_ms + suspended_ms, awake_ms, synchronised: true }
    }

    #[test]
    fn windows_are_guarded() {
        assert_eq!(window(at(0, 0), at(60_000, 0), true), Window::Compare);
        assert_eq!(window(at(0, 0), at(999, 0), true), Window::TooShort);
        assert_eq!(window(at(0, 0), at(600_001, 0), true), Window::Reseed);
        assert_eq!(window(at(0, 0), at(60_000, 0), false), Window::Reseed, "cut anew");
        assert_eq!(window(at(0, 0), at(30_000, 30_000), true), Window::Reseed, "suspended between");
        assert_eq!(window(at(60_000, 0), at(0, 0), true), Window::Reseed, "clocks of another boot");
    }

    #[test]
    fn what_is_no_percentage_is_rejected_and_a_refusal_has_its_reason() {
        assert_eq!(ppm(Ok(Some(613_378))), Ok(613_378));
        assert_eq!(ppm(Ok(None)), Err(Absent::Rejected));
        let refused = Err(Error::Refused { call: "nvmlGpmMetricsGet", code: Code::NOT_SUPPORTED });
        assert_eq!(ppm(refused), Err(Absent::NotSupported));
    }
}
