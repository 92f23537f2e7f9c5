//! What is submitted, what runs where, and how it ends: one pass over the month with a calendar of slots.

use gpuledger_schema::state::RunState;
use gpuledger_schema::unit::{DAY_MS, HOUR_MS};

use super::calendar::Calendar;
use super::catalog::{ACCOUNTS, Kind, Stream};
use super::clock::{Clock, MINUTE_MS, WARM_UP_MS, whole_second};
use super::hardware::{Hardware, KUBE, Part, uuid};
use super::rng::Rng;

/// How long a job waits for its cards before its user gives up.
const PATIENCE_MS: i64 = 40 * HOUR_MS;
/// Nodes looked at for one job: enough for a good place, few enough for a fleet of a thousand.
const NODES_TRIED: usize = 8;
/// Time limits that people type, in minutes.
const LIMITS: [i64; 13] = [30, 60, 120, 240, 480, 720, 1_440, 2_880, 4_320, 10_080, 20_160, 43_200, 129_600];
/// Percent of the average submission rate by local hour, in blocks of two hours.
const RUSH: [i64; 12] = [40, 35, 35, 40, 90, 170, 160, 170, 165, 130, 100, 70];
/// Percent of a workday that a weekend's hour has.
const WEEKEND_PERCENT: i64 = 62;

/// A request and its runs.
#[derive(Debug)]
pub(super) struct Job {
    /// Cluster.
    pub(super) cluster: usize,
    /// What kind of job it is.
    pub(super) kind: &'static Kind,
    /// What it asks for.
    pub(super) part: Part,
    /// Name.
    pub(super) name: String,
    /// Index of its account.
    pub(super) account: usize,
    /// User.
    pub(super) user: &'static str,
    /// First submission.
    pub(super) submit_ms: i64,
    /// Parts asked for on each node (0: none, it needs CPUs only).
    pub(super) gpus: u32,
    /// Time limit.
    pub(super) limit_ms: Option<i64>,
    /// Submissions of one array are one group.
    pub(super) group: usize,
    /// Index in the array, or the indices that still wait.
    pub(super) array: Option<String>,
    /// What its minutes are made from.
    pub(super) seed: u64,
    /// Its id, as people type it, and raw.
    pub(super) id: String,
    /// Raw job id, or pod UID.
    pub(super) raw: String,
    /// Runs, by start.
    pub(super) runs: Vec<Run>,
    /// A record that waits (or waited, until it was cancelled).
    pub(super) waiting: Option<Waiting>,
}

/// A run.
#[derive(Debug)]
pub(super) struct Run {
    /// Submission of its record.
    pub(super) submit_ms: i64,
    /// When it could have started.
    pub(super) eligible_ms: i64,
    /// Start.
    pub(super) start_ms: i64,
    /// End; after the end of the data: still running.
    pub(super) end_ms: i64,
    /// How it ended, or will.
    pub(super) state: RunState,
    /// Exit code and signal.
    pub(super) exit: &'static str,
    /// What it holds.
    pub(super) slots: Vec<usize>,
}

/// A record that never got nodes.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Submission.
    pub(super) submit_ms: i64,
    /// When it was cancelled; absent: it still waits.
    pub(super) cancelled_ms: Option<i64>,
}

/// What to submit.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// Kind.
    pub(super) kind: &'static Kind,
    /// Cluster.
    pub(super) cluster: usize,
    /// Part.
    pub(super) part: Part,
    /// When.
    pub(super) submit_ms: i64,
    /// How long it needs.
    pub(super) need_ms: i64,
    /// Where, if that matters.
    pub(super) node: Option<usize>,
    /// Name, if not one of the kind's.
    pub(super) name: Option<String>,
    /// When and how its first run breaks off, if it does.
    pub(super) breaks: Option<(i64, RunState)>,
}

/// The plan in the making.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    /// Machines.
    pub(super) hardware: &'a Hardware,
    /// Time.
    pub(super) clock: &'a Clock,
    /// What is taken.
    pub(super) calendar: Calendar,
    /// Jobs so far.
    pub(super) jobs: Vec<Job>,
    rng: Rng,
    seed: u64,
    groups: usize,
}

impl<'a> Planner<'a> {
    /// An empty plan.
    pub(super) fn new(hardware: &'a Hardware, clock: &'a Clock, seed: u64) -> Self {
        let calendar = Calendar::new(hardware.slots.len());
        Self { hardware, clock, calendar, jobs: Vec::new(), rng: Rng::new(seed, 2), seed, groups: 0 }
    }

