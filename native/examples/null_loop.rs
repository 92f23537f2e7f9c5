//! The calls of a node collector and nothing else: what they cost on the simulated driver is the simulator's own cost,
//! which `tests/bench/collector.py` takes off the collector's.
//!
//!     null_loop LIBRARY SECONDS POLL_SECONDS

use std::path::Path;
use std::time::Duration;

use gpuledger_native::device::Sampling;
use gpuledger_native::event::{EventSet, XID};
use gpuledger_native::gpm::{self, GpmSample, Metric};
use gpuledger_native::process::List;
use gpuledger_native::{Device, Library};

const LISTS: [List; 2] = [List::Compute, List::Graphics];

fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().expect("LIBRARY SECONDS POLL_SECONDS");
    let library = Library::load(Some(Path::new(&next()))).expect("the library");
    let (seconds, poll): (u64, u64) = (next().parse().expect("seconds"), next().parse().expect("seconds"));
    let devices: Vec<Device> =
        (0..library.device_count().expect("count")).map(|i| library.device_by_index(i).expect("device")).collect();
    let mut events: Vec<EventSet> = devices.iter().filter_map(|d| EventSet::of(*d, XID).ok()).collect();
    let mut samples: Vec<Option<GpmSample>> = devices.iter().map(|d| d.gpm_sample().ok()).collect();
    let mut last_us = 0;
    for second in (0..seconds).step_by(usize::try_from(poll).expect("a poll")) {
        for device in &devices {
            let _ = device.process_utilization(last_us);
            for list in LISTS {
                let _ = device.processes(list);
            }
        }
        last_us = gpuledger_native::clock::wall_us();
        if second % 60 < poll {
            for (at, device) in devices.iter().enumerate() {
                minute(*device, &mut events, at, &mut samples[at]);
            }
        }
        std::thread::sleep(Duration::from_secs(poll));
    }
    let calls: u64 = library.calls().values().map(|c| c.count).sum();
    println!("{calls}");
}

fn minute(device: Device, events: &mut [EventSet], at: usize, before: &mut Option<GpmSample>) {
    let _ =
        (device.memory(), device.power_mw(), device.power_limit_mw(), device.energy_total_mj(), device.temperature_c());
    let _ = (device.limit_reasons(), device.ecc_uncorrected(), device.remapped_rows(), device.is_mig());
    let _ = device.samples(Sampling::Gpu, 0);
    if let Some(set) = events.get_mut(at) {
        let _ = set.next(0);
    }
    let now = device.gpm_sample().ok();
    if let (Some(before), Some(now)) = (before.as_ref(), now.as_ref()) {
        let _ = gpm::metrics(before, now, [Metric::Graphics, Metric::Sm, Metric::Dram, Metric::Tensor]);
    }
    *before = now;
    for pid in device.accounting_pids().unwrap_or_default() {
        let _ = device.account(pid);
    }
}
