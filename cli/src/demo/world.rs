//! The finished plan with everything derived from it that rows need: holdings by card, boots, ticks.

use gpuledger_schema::id;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::Window;

use super::Landmark;
use super::catalog::Kind;
use super::clock::{Clock, MINUTE_MS};
use super::hardware::{BETA, Hardware, uuid};
use super::kinds::{FORGOTTEN, GREEDY, HUNG, LEGACY, STREAMS, UNTOUCHED};
use super::load::{Doing, Shape};
use super::plan::{Job, Planner};
use super::rng::{mix, mix_below};
use super::stories::{self, Incidents};

/// First job ids of the clusters.
const FIRST_IDS: [i64; 3] = [41_207, 988_113, 0];
/// A process shows up on its card this long after its run began, at the earliest: images, imports, data.
const PROCESS_DELAY_MS: i64 = 61_000;

/// All there is.
#[derive(Debug)]
pub(super) struct World {
    /// Machines.
    pub(super) hardware: Hardware,
    /// Time.
    pub(super) clock: Clock,
    /// What goes wrong.
    pub(super) incidents: Incidents,
    /// Jobs, by submission.
    pub(super) jobs: Vec<Job>,
    /// What is held of each card, by start.
    pub(super) holdings: Vec<Vec<Holding>>,
    /// Each node's life.
    pub(super) lives: Vec<Vec<Life>>,
}

/// A slot in the hands of a run.
#[derive(Debug)]
pub(super) struct Holding {
    /// Index of the job.
    pub(super) job: usize,
    /// Slot.
    pub(super) slot: usize,
    /// Which of the job's slots on this node it is.
    pub(super) rank: usize,
    /// When its process is there.
    pub(super) process: Window,
    /// What the process does.
    pub(super) doing: Doing,
    /// What its process rows carry.
    pub(super) hint_id: i64,
    /// The same in words.
    pub(super) hint: String,
    /// Process id.
    pub(super) pid: i64,
}

/// A time in which a node's collector runs without a break.
#[derive(Debug)]
pub(super) struct Life {
    /// When.
    pub(super) window: Window,
    /// When the node was booted.
    pub(super) boot_ms: i64,
    /// Text of the boot.
    pub(super) boot: String,
    /// Id of the boot.
    pub(super) boot_id: i64,
    /// Driver that it loaded.
    pub(super) driver: &'static str,
    /// Whether it is the first life of a boot: what the collector then sees of its devices is a new version.
    pub(super) first: bool,
}

/// A tick of a node's collector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick {
    /// When.
    pub(super) window: Window,
    /// Index of the life it lies in.
    pub(super) life: usize,
    /// Number in its boot.
    pub(super) seq: i64,
}

impl World {
    /// Plans the month.
    pub(super) fn new(hardware: Hardware, clock: Clock, seed: u64) -> Self {
        let mut incidents = Incidents::new(&hardware, &clock);
        let mut plan = Planner::new(&hardware, &clock, seed);
        stories::submit(&mut plan, &incidents, seed);
        STREAMS.iter().enumerate().for_each(|(number, stream)| plan.stream(number, stream));
        incidents.find_stranger(&plan);
        let jobs = plan.finish(&FIRST_IDS);
        let holdings = holdings(&hardware, &jobs);
        let lives = (0..hardware.nodes.len()).map(|n| lives(&hardware, &clock, &incidents, n, seed)).collect();
        Self { hardware, clock, incidents, jobs, holdings, lives }
    }

    /// The ticks of a node that start in a window: cut at the node's own minute, at lives and at the ends of the data.
    pub(super) fn ticks(&self, node: usize, window: Window) -> Vec<Tick> {
        let phase = self.hardware.nodes[node].phase_ms;
        let minute = |ms: i64| (ms - phase).div_euclid(MINUTE_MS);
        let mut out = Vec::new();
        for (index, life) in self.lives[node].iter().enumerate() {
            let mut from = life.window.from_ms;
            if from < window.from_ms {
                from = (minute(window.from_ms - 1) + 1) * MINUTE_MS + phase;
            }
            while from < window.to_ms.min(life.window.to_ms) {
                let to = ((minute(from) + 1) * MINUTE_MS + phase).min(life.window.to_ms);
                let seq = minute(from) - minute(life.boot_ms);
                out.push(Tick { window: Window { from_ms: from, to_ms: to }, life: index, seq });
                from = to;
            }
        }
        out
    }

