//! The watch: looks at every source, poll by poll and tick by tick, and gives a tick's rows. It keeps nothing on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gpuledger_schema::id::id63;
use gpuledger_schema::state::SchedulerKind;
use gpuledger_schema::table::ReadingRow;

use super::attribute::Site;
use super::claims::Claims;
use super::claims::memory::Memory;
use super::config::NodeConfig;
use super::exporter::Exporter;
use super::integrate::Meter;
use super::metrics::{DeviceCoverage, NodeMetrics};
use super::people::People;
use super::prober::Prober;
use super::records::Records;
use super::seen::{Boot, Clock, Process};
use super::source::card::{Card, Instance};
use super::source::dcgm::scrape::ScrapeError;
use super::source::nvml::look::CardMinute;
use super::source::nvml::{Looked, Nvml, OpenError, Outcome, Settings};
use super::source::proc::users::{NameOf, system_names};
use super::spool::Tick;
use super::stopwatch::Stopwatch;
use super::tick::version::Versions;
use super::tick::{self, CardState, CardTick, Missed, NodeFacts, Person, TickSpan};

/// Parts per million in one.
const PPM: i64 = 1_000_000;

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel does not say which boot this is.
    #[error("cannot read the boot id of this machine from `{path}`")]
    Boot {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The driver's library.
    #[error("the driver's library cannot be used")]
    Nvml(#[source] OpenError),
    /// The exporter's address.
    #[error("`dcgm_url` cannot be used")]
    Exporter(#[source] ScrapeError),
}

/// Everything that is looked at.
#[derive(Debug)]
pub struct Watch {
    node: NodeFacts,
    site: Site,
    clock: Arc<dyn Clock>,
    metrics: Arc<NodeMetrics>,
    nvml: Nvml,
    calls: BTreeMap<&'static str, u64>,
    meters: BTreeMap<String, Meter>,
    people: People,
    records: Records,
    exporter: Option<Exporter>,
    prober: Option<Prober>,
    versions: Versions,
    claims: Claims,
    memory: Option<Memory>,
    span: TickSpan,
}

impl Watch {
    /// Opens every source; must be called inside a runtime, on which the slow ones are looked at.
    pub fn open(config: &NodeConfig, clock: Arc<dyn Clock>, metrics: Arc<NodeMetrics>) -> Result<Self, WatchError> {
        let path = config.proc_root.join("sys/kernel/random/boot_id");
        let boot = std::fs::read_to_string(&path).map_err(|source| WatchError::Boot { path, source })?;
        let boot = Boot { node: config.node.clone().unwrap_or_default(), boot: boot.trim().to_owned() };
        let settings = Settings {
            library: Some(config.nvml_path.clone()),
            deadline: Duration::from_millis(config.nvml_deadline_ms),
            accounting: config.accounting,
        };
        let scheduler = config.scheduler;
        let mut nvml = Nvml::open(settings, Arc::clone(&clock)).map_err(WatchError::Nvml)?;
        // the first look has nothing to compare with: it is what the first tick starts from
        nvml.minute();
        nvml.unnamed().iter().for_each(|why| tracing::error!("a card cannot be named, and has no rows: {why}"));
        let exporter =
            Exporter::start(config, Arc::clone(&clock), Arc::clone(&metrics)).map_err(WatchError::Exporter)?;
        Ok(Self {
            node: NodeFacts {
                cluster: config.cluster.clone(),
                boot: boot.clone(),
                queue: config.queue.clone(),
                scheduler,
                interconnect: config.interconnect.clone(),
                collector_id: id63("collector", &[&boot.node]),
            },
            site: Site { cluster: config.cluster.clone(), scheduler, boot },
            nvml,
            calls: BTreeMap::new(),
            meters: BTreeMap::new(),
            people: People::new(&config.proc_root, scheduler == SchedulerKind::Slurm, names(config)),
            records: Records::start(config, Arc::clone(&clock), Arc::clone(&metrics)),
            exporter,
            prober: Prober::of(config),
            versions: Versions::default(),
            claims: Claims::default(),
            memory: None,
            span: TickSpan::starting(clock.now()),
            clock,
            metrics,
        })
    }

    /// Goes on with the claims that a file remembers, and remembers them there.
    pub fn remember(&mut self, memory: Memory) {
        match memory.load() {
            Ok(claims) => self.claims = claims,
            Err(e) => tracing::warn!(error = &e as &dyn std::error::Error, "claims begin anew"),
        }
        self.memory = Some(memory);
    }

    /// The tick in progress.
    pub const fn span(&self) -> &TickSpan {
        &self.span
    }

    /// Makes the tick in progress so long, whatever the minute of the clock, and gives its end.
    pub(super) fn stretch(&mut self, length_ms: i64) -> i64 {
        self.span = TickSpan { start: self.clock.now(), ..self.span };
        self.span.end_boot_ms = self.span.start.boot_ms + length_ms;
        self.span.end_boot_ms
    }

    /// Whether this process can go on.
    pub const fn outcome(&self) -> &Outcome {
        self.nvml.outcome()
    }

    /// Asks who uses each card now.
    pub fn poll(&mut self) {
        let took = Stopwatch::start();
        let polls = self.nvml.poll();
        self.metrics.looked("nvml_poll", took.read(), polls.iter().any(|p| p.seen.is_err()));
        for Looked { uuid, seen, .. } in polls {
            let meter = self.meters.entry(uuid).or_default();
            if let Ok(poll) = seen {
                meter.add(poll, &self.people);
            }
        }
    }

    /// Ends the tick with a look at everything, begins the next, and gives the rows.
    pub fn close(&mut self) -> Tick {
        let took = Stopwatch::start();
        let looks = self.nvml.minute();
        self.metrics.looked("nvml_minute", took.read(), looks.iter().any(|l| l.seen.is_err()));
        let (from, to) = (self.span.start.boot_ms, self.span.end_boot_ms);
        let ticks: Vec<CardTick> = looks.into_iter().map(|look| self.card(look, from, to)).collect();
        let cards = cards_of(&ticks);
        let now = self.clock.now();
        let known = self.records.of(&cards);
        known.odd.iter().for_each(|odd| tracing::warn!("{odd}"));
        let took = Stopwatch::start();
        let people = self.people.of_tick(&self.site, &ticks, &known, self.span.start, now);
        self.metrics.looked("proc", took.read(), false);
        self.cross_check(&cards, &ticks, &people);
        let outside = self.exporter.as_ref().map_or_else(Vec::new, |e| e.tick(now.boot_ms));
        let rows = tick::rows(&self.node, &self.span, &ticks, &people, &outside, &mut self.versions);
        self.count(&ticks);
        let given = self.claims.take(&self.node, &self.records.given(&self.site, &cards, &ticks));
        if let Some(memory) = self.memory.as_ref().filter(|_| given.changed)
            && let Err(e) = memory.store(&self.claims)
        {
            tracing::warn!(error = &e as &dyn std::error::Error, "claims are not remembered");
        }

        let next = self.span.next(now);
        let looked = rows.minutes.len() + rows.processes.len();
        let mut readings = vec![self.reading(looked as i64)];
        readings.extend(self.span.missed(&next).map(|missed| self.gap(missed)));
        readings.extend(self.prober.as_mut().and_then(|p| p.row(&self.node, now)));
        readings.extend(given.reading);
        self.span = next;
        Tick { devices: rows.devices, minutes: rows.minutes, processes: rows.processes, readings, claims: given.claims }
    }

    /// What the tick gathered of one card.
    fn card(&mut self, look: Looked<CardMinute>, from_ms: i64, to_ms: i64) -> CardTick {
        let used = self.meters.entry(look.uuid.clone()).or_default().close(from_ms, to_ms);
        for (reason, count) in used.rejects.by_reason().into_iter().filter(|(_, count)| *count > 0) {
            self.metrics.rejected("nvml", reason, count);
        }
        let (state, minute) = match look.seen {
            Ok(minute) => (CardState::Ok, Some(minute)),
            Err(state) => (state, None),
        };
        CardTick { uuid: look.uuid, state, used, minute, last_xid: look.last_xid }
    }

    /// Whether jobs' processes run where the records say that the jobs are.
    fn cross_check(&self, cards: &[Card], ticks: &[CardTick], people: &BTreeMap<Process, Person>) {
        let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for tick in ticks {
            for key in tick.used.processes.keys() {
                let super::integrate::Who::Known(process) = key.who else { continue };
                let belongs = people.get(&process).and_then(|p| p.belongs.as_ref()).filter(|b| b.evidence == "cgroup");
                let job = belongs.and_then(|b| b.hint.strip_prefix("slurm:")?.rsplit(':').next());
                if let Some(job) = job {
                    let place = key.instance.as_ref().unwrap_or(&tick.uuid);
                    seen.entry(job.to_owned()).or_default().insert(place.clone());
                }
            }
        }
        self.records.contradictions(cards, &seen).iter().for_each(|odd| tracing::warn!("{odd}"));
    }

    fn count(&mut self, ticks: &[CardTick]) {
        for (name, calls) in self.nvml.library().calls() {
            let before = self.calls.insert(name, calls.count).unwrap_or(0);
            self.metrics.nvml_called(name, calls.count.saturating_sub(before));
        }
        let lost = ticks.iter().filter(|t| t.state == CardState::Lost).count();
        self.metrics.set_devices(self.nvml.stuck().len() as i64, lost as i64);
        let dur_ms = self.span.dur_ms().max(1);
        let coverage: Vec<DeviceCoverage> = ticks
            .iter()
            .map(|t| DeviceCoverage { uuid: t.uuid.clone(), covered_ppm: t.used.covered_ms * PPM / dur_ms })
            .collect();
        self.metrics.tick_written(self.clock.now(), &coverage);
    }

    /// The tick as a look at the node.
    fn reading(&self, rows: i64) -> ReadingRow {
        let from_ms = self.span.start.wall_ms;
        let to_ms = from_ms + self.span.dur_ms();
        ReadingRow {
            source: self.node.boot.node.clone(),
            kind: "node".to_owned(),
            cluster: self.node.cluster.clone(),
            node: Some(self.node.boot.node.clone()),
            read_at_ms: to_ms,
            from_ms,
            to_ms,
            ok: true,
            rows,
            error: None,
        }
    }

    /// Time of which no tick speaks.
    fn gap(&self, missed: Missed) -> ReadingRow {
        let why = if missed.suspended_ms > 0 { "the machine was suspended" } else { "the collector was held up" };
        ReadingRow {
            from_ms: missed.from_ms,
            to_ms: missed.to_ms,
            read_at_ms: missed.to_ms,
            ok: false,
            error: Some(why.to_owned()),
            ..self.reading(0)
        }
    }
}

/// Cards by all the names that records may have for them.
fn cards_of(ticks: &[CardTick]) -> Vec<Card> {
    let named = ticks.iter().enumerate().filter_map(|(index, tick)| {
        let minute = tick.minute.as_ref()?;
        let instances = minute.instances.iter().map(|i| Instance {
            uuid: i.facts.uuid.clone(),
            gi: i.facts.gpu_instance,
            ci: None,
            start: None,
        });
        Some(Card {
            uuid: tick.uuid.clone(),
            nvml_index: u32::try_from(index).ok(),
            minor: minute.facts.minor.and_then(|m| u32::try_from(m).ok()),
            instances: instances.collect(),
        })
    });
    named.collect()
}

/// The machine's name services, unless the host's `/proc` is somebody else's: a container's users are not the host's.
fn names(config: &NodeConfig) -> NameOf {
    if config.proc_root == std::path::Path::new("/proc") { system_names() } else { Box::new(|_| None) }
}
