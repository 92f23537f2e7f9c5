//! What a month has besides its daily flow: the jobs and incidents that reports should bring to light.

use gpuledger_schema::state::{RunState, TaskType};
use gpuledger_schema::unit::{DAY_MS, HOUR_MS};
use gpuledger_schema::window::Window;

use super::catalog::Kind;
use super::clock::{Clock, MINUTE_MS};
use super::hardware::{ALPHA, BETA, Hardware, KUBE, Part};
use super::kinds::{
    CHAT, COURSE, EVENING, FAR, FORGOTTEN, GENEROUS, GREEDY, HUNG, KEEPALIVE, LEGACY, LINGERING, OCR, OVERFULL,
    PRETRAIN, PUSHY, SCAVENGER, SEARCH, SPARSE, STARVED, STENCIL, STREAMING, TRIPLE, UNTOUCHED, WRONG_MEMORY,
    WRONG_TIER,
};
use super::plan::{Order, Planner};
use super::rng::Rng;

/// Lead of the jobs that run into the month.
const BEFORE_MS: i64 = 5 * DAY_MS;
/// Nodes of the Kubernetes cluster that share one set of services.
const NODES_PER_SET: usize = 2;
/// Longest gap that is searched for a place for the stranger.
const STRANGER_MS: i64 = 26 * MINUTE_MS;
/// A job without cards, as every cluster has them.
static INDEX: Kind =
    Kind::new(TaskType::Data, &["prep-index"], &[1, 4], PRETRAIN.load).to("cpu", "normal").gpus(&[0]).asks(3, 0);
/// What waits at the end of the month.
static NEXT: Kind = Kind::new(TaskType::Eval, &["eval-next"], &[5], PRETRAIN.load).gpus(&[8]);

/// What goes wrong, where and when.
#[derive(Debug, Clone)]
pub(super) struct Incidents {
    /// A card that the driver loses, until it is back.
    pub(super) lost: (usize, Window),
    /// A node whose collector is dead while jobs run.
    pub(super) dark: (usize, Window),
    /// A node taken out for maintenance.
    pub(super) drained: (usize, Window),
    /// From the end of its boot to its collector's first tick after.
    pub(super) reboot: (usize, Window),
    /// Somebody without a job on a free card.
    pub(super) stranger: Option<(usize, Window)>,
}

impl Incidents {
    /// The month's incidents.
    pub(super) fn new(hardware: &Hardware, clock: &Clock) -> Self {
        let node = |cluster: usize, n: usize| hardware.clusters[cluster].nodes.start + n;
        let lost_from = clock.at(9, 10, 17) + 23_500;
        let reboot_from = clock.at(20, 10, 41) + 12_000;
        let card = hardware.nodes[node(ALPHA, 1)].cards.start + 3;
        let window = |from_ms: i64, length_ms: i64| Window { from_ms, to_ms: from_ms + length_ms };
        Self {
            lost: (card, window(lost_from, 30 * HOUR_MS)),
            dark: (node(ALPHA, 2), window(clock.at(12, 13, 5) + 7_000, 6 * HOUR_MS)),
            drained: (node(BETA, 1), Window { from_ms: clock.at(20, 6, 0), to_ms: clock.at(21, 6, 0) }),
            reboot: (node(BETA, 1), window(reboot_from, 9 * MINUTE_MS)),
            stranger: None,
        }
    }

    /// When the job on the lost card has noticed.
    fn noticed_ms(&self) -> i64 {
        self.lost.1.from_ms + 41_500
    }

    /// Keeps later work off what is broken.
    fn block(&self, plan: &mut Planner<'_>) {
        let (card, lost) = &self.lost;
        for slot in plan.hardware.cards[*card].slots.clone() {
            plan.calendar.take(slot, self.noticed_ms() + 5_000, lost.to_ms + 500);
        }
        let (node, drained) = &self.drained;
        for slot in plan.hardware.slots_of(*node, Part::Whole).collect::<Vec<_>>() {
            plan.calendar.take(slot, drained.from_ms, drained.to_ms);
        }
    }

