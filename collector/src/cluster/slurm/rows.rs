//! A job as the controller shows it, as rows: the request, its run, and what the run holds.

use gpuledger_scheduler::slurm::gpu::{Gpus, mig_share};
use gpuledger_scheduler::slurm::gres::Gres;
use gpuledger_scheduler::slurm::hostlist::hosts;
use gpuledger_scheduler::slurm::job_id::ArrayPart;
use gpuledger_scheduler::slurm::scontrol::job::ScontrolJob;
use gpuledger_scheduler::slurm::tres::Tres;
use gpuledger_schema::id::{allocation_id, device_id, hint_of_job, id63, job_id};
use gpuledger_schema::state::{Evidence, RunState};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow};
use gpuledger_schema::unit::share_units;

use super::config::SlurmConfig;
use crate::node::config::GresIndex;

/// The request. `submit_ms` is its record's, which the caller has made sure of.
pub(super) fn job(cluster: &str, job: &ScontrolJob, submit_ms: i64) -> JobRow {
    let waits = job.state == RunState::Pending;
    let asked = job.asked.as_ref();
    let array_task = match job.array {
        Some(ArrayPart::Task(task)) => Some(task),
        Some(ArrayPart::Waiting(_)) | None => None,
    };
    let tasks = match job.array {
        Some(ArrayPart::Waiting(tasks)) if waits => tasks,
        _ => 1,
    };
    JobRow {
        job_id: job_id(cluster, &job.job_raw, submit_ms),
        cluster: cluster.to_owned(),
        job_raw: job.job_raw.clone(),
        submit_ms,
        eligible_ms: job.eligible_ms,
        het_leader: job.het_leader.clone(),
        array_job: job.array_job.clone(),
        array_task,
        tasks,
        state: job.state.as_str().to_owned(),
        user: user(job),
        account: job.account.clone(),
        queue: job.partition.clone(),
        qos: job.qos.clone(),
        name: job.name.clone(),
        labels: job.features.as_ref().map(|f| format!("features={f}")),
        workload_kind: None,
        priority: job.priority,
        reservation: job.reservation.clone(),
        comment: job.comment.clone(),
        req_gpu_units: asked.and_then(asked_units),
        req_model: asked.and_then(|a| a.gpus.model()).map(str::to_owned),
        req_mem_bytes: asked.and_then(|a| a.mem_bytes),
        req_gpu_mem_bytes: asked.and_then(|a| a.gpu_mem_bytes),
        req_cpus: asked.and_then(|a| a.cpus),
        req_nodes: asked.and_then(|a| a.nodes),
        time_limit_ms: job.time_limit_ms,
        source: String::new(),
        as_of_ms: 0,
        pending_reason: job.reason.clone().filter(|_| waits),
        workload_uid: None,
        workload_name: None,
        workload_replicas: None,
        priority_class: None,
        limit_cpus_milli: None,
        limit_mem_bytes: None,
        gone_ms: None,
    }
}

/// The share that was asked for. Shards do not say which part of a card they are.
fn asked_units(asked: &Tres) -> Option<i64> {
    let has_shards_only = asked.gpus.count == 0 && asked.shards.is_some_and(|n| n > 0);
    if has_shards_only { None } else { asked.gpus.share_units().map(|(units, _)| units) }
}

/// The user's name; where no name service knows it, the number.
fn user(job: &ScontrolJob) -> Option<String> {
    let named = job.user.clone().filter(|name| !name.is_empty());
    named.or_else(|| job.uid.map(|uid| format!("uid:{uid}")))
}

/// The run, where the job got nodes.
pub(super) fn allocation(job: &ScontrolJob, request: &JobRow) -> Option<AllocationRow> {
    let start_ms = job.start_ms.filter(|_| job.started())?;
    let none = Tres::default();
    let granted = job.granted.as_ref().unwrap_or(&none);
    let (whole, exact) = granted.gpus.share_units()?;
    let shards = shards(job);
    let is_told = granted.shards.is_none_or(|n| n == 0 || !shards.is_empty());
    let part: i64 = shards.iter().map(|(_, _, units, _)| units).sum();
    let end_ms = job.end_ms.filter(|_| job.state.is_terminal());
    Some(AllocationRow {
        allocation_id: allocation_id(&request.cluster, &job.job_raw, start_ms),
        job_id: request.job_id,
        hint_id: hint_of_job(&request.cluster, &job.job_raw),
        cluster: request.cluster.clone(),
        job_raw: job.job_raw.clone(),
        submit_ms: request.submit_ms,
        start_ms,
        end_ms,
        terminal: end_ms.is_some(),
        state: job.state.as_str().to_owned(),
        exit_code: job.exit_code.clone().filter(|_| end_ms.is_some()),
        nodes: job.nodes.clone(),
        node_count: job.node_count,
        gpu_units: whole.checked_add(part)?,
        gpu_count: granted.gpus.count + i64::try_from(shards.len()).ok()?,
        gpu_exact: exact && is_told && shards.iter().all(|(_, _, _, exact)| *exact),
        model: granted.gpus.model().map(str::to_owned),
        cpus: granted.cpus.or(job.cpus),
        mem_bytes: granted.mem_bytes,
        gpu_mem_bytes: granted.gpu_mem_bytes,
        preemptible: None,
        last_checkpoint_ms: None,
        suspended_ms: None,
        sluid: job.sluid.clone(),
        original_sluid: job.original_sluid.clone(),
        source: String::new(),
        as_of_ms: 0,
        end_reason: job.reason.clone().filter(|_| end_ms.is_some()),
        last_seen_ms: None,
        image_pull_ms: None,
        image_ready_ms: None,
        container_start_ms: None,
    })
}

