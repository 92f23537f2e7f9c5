//! The machines: three clusters, their nodes, cards, and the parts of a card that a scheduler hands out.

use std::ops::Range;

use gpuledger_schema::id;
use gpuledger_schema::state::SchedulerKind;
use gpuledger_schema::unit::CARD_UNITS;

use super::rng::{Rng, mix};

/// Index of the Slurm cluster with the newest cards.
pub(super) const ALPHA: usize = 0;
/// Index of the Slurm cluster with older cards, some of them cut into instances.
pub(super) const BETA: usize = 1;
/// Index of the Kubernetes cluster.
pub(super) const KUBE: usize = 2;
/// Compute slices of a card in MIG mode.
pub(super) const CARD_SLICES: i64 = 7;
/// Pods that share a time-sliced card.
const REPLICAS: i64 = 4;
/// Pods that share the card that is cut too small.
const SLIVERS: i64 = 16;

/// A model of card, as its driver describes it.
#[derive(Debug)]
pub(super) struct Model {
    /// Driver's name.
    pub(super) name: &'static str,
    /// Name in Slurm's GRES.
    pub(super) gres: &'static str,
    /// Memory in MiB.
    pub(super) memory_mib: i64,
    /// Memory as it is sold.
    pub(super) sold_gib: i64,
    /// Power at rest and at full load, in watts.
    pub(super) watts: (i64, i64),
    /// Enforced power limit, in watts.
    pub(super) limit_watts: i64,
    /// CUDA compute capability.
    pub(super) capability: &'static str,
    /// Where activities are read from.
    pub(super) activity: &'static str,
}

/// H100.
pub(super) static H100: Model = Model {
    name: "NVIDIA H100 80GB HBM3",
    gres: "h100",
    memory_mib: 81_559,
    sold_gib: 80,
    watts: (72, 690),
    limit_watts: 700,
    capability: "9.0",
    activity: "gpm",
};
/// A100.
pub(super) static A100: Model = Model {
    name: "NVIDIA A100-SXM4-80GB",
    gres: "a100",
    memory_mib: 81_920,
    sold_gib: 80,
    watts: (58, 395),
    limit_watts: 400,
    capability: "8.0",
    activity: "dcgm",
};
/// L40S.
pub(super) static L40S: Model = Model {
    name: "NVIDIA L40S",
    gres: "l40s",
    memory_mib: 46_068,
    sold_gib: 48,
    watts: (34, 345),
    limit_watts: 350,
    capability: "8.9",
    activity: "dcgm",
};

/// A cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    /// Name.
    pub(super) name: &'static str,
    /// What runs on it.
    pub(super) scheduler: SchedulerKind,
    /// Its cards' model.
    pub(super) model: &'static Model,
    /// Its nodes.
    pub(super) nodes: Range<usize>,
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    /// Cluster.
    pub(super) cluster: usize,
    /// Host name.
    pub(super) name: String,
    /// Queue, where the scheduler has them.
    pub(super) queue: Option<&'static str>,
    /// Its cards.
    pub(super) cards: Range<usize>,
    /// How far after the full minute its collector ticks.
    pub(super) phase_ms: i64,
}

/// A physical card.
#[derive(Debug)]
pub(super) struct Card {
    /// Node.
    pub(super) node: usize,
    /// Minor number.
    pub(super) minor: i64,
    /// Driver UUID.
    pub(super) uuid: String,
    /// Device id.
    pub(super) id: i64,
    /// What of it can be held.
    pub(super) slots: Range<usize>,
    /// Whether it is in MIG mode.
    pub(super) mig: bool,
}

/// What kind of thing a job asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A whole card.
    Whole,
    /// A MIG instance of one compute slice.
    Small,
    /// A MIG instance of three or four compute slices.
    Large,
    /// A replica of a time-sliced card.
    Replica,
    /// A replica of a card that is cut too small.
    Sliver,
}

/// A thing that one run can hold: a card, an instance or a replica.
#[derive(Debug)]
pub(super) struct Slot {
    /// Its card.
    pub(super) card: usize,
    /// Kind.
    pub(super) part: Part,
    /// Share of the card.
    pub(super) units: i64,
    /// The MIG instance, where it is one.
    pub(super) instance: Option<Instance>,
}

/// A MIG instance.
#[derive(Debug)]
pub(super) struct Instance {
    /// Driver UUID.
    pub(super) uuid: String,
    /// Device id.
    pub(super) id: i64,
    /// Profile.
    pub(super) profile: &'static str,
    /// Compute slices.
    pub(super) slices: i64,
    /// Memory in MiB.
    pub(super) memory_mib: i64,
}

/// Everything that can be plugged in.
#[derive(Debug)]
pub(super) struct Hardware {
    /// Clusters, by [`ALPHA`], [`BETA`], [`KUBE`].
    pub(super) clusters: Vec<Cluster>,
    /// Nodes.
    pub(super) nodes: Vec<Node>,
    /// Cards.
    pub(super) cards: Vec<Card>,
    /// Slots.
    pub(super) slots: Vec<Slot>,
}

