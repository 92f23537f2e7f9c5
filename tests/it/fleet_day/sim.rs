//! A day of a small fleet as it truly was, minute by minute: who held which part of which card, and how it went.

use crate::worlds::rng::Rng;
use gpuledger_schema::unit::CARD_UNITS;

/// Minutes of a day.
pub(super) const DAY: usize = 1440;

/// How the devices of a node's jobs come to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Slurm gives indices that count minor numbers, or PCI addresses.
    Minor,
    Pci,
    /// Slurm counts, and processes are found.
    Found,
    /// The kubelet's pod-resources.
    Claim,
}

/// What a minute of a node was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeMinute {
    /// A collector runs and writes ticks.
    pub(super) watched: bool,
    /// In service, for its scheduler.
    pub(super) up: bool,
    /// By how much the wall clock is wrong.
    pub(super) wrong_ms: i64,
    /// Minute in which this boot began.
    pub(super) boot: usize,
}

/// A node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) cluster: &'static str,
    pub(super) name: &'static str,
    pub(super) told: Told,
    pub(super) cards: usize,
    pub(super) minutes: Vec<NodeMinute>,
    /// Minutes in which a card was lost.
    pub(super) lost: Option<(usize, usize, usize)>,
    /// Card 0 is cut into 3 and 4 slices from this minute on.
    pub(super) cut: Option<usize>,
    /// Card 1 is shared by this many replicas.
    pub(super) replicas: i64,
}

/// A part of a card that a job holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) card: usize,
    /// Number of the instance, from 1; 0: the card, or a replica of it.
    pub(super) instance: usize,
    pub(super) share: i64,
}

/// A job (a run of one).
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) node: usize,
    pub(super) raw: String,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) things: Vec<Thing>,
    /// Its kernels run so many of a thousand milliseconds of what it holds.
    pub(super) duty: i64,
    /// Nothing will ever say how it ended.
    pub(super) vanishes: bool,
    /// Its processes carry Slurm's id of the run.
    pub(super) sluid: bool,
}

impl Job {
    /// What one of its things ran in a minute.
    pub(super) fn busy_ms(&self, thing: &Thing, minute: usize) -> i64 {
        let rest = (minute as i64 * 7 + thing.card as i64) % 5;
        if rest == 0 { 0 } else { 60_000 * thing.share / CARD_UNITS * self.duty / 1000 }
    }
}

/// The day.
#[derive(Debug, Clone)]
pub(super) struct Fleet {
    pub(super) nodes: Vec<Node>,
    pub(super) jobs: Vec<Job>,
    /// Epoch of the good look at each minute (the end of the day too), by cluster; none where it failed.
    pub(super) looks: Vec<(&'static str, Vec<Option<i64>>)>,
}

fn node(rng: &mut Rng, cluster: &'static str, name: &'static str, told: Told, cards: usize) -> Node {
    let mut minutes = vec![NodeMinute { watched: true, up: true, wrong_ms: 0, boot: 0 }; DAY];
    let span = |rng: &mut Rng, from: i64, to: i64, long: i64| {
        let at = rng.range(from, to) as usize;
        at..at + rng.range(long / 2, long) as usize
    };
    let restart = span(rng, 200, 900, 12);
    for m in &mut minutes[restart.clone()] {
        m.watched = false;
    }
    for m in &mut minutes[restart.end..] {
        m.boot = restart.end;
    }
    for m in &mut minutes[span(rng, 100, 1300, 60)] {
        m.watched = false;
    }
    for m in &mut minutes[span(rng, 100, 1300, 120)] {
        m.up = false;
    }
    let wrong_ms = rng.pick(&[-600_000, 240_000, 5_000]);
    for m in &mut minutes[span(rng, 950, 1300, 50)] {
        m.wrong_ms = wrong_ms;
    }
    let lost = rng.chance(60).then(|| {
        let at = span(rng, 100, 1300, 40);
        (rng.range(0, cards as i64) as usize, at.start, at.end)
    });
    Node { cluster, name, told, cards, minutes, lost, cut: None, replicas: 1 }
}

/// Looks of a cluster: once a minute, but for outages, and a new epoch where the collector's state was lost.
fn looks(rng: &mut Rng) -> Vec<Option<i64>> {
    let lost = rng.range(300, 1200);
    let mut out: Vec<Option<i64>> = (0..=DAY as i64).map(|m| Some(if m < lost { 1 } else { 2 })).collect();
    for _ in 0..3 {
        let at = rng.range(10, DAY as i64 - 60) as usize;
        for look in &mut out[at..at + rng.range(1, 45) as usize] {
            *look = None;
        }
    }
    out
}

impl Fleet {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut nodes = vec![
            node(&mut rng, "slu", "s1", Told::Minor, 4),
            node(&mut rng, "slu", "s2", Told::Pci, 3),
            node(&mut rng, "slu", "s3", Told::Found, 3),
            node(&mut rng, "kub", "k1", Told::Claim, 2),
            node(&mut rng, "kub", "k2", Told::Claim, 2),
        ];
        nodes[3].replicas = 4;
        nodes[4].cut = Some(rng.range(300, 1100) as usize);
        let looks = vec![("slu", looks(&mut rng)), ("kub", looks(&mut rng))];
        let mut out = Self { nodes, jobs: Vec::new(), looks };
        for at in 0..out.nodes.len() {
            out.fill(&mut rng, at);
        }
        out
    }