/// Parts of shared devices: node, index, share units, exact.
fn shards(job: &ScontrolJob) -> Vec<(&str, i64, i64, bool)> {
    let mut out = Vec::new();
    for group in &job.holdings {
        for part in group.list.iter().filter(|g| g.name == "shard").flat_map(|g| &g.parts) {
            if let Some((units, exact)) = share_units(part.held, part.of) {
                out.extend(group.nodes.iter().map(|node| (node.as_str(), part.index, units, exact)));
            }
        }
    }
    out
}

/// What the run holds: a row for each index that Slurm lists, and by count what it does not list.
///
/// - A whole card with an index: evidence `gres`, the index and what it counts; with `gres_index = "explicit"` the device.
/// - A MIG type, a GRES without indices, or one whose indices are not as many as its count: by count on its node. An index
///   of an instance is no index of a card.
/// - A shard: its part of the card of its index.
/// - Where no line lists GPUs: by count on each node where they divide evenly, else somewhere on the cluster.
pub(super) fn holdings(job: &ScontrolJob, run: &AllocationRow, config: &SlurmConfig) -> Vec<AllocationDeviceRow> {
    let maker = Maker { run, config };
    let mut out = Vec::new();
    let mut listed = 0i64;
    for group in &job.holdings {
        for node in &group.nodes {
            let mut counted: Vec<&Gres> = Vec::new();
            for gres in group.list.iter().filter(|g| g.name == "gpu" && g.count != Some(0)) {
                let count = gres.count.unwrap_or_default();
                listed += count;
                let is_card = gres.kind.as_deref().is_none_or(|kind| mig_share(kind) == Ok(None));
                match &gres.index {
                    Some(index) if is_card && index.len() as i64 == count => {
                        let whole = share_units(1, 1).map_or(0, |(units, _)| units);
                        out.extend(index.iter().map(|i| maker.indexed(node, *i, whole, gres.kind.as_deref())));
                    }
                    _ => counted.push(gres),
                }
            }
            out.extend(maker.counted(node, &counted));
        }
    }
    out.extend(shards(job).into_iter().map(|(node, index, units, _)| maker.indexed(node, index, units, None)));
    if let Some(gpus) = job.granted.as_ref().map(|g| &g.gpus).filter(|g| listed == 0 && g.count > 0) {
        out.extend(maker.spread(gpus));
    }
    out
}

struct Maker<'a> {
    run: &'a AllocationRow,
    config: &'a SlurmConfig,
}

impl Maker<'_> {
    fn indexed(&self, node: &str, index: i64, units: i64, model: Option<&str>) -> AllocationDeviceRow {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let uuid = self.config.gres_uuids.get(node).and_then(|list| list.get(place));
        let rule = match self.config.gres_index {
            GresIndex::Nvml => Some("nvml"),
            GresIndex::Minor => Some("minor"),
            GresIndex::Explicit => None,
        };
        let is_named = rule.is_some() || uuid.is_some();
        let evidence = if is_named { Evidence::Gres } else { Evidence::Count };
        let row = self.row(Some(node), units, evidence, &index.to_string());
        AllocationDeviceRow {
            device_id: uuid.filter(|u| u.starts_with("GPU-")).map(|u| device_id(u)),
            instance_id: uuid.filter(|u| u.starts_with("MIG-")).map(|u| device_id(u)),
            model: model.map(str::to_owned).or(row.model),
            gres_index: Some(index),
            index_rule: rule.map(str::to_owned),
            ..row
        }
    }

    /// One row for all that a node gives without naming it.
    fn counted(&self, node: &str, list: &[&Gres]) -> Option<AllocationDeviceRow> {
        let mut units = 0i64;
        for gres in list {
            let share = gres.kind.as_deref().and_then(|kind| mig_share(kind).ok()?).unwrap_or((1, 1));
            units += share_units(share.0.checked_mul(gres.count?)?, share.1)?.0;
        }
        let model = match list {
            [] => return None,
            [one] => one.kind.clone(),
            _ => None,
        };
        let row = self.row(Some(node), units, Evidence::Count, "");
        Some(AllocationDeviceRow { model: model.or(row.model), ..row })
    }

    /// GPUs that no line lists: evenly on the nodes, else somewhere on the cluster.
    fn spread(&self, gpus: &Gpus) -> Vec<AllocationDeviceRow> {
        let run = self.run;
        let Some((units, _)) = gpus.share_units() else { return Vec::new() };
        let nodes = run.nodes.as_deref().and_then(|n| hosts(n).ok()).unwrap_or_default();
        let count = nodes.len() as i64;
        let is_even =
            count > 0 && run.node_count.is_none_or(|n| n == count) && gpus.count % count == 0 && units % count == 0;
        match is_even {
            true => nodes.iter().map(|n| self.row(Some(n), units / count, Evidence::Count, "")).collect(),
            false => vec![self.row(None, units, Evidence::Count, "")],
        }
    }

    fn row(&self, node: Option<&str>, share_units: i64, evidence: Evidence, index: &str) -> AllocationDeviceRow {
        let evidence = evidence.as_str();
        let parts = [&self.run.allocation_id.to_string(), node.unwrap_or_default(), evidence, index];
        AllocationDeviceRow {
            holding_id: id63("holding", &parts),
            allocation_id: self.run.allocation_id,
            cluster: self.run.cluster.clone(),
            node: node.map(str::to_owned),
            device_id: None,
            instance_id: None,
            model: self.run.model.clone(),
            share_units,
            evidence: evidence.to_owned(),
            gres_index: None,
            index_rule: None,
            from_ms: None,
            to_ms: None,
            as_of_ms: 0,
        }
    }
}

#[cfg(test)]
mod tests;