    /// What is worth a look, in the order in which it happens.
    pub(super) fn landmarks(&self) -> Vec<Landmark> {
        let cluster = |node: usize| self.hardware.clusters[self.hardware.nodes[node].cluster].name.to_owned();
        let at_node = |what: &'static str, node: usize, window: Window| Landmark {
            what,
            cluster: cluster(node),
            name: self.hardware.nodes[node].name.clone(),
            window,
        };
        let Incidents { lost, dark, drained, stranger, .. } = &self.incidents;
        let mut out = vec![
            at_node("lost card", self.hardware.cards[lost.0].node, lost.1),
            at_node("outage of telemetry", dark.0, dark.1),
            at_node("drained node", drained.0, drained.1),
        ];
        out.extend(stranger.iter().map(|s| at_node("process without a job", self.hardware.cards[s.0].node, s.1)));
        let told: [(&'static str, &'static Kind); 5] = [
            ("cards held and never touched", &UNTOUCHED),
            ("hung collective", &HUNG),
            ("forgotten debug session", &FORGOTTEN),
            ("asks for 8 GPUs, uses 2", &GREEDY),
            ("service hardly used", &LEGACY),
        ];
        for job in &self.jobs {
            let what = told.iter().find(|(_, kind)| std::ptr::eq(*kind, job.kind));
            if let (Some((what, _)), Some(run)) = (what, job.runs.first()) {
                let window = Window { from_ms: run.start_ms, to_ms: run.end_ms };
                out.push(Landmark {
                    what,
                    cluster: self.hardware.clusters[job.cluster].name.to_owned(),
                    name: job.id.clone(),
                    window,
                });
            }
        }
        out.retain(|l| l.window.from_ms < self.clock.span.to_ms);
        out.iter_mut().for_each(|l| l.window.to_ms = l.window.to_ms.min(self.clock.span.to_ms));
        out.sort_by_key(|l| l.window.from_ms);
        out
    }
}

fn holdings(hardware: &Hardware, jobs: &[Job]) -> Vec<Vec<Holding>> {
    let mut out: Vec<Vec<Holding>> = hardware.cards.iter().map(|_| Vec::new()).collect();
    for (job_index, job) in jobs.iter().enumerate() {
        let cluster = &hardware.clusters[job.cluster];
        let hint_id = id::hint_of_job(cluster.name, &job.raw);
        let hint = format!("{}:{}:{}", cluster.scheduler, cluster.name, job.raw);
        if job.kind.load.shape == Shape::Never {
            continue;
        }
        for (run_index, run) in job.runs.iter().enumerate() {
            for (index, slot_index) in run.slots.iter().enumerate() {
                let slot = &hardware.slots[*slot_index];
                let seed = mix(job.seed, (run_index * 1_000 + index) as u64);
                let from_ms =
                    run.start_ms + PROCESS_DELAY_MS + mix_below(seed, 1, 90_000) + job.kind.pull_minutes * MINUTE_MS;
                let whole = hardware.model(slot.card).memory_mib - 1_024;
                let memory_mib = slot
                    .instance
                    .as_ref()
                    .map_or_else(|| whole * slot.units / gpuledger_schema::unit::CARD_UNITS, |i| i.memory_mib - 256);
                out[slot.card].push(Holding {
                    job: job_index,
                    slot: *slot_index,
                    rank: index % (job.gpus.max(1) as usize),
                    process: Window { from_ms, to_ms: run.end_ms },
                    doing: Doing { seed, from_ms, memory_mib },
                    hint_id,
                    hint: hint.clone(),
                    pid: 4_000 + mix_below(seed, 2, 4_000_000),
                });
            }
        }
    }
    for list in &mut out {
        list.sort_by_key(|h| (h.process.from_ms, h.slot));
    }
    out
}

fn lives(hardware: &Hardware, clock: &Clock, incidents: &Incidents, node: usize, seed: u64) -> Vec<Life> {
    let name = &hardware.nodes[node].name;
    let life = |from_ms: i64, to_ms: i64, boot_ms: i64, driver: &'static str, first: bool| {
        let boot = uuid("", mix(seed, 100_000 + node as u64) ^ boot_ms as u64);
        let boot_id = id::boot_id(name, &boot);
        Life { window: Window { from_ms, to_ms }, boot_ms, boot, boot_id, driver, first }
    };
    let span = clock.span;
    let booted = span.from_ms - 12 * DAY_MS - mix_below(seed, 200_000 + node as u64, 40 * DAY_MS);
    let old = if node < hardware.clusters[BETA].nodes.start { "570.133.20" } else { "570.124.06" };
    let all = if node == incidents.reboot.0 {
        let off = incidents.reboot.1;
        let again = off.to_ms - 94_000;
        vec![life(span.from_ms, off.from_ms, booted, old, true), life(off.to_ms, span.to_ms, again, "570.133.20", true)]
    } else if node == incidents.dark.0 {
        let dark = incidents.dark.1;
        vec![life(span.from_ms, dark.from_ms, booted, old, true), life(dark.to_ms, span.to_ms, booted, old, false)]
    } else {
        vec![life(span.from_ms, span.to_ms, booted, old, true)]
    };
    // Incidents after the end of the data have not happened yet.
    all.into_iter()
        .map(|l| Life { window: Window { to_ms: l.window.to_ms.min(span.to_ms), ..l.window }, ..l })
        .filter(|l| l.window.from_ms < l.window.to_ms)
        .collect()
}
