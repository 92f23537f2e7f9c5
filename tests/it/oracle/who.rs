//! Who holders are and what units are: the facts by which use is owned, pooled and priced.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::table::{AllocationRow, JobRow};

use super::holding::Run;
use super::stand_in::Place;
use super::tick::Version;
use super::{Facts, Line};

/// A holder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) kind: &'static str,
    pub(crate) cluster: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) labels: Option<String>,
    pub(crate) queue: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) task_type: String,
    pub(crate) preemptible: bool,
    pub(crate) start: i64,
}

/// A card or a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) cluster: String,
    pub(crate) node: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) queue: Option<String>,
    pub(crate) memory: Option<i64>,
    pub(crate) interconnect: Option<String>,
}

/// `*` any run of characters, `?` any one; the whole text must match.
pub(super) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|i| glob(rest, &text[i..])),
        Some((c, rest)) => text.split_first().is_some_and(|(t, more)| (*c == b'?' || c == t) && glob(rest, more)),
    }
}

/// Whether a field of a rule that is absent, or equal, lets a fact pass.
pub(super) fn fits(rule: Option<&String>, fact: Option<&String>) -> bool {
    rule.is_none() || rule == fact
}

pub(super) fn fits_glob(pattern: Option<&String>, fact: Option<&String>) -> bool {
    pattern.is_none_or(|p| fact.is_some_and(|f| glob(p.as_bytes(), f.as_bytes())))
}

pub(super) fn has_label(labels: Option<&String>, label: &str) -> bool {
    labels.is_some_and(|all| all.lines().any(|l| l == label))
}

/// The task type at the start of a run: the first rule whose every given field matches.
pub(super) fn task_type(facts: &Facts, run: &AllocationRow, job: Option<&JobRow>) -> String {
    let Some(j) = job else { return "unknown".to_owned() };
    let matching = facts.rule.iter().filter(|r| {
        r.from_ms <= run.start_ms
            && r.to_ms.is_none_or(|to| run.start_ms < to)
            && fits(r.cluster.as_ref(), Some(&run.cluster))
            && fits(r.queue.as_ref(), j.queue.as_ref())
            && fits(r.qos.as_ref(), j.qos.as_ref())
            && fits(r.account.as_ref(), j.account.as_ref())
            && fits(r.workload_kind.as_ref(), j.workload_kind.as_ref())
            && r.label.as_ref().is_none_or(|l| has_label(j.labels.as_ref(), l))
            && fits_glob(r.name_pattern.as_ref(), j.name.as_ref())
    });
    matching.min_by_key(|r| r.position).map_or("unknown".to_owned(), |r| r.task_type.clone())
}

/// Everybody who stands in a row.
pub(super) fn who(
    facts: &Facts,
    runs: &BTreeMap<i64, Run>,
    versions: &[Version],
    lines: &[Line],
) -> BTreeMap<i64, Who> {
    let mut out = BTreeMap::new();
    for l in lines.iter().filter(|l| l.holder != 0) {
        if out.contains_key(&l.holder) {
            continue;
        }
        let who = match runs.get(&l.holder) {
            Some(run) => Who {
                kind: "scheduler",
                cluster: Some(run.row.cluster.clone()),
                account: run.job.as_ref().and_then(|j| j.account.clone()),
                user: run.job.as_ref().and_then(|j| j.user.clone()),
                labels: run.job.as_ref().and_then(|j| j.labels.clone()),
                queue: run.job.as_ref().and_then(|j| j.queue.clone()),
                model: run.model(),
                task_type: run.task_type.clone(),
                preemptible: run.row.preemptible == Some(true),
                start: run.start,
            },
            None => Who {
                kind: if l.holder < 0 { "foreign" } else { "session" },
                cluster: versions.iter().find(|v| v.device == l.unit).map(|v| v.cluster.clone()),
                user: facts.process_minute.iter().filter(|p| p.hint_id == l.holder).map(|p| p.user.clone()).max(),
                task_type: "unknown".to_owned(),
                start: lines.iter().filter(|o| o.holder == l.holder).map(|o| o.from).min().unwrap_or(0),
                ..Who::default()
            },
        };
        out.insert(l.holder, who);
    }
    out
}

/// The one value that all of them have.
fn only<T: Clone + Ord>(values: BTreeSet<T>) -> Option<T> {
    if values.len() == 1 { values.into_iter().next() } else { None }
}

/// Cards by their newest facts, and places.
pub(super) fn units(versions: &[Version], places: &BTreeMap<i64, (Place, BTreeSet<String>)>) -> BTreeMap<i64, Unit> {
    let mut newest: BTreeMap<i64, &Version> = BTreeMap::new();
    for v in versions {
        newest.insert(v.device, v);
    }
    let mut out = BTreeMap::new();
    for (id, ((cluster, node, model), spare)) in places {
        let there = || newest.values().filter(|v| v.cluster == *cluster && v.node == *node);
        let models: BTreeSet<String> = there().filter_map(|v| v.model.clone()).chain(spare.iter().cloned()).collect();
        let unit = Unit {
            cluster: cluster.clone(),
            node: Some(node.clone()).filter(|n| !n.is_empty()),
            model: Some(model.clone()).filter(|m| !m.is_empty()).or_else(|| only(models)),
            queue: there().filter_map(|v| v.queue.clone()).max(),
            memory: only(there().filter_map(|v| v.memory).collect()),
            interconnect: there().filter_map(|v| v.interconnect.clone()).max(),
        };
        out.insert(*id, unit);
    }
    for (id, v) in newest {
        let unit = Unit {
            cluster: v.cluster.clone(),
            node: Some(v.node.clone()),
            model: v.model.clone(),
            queue: v.queue.clone(),
            memory: v.memory,
            interconnect: v.interconnect.clone(),
        };
        out.insert(id, unit);
    }
    out
}
