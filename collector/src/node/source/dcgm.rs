//! dcgm-exporter as a second source of activity, where the driver has no GPM: one page of text, read twice a minute.
//!
//! [`parse`] is a pure function from the page to values of devices. A value belongs to a card or to a MIG instance of
//! one, however many pods the exporter names beside it; it is taken once and never summed.

pub mod field;
pub mod minute;
pub mod scrape;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};

pub use field::{Field, Reject, Scale};

use crate::node::seen::{Absent, Measure};

/// What `device_minute.activity_source` says of values from here.
pub const SOURCE: &str = "dcgm";

/// Labels that name the card, the newest first.
const UUID_LABELS: &[&str] = &["UUID", "uuid"];
/// Most devices of one page: beyond it the page is not one node's.
const DEVICES_MAX: usize = 1_024;

/// What a page says of a card, or of a MIG instance of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DcgmDevice {
    /// Driver UUID of the card, `GPU-...`.
    pub uuid: String,
    /// GPU instance id inside the card; none where the values are the whole card's.
    pub gpu_instance: Option<u32>,
    /// Profile of the instance, e.g. `1g.10gb`.
    pub mig_profile: Option<String>,
    /// SM activity, mean over the exporter's interval.
    pub sm_ppm: Measure<i64>,
    /// DRAM activity.
    pub dram_ppm: Measure<i64>,
    /// Tensor activity.
    pub tensor_ppm: Measure<i64>,
    /// Activity of the graphics and compute engine.
    pub gr_ppm: Measure<i64>,
    /// Resident warps of those that fit.
    pub sm_occupancy_ppm: Measure<i64>,
    /// Part of the time in which any kernel ran.
    pub gpu_util_ppm: Measure<i64>,
    /// Part of the time in which memory was read or written.
    pub mem_util_ppm: Measure<i64>,
    /// Memory in use.
    pub mem_used_bytes: Measure<i64>,
    /// Memory free.
    pub mem_free_bytes: Measure<i64>,
    /// Memory reserved by the driver.
    pub mem_reserved_bytes: Measure<i64>,
    /// Power.
    pub power_mw: Measure<i64>,
    /// Energy since the driver was loaded.
    pub energy_mj: Measure<i64>,
    /// Temperature of the chip.
    pub temperature_c: Measure<i64>,
    /// Last Xid the exporter saw, 0 where it saw none. A state, not an event: it stays until the exporter restarts.
    pub last_xid: Measure<i64>,
    /// The values that move on a living card, as they stood on the page; empty where none is exported.
    pub pulse: String,
}

/// A page, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scrape {
    /// Cards and instances, by UUID and instance.
    pub devices: Vec<DcgmDevice>,
    /// Samples on the page.
    pub samples: usize,
    /// Samples of fields that are not read.
    pub ignored: usize,
    /// Samples that repeat what another one said of the same device.
    pub repeated: usize,
    /// Values that were not taken, by field (none where no field is known) and reason.
    pub rejects: BTreeMap<(Option<Field>, Reject), u64>,
    /// What renamed fields have been seen to carry; to be given to the next [`parse`].
    pub scale: Option<Scale>,
}

/// Card and instance.
type Key = (String, Option<u32>);
/// A value or why it was not taken.
type Value = Result<i64, Reject>;

/// Values of one device while the page is read.
#[derive(Debug, Default)]
struct Gathered {
    profile: Option<String>,
    values: BTreeMap<Field, Value>,
    pulse: String,
}

/// Reads a page. `scale` is what earlier pages of this exporter showed about renamed fields.
pub fn parse(page: &str, scale: Option<Scale>) -> Scrape {
    let (samples, bad) = text::samples(page);
    let mut out = Scrape { samples: samples.len(), scale: scale_of(&samples).or(scale), ..Scrape::default() };
    for _ in &bad {
        out.reject(None, Reject::BadLine);
    }
    let mut found: BTreeMap<Key, Gathered> = BTreeMap::new();
    for sample in &samples {
        out.take(sample, &mut found);
    }
    let repeated = cards_repeated_under_instances(&found);
    for ((uuid, instance), mut gathered) in found {
        for field in repeated.get(&uuid).into_iter().flatten().filter(|_| instance.is_some()) {
            gathered.values.insert(*field, Err(Reject::Contradictory));
            out.reject(Some(*field), Reject::Contradictory);
        }
        out.devices.push(device(uuid, instance, gathered));
    }
    out
}

impl Scrape {
    fn reject(&mut self, field: Option<Field>, why: Reject) {
        *self.rejects.entry((field, why)).or_default() += 1;
    }

