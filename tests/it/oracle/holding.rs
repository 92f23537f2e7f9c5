//! Runs of schedulers, and what they hold at each instant: named devices, and GPUs that nobody named.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::id::hint_of_job;
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, DeviceClaimRow, JobRow};
use gpuledger_schema::unit::CELL_MS;

use super::Facts;
use super::index;
use super::node::looks;
use super::tick::Version;
use super::who::task_type;

/// A run, by the reading that counts.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) row: AllocationRow,
    pub(super) job: Option<JobRow>,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) task_type: String,
}

impl Run {
    pub(super) fn model(&self) -> Option<String> {
        self.row.model.clone().or_else(|| self.job.as_ref().and_then(|j| j.req_model.clone()))
    }

    /// Whether a hint is this run's: by its job's id, or by its own.
    pub(super) fn hinted(&self, hint: i64) -> Hinted {
        let own = self.row.sluid.as_ref().is_some_and(|s| hint_of_job(&self.row.cluster, s) == hint);
        match (own, self.row.hint_id == hint) {
            (true, _) => Hinted::Run,
            (_, true) => Hinted::Job,
            _ => Hinted::No,
        }
    }
}

/// What a hint says of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hinted {
    /// It is another's.
    No,
    /// It names the job, of which this is a run.
    Job,
    /// It names the run itself.
    Run,
}

/// A device, or an instance of one, held by a run.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) holder: i64,
    pub(super) start: i64,
    pub(super) device: i64,
    pub(super) instance: Option<i64>,
    pub(super) rank: i64,
    pub(super) share: i64,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// GPUs of a run that nobody named.
#[derive(Debug, Clone)]
pub(super) struct Unnamed {
    pub(super) holder: i64,
    pub(super) start: i64,
    pub(super) cluster: String,
    pub(super) node: String,
    pub(super) model: String,
    pub(super) share: i64,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// What runs hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Holdings {
    pub(super) named: Vec<Named>,
    pub(super) unnamed: Vec<Unnamed>,
    /// By what devices are named.
    pub(super) ways: BTreeSet<&'static str>,
}

/// Every run once: terminal beats running, then the newer as-of. Without an end it lasts as long as it was seen.
pub(super) fn runs(facts: &Facts) -> BTreeMap<i64, Run> {
    let mut rows: BTreeMap<i64, &AllocationRow> = BTreeMap::new();
    for r in &facts.allocation {
        let kept = rows.entry(r.allocation_id).or_insert(r);
        if (r.terminal, r.as_of_ms) > (kept.terminal, kept.as_of_ms) {
            *kept = r;
        }
    }
    let mut jobs: BTreeMap<i64, &JobRow> = BTreeMap::new();
    for j in &facts.job {
        let kept = jobs.entry(j.job_id).or_insert(j);
        if j.as_of_ms > kept.as_of_ms {
            *kept = j;
        }
    }
    let run = |row: &AllocationRow| {
        let job = jobs.get(&row.job_id).map(|j| (*j).clone());
        let seen = || looks(facts, &row.cluster, &row.source).last().copied().unwrap_or(row.as_of_ms).max(row.as_of_ms);
        let end = row.end_ms.or(row.last_seen_ms).unwrap_or_else(seen).max(row.start_ms);
        let task_type = task_type(facts, row, job.as_ref());
        Run { row: row.clone(), job, start: row.start_ms, end, task_type }
    };
    rows.into_iter().map(|(id, row)| (id, run(row))).collect()
}

fn rank(evidence: &str) -> i64 {
    match evidence {
        "kubelet" | "cgroup" => 1,
        "gres" => 2,
        _ => 3,
    }
}

/// Something that names a device for a run.
#[derive(Debug, Clone)]
struct Name {
    node: Option<String>,
    device: i64,
    instance: Option<i64>,
    rank: i64,
    /// Position in Slurm's list, where that is all that names it.
    index: Option<i64>,
    claim: bool,
    share: i64,
    from: i64,
    to: i64,
}

/// GPUs granted without a name.
#[derive(Debug, Clone)]
struct Count {
    id: i64,
    cluster: String,
    node: Option<String>,
    model: String,
    share: i64,
    from: i64,
    to: i64,
}

/// A thing that is held at an instant.
#[derive(Debug, Clone)]
struct Held {
    node: String,
    device: i64,
    instance: Option<i64>,
    rank: i64,
    index: Option<i64>,
    claims: i64,
    share: i64,
}

/// Everything that is said of one run.
struct Told<'a> {
    run: &'a Run,
    names: Vec<Name>,
    counts: Vec<Count>,
    versions: &'a [Version],
}