    /// Finds the stranger a card that nobody holds for an hour.
    pub(super) fn find_stranger(&mut self, plan: &Planner<'_>) {
        let from = plan.clock.span.from_ms + 10 * HOUR_MS;
        let nodes = plan.hardware.clusters[BETA].nodes.clone();
        let free = |at: i64| {
            nodes
                .clone()
                .flat_map(|n| plan.hardware.slots_of(n, Part::Whole))
                .find(|s| plan.calendar.is_free(*s, at - 17 * MINUTE_MS, at + 43 * MINUTE_MS))
        };
        let hours = (from..plan.clock.span.to_ms - HOUR_MS).step_by(HOUR_MS as usize);
        let mut found = hours.filter_map(|at| free(at).map(|slot| (plan.hardware.slots[slot].card, at)));
        self.stranger = found.next().map(|(card, at)| (card, Window { from_ms: at, to_ms: at + STRANGER_MS }));
    }
}

/// Submits the stories, before the daily flow so that they get the places they are about.
pub(super) fn submit(plan: &mut Planner<'_>, incidents: &Incidents, seed: u64) {
    incidents.block(plan);
    slurm(plan, incidents);
    habits(plan);
    let sets = plan.hardware.clusters[KUBE].nodes.len().div_ceil(NODES_PER_SET);
    (0..sets).for_each(|set| services(plan, set));
    misfits(plan);
    without_cards(plan, seed);
}

fn order(kind: &'static Kind, cluster: usize, submit_ms: i64, need_ms: i64) -> Order {
    Order { kind, cluster, part: Part::Whole, submit_ms, need_ms, node: None, name: None, breaks: None }
}

fn slurm(plan: &mut Planner<'_>, incidents: &Incidents) {
    let (clock, hardware) = (plan.clock, plan.hardware);
    let node = |cluster: usize, n: usize| Some(hardware.clusters[cluster].nodes.start + n);
    let start = clock.at(1, 0, 0);
    // Over the edge into the month, and over the edge out of it.
    plan.order(Order { node: node(ALPHA, 0), ..order(&PRETRAIN, ALPHA, start - 61 * HOUR_MS, 149 * HOUR_MS + 37_000) });
    plan.order(Order {
        node: node(BETA, 0),
        name: Some("serve-asr-legacy".to_owned()),
        ..order(&LEGACY, BETA, start - BEFORE_MS, 70 * DAY_MS)
    });
    let end = clock.at(clock.month_days() - 1, 9, 20);
    plan.order(Order { node: node(ALPHA, 0), ..order(&PRETRAIN, ALPHA, end, 6 * DAY_MS) });
    // The run that the lost card kills, and its next attempt.
    plan.order(Order {
        node: node(ALPHA, 1),
        breaks: Some((incidents.noticed_ms(), RunState::NodeFail)),
        ..order(&PRETRAIN, ALPHA, clock.at(7, 18, 5), 52 * HOUR_MS + 11_000)
    });
    plan.order(order(&FORGOTTEN, ALPHA, clock.at(5, 10, 12), 8 * DAY_MS + 3_000));
    for (day, hours) in [(3, 40), (13, 52), (23, 60)] {
        plan.order(order(&GREEDY, ALPHA, clock.at(day, 14, 3), hours * HOUR_MS + 29_000));
    }
}

/// Bad habits, one of each kind.
fn habits(plan: &mut Planner<'_>) {
    let clock = plan.clock;
    for (kind, day, hours) in [
        (&SPARSE, 4, 228),
        (&UNTOUCHED, 6, 31),
        (&STENCIL, 8, 26),
        (&HUNG, 10, 7),
        (&STARVED, 12, 19),
        (&STARVED, 23, 11),
    ] {
        plan.order(order(kind, BETA, clock.at(day, 9, 40), hours * HOUR_MS + 13_000));
    }
    plan.order(order(&LINGERING, ALPHA, clock.at(9, 8, 15), 30 * HOUR_MS + 7_000));
    plan.order(order(&EVENING, BETA, clock.at(11, 15, 20), 5 * HOUR_MS));
    plan.order(order(&KEEPALIVE, ALPHA, clock.at(17, 10, 5), 14 * HOUR_MS));
    // Pushed out twice, and back each time.
    for day in [5, 19] {
        let at = clock.at(day, 19, 30);
        let breaks = Some((at + 5 * HOUR_MS, RunState::Preempted));
        plan.order(Order { breaks, ..order(&SCAVENGER, BETA, at, 9 * HOUR_MS) });
    }
}

