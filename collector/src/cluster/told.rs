//! Looks that tests tell: a few words make a snapshot.

use gpuledger_schema::id::{allocation_id, hint_of_job, id63, job_id};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow, NodeOfferRow, NodeStateRow, QuarantineRow};
use gpuledger_schema::unit::CARD_UNITS;

use super::Snapshot;

pub(super) const MINUTE: i64 = 60_000;

/// What a look will show.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) jobs: Vec<JobRow>,
    pub(super) allocations: Vec<AllocationRow>,
    pub(super) holdings: Vec<AllocationDeviceRow>,
    pub(super) nodes: Vec<NodeStateRow>,
    pub(super) offers: Vec<NodeOfferRow>,
    is_accounted: bool,
}

/// The id of the run of `raw` that started in minute `start`.
pub(super) fn run_id(raw: &str, start: i64) -> i64 {
    allocation_id("c", raw, start * MINUTE)
}

impl Told {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A job of minute 0 that waits.
    pub(super) fn waiting(mut self, raw: &str) -> Self {
        self.jobs.push(job(raw, 0, "PENDING"));
        self
    }

    /// A job that was put back at minute `submit` and waits again.
    pub(super) fn resubmitted(mut self, raw: &str, submit: i64) -> Self {
        self.jobs.push(job(raw, submit, "PENDING"));
        self
    }

    /// A run since minute `start` with `gpus` cards of n1.
    pub(super) fn running(mut self, raw: &str, start: i64, gpus: i64) -> Self {
        self.jobs.push(job(raw, 0, "RUNNING"));
        self.allocations.push(run(raw, start, None, "RUNNING", gpus));
        self.holdings.extend((0..gpus).map(|index| holding(raw, start, Some(index))));
        self
    }

    /// A run from minute `start` to minute `end`, as accounting tells it: its holding by count.
    pub(super) fn ended(mut self, raw: &str, start: i64, end: i64, state: &str) -> Self {
        self.jobs.push(job(raw, 0, state));
        self.allocations.push(run(raw, start, Some(end), state, 1));
        self.holdings.push(holding(raw, start, None));
        self
    }

    pub(super) fn node(mut self, name: &str, state: &str) -> Self {
        self.nodes.push(NodeStateRow {
            cluster: "c".to_owned(),
            node: name.to_owned(),
            from_ms: i64::MAX,
            to_ms: None,
            state: state.to_owned(),
            reason: (state != "up").then(|| "fan".to_owned()),
            source: String::new(),
            as_of_ms: 0,
        });
        self.offers.push(NodeOfferRow {
            cluster: "c".to_owned(),
            node: name.to_owned(),
            resource: "gpu".to_owned(),
            count: 4,
            allocatable: Some(4),
            unit_units: CARD_UNITS,
            model: None,
            queues: None,
            features: None,
            cpus: None,
            mem_bytes: None,
            source: String::new(),
            as_of_ms: 0,
        });
        self
    }

    /// Accounting speaks of everything until this look.
    pub(super) fn accounted(mut self) -> Self {
        self.is_accounted = true;
        self
    }

    pub(super) fn snapshot(self, minute: i64) -> Snapshot {
        let as_of_ms = minute * MINUTE;
        let Self { jobs, allocations, holdings, mut nodes, offers, is_accounted } = self;
        nodes.iter_mut().for_each(|n| n.from_ms = n.from_ms.min(as_of_ms));
        let accounted_ms = is_accounted.then_some(as_of_ms);
        Snapshot {
            as_of_ms,
            complete: true,
            jobs,
            allocations,
            holdings,
            nodes,
            offers,
            accounted_ms,
            ..Snapshot::default()
        }
    }
}

pub(super) fn refusal(id: i64) -> QuarantineRow {
    QuarantineRow {
        refusal_id: id,
        source: "slurm".to_owned(),
        line: None,
        field: None,
        reason: "r".to_owned(),
        raw: String::new(),
        cluster: None,
    }
}

fn job(raw: &str, submit: i64, state: &str) -> JobRow {
    JobRow {
        job_id: job_id("c", raw, submit * MINUTE),
        cluster: "c".to_owned(),
        job_raw: raw.to_owned(),
        submit_ms: submit * MINUTE,
        eligible_ms: None,
        het_leader: None,
        array_job: None,
        array_task: None,
        tasks: 1,
        state: state.to_owned(),
        user: Some("ann".to_owned()),
        account: None,
        queue: None,
        qos: None,
        name: None,
        labels: None,
        workload_kind: None,
        priority: Some(1),
        reservation: None,
        comment: None,
        req_gpu_units: None,
        req_model: None,
        req_mem_bytes: None,
        req_gpu_mem_bytes: None,
        req_cpus: None,
        req_nodes: None,
        time_limit_ms: None,
        source: String::new(),
        as_of_ms: 0,
        pending_reason: None,
        workload_uid: None,
        workload_name: None,
        workload_replicas: None,
        priority_class: None,
        limit_cpus_milli: None,
        limit_mem_bytes: None,
        gone_ms: None,
    }
}

fn run(raw: &str, start: i64, end: Option<i64>, state: &str, gpus: i64) -> AllocationRow {
    AllocationRow {
        allocation_id: run_id(raw, start),
        job_id: job_id("c", raw, 0),
        hint_id: hint_of_job("c", raw),
        cluster: "c".to_owned(),
        job_raw: raw.to_owned(),
        submit_ms: 0,
        start_ms: start * MINUTE,
        end_ms: end.map(|e| e * MINUTE),
        terminal: end.is_some(),
        state: state.to_owned(),
        exit_code: None,
        nodes: Some("n1".to_owned()),
        node_count: Some(1),
        gpu_units: gpus * CARD_UNITS,
        gpu_count: gpus,
        gpu_exact: true,
        model: None,
        cpus: None,
        mem_bytes: None,
        gpu_mem_bytes: None,
        preemptible: None,
        last_checkpoint_ms: None,
        suspended_ms: None,
        sluid: None,
        original_sluid: None,
        source: String::new(),
        as_of_ms: 0,
        end_reason: None,
        last_seen_ms: None,
        image_pull_ms: None,
        image_ready_ms: None,
        container_start_ms: None,
    }
}

fn holding(raw: &str, start: i64, index: Option<i64>) -> AllocationDeviceRow {
    let named = index.map(|i| i.to_string()).unwrap_or_default();
    let evidence = if index.is_some() { "gres" } else { "count" };
    AllocationDeviceRow {
        holding_id: id63("holding", &[raw, &start.to_string(), evidence, &named]),
        allocation_id: run_id(raw, start),
        cluster: "c".to_owned(),
        node: Some("n1".to_owned()),
        device_id: None,
        instance_id: None,
        model: None,
        share_units: CARD_UNITS,
        evidence: evidence.to_owned(),
        gres_index: index,
        index_rule: index.map(|_| "nvml".to_owned()),
        from_ms: None,
        to_ms: None,
        as_of_ms: 0,
    }
}