/// Claims of a run: each by its newest reading.
fn claims(facts: &Facts, run: &Run, before: i64) -> Vec<Name> {
    let mut newest: BTreeMap<i64, &DeviceClaimRow> = BTreeMap::new();
    for c in &facts.device_claim {
        let kept = newest.entry(c.claim_id).or_insert(c);
        if c.as_of_ms > kept.as_of_ms {
            *kept = c;
        }
    }
    let mut out = Vec::new();
    for c in newest.values() {
        let before = match run.hinted(c.hint_id) {
            Hinted::No => continue,
            Hinted::Job => before,
            Hinted::Run => 0,
        };
        let seen_in = match c.to_ms {
            Some(to) => run.start < to,
            None => run.start <= c.as_of_ms || before <= c.from_ms,
        };
        let (from, to) = (c.from_ms.max(run.start), c.to_ms.unwrap_or(run.end).min(run.end));
        if seen_in && from < to {
            out.push(Name {
                node: Some(c.node.clone()),
                device: c.device_id,
                instance: c.instance_id,
                rank: 1,
                index: None,
                claim: true,
                share: c.share_units,
                from,
                to,
            });
        }
    }
    let nodes: BTreeSet<Option<String>> = out.iter().map(|n| n.node.clone()).collect();
    for node in nodes {
        let first = out.iter().filter(|n| n.node == node).map(|n| n.from).min().unwrap_or(run.start);
        for n in out.iter_mut().filter(|n| n.node == node && n.from == first && first - run.start <= CELL_MS) {
            n.from = run.start;
        }
    }
    out
}

impl Told<'_> {
    fn known(&self, name: &Name, ms: i64) -> Option<&Version> {
        self.versions.iter().find(|v| v.device == name.device && v.from <= ms && ms < v.to)
    }

    /// What is named at an instant: of each device the best evidence.
    fn things(&self, ms: i64) -> Vec<Held> {
        let now = || self.names.iter().filter(|n| n.from <= ms && ms < n.to && self.known(n, ms).is_some());
        let mut out: Vec<Held> = Vec::new();
        for n in now() {
            if now().any(|o| o.device == n.device && o.rank < n.rank) {
                continue;
            }
            let node = n.node.clone().or_else(|| self.known(n, ms).map(|v| v.node.clone())).unwrap_or_default();
            let same: Vec<&Name> = now()
                .filter(|o| (o.device, o.instance, o.rank) == (n.device, n.instance, n.rank))
                .filter(|o| o.node.as_ref().unwrap_or(&node) == &node)
                .collect();
            let claimed: i64 = same.iter().filter(|o| o.claim).map(|o| o.share).sum();
            let told = same.iter().filter(|o| !o.claim).map(|o| o.share).max().unwrap_or(0);
            let held = Held {
                index: same.iter().map(|o| o.index).min().flatten(),
                claims: same.iter().filter(|o| o.claim).count() as i64,
                share: claimed.max(told),
                node,
                device: n.device,
                instance: n.instance,
                rank: n.rank,
            };
            if !out.iter().any(|o| (&o.node, o.device, o.instance) == (&held.node, held.device, held.instance)) {
                out.push(held);
            }
        }
        out
    }

    /// Named devices and what stays counted at an instant.
    fn at(&self, ms: i64) -> (Vec<Held>, Vec<(Count, i64)>) {
        let mut counts: Vec<&Count> = self.counts.iter().filter(|c| c.from <= ms && ms < c.to).collect();
        counts.sort_by_key(|c| (c.model.is_empty(), &c.model, c.id));
        let granted =
            |node: &str| -> i64 { counts.iter().filter(|c| c.node.as_deref() == Some(node)).map(|c| c.share).sum() };
        let mut things = self.things(ms);
        things.sort_by_key(|t| (t.index, t.device, t.instance));
        let mut taken: BTreeMap<String, i64> = BTreeMap::new();
        let mut sure: BTreeMap<String, i64> = BTreeMap::new();
        for t in things.iter().filter(|t| t.index.is_none()) {
            *sure.entry(t.node.clone()).or_default() += t.share;
        }
        let mut upto = sure.clone();
        let mut named = Vec::new();
        for t in things {
            if t.index.is_some() {
                let upto = upto.entry(t.node.clone()).or_default();
                *upto += t.share;
                if *upto > granted(&t.node) {
                    continue;
                }
            }
            *taken.entry(t.node.clone()).or_default() += t.share;
            named.push(t);
        }
        let parts: i64 = named.iter().map(|t| t.claims.max(1)).sum();
        if !named.is_empty() && parts >= self.run.row.gpu_count {
            return (named, Vec::new());
        }
        let mut beyond: i64 = taken.iter().map(|(node, units)| (units - granted(node)).max(0)).sum();
        let mut rest: Vec<(Count, i64)> = Vec::new();
        for c in counts {
            let off = match &c.node {
                Some(node) => taken.entry(node.clone()).or_default(),
                None => &mut beyond,
            };
            let less = c.share.min(*off);
            *off -= less;
            if c.share > less {
                let here = rest.iter_mut().find(|(o, _)| (&o.node, &o.model) == (&c.node, &c.model));
                match here {
                    Some((_, units)) => *units += c.share - less,
                    None => rest.push((c.clone(), c.share - less)),
                }
            }
        }
        (named, rest)
    }

    /// Walks the run; what goes on unchanged is one holding.
    fn walk(&self, out: &mut Holdings) {
        let start = self.run.start;
        let holder = self.run.row.allocation_id;
        if self
            .names
            .iter()
            .all(|n| !self.versions.iter().any(|v| v.device == n.device && v.from < n.to && v.to > n.from))
        {
            out.unnamed.extend(self.counts.iter().map(|c| unnamed(c, c.share, holder, start, c.from, c.to)));
            return;
        }
        let mut cuts: BTreeSet<i64> = self.names.iter().flat_map(|n| [n.from, n.to]).collect();
        cuts.extend(self.counts.iter().flat_map(|c| [c.from, c.to]));
        let known = self.versions.iter().filter(|v| self.names.iter().any(|n| n.device == v.device));
        cuts.extend(known.flat_map(|v| [v.from, v.to]));
        let cuts: Vec<i64> = cuts.into_iter().collect();
        for (from, to) in cuts.windows(2).map(|p| (p[0], p[1])) {
            let (named, rest) = self.at(from);
            for t in named {
                out.ways.insert(match (t.claims, t.index) {
                    (0, None) => "a record",
                    (0, Some(_)) => "an index",
                    _ => "a claim",
                });
                let open = out.named.iter_mut().find(|n| {
                    (n.holder, n.device, n.instance, n.rank, n.share, n.to)
                        == (holder, t.device, t.instance, t.rank, t.share, from)
                });
                match open {
                    Some(n) => n.to = to,
                    None => out.named.push(Named {
                        holder,
                        start,
                        device: t.device,
                        instance: t.instance,
                        rank: t.rank,
                        share: t.share,
                        from,
                        to,
                    }),
                }
            }
            for (c, units) in rest {
                let row = unnamed(&c, units, holder, start, from, to);
                let open = out.unnamed.iter_mut().find(|u| {
                    (u.holder, &u.cluster, &u.node, &u.model, u.share, u.to)
                        == (holder, &row.cluster, &row.node, &row.model, units, from)
                });
                match open {
                    Some(u) => u.to = to,
                    None => out.unnamed.push(row),
                }
            }
        }
    }
}

