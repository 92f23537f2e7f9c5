//! A job of accounting as rows of the lake.

use gpuledger_scheduler::slurm::gpu::Gpus;
use gpuledger_scheduler::slurm::job_id::ArrayPart;
use gpuledger_scheduler::slurm::sacct_job::{Nodes, SacctJob, tasks};
use gpuledger_schema::id::{allocation_id, hint_of_job, id63, job_id};
use gpuledger_schema::state::Evidence;
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow};

/// What every row of a file carries.
pub(crate) struct Stamp<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) source: &'a str,
    pub(crate) as_of_ms: i64,
}

pub(crate) fn job(job: &SacctJob, stamp: &Stamp<'_>) -> JobRow {
    let asked = job.asked.as_ref();
    let array_job = job.id.array.as_ref().map(|_| job.id.job.to_string());
    let array_task = match job.id.array {
        Some(ArrayPart::Task(task)) => Some(task),
        Some(ArrayPart::Waiting(_)) | None => None,
    };
    JobRow {
        job_id: job_id(stamp.cluster, &job.job_raw, job.submit_ms),
        cluster: stamp.cluster.to_owned(),
        job_raw: job.job_raw.clone(),
        submit_ms: job.submit_ms,
        eligible_ms: job.eligible_ms,
        het_leader: job.id.het_offset.map(|_| job.id.job.to_string()),
        array_job,
        array_task,
        tasks: tasks(&job.id),
        state: job.state.as_str().to_owned(),
        user: job.user.clone(),
        account: job.account.clone(),
        queue: job.partition.clone(),
        qos: job.qos.clone(),
        name: job.name.clone(),
        labels: None,
        workload_kind: None,
        priority: job.priority,
        reservation: job.reservation.clone(),
        comment: job.comment.clone(),
        req_gpu_units: asked.and_then(|a| a.gpus.share_units()).map(|(units, _)| units),
        req_model: asked.and_then(|a| a.gpus.model()).map(str::to_owned),
        req_mem_bytes: job.asked_mem_bytes,
        req_gpu_mem_bytes: asked.and_then(|a| a.gpu_mem_bytes),
        req_cpus: job.asked_cpus,
        req_nodes: job.asked_nodes,
        time_limit_ms: job.time_limit_ms,
        pending_reason: None,
        workload_uid: None,
        workload_name: None,
        workload_replicas: None,
        priority_class: None,
        limit_cpus_milli: None,
        limit_mem_bytes: None,
        gone_ms: job.end_ms.filter(|_| !job.started()),
        source: stamp.source.to_owned(),
        as_of_ms: stamp.as_of_ms,
    }
}

/// The run, where the job got nodes; a run without a recorded end is open, whatever its state says.
pub(crate) fn allocation(job: &SacctJob, request: &JobRow, stamp: &Stamp<'_>) -> Option<AllocationRow> {
    let start_ms = job.start_ms.filter(|_| job.started())?;
    let (gpu_units, gpu_exact) = job.granted.gpus.share_units()?;
    let nodes = match &job.nodes {
        Nodes::Listed(text, _) => Some(text.clone()),
        Nodes::Unsaid | Nodes::None => None,
    };
    Some(AllocationRow {
        allocation_id: allocation_id(stamp.cluster, &job.job_raw, start_ms),
        job_id: request.job_id,
        hint_id: hint_of_job(stamp.cluster, &job.job_raw),
        cluster: stamp.cluster.to_owned(),
        job_raw: job.job_raw.clone(),
        submit_ms: job.submit_ms,
        start_ms,
        end_ms: job.end_ms,
        terminal: job.end_ms.is_some(),
        state: job.state.as_str().to_owned(),
        exit_code: job.exit_code.clone(),
        nodes,
        node_count: job.node_count,
        gpu_units,
        gpu_count: job.granted.gpus.count,
        gpu_exact,
        model: model(&job.granted.gpus),
        cpus: job.cpus,
        mem_bytes: job.granted.mem_bytes,
        gpu_mem_bytes: job.granted.gpu_mem_bytes,
        preemptible: None,
        last_checkpoint_ms: None,
        suspended_ms: job.suspended_ms,
        sluid: job.sluid.clone(),
        original_sluid: job.original_sluid.clone(),
        end_reason: None,
        last_seen_ms: None,
        image_pull_ms: None,
        image_ready_ms: None,
        container_start_ms: None,
        source: stamp.source.to_owned(),
        as_of_ms: stamp.as_of_ms,
    })
}

/// GPUs by count: on each node where they divide evenly, else somewhere on the cluster. Accounting names no device.
/// The note says why nodes that are listed could not be used.
pub(crate) fn holdings(job: &SacctJob, run: &AllocationRow) -> (Vec<AllocationDeviceRow>, Option<String>) {
    if run.gpu_count == 0 {
        return (Vec::new(), None);
    }
    let listed: &[String] = match &job.nodes {
        Nodes::Listed(_, hosts) => hosts,
        Nodes::Unsaid | Nodes::None => &[],
    };
    let count = listed.len() as i64;
    if let Some(said) = run.node_count.filter(|said| count > 0 && *said != count) {
        let note = format!("field ignored: it lists {count} nodes where the record counts {said}");
        return (vec![holding(run, None, run.gpu_units)], Some(note));
    }
    if count == 0 || run.gpu_count % count != 0 || run.gpu_units % count != 0 {
        return (vec![holding(run, None, run.gpu_units)], None);
    }
    (listed.iter().map(|node| holding(run, Some(node), run.gpu_units / count)).collect(), None)
}

fn holding(run: &AllocationRow, node: Option<&str>, share_units: i64) -> AllocationDeviceRow {
    let evidence = Evidence::Count.as_str();
    let parts = [&run.allocation_id.to_string(), node.unwrap_or_default(), evidence, ""];
    AllocationDeviceRow {
        holding_id: id63("holding", &parts),
        allocation_id: run.allocation_id,
        cluster: run.cluster.clone(),
        node: node.map(str::to_owned),
        device_id: None,
        instance_id: None,
        model: run.model.clone(),
        share_units,
        evidence: evidence.to_owned(),
        gres_index: None,
        index_rule: None,
        from_ms: None,
        to_ms: None,
        as_of_ms: run.as_of_ms,
    }
}

fn model(gpus: &Gpus) -> Option<String> {
    gpus.model().map(str::to_owned)
}
