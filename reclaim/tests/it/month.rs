//! A fleet of 16 GPUs over a month: planted zombies of every class, and everything that only looks like one. Nothing that is not a
//! zombie is ever ended, and every zombie is found within its window of measured time and a round.

use std::collections::BTreeMap;

use gpuledger_reclaim::value::{History, month};
use gpuledger_schema::reclaim::{CaseState, Class, EventKind};

use super::fleet::server;
use super::sim::{HOUR, Load, MINUTE, START, Shared, lock};

/// A generator of numbers that gives the same ones for the same seed.
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: i64) -> i64 {
        (self.next() % n.max(1) as u64) as i64
    }
}

const POLICY: &str = r#"
switch = { notify = true, act = true }
[breaker]
newly_idle_min = 8
disagree_min = 6
[defaults]
approval = "automatic"
[[policy]]
name = "data"
scope = { task_type = "data" }
set = { staging_grace_minutes = 480 }
[[policy]]
name = "batch"
scope = { task_type = "batch" }
set = { max_duration_hours = 12 }
"#;

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Planted {
    Works,
    Checkpoints,
    Stages,
    Notebook,
    Sparse,
    Token,
    Lies,
    NeverTouched,
    IdleSince,
    IdleTraining,
    Low,
    Long,
    Strange(u8),
}

impl Planted {
    fn pick(seed: &mut Seed) -> Self {
        match seed.below(28) {
            0..=5 => Self::Works,
            6..=8 => Self::Checkpoints,
            9 | 10 => Self::Stages,
            11 | 12 => Self::Notebook,
            13 | 14 => Self::Sparse,
            15 => Self::Token,
            16 => Self::Lies,
            17 | 18 => Self::NeverTouched,
            19 | 20 => Self::IdleSince,
            21 => Self::IdleTraining,
            22 => Self::Low,
            23 => Self::Long,
            n => Self::Strange((n - 24) as u8),
        }
    }

    /// Whether ending it is right.
    fn is_zombie(self) -> bool {
        matches!(self, Self::NeverTouched | Self::IdleSince | Self::IdleTraining)
    }

    fn start(self, seed: &mut Seed) -> (&'static str, Load, i64) {
        let hours = |n: i64| n * HOUR;
        match self {
            Self::Works => ("train", Load::Busy, hours(4 + seed.below(44))),
            // a checkpoint of up to 90 minutes, an evaluation in between
            Self::Checkpoints => {
                ("train", Load::Pauses { every: 360, pause: 20 + seed.below(70) }, hours(24 + seed.below(48)))
            }
            Self::Stages => ("data", Load::Stages { minutes: 120 + seed.below(240) }, hours(12)),
            Self::Notebook => ("debug", Load::Sparse { every: 150 + seed.below(60), work: 10 }, hours(10)),
            Self::Sparse => ("infer", Load::Sparse { every: 100 + seed.below(100), work: 1 }, hours(48)),
            Self::Token => ("debug", Load::Token { every: 90 + seed.below(120) }, hours(30)),
            Self::Lies => ("train", Load::Lies, hours(20)),
            Self::NeverTouched => ("debug", Load::Idle, hours(30)),
            Self::IdleSince => ("infer", Load::Then { busy: 30 + seed.below(300) }, hours(40)),
            Self::IdleTraining => ("train", Load::Then { busy: 60 + seed.below(600) }, hours(70)),
            Self::Low => ("infer", Load::Low { percent: 2 }, hours(40)),
            // works, and three times as long as its kind may
            Self::Long => ("batch", Load::Busy, hours(36)),
            Self::Strange(_) => ("debug", Load::Idle, hours(6)),
        }
    }

    fn special(self) -> Option<Class> {
        match self {
            Self::Strange(0) => Some(Class::DeadHolder),
            Self::Strange(1) => Some(Class::JobGone),
            Self::Strange(2) => Some(Class::MemoryHeld),
            Self::Strange(_) => Some(Class::OutsideAllocation),
            _ => None,
        }
    }

    /// Measured rest after which it has to be found.
    fn window(self) -> i64 {
        match self {
            Self::NeverTouched => HOUR,
            Self::IdleSince => 4 * HOUR,
            Self::IdleTraining => 24 * HOUR,
            _ => 0,
        }
    }
}

