//! The cluster collector's own figures, and whether it does its work: `/metrics`, `/ready`, `/live` on loopback.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::node::metrics::serve::Pages;
use crate::node::seen::Moment;

/// No look has succeeded yet.
const NEVER: i64 = i64::MIN;
/// Looks that may fail or be late before it is not ready: three in a row are no coincidence.
const READY_LOOKS: i64 = 3;

/// Labels and their values.
type Label = Vec<(&'static str, String)>;
/// A gauge without labels that has no series until it is known: zero would be a claim.
type Known = Family<Label, Gauge>;

/// Everything that is counted.
#[derive(Debug)]
pub struct ClusterMetrics {
    registry: Registry,
    interval_ms: i64,
    looks: Family<Label, Counter>,
    look_ms: Known,
    rows_written: Counter,
    segments_delivered: Counter,
    spool_segments: Known,
    spool_bytes: Known,
    jobs: Known,
    runs: Known,
    calls: Family<Label, Gauge>,
    rss_bytes: Known,
    lag_ms: Known,
    /// Boot-time ms at which the newest look that succeeded was on disk.
    newest_boot_ms: AtomicI64,
    problem: Mutex<Option<String>>,
}

impl ClusterMetrics {
    /// Nothing counted yet. `version` is the build's; looks are `interval_ms` apart.
    pub fn new(version: &str, interval_ms: i64) -> Self {
        let mut all = Self {
            registry: Registry::with_prefix("gpuledger_cluster"),
            interval_ms,
            looks: Family::default(),
            look_ms: Known::default(),
            rows_written: Counter::default(),
            segments_delivered: Counter::default(),
            spool_segments: Known::default(),
            spool_bytes: Known::default(),
            jobs: Known::default(),
            runs: Known::default(),
            calls: Family::default(),
            rss_bytes: Known::default(),
            lag_ms: Known::default(),
            newest_boot_ms: AtomicI64::new(NEVER),
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
        r.register("looks", "Looks at the scheduler, by outcome", self.looks.clone());
        r.register("look_ms", "Duration of the last look", self.look_ms.clone());
        r.register("rows_written", "Rows written to the state", self.rows_written.clone());
        r.register("segments_delivered", "Segments put into the inbox", self.segments_delivered.clone());
        r.register("spool_segments", "Segments that wait", self.spool_segments.clone());
        r.register("spool_bytes", "Bytes of segments that wait", self.spool_bytes.clone());
        r.register("jobs", "Requests that are waiting or running", self.jobs.clone());
        r.register("runs", "Runs that are running", self.runs.clone());
        r.register("calls", "Calls made to the scheduler since the start, by name", self.calls.clone());
        r.register("rss_bytes", "Own resident memory", self.rss_bytes.clone());
        r.register("lag_ms", "Age of the newest look that succeeded", self.lag_ms.clone());
    }

    /// A look that took `took_ms`; `failed` is why it failed, where it did.
    pub fn looked(&self, now: Moment, took_ms: i64, rows: usize, failed: Option<&str>) {
        let outcome = |word: &str| vec![("outcome", word.to_owned())];
        // Both show from the first look on, so that the first failure is a step.
        self.looks.get_or_create(&outcome("ok")).inc_by(u64::from(failed.is_none()));
        self.looks.get_or_create(&outcome("failed")).inc_by(u64::from(failed.is_some()));
        set(&self.look_ms, took_ms);
        self.rows_written.inc_by(u64::try_from(rows).unwrap_or(0));
        if failed.is_none() {
            self.newest_boot_ms.store(now.boot_ms, Ordering::Relaxed);
        }
        self.set_problem(failed.map(str::to_owned));
    }

    /// What is waiting and running.
    pub fn set_live(&self, jobs: usize, runs: usize) {
        set(&self.jobs, i64::try_from(jobs).unwrap_or(i64::MAX));
        set(&self.runs, i64::try_from(runs).unwrap_or(i64::MAX));
    }

    /// Calls made to the scheduler since the start.
    pub fn set_calls(&self, calls: &[(&'static str, u64)]) {
        for (name, count) in calls {
            let label = vec![("call", (*name).to_owned())];
            self.calls.get_or_create(&label).set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
    }

    /// Segments that wait, and those that went.
    pub fn set_spool(&self, (files, bytes): (u64, u64), delivered: u64) {
        set(&self.spool_segments, i64::try_from(files).unwrap_or(i64::MAX));
        set(&self.spool_bytes, i64::try_from(bytes).unwrap_or(i64::MAX));
        self.segments_delivered.inc_by(delivered);
    }

    /// Own resident memory.
    pub fn set_rss_bytes(&self, bytes: i64) {
        set(&self.rss_bytes, bytes);
    }

    /// Why no looks are written, in words; none where they are.
    pub fn set_problem(&self, why: Option<String>) {
        if let Ok(mut problem) = self.problem.lock() {
            *problem = why;
        }
    }

    fn age_ms(&self, now: Moment) -> Option<i64> {
        let newest = self.newest_boot_ms.load(Ordering::Relaxed);
        (newest != NEVER).then(|| (now.boot_ms - newest).max(0))
    }
}

impl Pages for ClusterMetrics {
    fn page(&self, now: Moment) -> Result<String, std::fmt::Error> {
        if let Some(lag_ms) = self.age_ms(now) {
            set(&self.lag_ms, lag_ms);
        }
        let mut page = String::new();
        prometheus_client::encoding::text::encode(&mut page, &self.registry)?;
        Ok(page)
    }

    fn readiness(&self, now: Moment) -> Result<String, String> {
        let problem = self.problem.lock().ok().and_then(|p| p.clone());
        let because = problem.map(|why| format!(": {why}")).unwrap_or_default();
        match self.age_ms(now) {
            Some(age) if age <= READY_LOOKS * self.interval_ms => {
                Ok(format!("ready: the newest look succeeded {} s ago", age / 1_000))
            }
            Some(age) => Err(format!("not ready: no look succeeded for {} s{because}", age / 1_000)),
            None => Err(format!("not ready: no look succeeded since the start{because}")),
        }
    }
}

fn set(gauge: &Known, value: i64) {
    gauge.get_or_create(&Label::new()).set(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot_ms: i64) -> Moment {
        Moment { wall_ms: 1_700_000_000_000 + boot_ms, boot_ms, awake_ms: boot_ms, synchronised: true }
    }

    #[test]
    fn it_is_ready_for_three_looks_after_one_that_succeeded() {
        let metrics = ClusterMetrics::new("1", 60_000);
        assert_eq!(metrics.readiness(at(5)), Err("not ready: no look succeeded since the start".to_owned()));
        metrics.looked(at(1_000), 40, 3, None);
        metrics.looked(at(61_000), 40, 1, Some("scontrol does not answer"));
        assert_eq!(metrics.readiness(at(181_000)), Ok("ready: the newest look succeeded 180 s ago".to_owned()));
        let why = metrics.readiness(at(181_001)).unwrap_err();
        assert_eq!(why, "not ready: no look succeeded for 180 s: scontrol does not answer");
        let page = metrics.page(at(62_000)).unwrap();
        for line in [
            "looks_total{outcome=\"ok\"} 1",
            "looks_total{outcome=\"failed\"} 1",
            "rows_written_total 4",
            "lag_ms 61000",
        ] {
            assert!(page.contains(&format!("gpuledger_cluster_{line}\n")), "{line} is not in\n{page}");
        }
        assert!(!page.contains("gpuledger_cluster_runs "), "what is not known yet has no series\n{page}");
    }
}