fn unnamed(c: &Count, share: i64, holder: i64, start: i64, from: i64, to: i64) -> Unnamed {
    let node = c.node.clone().unwrap_or_default();
    Unnamed { holder, start, cluster: c.cluster.clone(), node, model: c.model.clone(), share, from, to }
}

/// What runs hold, inside their runs and before the as-of.
pub(super) fn holdings(
    facts: &Facts,
    runs: &BTreeMap<i64, Run>,
    as_of: &BTreeMap<String, i64>,
    versions: &[Version],
) -> Holdings {
    let mut newest: BTreeMap<i64, &AllocationDeviceRow> = BTreeMap::new();
    for h in &facts.allocation_device {
        let kept = newest.entry(h.holding_id).or_insert(h);
        if h.as_of_ms > kept.as_of_ms {
            *kept = h;
        }
    }
    let mut out = Holdings::default();
    for run in runs.values() {
        let earlier = runs.values().filter(|r| {
            r.row.hint_id == run.row.hint_id
                && (r.start, r.row.allocation_id) < (run.start, run.row.allocation_id)
                && r.end > r.start
        });
        let before = earlier.map(|r| r.end).max().unwrap_or(0);
        let mut told = Told { run, names: claims(facts, run, before), counts: Vec::new(), versions };
        for h in newest.values().filter(|h| h.allocation_id == run.row.allocation_id) {
            let Some(known_to) = as_of.get(&h.cluster) else { continue };
            let from = h.from_ms.unwrap_or(run.start).max(run.start);
            let to = h.to_ms.unwrap_or(run.end).min(run.end).min(*known_to);
            if to <= from {
                continue;
            }
            let named = h.device_id.map(|d| (d, h.instance_id, rank(&h.evidence), None));
            let indexed = || index::device(facts, versions, h, from, to).map(|d| (d, None, 2, h.gres_index));
            if let Some((device, instance, rank, index)) = named.or_else(indexed) {
                let (node, share) = (h.node.clone(), h.share_units);
                told.names.push(Name { node, device, instance, rank, index, claim: false, share, from, to });
            }
            if h.device_id.is_none() {
                told.counts.push(Count {
                    id: h.holding_id,
                    cluster: h.cluster.clone(),
                    node: h.node.clone(),
                    model: h.model.clone().or_else(|| run.model()).unwrap_or_default(),
                    share: h.share_units,
                    from,
                    to,
                });
            }
        }
        told.walk(&mut out);
    }
    out
}