/// What a month came to.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) runs: BTreeMap<String, i64>,
    pub(crate) zombies: i64,
    pub(crate) found: i64,
    pub(crate) freed: i64,
    pub(crate) wrong: Vec<String>,
    pub(crate) late: Vec<String>,
    pub(crate) alerts: BTreeMap<String, i64>,
    pub(crate) letters: usize,
    pub(crate) won_gpu_hours: i64,
    pub(crate) stops: BTreeMap<String, i64>,
}

struct Told {
    planted: Planted,
    start_ms: i64,
    end_ms: i64,
    /// Measured time at rest without a hole, as the truth has it.
    rest_ms: i64,
    longest_ms: i64,
}

/// Lives so many days, a minute at a time, with a round every `every` minutes.
pub(crate) async fn live(days: i64, every: i64, seed: u64) -> Figures {
    let mut seed = Seed(seed);
    let (fleet, mut engine) = server(4, 4, POLICY);
    let mut told: BTreeMap<i64, Told> = BTreeMap::new();
    let mut figures = Figures::default();
    let (mut blind_until, mut deaf_until, mut job) = (0, 0, 1_000);
    for minute in 0..days * 1_440 {
        if minute % 10 == 0 {
            plant(&fleet, &mut seed, &mut told, &mut figures, &mut job);
        }
        outages(&fleet, &mut seed, minute, &mut blind_until, &mut deaf_until);
        lock(&fleet).tick();
        follow(&fleet, &mut told);
        if minute % every == 0 {
            let near = engine.store.0.lock().unwrap().switches.breaker.take();
            if let Some(why) = near {
                let kind = why.split(':').next().unwrap_or_default().to_owned();
                *figures.stops.entry(kind).or_default() += 1;
            }
            engine.round().await.expect("a round");
        }
        let now = lock(&fleet).now_ms;
        let over: Vec<i64> = told.iter().filter(|(_, t)| t.end_ms <= now).map(|(id, _)| *id).collect();
        for id in over {
            lock(&fleet).end(id);
            count(&engine, &fleet, id, &told.remove(&id).expect("a run"), every, &mut figures);
            lock(&fleet).runs.remove(&id);
        }
        // what was ended at our wish is looked at once it was seen free
        let ended: Vec<i64> = {
            let f = lock(&fleet);
            told.keys().copied().filter(|id| f.runs.get(id).is_none_or(|r| !r.is_there())).collect()
        };
        for id in ended {
            let t = told.get_mut(&id).expect("a run");
            t.end_ms = t.end_ms.min(now + 2 * HOUR);
        }
    }
    let kept = engine.store.0.lock().unwrap();
    let histories: Vec<History> =
        kept.cases.values().map(|(case, events)| History { case: case.clone(), events: events.clone() }).collect();
    let (_, won) = month(&histories, START, START + days * 24 * HOUR);
    figures.won_gpu_hours = won.iter().filter_map(|w| w.gpu_ms).sum::<i64>() / HOUR;
    let post = engine.notifier.0.lock().unwrap();
    figures.letters = post.letters.len();
    for alert in &post.alerts {
        *figures.alerts.entry(alert.kind.to_string()).or_default() += 1;
    }
    figures
}

fn plant(fleet: &Shared, seed: &mut Seed, told: &mut BTreeMap<i64, Told>, figures: &mut Figures, job: &mut i64) {
    let planted = Planted::pick(seed);
    let (task_type, load, ms) = planted.start(seed);
    let (team, gpus) = (seed.below(4), 1 + seed.below(2) as usize);
    *job += 1;
    let mut f = lock(fleet);
    let Some(id) = f.job(&job.to_string(), &format!("u{team}"), &format!("t{team}"), task_type, gpus, load) else {
        return;
    };
    if let Some(run) = f.runs.get_mut(&id) {
        run.special = planted.special();
    }
    *figures.runs.entry(format!("{planted:?}")).or_default() += 1;
    told.insert(id, Told { planted, start_ms: f.now_ms, end_ms: f.now_ms + ms, rest_ms: 0, longest_ms: 0 });
}