    /// Everything that one stream submits, from before the month to the end of the data.
    ///
    /// Each stream (`number` tells them apart) has randomness of its own, so that its first days do not depend on
    /// how many follow.
    pub(super) fn stream(&mut self, number: usize, stream: &'static Stream) {
        self.rng = Rng::new(self.seed, 100 + number as u64);
        let nodes = self.hardware.clusters[stream.cluster].nodes.clone();
        let slots = nodes.map(|n| self.hardware.slots_of(n, stream.part).count()).sum::<usize>() as i64;
        let weights: i64 = stream.kinds.iter().map(|k| k.weight).sum();
        let span = self.clock.span;
        // Work owed to the stream, in slot-milliseconds; a big job leaves it in debt for a while.
        let mut owed = 0;
        let mut hour = span.from_ms - WARM_UP_MS;
        while hour < span.to_ms && slots > 0 {
            let (local, workday) = self.clock.hour(hour);
            let rush = RUSH[usize::from(local / 2) % 12] * if workday { 100 } else { WEEKEND_PERCENT };
            owed += slots * HOUR_MS / 1_000_000 * stream.percent * rush;
            while owed > 0 {
                let mut ticket = self.rng.below(weights);
                let kind = stream.kinds.iter().find(|k| {
                    ticket -= k.weight;
                    ticket < 0
                });
                let Some(kind) = kind else { break };
                let submit_ms = hour + self.rng.below(3_600) * 1_000;
                owed -= self.submit(stream, kind, submit_ms);
            }
            hour += HOUR_MS;
        }
    }

    /// Submits one job or array of a kind; what it will hold, in slot-milliseconds.
    fn submit(&mut self, stream: &Stream, kind: &'static Kind, submit_ms: i64) -> i64 {
        let tasks = kind.array.map_or(1, |(fewest, most)| self.rng.between(fewest, most));
        let order = Order {
            kind,
            cluster: stream.cluster,
            part: stream.part,
            submit_ms,
            need_ms: 0,
            node: None,
            name: None,
            breaks: None,
        };
        let mut draft = self.draft(&order);
        if !matches!(stream.part, Part::Whole) {
            draft.gpus = 1;
        }
        let mut held = 0;
        for task in 0..tasks {
            let need_ms = self.rng.between(kind.minutes.0 * 60, kind.minutes.1 * 60) * 1_000;
            let job = Job {
                array: kind.array.map(|_| task.to_string()),
                name: draft.name.clone(),
                seed: self.rng.next(),
                runs: Vec::new(),
                waiting: None,
                id: String::new(),
                raw: String::new(),
                ..draft
            };
            held += need_ms * i64::from(job.gpus) * kind.nodes as i64;
            self.place(job, Order { need_ms, ..order.clone() }, PATIENCE_MS);
        }
        held
    }

    /// Submits one job and lets it wait as long as it must.
    pub(super) fn order(&mut self, order: Order) {
        let job = self.draft(&order);
        self.place(job, order, i64::MAX / 4);
    }

    /// Submits what never starts: it still waits, or was cancelled in the queue.
    pub(super) fn waits(&mut self, order: Order, indices: Option<&str>, cancelled_ms: Option<i64>) {
        let mut job = self.draft(&order);
        let mut need_ms = order.need_ms;
        self.outcome(&mut job, &mut need_ms);
        job.array = indices.map(str::to_owned);
        job.waiting = Some(Waiting { submit_ms: job.submit_ms, cancelled_ms });
        self.jobs.push(job);
    }

    /// A job from an order, without a place.
    fn draft(&mut self, order: &Order) -> Job {
        let kind = order.kind;
        let account = self.rng.pick(kind.accounts).unwrap_or(0);
        let name = order.name.clone().unwrap_or_else(|| {
            let name = self.rng.pick(kind.names).unwrap_or("job");
            // A rule by pattern must have something to match, a plain `bash` stays plain.
            if name.contains('-') { format!("{name}-{}", self.rng.between(1, 99)) } else { name.to_owned() }
        });
        self.groups += 1;
        Job {
            cluster: order.cluster,
            kind,
            part: order.part,
            name,
            account,
            user: self.rng.pick(ACCOUNTS[account].users).unwrap_or("nobody"),
            submit_ms: whole_second(order.submit_ms),
            gpus: self.rng.pick(kind.gpus).unwrap_or(1),
            limit_ms: None,
            group: self.groups,
            array: None,
            seed: self.rng.next(),
            id: String::new(),
            raw: String::new(),
            runs: Vec::new(),
            waiting: None,
        }
    }

    /// Gives a job its runs, or lets it wait.
    fn place(&mut self, mut job: Job, order: Order, patience_ms: i64) {
        let mut need_ms = order.need_ms;
        let (state, exit) = self.outcome(&mut job, &mut need_ms);
        let slots = self.nodes_for(&job, order.node);
        let mut breaks = order.breaks;
        if breaks.is_none() && self.rng.chance(job.kind.requeued) {
            breaks = Some((0, RunState::Requeued));
        }
        let mut submit_ms = job.submit_ms;
        loop {
            let eligible_ms = submit_ms + if job.runs.is_empty() { 0 } else { 120_000 };
            let from = eligible_ms + self.rng.between(1, 40) * 1_000;
            let (length_ms, state, exit) = match breaks {
                Some((0, how)) => (whole_second(need_ms * self.rng.between(20, 80) / 100), how, "0:15"),
                Some((at, how)) => (at - from, how, "1:0"),
                None => (need_ms, state, exit),
            };
            let Some((start_ms, slots)) = self.best(&slots, &job, from, length_ms, from.saturating_add(patience_ms))
            else {
                let given_up = submit_ms + self.rng.between(4 * 3_600, 30 * 3_600) * 1_000;
                job.waiting = Some(Waiting { submit_ms, cancelled_ms: Some(given_up) });
                break;
            };
            let end_ms = start_ms + length_ms;
            slots.iter().for_each(|s| self.calendar.take(*s, start_ms, end_ms));
            job.runs.push(Run { submit_ms, eligible_ms, start_ms, end_ms, state, exit, slots });
            if breaks.take().is_none() {
                break;
            }
            submit_ms = end_ms;
        }
        self.jobs.push(job);
    }