    /// Runs jobs on a node all day: whenever a part is free, at times, for a while.
    fn fill(&mut self, rng: &mut Rng, at: usize) {
        let node = self.nodes[at].clone();
        for minute in 0..DAY {
            let m = node.minutes[minute];
            let restarting = !m.watched && node.minutes[(minute + 15).min(DAY - 1)].boot != m.boot;
            if !m.up || restarting || !rng.chance(8) {
                continue;
            }
            let free = self.free(at, minute);
            let wanted = if node.told == Told::Claim { 1 } else { rng.range(1, 3) as usize };
            if free.len() < wanted {
                continue;
            }
            let things: Vec<Thing> = free.into_iter().take(wanted).collect();
            let mut end = minute + rng.range(2, 240) as usize;
            // a restart ends what runs, and so does cutting a card
            let next_boot = (minute..DAY).find(|t| node.minutes[*t].boot != m.boot);
            end = end.min(next_boot.map_or(end, |t| t.saturating_sub(12).max(minute + 1)));
            if let Some(cut) = node.cut.filter(|cut| *cut > minute && things.iter().any(|t| t.card == 0)) {
                end = end.min(cut);
            }
            let raw = match node.told {
                Told::Claim => format!("pod-{at}-{minute}"),
                _ => format!("{}", 100_000 * (at + 1) + minute),
            };
            self.jobs.push(Job {
                node: at,
                raw,
                start: minute,
                end,
                things,
                duty: rng.range(0, 1001),
                vanishes: rng.chance(4),
                sluid: node.told != Told::Claim && rng.chance(20),
            });
        }
    }

    /// Parts of a node that nobody holds in a minute.
    fn free(&self, at: usize, minute: usize) -> Vec<Thing> {
        let node = &self.nodes[at];
        let whole = |card| Thing { card, instance: 0, share: CARD_UNITS };
        let mut all: Vec<Thing> = Vec::new();
        for card in 0..node.cards {
            match card {
                0 if node.cut.is_some_and(|cut| minute >= cut) => {
                    all.push(Thing { card, instance: 1, share: CARD_UNITS / 7 * 3 });
                    all.push(Thing { card, instance: 2, share: CARD_UNITS / 7 * 4 });
                }
                1 if node.replicas > 1 => {
                    let part = Thing { card, instance: 0, share: CARD_UNITS / node.replicas };
                    all.extend(std::iter::repeat_n(part, node.replicas as usize));
                }
                _ => all.push(whole(card)),
            }
        }
        let now = self.jobs.iter().filter(|j| j.node == at && j.start <= minute && minute < j.end);
        for held in now.flat_map(|j| &j.things) {
            if let Some(i) = all.iter().position(|t| t == held) {
                all.remove(i);
            }
        }
        all
    }

    /// The node of a job.
    pub(super) fn node_of(&self, job: &Job) -> &Node {
        &self.nodes[job.node]
    }

    /// Epochs of a cluster's looks.
    pub(super) fn looks_at(&self, cluster: &str) -> &[Option<i64>] {
        self.looks.iter().find(|l| l.0 == cluster).map_or(&[], |l| &l.1)
    }
}
