//! From what is known of pods and nodes to rows. Pure.
//!
//! A pod's run begins with its assignment to a node and ends with its terminal phase. What it holds is a count of GPUs on
//! that node: which cards they are, the node's own collector says (`device_claim`).

use gpuledger_scheduler::kubernetes::node::{Node, Offer};
use gpuledger_scheduler::kubernetes::request::Part;
use gpuledger_scheduler::kubernetes::resource::Meaning;
use gpuledger_scheduler::kubernetes::share::{Units, of_one, of_part, of_parts};
use gpuledger_schema::id::{allocation_id, hint_of_job, id63, job_id};
use gpuledger_schema::state::{Evidence, NodeState, RunState};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobRow, NodeOfferRow, NodeStateRow};
use gpuledger_schema::unit::share_units;

use super::owners::Workload;
use super::store::{Images, Known};

/// What says of a pod on a node that does not answer that nobody can tell how it is.
const NODE_LOST: &str = "NodeLost";

/// A pod with everything that is known around it.
pub(super) struct Seen<'a> {
    pub(super) cluster: &'a str,
    pub(super) known: &'a Known,
    pub(super) node: Option<&'a Node>,
    pub(super) namespace_labels: Option<&'a [(String, String)]>,
    pub(super) images: Option<&'a Images>,
    pub(super) workload: Option<Workload>,
}

impl Seen<'_> {
    /// State in the words of runs.
    fn state(&self) -> RunState {
        self.known.ended.as_ref().map_or(self.known.pod.life.state, |e| e.state)
    }

    fn job_id(&self) -> i64 {
        job_id(self.cluster, &self.known.pod.raw, self.known.pod.created_ms)
    }

    /// Key of its run, where it was ever assigned to a node.
    pub(super) fn allocation_id(&self) -> Option<i64> {
        let start_ms = self.known.start_ms.filter(|_| self.known.pod.node.is_some())?;
        Some(allocation_id(self.cluster, &self.known.pod.raw, start_ms))
    }

    /// The request.
    pub(super) fn job(&self) -> JobRow {
        let pod = &self.known.pod;
        let parts = &pod.request.gpus;
        let workload = self.workload.as_ref();
        JobRow {
            job_id: self.job_id(),
            cluster: self.cluster.to_owned(),
            job_raw: pod.raw.clone(),
            submit_ms: pod.created_ms,
            eligible_ms: self.known.eligible_ms,
            het_leader: None,
            array_job: None,
            array_task: None,
            tasks: 1,
            state: self.state().as_str().to_owned(),
            user: pod.user.clone(),
            account: Some(pod.namespace.clone()).filter(|n| !n.is_empty()),
            queue: pod.queue.clone(),
            qos: None,
            name: Some(pod.name.clone()),
            labels: self.labels(),
            workload_kind: workload.map(|w| w.kind.clone()),
            priority: pod.priority,
            reservation: None,
            comment: None,
            req_gpu_units: sum_of(parts, self.node),
            req_model: pod.model.clone(),
            req_mem_bytes: pod.request.mem_bytes,
            req_gpu_mem_bytes: gpu_memory(parts),
            req_cpus: whole_cpus(pod.request.cpus_milli),
            req_nodes: Some(1),
            time_limit_ms: pod.deadline_ms,
            source: String::new(),
            as_of_ms: 0,
            pending_reason: pod.life.waits.clone().filter(|_| self.known.ended.is_none()),
            workload_uid: workload.map(|w| w.uid.clone()),
            workload_name: workload.map(|w| w.name.clone()),
            workload_replicas: workload.and_then(|w| w.replicas),
            priority_class: pod.priority_class.clone(),
            limit_cpus_milli: pod.request.limit_cpus_milli,
            limit_mem_bytes: pod.request.limit_mem_bytes,
            gone_ms: None,
        }
    }

    /// The pod's labels, and those of its namespace that it has not itself.
    fn labels(&self) -> Option<String> {
        let own = &self.known.pod.labels;
        let mut all: Vec<&(String, String)> = own.iter().collect();
        let inherited = self.namespace_labels.into_iter().flatten();
        all.extend(inherited.filter(|(key, _)| own.iter().all(|(k, _)| k != key)));
        all.sort();
        let lines: Vec<String> = all.iter().map(|(k, v)| format!("{k}={v}")).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The run, where it was ever assigned to a node.
    pub(super) fn allocation(&self) -> Option<AllocationRow> {
        let (known, pod) = (self.known, &self.known.pod);
        let (allocation_id, start_ms) = (self.allocation_id()?, known.start_ms?);
        let parts = &pod.request.gpus;
        let Units { units, exact } = of_parts(parts, self.node)?;
        let ended = known.ended.as_ref();
        // clocks of nodes and of the API server differ a little
        let end_ms = ended.and_then(|e| e.at_ms).map(|end| end.max(start_ms));
        let (pull_ms, ready_ms) = self.image_times();
        Some(AllocationRow {
            allocation_id,
            job_id: self.job_id(),
            hint_id: hint_of_job(self.cluster, &pod.raw),
            cluster: self.cluster.to_owned(),
            job_raw: pod.raw.clone(),
            submit_ms: pod.created_ms,
            start_ms,
            end_ms,
            terminal: end_ms.is_some(),
            state: self.state().as_str().to_owned(),
            exit_code: ended.and_then(|e| e.exit_code.clone()),
            nodes: pod.node.clone(),
            node_count: Some(1),
            gpu_units: units,
            gpu_count: parts.iter().map(|p| p.count).sum(),
            gpu_exact: exact,
            model: self.node.and_then(|n| n.model.clone()),
            cpus: whole_cpus(pod.request.cpus_milli),
            mem_bytes: pod.request.mem_bytes,
            gpu_mem_bytes: gpu_memory(parts),
            preemptible: None,
            last_checkpoint_ms: None,
            suspended_ms: None,
            sluid: None,
            original_sluid: None,
            source: String::new(),
            as_of_ms: 0,
            end_reason: self.end_reason(),
            last_seen_ms: None,
            image_pull_ms: pull_ms,
            image_ready_ms: ready_ms,
            container_start_ms: known.container_start_ms,
        })
    }

    /// Why it ended; of one that is held still, why nobody can tell whether it runs.
    fn end_reason(&self) -> Option<String> {
        match &self.known.ended {
            Some(ended) => ended.reason.clone(),
            None => {
                let lost = self.node.is_some_and(|n| n.state == NodeState::Down);
                self.known.pod.life.unsure.clone().or_else(|| lost.then(|| NODE_LOST.to_owned()))
            }
        }
    }

    /// When images began to be pulled, and when they were there: the last that was there before the container started. What
    /// is pulled for a container that starts again is no part of the first start.
    fn image_times(&self) -> (Option<i64>, Option<i64>) {
        let Some(images) = self.images else { return (None, None) };
        let started_ms = self.known.container_start_ms.unwrap_or(i64::MAX);
        // events are stamped to the second
        let before = |at: &i64| *at <= started_ms.saturating_add(999);
        let ready_ms = images.pulled_ms.iter().copied().filter(before).max();
        (images.pulling_ms.filter(|at| before(at)), ready_ms)
    }

    /// What it holds: so much of the node's GPUs.
    pub(super) fn holding(&self, run: &AllocationRow) -> Option<AllocationDeviceRow> {
        let evidence = Evidence::Count.as_str();
        let node = run.nodes.clone()?;
        let parts = [&run.allocation_id.to_string(), node.as_str(), evidence, ""];
        Some(AllocationDeviceRow {
            holding_id: id63("holding", &parts),
            allocation_id: run.allocation_id,
            cluster: run.cluster.clone(),
            node: Some(node),
            device_id: None,
            instance_id: None,
            model: run.model.clone(),
            share_units: run.gpu_units,
            evidence: evidence.to_owned(),
            gres_index: None,
            index_rule: None,
            from_ms: None,
            to_ms: None,
            as_of_ms: 0,
        })
    }
}