    /// Slots of the nodes it may run on, one list a node.
    fn nodes_for(&mut self, job: &Job, fixed: Option<usize>) -> Vec<Vec<usize>> {
        let count = job.gpus as usize;
        let nodes = fixed.map_or_else(|| self.hardware.clusters[job.cluster].nodes.clone(), |n| n..n + 1);
        let mut able: Vec<Vec<usize>> = nodes
            .map(|n| self.hardware.slots_of(n, job.part).collect::<Vec<_>>())
            .filter(|slots| count > 0 && slots.len() >= count)
            .collect();
        if able.len() > NODES_TRIED {
            let turn = usize::try_from(self.rng.below(able.len() as i64)).unwrap_or(0);
            able.rotate_left(turn);
            able.truncate(NODES_TRIED);
        }
        able
    }

    /// The earliest start over its nodes; of equal ones the first node.
    fn best(
        &self,
        nodes: &[Vec<usize>],
        job: &Job,
        from: i64,
        length_ms: i64,
        latest: i64,
    ) -> Option<(i64, Vec<usize>)> {
        if job.gpus == 0 {
            return Some((from, Vec::new()));
        }
        let mut best: Option<(i64, Vec<usize>)> = None;
        for together in nodes.windows(job.kind.nodes) {
            let until = best.as_ref().map_or(latest, |b| b.0 - 1);
            if let Some(found) = self.calendar.earliest(together, job.gpus as usize, from, length_ms, until) {
                best = Some(found);
            }
        }
        best
    }

    /// How it ends, and its time limit, which may cut what it needs.
    fn outcome(&mut self, job: &mut Job, need_ms: &mut i64) -> (RunState, &'static str) {
        let asked = *need_ms / MINUTE_MS * job.kind.limit;
        job.limit_ms = (job.kind.limit > 0)
            .then(|| LIMITS.iter().copied().find(|l| *l > asked).unwrap_or(asked).max(30) * MINUTE_MS);
        let long = *need_ms > 20 * DAY_MS || job.cluster == KUBE;
        match self.rng.below(100) {
            80..88 if !long => (RunState::Failed, "1:0"),
            88..94 if !long => (RunState::Cancelled, "0:15"),
            94..96 if !long => (RunState::OutOfMemory, "0:125"),
            96..99 if !long && *need_ms > HOUR_MS => {
                let limit = *need_ms - *need_ms % (30 * MINUTE_MS);
                job.limit_ms = Some(limit);
                *need_ms = limit + 17_000;
                (RunState::Timeout, "0:0")
            }
            _ => (RunState::Completed, "0:0"),
        }
    }

    /// The jobs that the data can know, in the order of their submission, with their ids.
    pub(super) fn finish(mut self, first_ids: &[i64]) -> Vec<Job> {
        let span = self.clock.span;
        for job in &mut self.jobs {
            if let Some(run) = job.runs.iter().find(|r| r.start_ms >= span.to_ms && r.submit_ms < span.to_ms) {
                job.waiting = Some(Waiting { submit_ms: run.submit_ms, cancelled_ms: None });
            }
            job.runs.retain(|r| r.start_ms < span.to_ms && r.end_ms > span.from_ms);
            if let Some(waiting) = &mut job.waiting {
                waiting.cancelled_ms = waiting.cancelled_ms.filter(|at| *at < span.to_ms);
            }
            job.waiting = job
                .waiting
                .take()
                .filter(|w| w.submit_ms < span.to_ms && w.cancelled_ms.is_none_or(|at| at > span.from_ms));
        }
        self.jobs.retain(|j| !j.runs.is_empty() || j.waiting.is_some());
        self.jobs.sort_by_key(|j| (j.submit_ms, j.group));
        let mut next = first_ids.to_vec();
        let mut base = (0, 0);
        // Randomness of its own: the ids of the first days, too, do not depend on how many follow.
        let mut rng = Rng::new(self.seed, 99);
        for job in &mut self.jobs {
            if job.cluster == KUBE {
                job.raw = uuid("", job.seed);
                job.id.clone_from(&job.raw);
                continue;
            }
            let number = next[job.cluster];
            next[job.cluster] += 1 + i64::from(job.array.is_none()) * rng.below(4);
            if base.0 != job.group {
                base = (job.group, number);
            }
            job.raw = number.to_string();
            job.id = job.array.as_ref().map_or_else(|| job.raw.clone(), |task| format!("{}_{task}", base.1));
        }
        self.jobs
    }
}
