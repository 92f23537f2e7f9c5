//! What could be had back when capacity is wanted: the work that is missed least comes first, and each line says what it would
//! lose. It is a list for people; only an approved order makes cases of it.

use gpuledger_schema::reclaim::{Allocation, Case, CaseEvent, Class, EventKind, Snapshot};
use gpuledger_schema::unit::CARD_UNITS;
use serde::{Deserialize, Serialize};

use crate::policy::{Book, Exemption};
use crate::port::{Store, StoreError};

/// Something that could be had back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The allocation.
    pub allocation_id: i64,
    /// What people call it.
    pub shown: String,
    /// Whose.
    pub user: String,
    /// Team.
    pub team: String,
    /// What it holds, in share units.
    pub gpu_units: i64,
    /// Scheduler's priority.
    pub priority: Option<i64>,
    /// Whether above its team's quota.
    pub borrowed: bool,
    /// Whether it may be preempted.
    pub preemptible: bool,
    /// Last known checkpoint, epoch ms.
    pub checkpoint_ms: Option<i64>,
    /// Work since its checkpoint, else since its start, in GPU-ms: what freeing it would lose.
    pub lost_gpu_ms: i64,
}

/// The answer to "free so many GPUs of that pool".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recoverable {
    /// Pool.
    pub pool: String,
    /// What is wanted, in share units.
    pub wanted_units: i64,
    /// What would be taken, in order, until it is enough.
    pub take: Vec<Candidate>,
    /// Whether that is enough.
    pub is_enough: bool,
    /// What is not offered, and why.
    pub spared: Vec<(String, String)>,
}

/// What could be had back of a pool.
pub fn recoverable(snapshot: &Snapshot, book: &Book, gpus: i64, pool: &str, now_ms: i64) -> Recoverable {
    let wanted_units = gpus.saturating_mul(CARD_UNITS);
    let mut spared = Vec::new();
    let mut offered: Vec<Candidate> = Vec::new();
    for a in snapshot.allocations.iter().filter(|a| a.work.pool == pool && a.gpu_units > 0) {
        let lists = book.exemptions.iter().chain(&book.protected);
        let by_policy = lists.filter(|e| e.until_ms.is_none_or(|u| now_ms < u)).find(|e| speaks_of(e, a));
        if let Some(e) = by_policy {
            spared.push((a.identity.shown(), e.reason.clone()));
        } else if a.identity.cluster().is_none() {
            spared.push((a.identity.shown(), "a bare host: nobody can be asked".to_owned()));
        } else {
            offered.push(candidate(a, now_ms));
        }
    }
    // low priority, borrowed, preemptible, checkpointed; then what loses least, so that long work comes last
    offered.sort_by_key(|c| {
        let first = (c.priority.unwrap_or(i64::MAX), !c.borrowed, !c.preemptible, c.checkpoint_ms.is_none());
        (first, c.lost_gpu_ms, c.allocation_id)
    });
    let mut have = 0;
    let take: Vec<Candidate> = offered
        .into_iter()
        .take_while(|c| {
            let more = have < wanted_units;
            have += if more { c.gpu_units } else { 0 };
            more
        })
        .collect();
    Recoverable { pool: pool.to_owned(), wanted_units, is_enough: have >= wanted_units, take, spared }
}

fn speaks_of(e: &Exemption, a: &Allocation) -> bool {
    let s = &e.scope;
    let is = |wanted: &Option<String>, have: Option<&str>| wanted.as_deref().is_none_or(|w| have == Some(w));
    is(&s.team, Some(&a.owner.team))
        && is(&s.user, Some(&a.owner.user))
        && is(&s.queue, a.work.queue.as_deref())
        && is(&s.qos, a.work.qos.as_deref())
        && is(&s.pool, Some(&a.work.pool))
        && is(&s.task_type, Some(&a.work.task_type))
        && is(&s.cluster, a.identity.cluster())
        && s.job.is_none()
        && s.node.as_ref().is_none_or(|n| a.nodes.contains(n))
}

fn candidate(a: &Allocation, now_ms: i64) -> Candidate {
    let since = a.work.checkpoint_ms.unwrap_or(a.identity.start_ms()).max(a.identity.start_ms());
    let lost = i128::from((now_ms - since).max(0)) * i128::from(a.gpu_units) / i128::from(CARD_UNITS);
    Candidate {
        allocation_id: a.allocation_id,
        shown: a.identity.shown(),
        user: a.owner.user.clone(),
        team: a.owner.team.clone(),
        gpu_units: a.gpu_units,
        priority: a.work.priority,
        borrowed: a.work.borrowed,
        preemptible: a.work.preemptible == Some(true),
        checkpoint_ms: a.work.checkpoint_ms,
        lost_gpu_ms: i64::try_from(lost).unwrap_or(i64::MAX),
    }
}

/// Makes cases of an approved order. They are warned like all others, on the windows of class `capacity`, and nothing is done
/// before both warnings were delivered. What has a case already is passed over.
///
/// # Errors
/// Where another server leads, or the store failed.
pub fn order<S: Store>(
    store: &mut S,
    fence: i64,
    snapshot: &Snapshot,
    book: &Book,
    wanted: &Recoverable,
    approved_by: &str,
    now_ms: i64,
) -> Result<Vec<i64>, StoreError> {
    let mut opened = Vec::new();
    let open = store.open_cases()?;
    for candidate in &wanted.take {
        let found = snapshot.allocations.iter().find(|a| a.allocation_id == candidate.allocation_id);
        let has_case = open.iter().any(|c| c.allocation_id == candidate.allocation_id);
        let Some(a) = found.filter(|_| !has_case) else { continue };
        let Some(policy) = a.judgement.policy.as_ref().and_then(|p| book.named(p, now_ms)) else { continue };
        let facts = serde_json::to_string(a).map_err(|e| StoreError::Failed(e.to_string()))?;
        let event = CaseEvent {
            deadline_ms: Some(now_ms + policy.settings.capacity.due_ms),
            reason: Some(format!("capacity of {} is wanted back", wanted.pool)),
            ..CaseEvent::of(now_ms, approved_by, EventKind::Opened)
        };
        let case = Case::opened(a.allocation_id, Class::Capacity, &policy.name, facts, &event);
        store.open(fence, &case, &event)?;
        let approved = CaseEvent::of(now_ms, approved_by, EventKind::Approved);
        store.move_case(None, &case, &approved)?;
        opened.push(case.case_id);
    }
    Ok(opened)
}
