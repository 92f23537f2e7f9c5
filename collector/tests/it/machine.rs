//! A node of one test: its own copy of the simulated driver, a told clock, and a `/proc` that the test writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gpuledger_collector::node::config::Accounting;
use gpuledger_collector::node::integrate::{Meter, PidMap};
use gpuledger_collector::node::seen::{Belongs, Boot, Clock, Moment, Process, ProcessFacts};
use gpuledger_collector::node::source::nvml::look::{CardMinute, Rejects};
use gpuledger_collector::node::source::nvml::{Looked, Nvml, Settings};
use gpuledger_collector::node::tick::version::Versions;
use gpuledger_collector::node::tick::{CardState, CardTick, NodeFacts, Person, Rows, TickSpan, rows};
use gpuledger_nvml_sim::control::Control;
use gpuledger_nvml_sim::scenario::{ClockMode, Scenario};
use gpuledger_schema::state::SchedulerKind;

/// The scenario's second 0 by the boot clock: a full minute, so that ticks and the scenario's minutes are the same.
const BOOT_MS: i64 = 6_000_000;

/// How often a thread that hangs is looked for, 10 ms apart.
const COME_BACK_TRIES: u32 = 20;

/// The simulation and its clock.
pub(crate) struct Sim {
    pub(crate) control: Control,
    _folder: tempfile::TempDir,
}

impl Sim {
    /// Lets time of the scenario go by.
    pub(crate) fn pass_ms(&self, ms: i64) {
        self.control.advance_us(ms * 1_000);
    }
}

impl Clock for Sim {
    fn now(&self) -> Moment {
        let (wall_us, scenario_us) = self.control.time_us();
        let boot_ms = BOOT_MS + scenario_us / 1_000;
        Moment { wall_ms: wall_us / 1_000, boot_ms, awake_ms: boot_ms, synchronised: true }
    }
}

/// A `/proc` in which every pid below a million is alive from when the test says, else since boot.
#[derive(Default)]
pub(crate) struct Pids {
    /// When a pid's process started, in seconds of the scenario; the newest start that has passed counts.
    pub(crate) starts_s: BTreeMap<u32, Vec<i64>>,
    /// Pids from this one on are gone before anybody looks; 0 stands for a million.
    pub(crate) gone_from: u32,
    /// Host pids of a namespaced pid.
    pub(crate) inner: BTreeMap<u32, Vec<u32>>,
    pub(crate) now_ms: i64,
}

impl PidMap for Pids {
    fn process(&self, pid: u32) -> Option<Process> {
        if pid >= if self.gone_from == 0 { 1_000_000 } else { self.gone_from } {
            return None;
        }
        let starts = self.starts_s.get(&pid).map_or(&[][..], Vec::as_slice);
        let started_ms = starts.iter().map(|s| BOOT_MS + s * 1_000).filter(|s| *s <= self.now_ms).max();
        if !starts.is_empty() && started_ms.is_none() {
            return None;
        }
        Some(Process { pid, start_ticks: (started_ms.unwrap_or(1_000) / 10) as u64 })
    }

    fn host_pids(&self, pid: u32) -> Vec<u32> {
        self.inner.get(&pid).cloned().unwrap_or_default()
    }

    fn sees_host(&self) -> bool {
        true
    }
}

/// A node with its collector.
pub(crate) struct Machine {
    pub(crate) sim: Arc<Sim>,
    pub(crate) nvml: Nvml,
    pub(crate) pids: Pids,
    pub(crate) poll_ms: i64,
    /// UUIDs of the cards, in the scenario's order.
    pub(crate) uuids: Vec<String>,
    /// Rejected rows of the last tick by card, where there were any.
    pub(crate) rejects: Vec<(String, Rejects)>,
    meters: BTreeMap<String, Meter>,
    versions: Versions,
}

impl Machine {
    /// The node of a scenario of the simulation's folder.
    pub(crate) fn shipped(name: &str, accounting: Accounting) -> Self {
        Self::with_pids(name, accounting, Pids::default())
    }

    /// The same, on a machine with these processes.
    pub(crate) fn with_pids(name: &str, accounting: Accounting, pids: Pids) -> Self {
        Self::start(name, accounting, pids, Duration::from_secs(20))
    }

    /// The same, with a collector that waits so long for a card.
    pub(crate) fn patient(name: &str, deadline: Duration) -> Self {
        Self::start(name, Accounting::Off, Pids::default(), deadline)
    }

