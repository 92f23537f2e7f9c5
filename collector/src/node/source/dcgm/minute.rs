//! Pages over time: which values still move, how old they may be, and what a tick gets from the pages taken in it.

use std::collections::BTreeMap;

use super::{DcgmDevice, Reject, Scale, Scrape, parse};
use crate::node::seen::{Absent, Measure};

/// A page whose living values have not moved for this long is frozen. dcgm-exporter's own interval is 30 s.
pub const FROZEN_MS: i64 = 90_000;
/// Pages kept for one tick; more are not asked for.
const PAGES_MAX: usize = 8;

/// A device over a tick, with how old its values may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DcgmTick {
    /// The device; activities are means over the pages of the tick, everything else is the newest.
    pub device: DcgmDevice,
    /// Time since its living values last moved: its values are at most this much older than the page, plus the
    /// exporter's interval. Unknown where nothing that moves is exported.
    pub unmoved_ms: Option<i64>,
    /// Pages that told of it in this tick.
    pub pages: usize,
}

/// Card and instance.
type Key = (String, Option<u32>);

/// What is remembered of one exporter.
#[derive(Debug, Default)]
pub struct Minute {
    scale: Option<Scale>,
    pages: Vec<Vec<DcgmDevice>>,
    /// By card: the living values, and when they last changed (ms since boot).
    moved: BTreeMap<String, (String, i64)>,
    /// Values not taken since [`Minute::tick`], by reason.
    rejects: BTreeMap<Reject, u64>,
}

impl Minute {
    /// Takes a page that was read at `boot_ms`, and gives what is on it.
    pub fn take(&mut self, page: &str, boot_ms: i64) -> Scrape {
        let scrape = parse(page, self.scale);
        self.scale = scrape.scale;
        for ((_, why), count) in &scrape.rejects {
            *self.rejects.entry(*why).or_default() += count;
        }
        let alive = |d: &&DcgmDevice| !d.pulse.is_empty();
        for device in scrape.devices.iter().filter(alive) {
            let known = self.moved.get(&device.uuid);
            if known.is_none_or(|(pulse, _)| *pulse != device.pulse) {
                self.moved.insert(device.uuid.clone(), (device.pulse.clone(), boot_ms));
            }
        }
        // A card that left the page is forgotten, so that this stays as small as the node.
        self.moved.retain(|uuid, _| scrape.devices.iter().any(|d| d.uuid == *uuid));
        if self.pages.len() == PAGES_MAX {
            self.pages.remove(0);
        }
        self.pages.push(scrape.devices.clone());
        scrape
    }

    /// What the pages since the last tick say, at `boot_ms`; and how many values were not taken, by reason.
    pub fn tick(&mut self, boot_ms: i64) -> (Vec<DcgmTick>, BTreeMap<Reject, u64>) {
        let pages = std::mem::take(&mut self.pages);
        let mut by_device: BTreeMap<Key, Vec<DcgmDevice>> = BTreeMap::new();
        for device in pages.into_iter().flatten() {
            by_device.entry((device.uuid.clone(), device.gpu_instance)).or_default().push(device);
        }
        let ticks = by_device.into_values().filter_map(|seen| self.over(&seen, boot_ms)).collect();
        (ticks, std::mem::take(&mut self.rejects))
    }

    fn over(&self, seen: &[DcgmDevice], boot_ms: i64) -> Option<DcgmTick> {
        let mut device = seen.last()?.clone();
        device.sm_ppm = mean(seen, |d| &d.sm_ppm);
        device.dram_ppm = mean(seen, |d| &d.dram_ppm);
        device.tensor_ppm = mean(seen, |d| &d.tensor_ppm);
        device.gr_ppm = mean(seen, |d| &d.gr_ppm);
        device.sm_occupancy_ppm = mean(seen, |d| &d.sm_occupancy_ppm);
        device.gpu_util_ppm = mean(seen, |d| &d.gpu_util_ppm);
        device.mem_util_ppm = mean(seen, |d| &d.mem_util_ppm);
        device.power_mw = mean(seen, |d| &d.power_mw);
        let unmoved_ms = self.moved.get(&device.uuid).map(|(_, since)| boot_ms - since);
        if unmoved_ms.is_some_and(|ms| ms >= FROZEN_MS) {
            freeze(&mut device);
        }
        Some(DcgmTick { device, unmoved_ms, pages: seen.len() })
    }
}

/// The mean of what was measured; where nothing was, the newest reason. Rounded down, like every part of a tick.
fn mean(seen: &[DcgmDevice], of: impl Fn(&DcgmDevice) -> &Measure<i64>) -> Measure<i64> {
    let good: Vec<i64> = seen.iter().filter_map(|d| of(d).as_ref().ok().copied()).collect();
    match (good.len(), seen.last()) {
        (0, Some(newest)) => of(newest).clone(),
        (0, None) => Err(Absent::Gone),
        (count, _) => Ok(good.iter().sum::<i64>() / count as i64),
    }
}

/// A frozen page says nothing: what it shows was true once.
fn freeze(device: &mut DcgmDevice) {
    let all = [
        &mut device.sm_ppm,
        &mut device.dram_ppm,
        &mut device.tensor_ppm,
        &mut device.gr_ppm,
        &mut device.sm_occupancy_ppm,
        &mut device.gpu_util_ppm,
        &mut device.mem_util_ppm,
        &mut device.mem_used_bytes,
        &mut device.mem_free_bytes,
        &mut device.mem_reserved_bytes,
        &mut device.power_mw,
        &mut device.energy_mj,
        &mut device.temperature_c,
        &mut device.last_xid,
    ];
    for measure in all {
        *measure = Err(Absent::Failed("dcgm-exporter is frozen".to_owned()));
    }
}
