//! A fleet whose truth is known: cards, runs that do what they were told to, a scheduler, telemetry that can be switched off, and
//! clocks. It is looked at through the same traits as the real one.

// The example of a year uses a part of it.
#![allow(dead_code, reason = "shared by tests and an example, each of which uses a part")]

pub(crate) mod mirror;
pub(crate) mod ports;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use gpuledger_reclaim::policy::Book;
use gpuledger_schema::reclaim::{
    AlertKind, Allocation, Card, Class, Identity, Judgement, Mode, Owner, Reason, Snapshot, Source, Switches, Use,
    Verdict, Work, Workload,
};
use gpuledger_schema::unit::CARD_UNITS;

use mirror::{Mirror, Tick};

pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;
/// 2026-10-05T08:00:00Z, a Monday.
pub(crate) const START: i64 = 1_791_187_200_000;
const GIB: i64 = 1 << 30;
/// Power of a card at rest, and its floor.
const REST_MW: i64 = 62_000;
pub(crate) const FLOOR_MW: i64 = 70_000;

/// What a run does in a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Load {
    /// Works all the time.
    Busy,
    /// Nothing.
    Idle,
    /// Works, with a pause of so many minutes every so many.
    Pauses { every: i64, pause: i64 },
    /// Brings data for so many minutes, then works.
    Stages { minutes: i64 },
    /// A second of work every so many minutes, and nothing else.
    Token { every: i64 },
    /// Works for so many minutes, then nothing.
    Then { busy: i64 },
    /// A request now and then: so many minutes of work every so many.
    Sparse { every: i64, work: i64 },
    /// Reads 0 while the card works: what a broken exporter shows.
    Lies,
    /// Only memory traffic, no SM.
    Copies,
    /// A mean of so many percent, always.
    Low { percent: i64 },
    /// SM busy, nothing else, at low power.
    Hangs,
}

/// What a card shows in a minute because of one run.
#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    peak_ppm: i64,
    mean_ppm: i64,
    dram_ppm: i64,
    power_mw: i64,
}

impl Load {
    fn at(&self, minute: i64) -> Shown {
        let busy = Shown { peak_ppm: 990_000, mean_ppm: 900_000, dram_ppm: 400_000, power_mw: 520_000 };
        let rest = Shown { peak_ppm: 0, mean_ppm: 0, dram_ppm: 0, power_mw: REST_MW };
        let when = |on: bool| if on { busy } else { rest };
        match self {
            Self::Busy => busy,
            Self::Idle => rest,
            Self::Pauses { every, pause } => when(minute % every >= *pause),
            Self::Stages { minutes } => when(minute >= *minutes),
            Self::Token { every } => {
                let touch = Shown { peak_ppm: 400_000, mean_ppm: 6_000, dram_ppm: 2_000, power_mw: REST_MW };
                if minute % every == 0 { touch } else { rest }
            }
            Self::Then { busy: minutes } => when(minute < *minutes),
            Self::Sparse { every, work } => when(minute % every < *work),
            Self::Lies => Shown { power_mw: 600_000, ..rest },
            Self::Copies => Shown { dram_ppm: 300_000, power_mw: REST_MW, ..rest },
            Self::Low { percent } => {
                Shown { peak_ppm: 300_000, mean_ppm: percent * 10_000, dram_ppm: 20_000, power_mw: 90_000 }
            }
            Self::Hangs => Shown { peak_ppm: 1_000_000, mean_ppm: 1_000_000, dram_ppm: 0, power_mw: 110_000 },
        }
    }
}

/// A card.
#[derive(Debug, Clone)]
pub(crate) struct SimCard {
    pub(crate) device_id: i64,
    pub(crate) node: String,
    pub(crate) newest_ms: Option<i64>,
    pub(crate) mem_used: i64,
    pub(crate) users: Vec<i64>,
    /// Memory that nobody's process holds.
    pub(crate) stuck: i64,
}