    fn start(name: &str, accounting: Accounting, pids: Pids, deadline: Duration) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/nvml-sim/scenarios");
        Self::of(Scenario::read(&folder.join(name)).unwrap(), accounting, pids, deadline)
    }

    /// The node of a scenario, which is told its time.
    pub(crate) fn of(mut scenario: Scenario, accounting: Accounting, pids: Pids, deadline: Duration) -> Self {
        // the benchmark's runs by itself elsewhere
        scenario.clock.mode = ClockMode::Virtual;
        let folder = tempfile::tempdir().unwrap();
        let control = Control::install(folder.path(), &scenario).unwrap();
        let sim = Arc::new(Sim { control, _folder: folder });
        // the collector starts five seconds in: its first tick is short
        sim.pass_ms(5_000);
        let clock: Arc<dyn Clock> = Arc::clone(&sim) as Arc<dyn Clock>;
        let settings = Settings { library: Some(sim.control.path().to_owned()), deadline, accounting };
        let nvml = Nvml::open(settings, clock).unwrap();
        let (meters, versions) = (BTreeMap::new(), Versions::default());
        let uuids = Vec::new();
        let rejects = Vec::new();
        let mut machine = Self { sim, nvml, pids, poll_ms: 5_000, uuids, rejects, meters, versions };
        // what a collector does when it starts: counters and samples get their first reading
        machine.uuids = machine.nvml.minute().into_iter().map(|l| l.uuid).collect();
        machine.poll();
        machine
    }

    /// One poll of every card.
    pub(crate) fn poll(&mut self) {
        self.pids.now_ms = self.sim.now().boot_ms;
        for looked in self.nvml.poll() {
            if let Ok(poll) = looked.seen {
                self.meters.entry(looked.uuid).or_default().add(poll, &self.pids);
            }
        }
    }

    /// The rest of the minute, and its rows.
    pub(crate) fn tick(&mut self) -> Rows {
        let span = TickSpan::starting(self.sim.now());
        while self.sim.now().boot_ms < span.end_boot_ms {
            self.sim.pass_ms(self.poll_ms.min(span.end_boot_ms - self.sim.now().boot_ms));
            self.let_threads_come_back();
            self.poll();
        }
        let looked = self.nvml.minute();
        self.rows(span, looked)
    }

    /// Told time passes in no time, and a thread whose call came back in it needs some to say so.
    fn let_threads_come_back(&mut self) {
        for _ in 0..COME_BACK_TRIES {
            if self.nvml.stuck().is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn rows(&mut self, span: TickSpan, looked: Vec<Looked<CardMinute>>) -> Rows {
        let mut cards = Vec::new();
        self.rejects.clear();
        for Looked { uuid, seen, last_xid } in looked {
            let used = self.meters.entry(uuid.clone()).or_default().close(span.start.boot_ms, span.end_boot_ms);
            if used.rejects.total() > 0 {
                self.rejects.push((uuid.clone(), used.rejects));
            }
            let (state, minute) = match seen {
                Ok(minute) => (CardState::Ok, Some(minute)),
                Err(state) => (state, None),
            };
            cards.push(CardTick { uuid, state, used, minute, last_xid });
        }
        let people = people(&cards);
        rows(&node(), &span, &cards, &people, &[], &mut self.versions)
    }
}

fn node() -> NodeFacts {
    NodeFacts {
        cluster: "sim".to_owned(),
        boot: Boot { node: "n1".to_owned(), boot: "b1".to_owned() },
        queue: None,
        scheduler: SchedulerKind::Slurm,
        interconnect: None,
        collector_id: 1,
    }
}

/// Everybody that was seen alive is known, with nothing remarkable.
fn people(cards: &[CardTick]) -> BTreeMap<Process, Person> {
    use gpuledger_collector::node::integrate::Who;
    let known = cards.iter().flat_map(|c| c.used.processes.keys()).filter_map(|k| match k.who {
        Who::Known(process) => Some(process),
        Who::Unknown(_) => None,
    });
    let person = |process: Process| Person {
        facts: Some(ProcessFacts {
            process,
            user: "u".to_owned(),
            command: Some("c".to_owned()),
            state: Some('S'),
            cpu_ms: Some(0),
            rss_bytes: Some(0),
            read_bytes: Some(0),
            io_wait_ms: Some(0),
        }),
        belongs: Some(Belongs { hint_id: 1, hint: "slurm:sim:1".to_owned(), evidence: "cgroup", conflict: false }),
        absent: Vec::new(),
    };
    known.map(|process| (process, person(process))).collect()
}