/// The share of all parts, where each is known.
fn sum_of(parts: &[Part], node: Option<&Node>) -> Option<i64> {
    let each: Option<Vec<i64>> = parts.iter().map(|p| of_part(p, node).map(|u| u.units)).collect();
    each?.into_iter().try_fold(0_i64, i64::checked_add)
}

/// GPU memory asked for, where every part says it.
fn gpu_memory(parts: &[Part]) -> Option<i64> {
    let each: Option<Vec<i64>> =
        parts.iter().map(|p| p.memory_mib?.checked_mul(p.count)?.checked_mul(1 << 20)).collect();
    each.filter(|e| !e.is_empty())?.into_iter().try_fold(0_i64, i64::checked_add)
}

/// CPUs, rounded up to whole ones: the column counts them.
fn whole_cpus(milli: Option<i64>) -> Option<i64> {
    milli.map(|m| m / 1_000 + i64::from(m % 1_000 != 0))
}

/// A node in its state now.
pub(super) fn node_state(cluster: &str, node: &Node, as_of_ms: i64) -> NodeStateRow {
    NodeStateRow {
        cluster: cluster.to_owned(),
        node: node.name.clone(),
        from_ms: as_of_ms,
        to_ms: None,
        state: node.state.as_str().to_owned(),
        reason: node.reason.clone(),
        source: String::new(),
        as_of_ms,
    }
}

/// What a node offers, a row a resource. A resource of which nobody says what part of a card it is has no row: its share
/// cannot be written.
pub(super) fn offers<'a>(
    cluster: &'a str,
    node: &'a Node,
    meaning: impl Fn(&str) -> Option<Meaning> + 'a,
) -> impl Iterator<Item = NodeOfferRow> + 'a {
    node.offers.iter().filter_map(move |offer| {
        let unit_units = unit(node, offer, &meaning(&offer.resource)?)?;
        Some(NodeOfferRow {
            cluster: cluster.to_owned(),
            node: node.name.clone(),
            resource: offer.resource.clone(),
            count: offer.count,
            allocatable: offer.allocatable,
            unit_units,
            model: node.model.clone(),
            queues: None,
            features: (!node.features.is_empty()).then(|| node.features.join("\n")),
            cpus: node.cpus,
            mem_bytes: node.mem_bytes,
            source: String::new(),
            as_of_ms: 0,
        })
    })
}

/// What one of a resource stands for. Where a plugin offers more units of a card's name than there are cards, and nothing
/// says as how many copies each is shared, they are equal parts of the cards.
fn unit(node: &Node, offer: &Offer, meaning: &Meaning) -> Option<i64> {
    let (num, den, _) = of_one(meaning, &offer.resource, Some(node))?;
    let whole_card = (num, den) == (1, 1) && *meaning == Meaning::Card;
    let split = node.cards.filter(|cards| whole_card && offer.count > *cards && offer.count % cards == 0);
    let (num, den) = split.map_or((num, den), |cards| (1, offer.count / cards));
    share_units(num, den).map(|(units, _)| units)
}

#[cfg(test)]
mod tests;