/// A run, or what holds a card without one.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) id: i64,
    pub(crate) identity: Identity,
    pub(crate) owner: Owner,
    pub(crate) work: Work,
    pub(crate) nodes: Vec<String>,
    pub(crate) devices: Vec<i64>,
    pub(crate) load: Load,
    /// When this load began.
    pub(crate) load_from_ms: i64,
    pub(crate) end_ms: Option<i64>,
    /// Whether its processes go with it.
    pub(crate) leaves_memory: bool,
    /// Seconds from a signal to a checkpoint; none: it does not trap the signal.
    pub(crate) checkpoints_in_s: Option<i64>,
    /// A signal that is being worked on.
    pub(crate) signalled_ms: Option<i64>,
    /// What it is for people beside its load: a class no scheduler can free.
    pub(crate) special: Option<Class>,
    pub(crate) mirror: Mirror,
}

impl Run {
    pub(crate) fn is_there(&self) -> bool {
        self.end_ms.is_none()
    }
}

/// What is wrong with the next command of Slurm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails with these words.
    Fail(String),
    /// It does not answer, and did nothing.
    Hang,
    /// It does not answer, and did what it was asked.
    HangDone,
    /// It says that it did, and nothing happens.
    NoEffect,
    /// It prints something else.
    Garbage,
}

/// The fleet.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    pub(crate) now_ms: i64,
    pub(crate) step_ms: i64,
    pub(crate) cards: BTreeMap<i64, SimCard>,
    pub(crate) runs: BTreeMap<i64, Run>,
    pub(crate) cluster: String,
    pub(crate) blind: Vec<String>,
    pub(crate) lost: Vec<i64>,
    /// What readings of the scheduler say: none, that all is well.
    pub(crate) scheduler_error: Option<String>,
    /// A list cut to so many runs, which nobody says is cut.
    pub(crate) short_to: Option<usize>,
    pub(crate) read_ms: Option<i64>,
    pub(crate) failed_ms: Option<i64>,
    pub(crate) jobs: Option<i64>,
    pub(crate) jobs_before: Option<i64>,
    pub(crate) coverage_before: Option<i64>,
    pub(crate) faults: Vec<(String, Fault)>,
    /// Commands that Slurm was asked, as typed.
    pub(crate) commands: Vec<String>,
    /// Runs that a scheduler ended at our wish, with when.
    pub(crate) ended_by_us: Vec<(i64, i64)>,
    pub(crate) next_id: i64,
    pub(crate) policy: Option<Book>,
    pub(crate) recreates: bool,
}

/// The fleet, shared by the parts that look at it.
pub(crate) type Shared = Arc<Mutex<Fleet>>;

pub(crate) fn lock(fleet: &Shared) -> MutexGuard<'_, Fleet> {
    fleet.lock().expect("the fleet")
}

impl Fleet {
    pub(crate) fn new(nodes: i64, cards_each: i64) -> Self {
        let mut cards = BTreeMap::new();
        for n in 1..=nodes {
            for c in 1..=cards_each {
                let device_id = n * 100 + c;
                let node = format!("n{n}");
                let card = SimCard { device_id, node, newest_ms: None, mem_used: 0, users: Vec::new(), stuck: 0 };
                cards.insert(device_id, card);
            }
        }
        Self {
            now_ms: START,
            step_ms: MINUTE,
            cards,
            cluster: "alpha".to_owned(),
            read_ms: Some(START),
            next_id: 1,
            ..Self::default()
        }
    }

    pub(crate) fn free_cards(&self) -> Vec<i64> {
        let held: Vec<i64> = self.runs.values().filter(|r| r.is_there()).flat_map(|r| r.devices.clone()).collect();
        self.cards.keys().copied().filter(|d| !held.contains(d)).collect()
    }

    pub(crate) fn add(&mut self, mut run: Run) -> i64 {
        run.id = self.next_id;
        self.next_id += 1;
        run.mirror = Mirror::new(self.now_ms);
        let id = run.id;
        self.runs.insert(id, run);
        id
    }