/// A node is not seen for up to an hour, the scheduler not read for up to half of one.
fn outages(fleet: &Shared, seed: &mut Seed, minute: i64, blind_until: &mut i64, deaf_until: &mut i64) {
    let mut f = lock(fleet);
    if minute >= *blind_until {
        f.blind.clear();
        if seed.below(2_000) == 0 {
            f.blind.push(format!("n{}", 1 + seed.below(4)));
            *blind_until = minute + 1 + seed.below(60);
        }
    }
    if minute >= *deaf_until {
        f.scheduler_error = None;
        if seed.below(3_000) == 0 {
            f.scheduler_error = Some("Unable to contact slurm controller".to_owned());
            *deaf_until = minute + 1 + seed.below(30);
        }
    }
}

/// How long each has been at rest in measured time, from the truth.
fn follow(fleet: &Shared, told: &mut BTreeMap<i64, Told>) {
    let f = lock(fleet);
    for (id, t) in told.iter_mut() {
        let Some(run) = f.runs.get(id).filter(|r| r.is_there()) else { continue };
        let minute = (f.now_ms - run.load_from_ms) / MINUTE - 1;
        let works = match &run.load {
            Load::Then { busy } => minute < *busy,
            Load::Idle => false,
            _ => true,
        };
        let seen = run.nodes.iter().all(|n| !f.blind.contains(n));
        t.rest_ms = if works || !seen { 0 } else { t.rest_ms + MINUTE };
        t.longest_ms = t.longest_ms.max(t.rest_ms);
    }
}

/// What became of a run that is over.
fn count(engine: &super::fleet::Server, fleet: &Shared, id: i64, t: &Told, every: i64, figures: &mut Figures) {
    let f = lock(fleet);
    let kept = engine.store.0.lock().unwrap();
    let cases: Vec<_> = kept.cases.values().filter(|(c, _)| c.allocation_id == id).collect();
    let ended = f.ended_by_us.iter().any(|(run, _)| *run == id);
    if ended && !t.planted.is_zombie() {
        figures.wrong.push(format!("{:?} {id} was ended", t.planted));
    }
    let signalled = cases.iter().any(|(_, e)| e.iter().any(|e| e.kind == EventKind::Intended));
    if signalled && !t.planted.is_zombie() {
        figures.wrong.push(format!("{:?} {id} was asked for", t.planted));
    }
    // an outage of the scheduler makes no verdict while it lasts: half an hour at most
    let slack = every * MINUTE + 40 * MINUTE;
    let is_due = match t.planted {
        p if p.is_zombie() => t.longest_ms >= p.window() + slack,
        Planted::Strange(_) => t.longest_ms >= HOUR,
        Planted::Long => t.end_ms - t.start_ms >= 12 * HOUR + slack,
        _ => false,
    };
    if is_due {
        figures.zombies += 1;
        figures.found += i64::from(!cases.is_empty());
        if cases.is_empty() {
            figures.late.push(format!("{:?} {id}: {} minutes at rest", t.planted, t.longest_ms / MINUTE));
        }
    }
    figures.freed += i64::from(ended && cases.iter().any(|(c, _)| c.state == CaseState::Freed));
}

#[tokio::test]
async fn a_month_of_sixteen_gpus() {
    let f = live(30, 5, 20_261_005).await;
    println!(
        "a month of 16 GPUs: runs {:?}; zombies due {}, found {}, freed {}; wrong {}; letters {}; alerts {:?}; \
         won back {} GPU-hours (estimate); breaker {:?}",
        f.runs,
        f.zombies,
        f.found,
        f.freed,
        f.wrong.len(),
        f.letters,
        f.alerts,
        f.won_gpu_hours,
        f.stops
    );
    assert!(f.wrong.is_empty(), "{:?}", f.wrong);
    assert!(f.late.is_empty(), "{:?}", f.late);
    assert!(f.zombies > 60 && f.found == f.zombies, "{} of {}", f.found, f.zombies);
    assert!(f.freed > 40, "{}", f.freed);
    assert!(f.runs.len() >= 16, "not every kind was planted: {:?}", f.runs);
}
