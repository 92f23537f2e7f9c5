//! From what a tick gathered to its rows: pure, so that the same looks give the same rows.
//!
//! A tick is a minute of the boot clock, so its number is unique in a boot even across restarts of the collector; the
//! first of a run may be short. A card that could not be read has one row that says so, and no process rows: whoever
//! holds it then is unmeasured, never idle.

use std::collections::BTreeMap;

use gpuledger_schema::id;
use gpuledger_schema::state::SchedulerKind;
use gpuledger_schema::table::{DeviceMinuteRow, DeviceRow, ProcessMinuteRow};
use gpuledger_schema::window::day_of;

use self::version::Versions;
use super::integrate::CardUse;
use super::seen::{Absent, Belongs, Boot, Measure, Moment, Process, ProcessFacts, TICK_MS};
use super::source::nvml::last_seen::RING_MS;
use super::source::nvml::look::{Activity, CardMinute};

/// Counters that another profiler holds read 0: beside an engine that had work that is no measure.
const ZERO_BESIDE_BUSY: &str = "reads 0 beside a busy engine";

/// Less is the rounding of two clocks, no suspension.
const SLEPT_MS: i64 = 10;

mod account;
mod apportion;
mod device;
mod process;
mod reason;
pub mod version;

/// The node as its configuration and boot describe it.
#[derive(Debug, Clone)]
pub struct NodeFacts {
    /// Cluster.
    pub cluster: String,
    /// Node and boot.
    pub boot: Boot,
    /// Queue that it belongs to, where configured.
    pub queue: Option<String>,
    /// What decides what runs here, as configured.
    pub scheduler: SchedulerKind,
    /// Interconnect domain, where configured.
    pub interconnect: Option<String>,
    /// Which collector writes.
    pub collector_id: i64,
}

/// When a tick was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickSpan {
    /// Its start by all clocks.
    pub start: Moment,
    /// Its end by the boot clock.
    pub end_boot_ms: i64,
}

impl TickSpan {
    /// The tick that starts now and ends with the minute of the boot clock.
    pub const fn starting(now: Moment) -> Self {
        Self { start: now, end_boot_ms: (now.boot_ms.div_euclid(TICK_MS) + 1) * TICK_MS }
    }

    /// The tick after this one. It adjoins where the watch came in time, so that no millisecond lies between them; else it
    /// starts now, and what lies between was missed.
    pub const fn next(&self, now: Moment) -> Self {
        let late_ms = now.boot_ms - self.end_boot_ms;
        let slept_ms = (now.boot_ms - now.awake_ms) - (self.start.boot_ms - self.start.awake_ms);
        if late_ms < 0 || late_ms >= RING_MS || slept_ms > SLEPT_MS {
            return Self::starting(now);
        }
        let start = Moment {
            wall_ms: now.wall_ms - late_ms,
            boot_ms: self.end_boot_ms,
            awake_ms: now.awake_ms - late_ms,
            synchronised: now.synchronised,
        };
        Self::starting(start)
    }

    /// Number of the tick in its boot.
    pub const fn seq(&self) -> i64 {
        self.start.boot_ms.div_euclid(TICK_MS)
    }

    /// Its length.
    pub const fn dur_ms(&self) -> i64 {
        self.end_boot_ms - self.start.boot_ms
    }

    /// What lies between this tick and one that starts at `next` and was written by nobody: a reading should say so.
    pub fn missed(&self, next: &Self) -> Option<Missed> {
        let (from, to) = (self.end_boot_ms, next.start.boot_ms);
        let since = |m: Moment| m.boot_ms - m.awake_ms;
        (to > from).then(|| Missed {
            from_boot_ms: from,
            to_boot_ms: to,
            from_ms: next.start.wall_ms - (to - from),
            to_ms: next.start.wall_ms,
            suspended_ms: (since(next.start) - since(self.start)).clamp(0, to - from),
        })
    }
}

/// Time of a boot of which no tick speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// Start by the boot clock.
    pub from_boot_ms: i64,
    /// End by the boot clock.
    pub to_boot_ms: i64,
    /// Start by the wall clock as it stood at the end.
    pub from_ms: i64,
    /// End by the wall clock.
    pub to_ms: i64,
    /// How much of it the machine was suspended.
    pub suspended_ms: i64,
}

/// How a card was at the end of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardState {
    /// It answered.
    Ok,
    /// It fell off the bus.
    Lost,
    /// A call did not come back.
    Hung,
    /// The collector may not read it.
    NotPermitted,
    /// It could not be read otherwise.
    Error(String),
}