/// One set of services, as many as two nodes carry.
fn services(plan: &mut Planner<'_>, set: usize) {
    let clock = plan.clock;
    let node = plan.hardware.clusters[KUBE].nodes.start + set * NODES_PER_SET;
    let both = [Some(node), Some((node + 1).min(plan.hardware.clusters[KUBE].nodes.end - 1))];
    let named = |kind: &Kind| {
        let name = kind.names.first().copied().unwrap_or("service");
        Some(if set == 0 { name.to_owned() } else { format!("{name}-{set}") })
    };
    let (start, months) = (clock.at(1, 0, 0) - BEFORE_MS, 90 * DAY_MS);
    // A new version is rolled out: every pod is replaced, the deployment stays.
    let rollout = clock.at(10, 11, 30);
    for at in both {
        let pod = |from: i64, need: i64| Order { node: at, name: named(&CHAT), ..order(&CHAT, KUBE, from, need) };
        plan.order(pod(start, rollout - start));
        plan.order(pod(rollout + 50_000, months));
    }
    let [first, second] = both;
    plan.order(Order { node: first, name: named(&STREAMING), ..order(&STREAMING, KUBE, start, months) });
    plan.order(Order { node: second, name: named(&OCR), ..order(&OCR, KUBE, start, months) });
    for day in 1..=clock.month_days() {
        let (from, to) = (clock.at(day, 7, 58), clock.at(day, 18, 4));
        if clock.hour(from).1 {
            let pod = order(&STREAMING, KUBE, from, to - from);
            plan.order(Order { node: first, name: named(&STREAMING), ..pod });
        }
    }
    let part_of = |part: Part, node: Option<usize>, kind: &'static Kind, from: i64, need: i64| Order {
        part,
        node,
        name: named(kind),
        ..order(kind, KUBE, from, need)
    };
    for _ in 0..2 {
        plan.order(part_of(Part::Replica, second, &SEARCH, start, months));
    }
    plan.order(part_of(Part::Replica, second, &OVERFULL, clock.at(2, 9, 0), 12 * DAY_MS));
    plan.order(part_of(Part::Replica, second, &GENEROUS, clock.at(18, 9, 0), 7 * DAY_MS));
    for day in [16, 17] {
        plan.order(part_of(Part::Replica, second, &PUSHY, clock.at(day, 13, 0), 5 * HOUR_MS));
    }
    for day in [3, 4] {
        (0..3).for_each(|_| plan.order(part_of(Part::Sliver, first, &COURSE, clock.at(day, 9, 0), 8 * HOUR_MS)));
    }
    for _ in 0..3 {
        plan.order(part_of(Part::Whole, None, &TRIPLE, clock.at(22, 9, 0), 3 * DAY_MS));
    }
    plan.order(part_of(Part::Whole, None, &FAR, clock.at(7, 15, 0), 3 * HOUR_MS));
}

/// Pods that no node of their cluster will ever take, until somebody notices.
fn misfits(plan: &mut Planner<'_>) {
    let clock = plan.clock;
    for (kind, day) in [(&WRONG_TIER, 13), (&WRONG_MEMORY, 24)] {
        let at = clock.at(day, 10, 30);
        plan.waits(order(kind, KUBE, at, HOUR_MS), None, Some(at + 31 * HOUR_MS));
    }
}

/// Jobs that hold no card: they need CPUs only, wait at the end, or were cancelled in the queue.
fn without_cards(plan: &mut Planner<'_>, seed: u64) {
    let mut rng = Rng::new(seed, 3);
    let clock = plan.clock;
    for day in 1..=clock.month_days() {
        for _ in 0..rng.between(1, 3) {
            let at = clock.at(day, rng.between(7, 19), rng.below(60)) + rng.below(60) * 1_000;
            plan.order(order(&INDEX, ALPHA, at, rng.between(300, 9_000) * 1_000));
        }
    }
    let submit_ms = clock.span.to_ms - 3 * HOUR_MS - 41_000;
    plan.waits(order(&NEXT, ALPHA, submit_ms, HOUR_MS), Some("[0-31%4]"), None);
    // Submitted by mistake, and cancelled before they got nodes.
    for day in [1, 11, 18, 26] {
        let at = clock.at(day, 16, 20);
        let gone = at + rng.between(200, 9_000) * 1_000;
        plan.waits(order(&GREEDY, ALPHA, at, HOUR_MS), None, Some(gone));
    }
}