    /// A job of Slurm on free cards.
    pub(crate) fn job(
        &mut self,
        raw: &str,
        user: &str,
        team: &str,
        task_type: &str,
        gpus: usize,
        load: Load,
    ) -> Option<i64> {
        let devices: Vec<i64> = self.free_cards().into_iter().take(gpus).collect();
        if devices.len() < gpus {
            return None;
        }
        let identity = Identity::Slurm {
            cluster: self.cluster.clone(),
            job_raw: raw.to_owned(),
            array: None,
            het: None,
            user: user.to_owned(),
            start_ms: self.now_ms,
        };
        Some(self.add(self.run(identity, user, team, task_type, devices, load)))
    }

    pub(crate) fn run(
        &self,
        identity: Identity,
        user: &str,
        team: &str,
        task_type: &str,
        devices: Vec<i64>,
        load: Load,
    ) -> Run {
        let mut nodes: Vec<String> = devices.iter().map(|d| self.cards[d].node.clone()).collect();
        nodes.sort();
        nodes.dedup();
        Run {
            id: 0,
            identity,
            owner: Owner {
                user: user.to_owned(),
                account: None,
                team: team.to_owned(),
                contact: Some(format!("{user}@example.org")),
            },
            work: Work {
                task_type: task_type.to_owned(),
                queue: Some("gpu".to_owned()),
                pool: "default".to_owned(),
                model: Some("H100".to_owned()),
                limit_ms: Some(self.now_ms + 72 * HOUR),
                ..Work::default()
            },
            nodes,
            devices,
            load,
            load_from_ms: self.now_ms,
            end_ms: None,
            leaves_memory: false,
            checkpoints_in_s: None,
            signalled_ms: None,
            special: None,
            mirror: Mirror::new(self.now_ms),
        }
    }

    /// Ends a run; its processes go, or leave their memory behind.
    pub(crate) fn end(&mut self, id: i64) {
        let now_ms = self.now_ms;
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.end_ms = Some(now_ms);
        let (devices, leaves) = (run.devices.clone(), run.leaves_memory);
        for d in devices {
            if leaves && let Some(card) = self.cards.get_mut(&d) {
                card.stuck = 40 * GIB;
            }
        }
    }

    /// A step of time: a tick of every card that is seen, and a reading of the scheduler.
    pub(crate) fn tick(&mut self) {
        let (from, to) = (self.now_ms, self.now_ms + self.step_ms);
        self.now_ms = to;
        for card in self.cards.values_mut() {
            if self.blind.contains(&card.node) || self.lost.contains(&card.device_id) {
                continue;
            }
            card.newest_ms = Some(to);
            card.users.clear();
            card.mem_used = card.stuck;
        }
        for run in self.runs.values_mut().filter(|r| r.end_ms.is_none()) {
            let minute = (from - run.load_from_ms) / MINUTE;
            let mut shown = run.load.at(minute);
            if let (Some(at), Some(delay)) = (run.signalled_ms, run.checkpoints_in_s)
                && to >= at + delay * 1_000
            {
                // writing a checkpoint reads the memory of the card
                run.work.checkpoint_ms = Some(at + delay * 1_000);
                run.signalled_ms = None;
                shown = Shown { peak_ppm: 50_000, dram_ppm: 200_000, ..shown };
            }
            let mut seen = true;
            for d in &run.devices {
                let hidden = self.lost.contains(d) || self.cards.get(d).is_none_or(|c| self.blind.contains(&c.node));
                seen &= !hidden;
                if !hidden && let Some(card) = self.cards.get_mut(d) {
                    card.users.push(run.id);
                    card.mem_used += 20 * GIB;
                }
            }
            if seen {
                run.mirror.take(&Tick {
                    from_ms: from,
                    to_ms: to,
                    peak_ppm: shown.peak_ppm,
                    mean_ppm: shown.mean_ppm,
                    dram_ppm: shown.dram_ppm,
                    power_mw: shown.power_mw,
                    floor_mw: FLOOR_MW,
                });
            }
        }
        self.read_scheduler(to);
    }

    fn read_scheduler(&mut self, at_ms: i64) {
        if self.scheduler_error.is_some() {
            self.failed_ms = Some(at_ms);
            return;
        }
        self.read_ms = Some(at_ms);
        let jobs = i64::try_from(self.listed().len()).unwrap_or(i64::MAX);
        // the reading before this one, as far as it was another
        if self.jobs != Some(jobs) {
            self.jobs_before = self.jobs;
            self.jobs = Some(jobs);
        } else {
            self.jobs_before = self.jobs;
        }
    }

