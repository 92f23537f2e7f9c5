//! What the cluster collectors write: a day of a cluster as node states, named devices, and on Kubernetes the pods.

use gpuledger_schema::id::{self, id63};
use gpuledger_schema::state::{Evidence, NodeState, RunState, SchedulerKind};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow, NodeStateRow, ReadingRow};
use gpuledger_schema::window::Window;

use super::catalog::ACCOUNTS;
use super::clock::overlap;
use super::plan::{Job, Run};
use super::world::World;

/// CPUs a pod is given per part of a card.
const POD_CPUS: i64 = 8;
/// A GiB.
const GIB: i64 = 1 << 30;

/// Rows of one cluster and UTC day.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterDay {
    /// Pods as requests.
    pub(super) jobs: Vec<JobRow>,
    /// Pods as runs.
    pub(super) allocations: Vec<AllocationRow>,
    /// Which devices runs hold.
    pub(super) holdings: Vec<AllocationDeviceRow>,
    /// States of nodes.
    pub(super) nodes: Vec<NodeStateRow>,
    /// The look itself.
    pub(super) readings: Vec<ReadingRow>,
}

/// The rows of a cluster's day.
pub(super) fn cluster_day(world: &World, cluster: usize, day: Window) -> ClusterDay {
    let mut out = ClusterDay::default();
    let is = &world.hardware.clusters[cluster];
    let source = format!("{} {}", is.scheduler, is.name);
    for node in is.nodes.clone() {
        states(world, node, day, &source, &mut out.nodes);
    }
    let first_day = day.from_ms == world.clock.span.from_ms;
    for job in world.jobs.iter().filter(|j| j.cluster == cluster) {
        for run in &job.runs {
            let there = Window { from_ms: run.start_ms, to_ms: run.end_ms };
            if overlap(there, day) == 0 {
                continue;
            }
            if run.start_ms >= day.from_ms || first_day {
                holdings(world, job, run, day.to_ms, &mut out.holdings);
            }
            if is.scheduler == SchedulerKind::Kubernetes {
                pod(world, job, run, day.to_ms, &source, &mut out);
            }
        }
    }
    let rows = out.jobs.len() + out.allocations.len() + out.holdings.len() + out.nodes.len();
    out.readings.push(ReadingRow {
        source,
        kind: "scheduler".to_owned(),
        cluster: is.name.to_owned(),
        node: None,
        read_at_ms: day.to_ms,
        from_ms: day.from_ms,
        to_ms: day.to_ms,
        ok: true,
        rows: rows as i64,
        error: None,
    });
    out
}

/// A node's day: up, but for what the maintenance takes of it.
fn states(world: &World, node: usize, day: Window, source: &str, out: &mut Vec<NodeStateRow>) {
    let is = &world.hardware.nodes[node];
    let away = world.incidents.drained;
    let cuts = if node == away.0 && overlap(away.1, day) > 0 {
        [day.from_ms, away.1.from_ms.max(day.from_ms), away.1.to_ms.min(day.to_ms), day.to_ms]
    } else {
        [day.from_ms, day.to_ms, day.to_ms, day.to_ms]
    };
    for (index, pair) in cuts.windows(2).enumerate().filter(|(_, p)| p[0] < p[1]) {
        let drained = index == 1;
        out.push(NodeStateRow {
            cluster: world.hardware.clusters[is.cluster].name.to_owned(),
            node: is.name.clone(),
            from_ms: pair[0],
            to_ms: Some(pair[1]),
            state: if drained { NodeState::Drained } else { NodeState::Up }.as_str().to_owned(),
            reason: drained.then(|| "firmware and driver update".to_owned()),
            source: source.to_owned(),
            as_of_ms: day.to_ms,
        });
    }
}

