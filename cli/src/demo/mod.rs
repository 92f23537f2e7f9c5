//! A month of a fleet that does not exist, from a seed: what its schedulers would print and its collectors write.
//!
//! Everything here is generated; nothing is measured. Pure: no clock, no files, no order of a hash map. The plan
//! ([`generate`]) is made whole, the minutes one node and day at a time ([`Fleet::segments`]).

use chrono_tz::Tz;
use gpuledger_collector::segment::{Segment, SegmentError, pair, segment};
use gpuledger_schema::path::safe_writer;
use gpuledger_schema::window::Window;

mod calendar;
mod catalog;
mod clock;
mod did;
mod hardware;
mod kinds;
mod load;
mod plan;
mod reference;
mod rng;
mod slurm;
mod stories;
mod telemetry;
mod version;
mod watch;
mod world;

pub(crate) use reference::Reference;

use clock::Clock;
use hardware::{ALPHA, BETA, Hardware};
use telemetry::NodeDay;
use watch::ClusterDay;
use world::World;

/// What to generate.
#[derive(Debug, Clone)]
pub(crate) struct FleetParams {
    /// Seed: the same one gives the same bytes.
    pub(crate) seed: u64,
    /// Local month, year and number.
    pub(crate) month: (i32, u32),
    /// Billing zone; the month is a month there.
    pub(crate) zone: Tz,
    /// Cards, 64 or more; nodes and jobs grow with them.
    pub(crate) gpus: u32,
    /// Only the first days of the month.
    pub(crate) days: Option<u32>,
}

/// Accounting text of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccountingFile {
    /// Cluster.
    pub(crate) cluster: String,
    /// File name.
    pub(crate) name: String,
    /// Zone of its naive times.
    pub(crate) zone: String,
    /// The text.
    pub(crate) text: String,
}

/// Something in the month that is worth a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Landmark {
    /// What it is, e.g. `forgotten debug session`.
    pub(crate) what: &'static str,
    /// Cluster.
    pub(crate) cluster: String,
    /// Job id as people type it, or the node.
    pub(crate) name: String,
    /// When.
    pub(crate) window: Window,
}

/// A generated fleet.
#[derive(Debug)]
pub(crate) struct Fleet {
    /// Accounting text of the Slurm clusters.
    pub(crate) accounting: Vec<AccountingFile>,
    /// Reference files, in the order in which to import them.
    pub(crate) references: Vec<Reference>,
    /// Configuration as TOML: billing zone and currency.
    pub(crate) config: String,
    /// First instant of the month, and the end of the data: their as-of.
    pub(crate) span: Window,
    /// What to look at.
    pub(crate) landmarks: Vec<Landmark>,
    world: World,
    days: Vec<Window>,
}

/// Plans a month of a fleet.
pub(crate) fn generate(params: &FleetParams) -> Fleet {
    let clock = Clock::new(params.month, params.zone, params.days);
    let hardware = Hardware::new(params.seed, params.gpus);
    let references = reference::files(&hardware, &clock);
    let world = World::new(hardware, clock, params.seed);
    let month = format!("{:04}-{:02}", params.month.0, params.month.1);
    let accounting = [ALPHA, BETA]
        .map(|c| AccountingFile {
            cluster: world.hardware.clusters[c].name.to_owned(),
            name: format!("sacct-{}-{month}.txt", world.hardware.clusters[c].name),
            zone: "UTC".to_owned(),
            text: slurm::accounting(&world, c),
        })
        .into();
    Fleet {
        accounting,
        references,
        config: format!("billing_zone = \"{}\"\ncurrency = \"EUR\"\n", params.zone.name()),
        span: world.clock.span,
        landmarks: world.landmarks(),
        days: world.clock.days(),
        world,
    }
}

impl Fleet {
    /// Every segment that the collectors write, one delivery (a cluster's or a node's UTC day) at a time.
    #[cfg(test)]
    pub(crate) fn segments(&self) -> impl Iterator<Item = Result<Vec<Segment>, SegmentError>> + '_ {
        (0..self.deliveries()).map(|n| self.delivery(n))
    }

    /// How many deliveries there are; each can be made alone and on any thread.
    pub(crate) fn deliveries(&self) -> usize {
        self.days.len() * self.writers()
    }

    /// The segments of delivery `n`, in the order in which they go into an inbox.
    pub(crate) fn delivery(&self, n: usize) -> Result<Vec<Segment>, SegmentError> {
        match self.source(n) {
            Some((Source::Cluster(cluster), day)) => {
                let writer = safe_writer(self.world.hardware.clusters[cluster].name);
                watch::cluster_day(&self.world, cluster, day).segments(&writer)
            }
            Some((Source::Node(node), day)) => {
                let writer = safe_writer(&self.world.hardware.nodes[node].name);
                telemetry::node_day(&self.world, node, day).segments(&writer)
            }
            None => Ok(Vec::new()),
        }
    }

    fn writers(&self) -> usize {
        self.world.hardware.clusters.len() + self.world.hardware.nodes.len()
    }

    /// Who makes delivery `n`: day by day, in a day the clusters before the nodes.
    fn source(&self, n: usize) -> Option<(Source, Window)> {
        let day = *self.days.get(n / self.writers())?;
        let clusters = self.world.hardware.clusters.len();
        let writer = n % self.writers();
        let source = writer.checked_sub(clusters).map_or(Source::Cluster(writer), Source::Node);
        Some((source, day))
    }
}

/// Who delivers.
enum Source {
    Cluster(usize),
    Node(usize),
}

impl NodeDay {
    fn segments(&self, writer: &str) -> Result<Vec<Segment>, SegmentError> {
        let mut out = pair(writer, &self.processes, &self.minutes)?;
        out.extend(segment(writer, &self.devices)?);
        out.extend(segment(writer, &self.readings)?);
        Ok(out)
    }
}

impl ClusterDay {
    fn segments(&self, writer: &str) -> Result<Vec<Segment>, SegmentError> {
        let mut out = Vec::new();
        out.extend(segment(writer, &self.jobs)?);
        out.extend(segment(writer, &self.allocations)?);
        out.extend(segment(writer, &self.holdings)?);
        out.extend(segment(writer, &self.nodes)?);
        out.extend(segment(writer, &self.offers)?);
        out.extend(segment(writer, &self.readings)?);
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