/// A card's tick, as gathered.
#[derive(Debug, Clone)]
pub struct CardTick {
    /// The driver's UUID.
    pub uuid: String,
    /// How it was.
    pub state: CardState,
    /// What its processes did.
    pub used: CardUse,
    /// What the look at the end of the tick gave; absent where the card could not be read.
    pub minute: Option<CardMinute>,
    /// Xid that came with the end of a card that could not be read.
    pub last_xid: Option<i64>,
}

/// What is known of a process besides its use of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// What `/proc` says.
    pub facts: Option<ProcessFacts>,
    /// Whom it may belong to.
    pub belongs: Option<Belongs>,
    /// Why facts are absent, by the columns they would stand in.
    pub absent: Vec<(&'static str, Absent)>,
}

/// Activity that another program measured, for cards whose driver gives none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// UUID of the card.
    pub uuid: String,
    /// GPU instance, where it speaks of one.
    pub gpu_instance: Option<u32>,
    /// What was measured.
    pub activity: Activity,
}

/// Rows of a tick.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// One a card and one a MIG instance.
    pub minutes: Vec<DeviceMinuteRow>,
    /// One a process and card.
    pub processes: Vec<ProcessMinuteRow>,
    /// Cards and instances that are new, or not what they were.
    pub devices: Vec<DeviceRow>,
}

/// The rows of a tick.
pub fn rows(
    node: &NodeFacts,
    span: &TickSpan,
    cards: &[CardTick],
    people: &BTreeMap<Process, Person>,
    outside: &[Outside],
    versions: &mut Versions,
) -> Rows {
    let mut out = Rows { devices: versions.changed(node, span.start, cards), ..Rows::default() };
    for card in cards {
        let at = At { node, span, card, device_id: id::device_id(&card.uuid), outside };
        match (&card.state, &card.minute) {
            // where nobody could list its processes, its row must not say that there were none
            (CardState::Ok, Some(minute)) if card.used.listed.is_ok() => {
                let processes = process::rows(&at, minute, people);
                out.minutes.extend(device::instances(&at, minute));
                out.minutes.push(device::card(&at, minute, processes.len() as i64));
                out.processes.extend(processes);
            }
            _ => out.minutes.push(device::unreadable(&at)),
        }
    }
    out
}

/// A tick of one card, with what all of its rows share.
struct At<'a> {
    node: &'a NodeFacts,
    span: &'a TickSpan,
    card: &'a CardTick,
    device_id: i64,
    outside: &'a [Outside],
}

impl At<'_> {
    fn day(&self) -> i32 {
        i32::try_from(day_of(self.span.start.wall_ms)).unwrap_or(i32::MAX)
    }

    /// Activity of the card, or of one of its GPU instances: the driver's own, else what another program measured.
    fn activity(&self, own: &Measure<Activity>, gpu_instance: Option<u32>) -> Measure<Activity> {
        match self.better_activity(own, gpu_instance) {
            Ok(activity) if gpu_instance.is_none() && is_zero(&activity) && self.was_busy() => {
                Err(Absent::Failed(ZERO_BESIDE_BUSY.to_owned()))
            }
            other => other,
        }
    }

    fn better_activity(&self, own: &Measure<Activity>, gpu_instance: Option<u32>) -> Measure<Activity> {
        let own_has_parts = own.as_ref().is_ok_and(|a| a.sm_ppm.is_ok() || a.dram_ppm.is_ok() || a.tensor_ppm.is_ok());
        let other = self.outside.iter().find(|o| o.uuid == self.card.uuid && o.gpu_instance == gpu_instance);
        match other {
            Some(other) if !own_has_parts => Ok(other.activity.clone()),
            _ => own.clone(),
        }
    }

    /// Whether the card's processes, or its utilization, say that it had work.
    fn was_busy(&self) -> bool {
        let used = &self.card.used;
        let ran_ms: i64 = used.processes.values().filter_map(|p| p.busy_ms.as_ref().ok()).sum();
        let by_rate_ms = used.rates.gpu_ppm.as_ref().map_or(0, |ppm| used.covered_ms * ppm / 1_000_000);
        used.covered_ms > 0 && ran_ms.max(by_rate_ms) * 10 >= used.covered_ms
    }
}

/// Every activity that is there reads exactly 0.
fn is_zero(activity: &Activity) -> bool {
    let parts = [&activity.sm_ppm, &activity.dram_ppm, &activity.tensor_ppm];
    parts.iter().any(|p| p.is_ok()) && parts.iter().all(|p| !matches!(p, Ok(ppm) if *ppm != 0))
}

#[cfg(test)]
mod tests;
