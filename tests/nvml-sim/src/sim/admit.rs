//! What happens to a call before it does anything: it is counted, and meets the faults of its time.

use super::{Answer, Sim, code};
use crate::profile;
use crate::scenario::{Fault, What, us};
use crate::world::mig;

/// What a call is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// The whole library.
    Library,
    /// A device handle as the caller gave it.
    Device(usize),
    /// A device that is being looked for by its index.
    Gpu(usize),
}

/// A device: a GPU, or one MIG device of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) gpu: usize,
    pub(crate) mig: Option<u32>,
}

/// A call that may go on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) now: i64,
    pub(crate) device: Device,
}

/// What is known of a call that came before: it is counted once and hangs once.
#[derive(Debug, Default)]
pub(crate) struct Held {
    counted: bool,
    until: Option<i64>,
    everyone: bool,
    releases: u32,
}

/// Whether a call goes on.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It does.
    Go(Admitted),
    /// It answers this code.
    Refuse(u32),
    /// It hangs, and asks again later.
    Wait,
}

/// Calls that a MIG device answers; the others are the whole GPU's.
const ON_MIG: [&str; 14] = [
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetRunningProcessDetailList",
    "nvmlDeviceIsMigDeviceHandle",
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetComputeInstanceId",
    "nvmlDeviceGetAttributes_v2",
    "nvmlGpmSampleGet",
];

/// Calls that a GPU refuses while it is cut.
const NOT_WITH_MIG: [&str; 9] = [
    "nvmlDeviceGetProcessUtilization",
    "nvmlDeviceGetProcessesUtilizationInfo",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetAccountingPids",
    "nvmlDeviceGetAccountingStats",
    "nvmlDeviceGetAccountingStats_v2",
    "nvmlDeviceGetEncoderUtilization",
    "nvmlDeviceGetDecoderUtilization",
    "nvmlGpmSampleGet",
];

/// Calls that only a driver with GPM on that product answers.
const GPM: [&str; 4] =
    ["nvmlGpmSampleGet", "nvmlGpmMigSampleGet", "nvmlGpmQueryIfStreamingEnabled", "nvmlGpmSetStreamingEnabled"];

impl Sim {
    /// Decides on a call: what it meets first is what it answers.
    pub(crate) fn admit(&mut self, symbol: &'static str, target: Target, held: &mut Held) -> Verdict {
        if !held.counted {
            *self.calls.entry(symbol).or_default() += 1;
            held.counted = true;
            held.releases = self.releases;
        }
        let now = self.look();
        if self.hangs(now, held) {
            return Verdict::Wait;
        }
        let admitted = self.stands(now).and_then(|()| self.device(target, now));
        let device = match admitted {
            Ok(device) => device,
            Err(refused) => return Verdict::Refuse(refused),
        };
        if let Some(verdict) = self.meets(symbol, device, now, held) {
            return verdict;
        }
        match device.map_or(Ok(()), |device| self.supports(symbol, device, now)) {
            _ if !profile::has(&self.world.scenario.driver, symbol) => Verdict::Refuse(code::FUNCTION_NOT_FOUND),
            Err(refused) => Verdict::Refuse(refused),
            Ok(()) => Verdict::Go(Admitted { now, device: device.unwrap_or(Device { gpu: 0, mig: None }) }),
        }
    }

    /// Whether this call, or every call, still waits.
    fn hangs(&mut self, now: i64, held: &mut Held) -> bool {
        let Some(until) = held.until else {
            return now < self.everyone_until;
        };
        let waits = now < until && held.releases == self.releases;
        if !waits && held.everyone {
            self.everyone_until = i64::MIN;
        }
        waits
    }

    fn stands(&self, now: i64) -> Answer {
        if self.inits == 0 {
            Err(code::UNINITIALIZED)
        } else if self.is_unloaded(now) {
            Err(code::DRIVER_NOT_LOADED)
        } else if self.loaded != self.loads(now) {
            Err(code::UNINITIALIZED)
        } else {
            Ok(())
        }
    }

