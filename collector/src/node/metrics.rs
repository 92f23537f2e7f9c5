//! What the collector says about itself, for Prometheus: how late, how slow, how full, how blind.
//!
//! Labels are bounded: sources and reasons are closed lists of words, devices are those of the last tick.

pub mod ready;
pub mod serve;

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::node::seen::Moment;

/// Labels and their values.
type Label = Vec<(&'static str, String)>;

/// A gauge without labels that has no series until it is known: zero would be a claim.
type Known = Family<Label, Gauge>;

/// Bounds of the duration histogram in seconds: a call takes microseconds, a scrape milliseconds, a hang for ever.
const SECONDS: [f64; 9] = [0.0001, 0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0];

/// No tick has been written yet.
const NEVER: i64 = i64::MIN;

/// A device in the last tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCoverage {
    /// Driver UUID.
    pub uuid: String,
    /// Part of the tick in which it was measured.
    pub covered_ppm: i64,
}

/// Everything that is counted. Cheap to write from anywhere; it takes no lock but its own short ones.
#[derive(Debug)]
pub struct NodeMetrics {
    registry: Registry,
    source_seconds: Family<Label, Histogram>,
    source_errors: Family<Label, Counter>,
    rejects: Family<Label, Counter>,
    ticks_written: Counter,
    ticks_dropped: Counter,
    segments_delivered: Counter,
    segments_conflicting: Counter,
    spool_segments: Known,
    spool_bytes: Known,
    coverage: Family<Label, Gauge>,
    nvml_calls: Family<Label, Counter>,
    devices: Known,
    devices_stuck: Known,
    devices_lost: Known,
    rss_bytes: Known,
    lag_ms: Known,
    clock_synchronised: Known,
    /// Boot-time ms at which the newest tick was written.
    newest_tick_boot_ms: AtomicI64,
    /// Why no ticks are written, as the loop last said.
    problem: Mutex<Option<String>>,
}

impl NodeMetrics {
    /// Nothing counted yet. `version` is the build's.
    pub fn new(version: &str) -> Self {
        let mut all = Self {
            registry: Registry::with_prefix("gpuledger_collector"),
            source_seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            source_errors: Family::default(),
            rejects: Family::default(),
            ticks_written: Counter::default(),
            ticks_dropped: Counter::default(),
            segments_delivered: Counter::default(),
            segments_conflicting: Counter::default(),
            spool_segments: Known::default(),
            spool_bytes: Known::default(),
            coverage: Family::default(),
            nvml_calls: Family::default(),
            devices: Known::default(),
            devices_stuck: Known::default(),
            devices_lost: Known::default(),
            rss_bytes: Known::default(),
            lag_ms: Known::default(),
            clock_synchronised: Known::default(),
            newest_tick_boot_ms: AtomicI64::new(NEVER),
            problem: Mutex::new(None),
        };
        all.register(version);
        all
    }

    fn register(&mut self, version: &str) {
        let r = &mut self.registry;
        let build: Family<Label, Gauge> = Family::default();
        build.get_or_create(&vec![("version", version.to_owned())]).set(1);
        r.register("build_info", "Version of the collector", build);
        r.register("source_seconds", "Duration of a look, by source", self.source_seconds.clone());
        r.register("source_errors", "Looks that failed, by source", self.source_errors.clone());
        r.register("rejects", "Values not taken, by source and reason", self.rejects.clone());
        r.register("ticks_written", "Ticks written to the journal", self.ticks_written.clone());
        r.register(
            "ticks_dropped",
            "Ticks dropped by the bound of the spool; each is a gap",
            self.ticks_dropped.clone(),
        );
        r.register("segments_delivered", "Pairs of segments put into the inbox", self.segments_delivered.clone());
        r.register(
            "segments_conflicting",
            "Segments that the inbox had with other bytes",
            self.segments_conflicting.clone(),
        );
        r.register("spool_segments", "Pairs of segments that wait", self.spool_segments.clone());
        r.register("spool_bytes", "Bytes of journal and waiting segments", self.spool_bytes.clone());
        r.register("coverage_ppm", "Measured part of the last tick, by device", self.coverage.clone());
        r.register("nvml_calls", "Calls into the driver's library, by kind", self.nvml_calls.clone());
        r.register("devices", "Devices of the last tick", self.devices.clone());
        r.register("devices_stuck", "Devices whose call does not come back", self.devices_stuck.clone());
        r.register("devices_lost", "Devices that the driver calls lost", self.devices_lost.clone());
        r.register("rss_bytes", "Own resident memory", self.rss_bytes.clone());
        r.register("lag_ms", "Age of the newest tick written", self.lag_ms.clone());
        r.register(
            "clock_synchronised",
            "1 where the kernel says that the clock is synchronised",
            self.clock_synchronised.clone(),
        );
    }