    /// What the newest reading lists.
    fn listed(&self) -> Vec<&Run> {
        let all = self.runs.values().filter(|r| r.is_there());
        all.take(self.short_to.unwrap_or(usize::MAX)).collect()
    }

    /// All that is known now.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        let book = self.policy.clone().expect("a policy");
        let allocations: Vec<Allocation> = self.listed().into_iter().map(|r| self.allocation(r, &book)).collect();
        let known: Vec<i64> = allocations.iter().filter_map(|a| a.judgement.coverage_ppm).collect();
        let coverage_ppm = (!known.is_empty()).then(|| known.iter().sum::<i64>() / known.len() as i64);
        let disagreeing = allocations
            .iter()
            .filter(|a| a.judgement.reasons.contains(&Reason::Disagreement))
            .map(|a| a.device_ids.len() as i64)
            .sum();
        let seen = Use { coverage_ppm, coverage_before_ppm: self.coverage_before, disagreeing };
        self.coverage_before = coverage_ppm;
        let held = |d: i64| {
            self.runs.values().filter(|r| r.is_there() && r.devices.contains(&d)).map(|r| r.id).collect::<Vec<_>>()
        };
        Snapshot {
            at_ms: self.now_ms,
            mode: Mode::Live,
            policy_hash: book.hash.clone(),
            switches: Switches::default(),
            sources: vec![Source {
                cluster: self.cluster.clone(),
                read_ms: self.read_ms,
                failed_ms: self.failed_ms.filter(|f| self.read_ms.is_none_or(|r| *f > r)),
                error: self.scheduler_error.clone(),
                jobs: self.jobs,
                jobs_before: self.jobs_before,
            }],
            seen,
            allocations,
            cards: self
                .cards
                .values()
                .map(|c| Card {
                    device_id: c.device_id,
                    node: c.node.clone(),
                    newest_ms: c.newest_ms,
                    mem_used_bytes: Some(c.mem_used),
                    mem_total_bytes: Some(80 * GIB),
                    users: c.users.clone(),
                    holders: held(c.device_id),
                })
                .collect(),
            cases: Vec::new(),
            past: Vec::new(),
        }
    }

    fn allocation(&self, r: &Run, book: &Book) -> Allocation {
        let policy = mirror::policy_of(book, r, self.now_ms);
        let mut judgement = match policy {
            Some(p) => r.mirror.judge(self, r, p),
            None => Judgement::default(),
        };
        if let Some(class) = r.special {
            judgement.verdict = Verdict::Idle;
            judgement.classes = vec![class];
            judgement.coverage_ppm = Some(1_000_000);
        }
        if r.devices.iter().any(|d| self.lost.contains(d)) {
            judgement.alerts.push(AlertKind::NodeLost);
        }
        let mut identity = r.identity.clone();
        if let Identity::Kubernetes { owner: Some(owner), .. } = &mut identity {
            owner.busy_siblings = self.busy_siblings(r, owner, book);
        }
        Allocation {
            allocation_id: r.id,
            identity,
            owner: r.owner.clone(),
            work: r.work.clone(),
            nodes: r.nodes.clone(),
            device_ids: r.devices.clone(),
            gpu_units: r.devices.len() as i64 * CARD_UNITS,
            judgement,
        }
    }

    fn busy_siblings(&self, r: &Run, of: &Workload, book: &Book) -> Option<i64> {
        let mut busy = 0;
        for s in self.runs.values().filter(|s| s.is_there() && s.id != r.id) {
            let Identity::Kubernetes { owner: Some(owner), .. } = &s.identity else { continue };
            if owner.uid != of.uid {
                continue;
            }
            let verdict = mirror::policy_of(book, s, self.now_ms).map(|p| s.mirror.judge(self, s, p).verdict);
            match verdict {
                Some(Verdict::Busy) => busy += 1,
                Some(Verdict::Idle) => {}
                _ => return None,
            }
        }
        Some(busy)
    }
}