    fn device(&self, target: Target, now: i64) -> Result<Option<Device>, u32> {
        match target {
            Target::Library => Ok(None),
            Target::Gpu(gpu) if gpu < self.gpus.len() => Ok(Some(Device { gpu, mig: None })),
            Target::Gpu(_) => Err(code::INVALID_ARGUMENT),
            Target::Device(handle) => {
                let device = self.device_of(handle).ok_or(code::INVALID_ARGUMENT)?;
                let gone = device
                    .mig
                    .is_some_and(|index| mig::device(&self.world.scenario.gpus[device.gpu], now, index).is_none());
                if gone { Err(code::INVALID_ARGUMENT) } else { Ok(Some(device)) }
            }
        }
    }

    /// The faults of the call's time, in the scenario's order.
    fn meets(&mut self, symbol: &str, device: Option<Device>, now: i64, held: &mut Held) -> Option<Verdict> {
        for at in 0..self.world.scenario.faults.len() {
            let fault = &self.world.scenario.faults[at];
            let about = fault.gpu.is_none() || fault.gpu == device.map(|device| device.gpu);
            if !about || !is_on(fault, now) || fault.times.is_some_and(|times| self.met[at] >= times) {
                continue;
            }
            let is_call = |call: &Option<String>| call.as_deref().is_none_or(|call| call == symbol);
            match &fault.what {
                What::Lost if device.is_some() => return Some(Verdict::Refuse(code::GPU_IS_LOST)),
                What::Code { call, code } if is_call(call) => {
                    self.met[at] += 1;
                    return Some(Verdict::Refuse(*code));
                }
                What::Hang { call, seconds, everyone } if is_call(call) && held.until.is_none() => {
                    self.met[at] += 1;
                    let until = seconds.map_or(i64::MAX, |seconds| now + us(seconds));
                    held.until = Some(until);
                    held.everyone = *everyone;
                    if *everyone {
                        self.everyone_until = until;
                    }
                    return Some(Verdict::Wait);
                }
                _ => {}
            }
        }
        None
    }

    fn supports(&self, symbol: &str, device: Device, now: i64) -> Answer {
        let gpu = &self.world.scenario.gpus[device.gpu];
        let is = |calls: &[&str]| calls.contains(&symbol);
        let refused = gpu.not_supported.iter().any(|call| call == symbol)
            || (device.mig.is_some() && !is(&ON_MIG))
            || (device.mig.is_none() && mig::is_on(gpu, now) && is(&NOT_WITH_MIG))
            || (!gpu.model.product().gpm && is(&GPM));
        if refused { Err(code::NOT_SUPPORTED) } else { Ok(()) }
    }

    /// The faults that are on for a GPU and have no code of their own.
    pub(crate) fn faults(&self, gpu: usize, now: i64) -> impl Iterator<Item = &What> + '_ {
        let faults = self.world.scenario.faults.iter();
        faults
            .filter(move |fault| (fault.gpu.is_none() || fault.gpu == Some(gpu)) && is_on(fault, now))
            .map(|f| &f.what)
    }

    /// Whether a GPU is lost.
    pub(crate) fn is_lost(&self, gpu: usize, now: i64) -> bool {
        self.faults(gpu, now).any(|what| *what == What::Lost)
    }

    /// The handle of a device. It stays the same over a MIG reconfiguration: whoever keeps it reads another instance.
    pub(crate) fn handle_of(&self, device: Device) -> usize {
        let mig = device.mig.map_or(0, |index| index as usize + 1);
        0x1000_0000 + (self.loaded << 20) + (device.gpu << 8) + mig
    }

    /// The device of a handle, if this load of the driver gave it.
    pub(crate) fn device_of(&self, handle: usize) -> Option<Device> {
        let (gpu, mig) = ((handle >> 8) & 0xfff, handle & 0xff);
        let device = Device { gpu, mig: mig.checked_sub(1).map(|index| index as u32) };
        (gpu < self.gpus.len() && self.handle_of(device) == handle).then_some(device)
    }
}

fn is_on(fault: &Fault, now: i64) -> bool {
    us(fault.from_s) <= now && fault.to_s.is_none_or(|to| now < us(to))
}