impl Hardware {
    /// A fleet of about `gpus` cards (exactly 64 for 64 and 1 000 for 1 000), never less than 64.
    pub(super) fn new(seed: u64, gpus: u32) -> Self {
        let gpus = gpus.max(64) as usize;
        let kube = gpus.div_ceil(32);
        let beta = (gpus * 3 + 32) / 64;
        let alpha = (gpus - kube * 4 - beta * 8) / 8;
        let cut = 1 + (beta - 3) / 8;
        let mut new = Self { clusters: Vec::new(), nodes: Vec::new(), cards: Vec::new(), slots: Vec::new() };
        let mut rng = Rng::new(seed, 1);

        new.cluster("alpha", SchedulerKind::Slurm, &H100);
        (1..=alpha).for_each(|n| new.node(&mut rng, ALPHA, format!("alpha-gpu{n:02}"), Some("train"), 8));
        new.cluster("beta", SchedulerKind::Slurm, &A100);
        (1..=beta - cut).for_each(|n| new.node(&mut rng, BETA, format!("beta-gpu{n:02}"), Some("general"), 8));
        (1..=cut).for_each(|n| new.node(&mut rng, BETA, format!("beta-mig{n:02}"), Some("mig"), 8));
        new.cluster("k8s", SchedulerKind::Kubernetes, &L40S);
        (1..=kube).for_each(|n| new.node(&mut rng, KUBE, format!("k8s-gpu{n:02}"), None, 4));
        new
    }

    /// The model of a card.
    pub(super) fn model(&self, card: usize) -> &'static Model {
        self.clusters[self.nodes[self.cards[card].node].cluster].model
    }

    /// Slots of a kind on a node.
    pub(super) fn slots_of(&self, node: usize, part: Part) -> impl Iterator<Item = usize> + '_ {
        let cards = self.nodes[node].cards.clone();
        cards.flat_map(|c| self.cards[c].slots.clone()).filter(move |s| self.slots[*s].part == part)
    }

    fn cluster(&mut self, name: &'static str, scheduler: SchedulerKind, model: &'static Model) {
        let at = self.nodes.len();
        self.clusters.push(Cluster { name, scheduler, model, nodes: at..at });
    }

    fn node(&mut self, rng: &mut Rng, cluster: usize, name: String, queue: Option<&'static str>, cards: usize) {
        let node = self.nodes.len();
        let first = self.cards.len();
        let even = (node - self.clusters[cluster].nodes.start) % 2 == 1;
        for minor in 0..cards {
            let uuid = uuid("GPU-", rng.next());
            let card = self.cards.len();
            let slots = self.slots.len();
            let mig = queue == Some("mig") && minor >= 6;
            match (mig, minor) {
                (true, 6) => (0..7).for_each(|_| self.instance(rng, card, "1g.10gb", 1, 9_728)),
                (true, _) => {
                    self.instance(rng, card, "3g.40gb", 3, 40_192);
                    self.instance(rng, card, "4g.40gb", 4, 40_192);
                }
                // The last card of every node of the Kubernetes cluster is shared in time, on every second one of them
                // by far too many.
                (false, 3) if cluster == KUBE => {
                    let (part, replicas) = if even { (Part::Replica, REPLICAS) } else { (Part::Sliver, SLIVERS) };
                    let units = CARD_UNITS / replicas;
                    (0..replicas).for_each(|_| self.slots.push(Slot { card, part, units, instance: None }));
                }
                _ => self.slots.push(Slot { card, part: Part::Whole, units: CARD_UNITS, instance: None }),
            }
            let (id, slots) = (id::device_id(&uuid), slots..self.slots.len());
            self.cards.push(Card { node, minor: minor as i64, uuid, id, slots, mig });
        }
        let phase_ms = rng.between(1, 80) * 250;
        self.nodes.push(Node { cluster, name, queue, cards: first..self.cards.len(), phase_ms });
        self.clusters[cluster].nodes.end = self.nodes.len();
    }

    fn instance(&mut self, rng: &mut Rng, card: usize, profile: &'static str, slices: i64, memory_mib: i64) {
        let uuid = uuid("MIG-", rng.next());
        let part = if slices == 1 { Part::Small } else { Part::Large };
        let units = CARD_UNITS / CARD_SLICES * slices;
        let instance = Instance { id: id::device_id(&uuid), uuid, profile, slices, memory_mib };
        self.slots.push(Slot { card, part, units, instance: Some(instance) });
    }
}

/// Compute slices of a whole card of this kind, where it has been cut.
pub(super) fn card_slices(card: &Card) -> Option<i64> {
    card.mig.then_some(CARD_SLICES)
}

/// A text in the form of a UUID.
pub(super) fn uuid(prefix: &str, seed: u64) -> String {
    let (a, b) = (mix(seed, 1), mix(seed, 2));
    format!(
        "{prefix}{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        (a & 0xfff) | 0x4000,
        (b >> 52) | 0x8000,
        b & 0xffff_ffff_ffff
    )
}