    fn take(&mut self, sample: &text::Sample, found: &mut BTreeMap<Key, Gathered>) {
        let Some((field, unit)) = Field::of(&sample.name) else {
            self.ignored += 1;
            return;
        };
        let Some(uuid) = sample.label(UUID_LABELS) else {
            return self.reject(Some(field), Reject::NoDevice);
        };
        let instance = match sample.label(&["GPU_I_ID"]).map(str::parse::<u32>) {
            Some(Err(_)) => return self.reject(Some(field), Reject::NoDevice),
            Some(Ok(id)) => Some(id),
            None => None,
        };
        if instance.is_some() && field.is_memory() {
            self.ignored += 1;
            return;
        }
        let key = (uuid.to_owned(), instance.filter(|_| field.of_instance()));
        if !found.contains_key(&key) && found.len() >= DEVICES_MAX {
            return self.reject(Some(field), Reject::NoDevice);
        }
        let value = field::read(unit, &sample.value, self.scale);
        if let Err(why) = value {
            self.reject(Some(field), why);
        }
        let device = found.entry(key).or_default();
        if field.of_instance() && device.profile.is_none() {
            device.profile = sample.label(&["GPU_I_PROFILE"]).map(str::to_owned).filter(|_| instance.is_some());
        }
        match device.values.get(&field).copied() {
            None => {
                device.values.insert(field, value);
                if field.moves() {
                    device.pulse.push_str(&sample.value);
                    device.pulse.push(' ');
                }
            }
            Some(Ok(before)) if value.is_ok_and(|now| now != before) => {
                device.values.insert(field, Err(Reject::Contradictory));
                self.reject(Some(field), Reject::Contradictory);
            }
            Some(_) => self.repeated += 1,
        }
    }
}

/// What the renamed fields of a page show about their unit. A ratio shown anywhere is not percent: percents are whole.
fn scale_of(samples: &[text::Sample]) -> Option<Scale> {
    let renamed = |s: &&text::Sample| matches!(Field::of(&s.name), Some((_, field::Unit::PercentOrRatio)));
    let shown: Vec<Scale> = samples.iter().filter(renamed).filter_map(|s| field::scale_shown(&s.value)).collect();
    [Scale::Ratio, Scale::Percent].into_iter().find(|scale| shown.contains(scale))
}

/// Per card, the fields that read the same on each of several instances, and neither 0 nor full: two instances never
/// do that by themselves, so it is the card's value under instance labels, and says nothing of an instance.
fn cards_repeated_under_instances(found: &BTreeMap<Key, Gathered>) -> BTreeMap<String, BTreeSet<Field>> {
    let mut seen: BTreeMap<(&str, Field), Vec<i64>> = BTreeMap::new();
    for ((uuid, instance), gathered) in found {
        for (field, value) in gathered.values.iter().filter(|_| instance.is_some()) {
            if let Ok(value) = value {
                seen.entry((uuid, *field)).or_default().push(*value);
            }
        }
    }
    let mut out: BTreeMap<String, BTreeSet<Field>> = BTreeMap::new();
    for ((uuid, field), values) in seen {
        let first = values[0];
        if values.len() > 1 && (1..1_000_000).contains(&first) && values.iter().all(|v| *v == first) {
            out.entry(uuid.to_owned()).or_default().insert(field);
        }
    }
    out
}

fn device(uuid: String, gpu_instance: Option<u32>, gathered: Gathered) -> DcgmDevice {
    let of = |field: Field| match gathered.values.get(&field) {
        Some(Ok(value)) => Ok(*value),
        Some(Err(Reject::NotSupported)) => Err(Absent::NotSupported),
        Some(Err(Reject::NotPermitted)) => Err(Absent::NotPermitted),
        Some(Err(_)) => Err(Absent::Rejected),
        None if gpu_instance.is_some() && !field.of_instance() => Err(Absent::Mig),
        None => Err(Absent::Failed("not exported by dcgm-exporter".to_owned())),
    };
    DcgmDevice {
        sm_ppm: of(Field::Sm),
        dram_ppm: of(Field::Dram),
        tensor_ppm: of(Field::Tensor),
        gr_ppm: of(Field::GrEngine),
        sm_occupancy_ppm: of(Field::SmOccupancy),
        gpu_util_ppm: of(Field::GpuUtil),
        mem_util_ppm: of(Field::MemUtil),
        mem_used_bytes: of(Field::MemUsed),
        mem_free_bytes: of(Field::MemFree),
        mem_reserved_bytes: of(Field::MemReserved),
        power_mw: of(Field::Power),
        energy_mj: of(Field::Energy),
        temperature_c: of(Field::Temperature),
        last_xid: of(Field::Xid),
        uuid,
        gpu_instance,
        mig_profile: gathered.profile,
        pulse: gathered.pulse,
    }
}

#[cfg(test)]
mod tests;
