//! Runs of schedulers, and what they hold: named devices, and GPUs that nobody named.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow};

use super::Facts;
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
}

/// Every run once: terminal beats running, then the newer as-of.
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
        let end = row.end_ms.unwrap_or(row.as_of_ms).max(row.start_ms);
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

/// Holdings inside their runs and before the as-of. A device is held by the best evidence for it; GPUs by count are
/// those that nobody named.
pub(super) fn holdings(facts: &Facts, runs: &BTreeMap<i64, Run>, as_of: &BTreeMap<String, i64>) -> Holdings {
    let mut newest: BTreeMap<i64, &AllocationDeviceRow> = BTreeMap::new();
    for h in &facts.allocation_device {
        let kept = newest.entry(h.holding_id).or_insert(h);
        if h.as_of_ms > kept.as_of_ms {
            *kept = h;
        }
    }
    let mut out = Holdings::default();
    let mut counted = Vec::new();
    for h in newest.values() {
        let (Some(run), Some(known_to)) = (runs.get(&h.allocation_id), as_of.get(&h.cluster)) else { continue };
        let from = h.from_ms.unwrap_or(run.start).max(run.start);
        let to = h.to_ms.unwrap_or(run.end).min(run.end).min(*known_to);
        if to <= from {
            continue;
        }
        match h.device_id {
            Some(device) => out.named.push(Named {
                holder: h.allocation_id,
                start: run.start,
                device,
                instance: h.instance_id,
                rank: rank(&h.evidence),
                share: h.share_units,
                from,
                to,
            }),
            None => counted.push((h, run, from, to)),
        }
    }
    let all = out.named.clone();
    out.named.retain(|n| all.iter().all(|o| o.holder != n.holder || o.device != n.device || o.rank >= n.rank));
    let nodes: BTreeMap<i64, String> =
        facts.allocation_device.iter().map(|h| (h.holding_id, h.node.clone().unwrap_or_default())).collect();
    let node_of = |n: &Named| -> BTreeSet<String> {
        let of = newest.values().filter(|h| h.allocation_id == n.holder && h.device_id == Some(n.device));
        of.map(|h| nodes[&h.holding_id].clone()).collect()
    };
    for (h, run, from, to) in counted {
        let mine: Vec<&Named> = out.named.iter().filter(|n| n.holder == h.allocation_id).collect();
        let mut things: BTreeMap<(i64, Option<i64>), i64> = BTreeMap::new();
        let mut here: BTreeMap<(i64, Option<i64>), i64> = BTreeMap::new();
        for n in mine {
            let share = things.entry((n.device, n.instance)).or_insert(0);
            *share = n.share.max(*share);
            if h.node.is_none() || node_of(n).contains(h.node.as_deref().unwrap_or_default()) {
                here.insert((n.device, n.instance), *share);
            }
        }
        let left = h.share_units - here.values().sum::<i64>();
        let complete = !things.is_empty() && things.len() as i64 >= run.row.gpu_count;
        if left > 0 && !complete {
            out.unnamed.push(Unnamed {
                holder: h.allocation_id,
                start: run.start,
                cluster: h.cluster.clone(),
                node: h.node.clone().unwrap_or_default(),
                model: h.model.clone().or_else(|| run.model()).unwrap_or_default(),
                share: left,
                from,
                to,
            });
        }
    }
    out
}