/// Which devices a run holds; the run itself says when.
fn holdings(world: &World, job: &Job, run: &Run, as_of_ms: i64, out: &mut Vec<AllocationDeviceRow>) {
    let cluster = &world.hardware.clusters[job.cluster];
    let allocation_id = id::allocation_id(cluster.name, &job.raw, run.start_ms);
    let evidence = match cluster.scheduler {
        SchedulerKind::Kubernetes => Evidence::Kubelet,
        SchedulerKind::Slurm | SchedulerKind::None => Evidence::Gres,
    };
    for slot in &run.slots {
        let slot = &world.hardware.slots[*slot];
        let card = &world.hardware.cards[slot.card];
        let key = [&allocation_id.to_string(), &card.id.to_string(), evidence.as_str(), ""];
        out.push(AllocationDeviceRow {
            holding_id: id63("holding", &key),
            allocation_id,
            cluster: cluster.name.to_owned(),
            node: Some(world.hardware.nodes[card.node].name.clone()),
            device_id: Some(card.id),
            instance_id: slot.instance.as_ref().map(|i| i.id),
            model: Some(cluster.model.name.to_owned()),
            share_units: slot.units,
            evidence: evidence.as_str().to_owned(),
            gres_index: None,
            index_rule: None,
            from_ms: None,
            to_ms: None,
            as_of_ms,
        });
    }
}

/// A pod as the watcher shows it at the end of the day.
fn pod(world: &World, job: &Job, run: &Run, as_of_ms: i64, source: &str, out: &mut ClusterDay) {
    let cluster = &world.hardware.clusters[job.cluster];
    let job_id = id::job_id(cluster.name, &job.raw, run.submit_ms);
    let terminal = run.end_ms <= as_of_ms;
    let state = if terminal { run.state } else { RunState::Running }.as_str().to_owned();
    let account = &ACCOUNTS[job.account];
    let units: i64 = run.slots.iter().map(|s| world.hardware.slots[*s].units).sum();
    let (cpus, mem_bytes) = (POD_CPUS * i64::from(job.gpus), job.kind.ask_gib * GIB * i64::from(job.gpus));
    let node = run.slots.first().map(|s| world.hardware.cards[world.hardware.slots[*s].card].node);
    out.jobs.push(JobRow {
        job_id,
        cluster: cluster.name.to_owned(),
        job_raw: job.raw.clone(),
        submit_ms: run.submit_ms,
        eligible_ms: Some(run.eligible_ms),
        het_leader: None,
        array_job: None,
        array_task: None,
        tasks: 1,
        state: state.clone(),
        user: Some(job.user.to_owned()),
        account: Some(account.name.to_owned()),
        queue: None,
        qos: None,
        name: Some(job.name.clone()),
        labels: Some(labels(job, account.team)),
        workload_kind: Some(job.kind.qos.to_owned()),
        priority: None,
        reservation: None,
        comment: None,
        req_gpu_units: Some(units),
        req_model: None,
        req_mem_bytes: Some(mem_bytes),
        req_gpu_mem_bytes: None,
        req_cpus: Some(cpus),
        req_nodes: Some(1),
        time_limit_ms: job.limit_ms,
        pending_reason: None,
        workload_uid: None,
        workload_name: None,
        workload_replicas: None,
        priority_class: None,
        limit_cpus_milli: None,
        limit_mem_bytes: None,
        source: source.to_owned(),
        as_of_ms,
    });
    out.allocations.push(AllocationRow {
        allocation_id: id::allocation_id(cluster.name, &job.raw, run.start_ms),
        job_id,
        hint_id: id::hint_of_job(cluster.name, &job.raw),
        cluster: cluster.name.to_owned(),
        job_raw: job.raw.clone(),
        submit_ms: run.submit_ms,
        start_ms: run.start_ms,
        end_ms: terminal.then_some(run.end_ms),
        terminal,
        state,
        exit_code: terminal.then(|| run.exit.to_owned()),
        nodes: node.map(|n| world.hardware.nodes[n].name.clone()),
        node_count: Some(1),
        gpu_units: units,
        gpu_count: run.slots.len() as i64,
        gpu_exact: true,
        model: Some(cluster.model.name.to_owned()),
        cpus: Some(cpus),
        mem_bytes: Some(mem_bytes),
        gpu_mem_bytes: None,
        preemptible: Some(false),
        last_checkpoint_ms: None,
        suspended_ms: None,
        sluid: None,
        original_sluid: None,
        end_reason: None,
        last_seen_ms: None,
        image_pull_ms: None,
        image_ready_ms: None,
        container_start_ms: None,
        source: source.to_owned(),
        as_of_ms,
    });
}

/// Labels as the table wants them: one a line, sorted.
fn labels(job: &Job, team: &str) -> String {
    let mut all = vec![format!("app={}", job.name), format!("team={team}")];
    if job.name.starts_with("prepare-") {
        all.push("stage=prepare".to_owned());
    }
    all.sort();
    all.join("\n")
}
