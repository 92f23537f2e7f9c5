//! What the cluster collectors write: a day of a cluster as node states, named devices, and on Kubernetes the pods.

use gpuledger_schema::id::{self, id63};
use gpuledger_schema::state::{Evidence, NodeState, RunState, SchedulerKind};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow, NodeOfferRow, NodeStateRow, ReadingRow};
use gpuledger_schema::unit::CARD_UNITS;
use gpuledger_schema::window::Window;

use super::catalog::ACCOUNTS;
use super::clock::{MINUTE_MS, overlap};
use super::hardware::{Part, uuid};
use super::plan::{Job, Run};
use super::world::World;

/// CPUs a pod is given per part of a card.
const POD_CPUS: i64 = 8;
/// A GiB.
const GIB: i64 = 1 << 30;
/// From look to look at a scheduler.
const LOOK_MS: i64 = 30 * MINUTE_MS;
/// From a pod's place on a node to the pull of its images.
const PULL_AFTER_MS: i64 = 2_000;
/// How long that takes where most of the image is there.
const PULL_MS: i64 = 21_000;
/// From the images to the container's start.
const CONTAINER_AFTER_MS: i64 = 3_000;

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
    /// What the scheduler offers on each node.
    pub(super) offers: Vec<NodeOfferRow>,
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
        offers(world, node, day, &source, &mut out.offers);
    }
    if is.scheduler == SchedulerKind::Kubernetes {
        let jobs = world.jobs.iter().filter(|j| j.cluster == cluster);
        out.jobs.extend(jobs.filter_map(|j| waiting(world, j, day, &source)));
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
    // what lies between looks that are far apart is not known: a look every half hour speaks of the whole day
    let mut from_ms = day.from_ms;
    while from_ms < day.to_ms {
        let to_ms = (from_ms + LOOK_MS).min(day.to_ms);
        let rows = if to_ms == day.to_ms { rows as i64 } else { 0 };
        out.readings.push(ReadingRow {
            source: source.clone(),
            kind: "scheduler".to_owned(),
            cluster: is.name.to_owned(),
            node: None,
            read_at_ms: to_ms,
            from_ms,
            to_ms,
            ok: true,
            rows,
            error: None,
        });
        from_ms = to_ms;
    }
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

/// What a node's resources are by the scheduler's configuration; without the lost card on the days it is away.
fn offers(world: &World, node: usize, day: Window, source: &str, out: &mut Vec<NodeOfferRow>) {
    let is = &world.hardware.nodes[node];
    let cluster = &world.hardware.clusters[is.cluster];
    let lost = &world.incidents.lost;
    let cards = is.cards.clone().filter(|c| *c != lost.0 || overlap(lost.1, day) == 0);
    let mut kinds: Vec<(String, i64, i64)> = Vec::new();
    for slot in cards.flat_map(|c| world.hardware.cards[c].slots.clone()).map(|s| &world.hardware.slots[s]) {
        let resource = match (cluster.scheduler, slot.part, &slot.instance) {
            (SchedulerKind::Kubernetes, Part::Replica, _) => "nvidia.com/gpu.shared".to_owned(),
            (SchedulerKind::Kubernetes, Part::Sliver, _) => "nvidia.com/gpu.sliver".to_owned(),
            (SchedulerKind::Kubernetes, ..) => "nvidia.com/gpu".to_owned(),
            (_, _, Some(instance)) => format!("gpu:{}", instance.profile),
            _ => format!("gpu:{}", cluster.model.gres),
        };
        match kinds.iter_mut().find(|k| k.0 == resource) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((resource, 1, slot.units)),
        }
    }
    for (resource, count, unit_units) in kinds {
        out.push(NodeOfferRow {
            cluster: cluster.name.to_owned(),
            node: is.name.clone(),
            resource,
            count,
            allocatable: Some(count),
            unit_units,
            model: Some(cluster.model.name.to_owned()),
            queues: is.queue.map(str::to_owned),
            features: None,
            cpus: None,
            mem_bytes: None,
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

/// A pod that waits, or was deleted while it did.
fn waiting(world: &World, job: &Job, day: Window, source: &str) -> Option<JobRow> {
    let wait = job.waiting.as_ref()?;
    if wait.submit_ms >= day.to_ms || wait.cancelled_ms.is_some_and(|at| at <= day.from_ms) {
        return None;
    }
    let is_gone = wait.cancelled_ms.is_some_and(|at| at <= day.to_ms);
    let state = if is_gone { RunState::Cancelled } else { RunState::Pending };
    let (submit_ms, never) = (wait.submit_ms, i64::MAX);
    let run =
        Run { submit_ms, eligible_ms: submit_ms, start_ms: never, end_ms: never, state, exit: "", slots: Vec::new() };
    Some(JobRow {
        state: state.as_str().to_owned(),
        req_gpu_units: Some(CARD_UNITS * i64::from(job.gpus)),
        req_model: job.kind.model.map(str::to_owned),
        workload_replicas: None,
        gone_ms: wait.cancelled_ms.filter(|_| is_gone),
        pending_reason: Some("Unschedulable".to_owned()),
        ..request(world, job, &run, day.to_ms, source)
    })
}

/// A pod as the watcher shows it at the end of the day.
fn pod(world: &World, job: &Job, run: &Run, as_of_ms: i64, source: &str, out: &mut ClusterDay) {
    let request = request(world, job, run, as_of_ms, source);
    out.allocations.push(on_its_node(world, job, run, &request));
    out.jobs.push(request);
}

/// What the pod asks for.
fn request(world: &World, job: &Job, run: &Run, as_of_ms: i64, source: &str) -> JobRow {
    let cluster = &world.hardware.clusters[job.cluster];
    let state = if run.end_ms <= as_of_ms { run.state } else { RunState::Running };
    let account = &ACCOUNTS[job.account];
    let mem_bytes = job.kind.ask_gib * GIB * i64::from(job.gpus);
    JobRow {
        job_id: id::job_id(cluster.name, &job.raw, run.submit_ms),
        cluster: cluster.name.to_owned(),
        job_raw: job.raw.clone(),
        submit_ms: run.submit_ms,
        eligible_ms: Some(run.eligible_ms),
        het_leader: None,
        array_job: None,
        array_task: None,
        tasks: 1,
        state: state.as_str().to_owned(),
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
        req_gpu_units: Some(run.slots.iter().map(|s| world.hardware.slots[*s].units).sum()),
        req_model: None,
        req_mem_bytes: Some(mem_bytes),
        req_gpu_mem_bytes: (job.kind.grant_mib > 0).then(|| job.kind.grant_mib << 20),
        req_cpus: Some(POD_CPUS * i64::from(job.gpus)),
        req_nodes: Some(1),
        time_limit_ms: job.limit_ms,
        pending_reason: None,
        workload_uid: Some(uuid("", id63("workload", &[account.name, &job.name]) as u64)),
        workload_name: Some(job.name.clone()),
        workload_replicas: (job.kind.qos == "Deployment").then(|| replicas(world, job, run)),
        priority_class: Some(if job.kind.preemptible { "low" } else { "normal" }.to_owned()),
        limit_cpus_milli: None,
        limit_mem_bytes: Some(mem_bytes),
        gone_ms: None,
        source: source.to_owned(),
        as_of_ms,
    }
}

/// What it holds: all that it asks for.
fn on_its_node(world: &World, job: &Job, run: &Run, request: &JobRow) -> AllocationRow {
    let cluster = &world.hardware.clusters[job.cluster];
    let terminal = run.end_ms <= request.as_of_ms;
    let ready_ms = run.start_ms + PULL_AFTER_MS + PULL_MS + job.kind.pull_minutes * MINUTE_MS;
    let node = run.slots.first().map(|s| world.hardware.cards[world.hardware.slots[*s].card].node);
    AllocationRow {
        allocation_id: id::allocation_id(cluster.name, &job.raw, run.start_ms),
        job_id: request.job_id,
        hint_id: id::hint_of_job(cluster.name, &job.raw),
        cluster: cluster.name.to_owned(),
        job_raw: job.raw.clone(),
        submit_ms: run.submit_ms,
        start_ms: run.start_ms,
        end_ms: terminal.then_some(run.end_ms),
        terminal,
        state: request.state.clone(),
        exit_code: terminal.then(|| run.exit.to_owned()),
        nodes: node.map(|n| world.hardware.nodes[n].name.clone()),
        node_count: Some(1),
        gpu_units: request.req_gpu_units.unwrap_or(0),
        gpu_count: run.slots.len() as i64,
        gpu_exact: true,
        model: Some(cluster.model.name.to_owned()),
        cpus: request.req_cpus,
        mem_bytes: request.req_mem_bytes,
        gpu_mem_bytes: request.req_gpu_mem_bytes,
        preemptible: Some(job.kind.preemptible),
        last_checkpoint_ms: None,
        suspended_ms: None,
        sluid: None,
        original_sluid: None,
        end_reason: None,
        last_seen_ms: None,
        image_pull_ms: Some(run.start_ms + PULL_AFTER_MS),
        image_ready_ms: Some(ready_ms),
        container_start_ms: Some(ready_ms + CONTAINER_AFTER_MS),
        source: request.source.clone(),
        as_of_ms: request.as_of_ms,
    }
}

/// Pods of the same workload that run when this one starts, with it.
fn replicas(world: &World, job: &Job, run: &Run) -> i64 {
    let same = world.jobs.iter().filter(|j| j.cluster == job.cluster && j.name == job.name);
    let at = |r: &&Run| r.start_ms <= run.start_ms && r.end_ms > run.start_ms;
    same.flat_map(|j| &j.runs).filter(at).count() as i64
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