    /// A look at a source: how long it took, and whether it failed.
    pub fn looked(&self, source: &'static str, took: Duration, failed: bool) {
        let label = vec![("source", source.to_owned())];
        self.source_seconds.get_or_create(&label).observe(took.as_secs_f64());
        // A source that has never failed shows 0, so that its first failure is a step.
        self.source_errors.get_or_create(&label).inc_by(u64::from(failed));
    }

    /// Values that were not taken.
    pub fn rejected(&self, source: &'static str, reason: &str, count: u64) {
        let label = vec![("source", source.to_owned()), ("reason", reason.to_owned())];
        self.rejects.get_or_create(&label).inc_by(count);
    }

    /// Calls into the driver's library.
    pub fn nvml_called(&self, kind: &'static str, count: u64) {
        self.nvml_calls.get_or_create(&vec![("kind", kind.to_owned())]).inc_by(count);
    }

    /// A tick is in the journal: nothing but its own bound can lose it now.
    pub fn tick_written(&self, now: Moment, devices: &[DeviceCoverage]) {
        self.ticks_written.inc();
        self.newest_tick_boot_ms.store(now.boot_ms, Ordering::Relaxed);
        set(&self.clock_synchronised, i64::from(now.synchronised));
        set(&self.devices, devices.len() as i64);
        // Devices come and go with MIG; a series of one that is gone would look like a value.
        self.coverage.clear();
        for device in devices {
            self.coverage.get_or_create(&vec![("uuid", device.uuid.clone())]).set(device.covered_ppm);
        }
        self.set_problem(None);
    }

    /// Ticks that the bound of the spool took.
    pub fn ticks_dropped(&self, count: u64) {
        self.ticks_dropped.inc_by(count);
    }

    /// A pair of segments is in the inbox; `conflicting` where the inbox had that name with other bytes.
    pub fn segment_delivered(&self, conflicting: bool) {
        if conflicting {
            self.segments_conflicting.inc()
        } else {
            self.segments_delivered.inc()
        };
    }

    /// How full the spool is.
    pub fn set_spool(&self, segments: i64, bytes: i64) {
        set(&self.spool_segments, segments);
        set(&self.spool_bytes, bytes);
    }

    /// Devices that hang and devices that are lost.
    pub fn set_devices(&self, stuck: i64, lost: i64) {
        set(&self.devices_stuck, stuck);
        set(&self.devices_lost, lost);
    }

    /// Own resident memory.
    pub fn set_rss_bytes(&self, bytes: i64) {
        set(&self.rss_bytes, bytes);
    }

    /// Why no ticks are being written, in words; none where they are.
    pub fn set_problem(&self, why: Option<String>) {
        if let Ok(mut problem) = self.problem.lock() {
            *problem = why;
        }
    }

    fn lag_ms(&self, now: Moment) -> Option<i64> {
        let newest = self.newest_tick_boot_ms.load(Ordering::Relaxed);
        (newest != NEVER).then(|| (now.boot_ms - newest).max(0))
    }
}

impl serve::Pages for NodeMetrics {
    fn page(&self, now: Moment) -> Result<String, std::fmt::Error> {
        if let Some(lag_ms) = self.lag_ms(now) {
            set(&self.lag_ms, lag_ms);
        }
        let mut page = String::new();
        prometheus_client::encoding::text::encode(&mut page, &self.registry)?;
        Ok(page)
    }

    fn readiness(&self, now: Moment) -> Result<String, String> {
        let problem = self.problem.lock().ok().and_then(|p| p.clone());
        ready::readiness(self.lag_ms(now), problem.as_deref())
    }
}

fn set(gauge: &Known, value: i64) {
    gauge.get_or_create(&Label::new()).set(value);
}

/// Resident memory in the text of `/proc/self/status`.
pub fn rss_bytes(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1_024)
}

#[cfg(test)]
mod tests;
