//! The life of a pod: waiting, on a node, over. A pod holds its GPUs from its assignment to a node until it is in a
//! terminal phase, whatever its containers do in between; before and after that it holds nothing.

use gpuledger_schema::state::RunState;
use serde_json::Value;

use super::{condition, list, text, time_ms};

/// Why a pod is taken from its node, by the reason of its `DisruptionTarget` condition.
const DISRUPTED: [(&str, RunState); 4] = [
    ("PreemptionByScheduler", RunState::Preempted),
    ("DeletionByTaintManager", RunState::NodeFail),
    ("DeletionByPodGC", RunState::NodeFail),
    ("EvictionByEvictionAPI", RunState::Cancelled),
];
/// Why a pod failed, by the reason in its status.
const FAILED: [(&str, RunState); 7] = [
    ("DeadlineExceeded", RunState::Timeout),
    ("Preempting", RunState::Preempted),
    ("Preempted", RunState::Preempted),
    ("NodeLost", RunState::NodeFail),
    ("NodeShutdown", RunState::NodeFail),
    ("Shutdown", RunState::NodeFail),
    ("Terminated", RunState::NodeFail),
];
/// What the scheduler's message says of nodes that do not fit, as it is shown here: without its changing counts.
const CLASSES: [(&str, &str); 8] = [
    ("untolerated taint", "untolerated taint"),
    ("node affinity", "node affinity or selector"),
    ("were unschedulable", "cordoned nodes"),
    ("Too many pods", "too many pods"),
    ("anti-affinity", "pod affinity"),
    ("topology spread", "topology spread"),
    ("volume", "volume"),
    ("host port", "host port"),
];
/// A pod that is deleted and was not in a terminal phase.
const DELETED: &str = "Deleted";

/// Where a pod stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Its state, in the words of runs.
    pub state: RunState,
    /// When it was assigned to its node; absent where it has none or nothing says when.
    pub start_ms: Option<i64>,
    /// How it ended, where its phase is terminal.
    pub ended: Option<Ended>,
    /// When its first container that holds a GPU started for the first time.
    pub container_start_ms: Option<i64>,
    /// Why it waits: for a node, or on one for its containers.
    pub waits: Option<String>,
    /// Why nobody can tell whether it still runs; it is held all the same.
    pub unsure: Option<String>,
    /// When the last of its containers ended, where all have.
    pub finished_ms: Option<i64>,
    /// Exit code of its containers, where they ended.
    pub exit_code: Option<String>,
    /// What takes it from its node, where something does.
    pub disrupted: Option<String>,
    /// Whether a gate keeps the scheduler from looking at it.
    pub gated: bool,
}

/// The end of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// State.
    pub state: RunState,
    /// When: the last end of its containers, else what its conditions or its kubelet's last word say; absent where nothing
    /// does.
    pub at_ms: Option<i64>,
    /// Why, in Kubernetes' own word.
    pub reason: Option<String>,
    /// Exit code.
    pub exit_code: Option<String>,
}

/// Reads where a pod stands. `holds` are the names of the containers that hold GPUs; none: all are looked at.
pub fn read(object: &Value, holds: &[String]) -> Life {
    let null = Value::Null;
    let get = |key: &str| object.get(key).unwrap_or(&null);
    let (meta, spec, status) = (get("metadata"), get("spec"), get("status"));
    let on_node = text(spec, "nodeName").is_some();
    let scheduled = condition(status, "PodScheduled").filter(|c| text(c, "status") == Some("True"));
    let start_ms = scheduled
        .and_then(|c| time_ms(c, "lastTransitionTime"))
        .or_else(|| time_ms(status, "startTime"))
        .filter(|_| on_node);
    let phase = text(status, "phase").unwrap_or("Pending");
    let reason = text(status, "reason").map(str::to_owned);
    let gated = !list(spec, "schedulingGates").is_empty();
    let ended = match phase {
        "Succeeded" | "Failed" => Some(ended(meta, status, phase, reason.clone())),
        _ => None,
    };
    let unsure = (phase == "Unknown" || reason.as_deref() == Some("NodeLost")).then(|| reason.clone());
    let state = match (&ended, phase) {
        (Some(ended), _) => ended.state,
        (None, "Pending") if !on_node => RunState::Pending,
        (None, "Pending") => RunState::Configuring,
        (None, _) => RunState::Running,
    };
    let waits = match state {
        RunState::Pending => Some(why_pending(status, gated)),
        RunState::Configuring => why_not_started(status),
        _ => None,
    };
    Life {
        state,
        start_ms,
        container_start_ms: first_start(status, holds),
        waits,
        unsure: unsure.filter(|_| ended.is_none()).map(|r| r.unwrap_or_else(|| "Unknown".to_owned())),
        finished_ms: finished(spec, status),
        exit_code: exit_code(status),
        disrupted: disruption(status).map(|(reason, _)| reason.to_owned()),
        gated,
        ended,
    }
}

/// How a pod ended that the API server says is deleted. What its containers or its phase said before counts; else it held
/// until it was seen to be gone.
pub fn deleted(life: &Life, seen_ms: i64) -> Ended {
    if let Some(ended) = &life.ended {
        return Ended { at_ms: ended.at_ms.or(Some(seen_ms)), ..ended.clone() };
    }
    let of = life.disrupted.as_deref().and_then(|r| DISRUPTED.iter().find(|(reason, _)| *reason == r));
    let state = of.map_or(RunState::Cancelled, |(_, state)| *state);
    let reason = life.disrupted.clone().unwrap_or_else(|| DELETED.to_owned());
    let at_ms = Some(life.finished_ms.unwrap_or(seen_ms).min(seen_ms));
    Ended { state, at_ms, reason: Some(reason), exit_code: life.exit_code.clone() }
}

fn statuses(status: &Value) -> impl Iterator<Item = &Value> {
    let of = |key| list(status, key).iter();
    of("initContainerStatuses").chain(of("containerStatuses"))
}

/// What ended of a container, in its present state.
fn terminated(container: &Value) -> Option<&Value> {
    container.get("state")?.get("terminated").filter(|t| t.is_object())
}

fn ended(meta: &Value, status: &Value, phase: &str, reason: Option<String>) -> Ended {
    let exits: Vec<&Value> = statuses(status).filter_map(terminated).collect();
    let said = |t: &Value| text(t, "reason").filter(|r| *r != "Completed").map(str::to_owned);
    let out_of_memory = exits.iter().any(|t| text(t, "reason") == Some("OOMKilled"));
    let by_reason = reason.as_deref().and_then(|r| FAILED.iter().find(|(word, _)| *word == r));
    let by_condition = disruption(status);
    let (state, reason) = match phase {
        "Succeeded" => (RunState::Completed, None),
        _ if out_of_memory => (RunState::OutOfMemory, Some("OOMKilled".to_owned())),
        _ => match (by_condition, by_reason) {
            (Some((word, state)), _) => (state, reason.or_else(|| Some(word.to_owned()))),
            (None, Some((_, state))) => (*state, reason),
            (None, None) => (RunState::Failed, reason.or_else(|| exits.iter().find_map(|t| said(t)))),
        },
    };
    let by_containers = exits.iter().filter_map(|t| time_ms(t, "finishedAt")).max();
    let at_ms = by_containers.or_else(|| by_conditions(status)).or_else(|| last_word(meta));
    Ended { state, at_ms, reason, exit_code: exit_code(status) }
}

/// What takes the pod from its node, and what that makes of it.
fn disruption(status: &Value) -> Option<(&str, RunState)> {
    let by = condition(status, "DisruptionTarget").filter(|c| text(c, "status") == Some("True"))?;
    let reason = text(by, "reason")?;
    let state = DISRUPTED.iter().find(|(word, _)| *word == reason).map_or(RunState::Failed, |(_, state)| *state);
    Some((reason, state))
}

/// When conditions say that it ended: they change with the phase.
fn by_conditions(status: &Value) -> Option<i64> {
    let over = |c: &&Value| matches!(text(c, "reason"), Some("PodFailed" | "PodCompleted"));
    let ready = condition(status, "Ready").filter(over).and_then(|c| time_ms(c, "lastTransitionTime"));
    let target = condition(status, "DisruptionTarget").filter(|c| text(c, "status") == Some("True"));
    ready.or_else(|| target.and_then(|c| time_ms(c, "lastTransitionTime")))
}

/// When the kubelet last wrote the pod's status: of a pod in a terminal phase that is when it said so.
fn last_word(meta: &Value) -> Option<i64> {
    let of_status = |f: &&Value| text(f, "manager") == Some("kubelet") && text(f, "subresource") == Some("status");
    list(meta, "managedFields").iter().filter(of_status).filter_map(|f| time_ms(f, "time")).max()
}

/// The end of its last container, where all of them have ended.
fn finished(spec: &Value, status: &Value) -> Option<i64> {
    let states = list(status, "containerStatuses");
    let ends: Option<Vec<i64>> = states.iter().map(|c| time_ms(terminated(c)?, "finishedAt")).collect();
    let all = list(spec, "containers").len();
    ends.filter(|e| e.len() == all).and_then(|e| e.into_iter().max())
}

/// The first exit code that is not 0, else 0; with a signal behind it where one ended the container.
fn exit_code(status: &Value) -> Option<String> {
    let number = |t: &Value, key: &str| t.get(key).and_then(Value::as_i64);
    let codes: Vec<(i64, i64)> = list(status, "containerStatuses")
        .iter()
        .filter_map(terminated)
        .filter_map(|t| Some((number(t, "exitCode")?, number(t, "signal").unwrap_or(0))))
        .collect();
    let (code, signal) = codes.iter().find(|c| c.0 != 0).or(codes.first())?;
    Some(if *signal == 0 { code.to_string() } else { format!("{code}:{signal}") })
}

/// The first start of the containers that hold GPUs. A container that was started more than twice no longer tells of its
/// first start: then the pod's is unknown.
fn first_start(status: &Value, holds: &[String]) -> Option<i64> {
    let mut first = None;
    for container in statuses(status) {
        let name = text(container, "name").unwrap_or_default();
        if !holds.is_empty() && !holds.iter().any(|h| h == name) {
            continue;
        }
        let at = |state: &str, kind: &str| time_ms(container.get(state)?.get(kind)?, "startedAt");
        let now = || at("state", "running").or_else(|| at("state", "terminated"));
        let before = || at("lastState", "terminated");
        let started = match container.get("restartCount").and_then(Value::as_i64).unwrap_or(0) {
            0 => now(),
            1 => before(),
            _ => return None,
        };
        first = [first, started].into_iter().flatten().min();
    }
    first
}

/// Why no node was found: the kind of message, without the counts that change every few seconds.
fn why_pending(status: &Value, gated: bool) -> String {
    let scheduled = condition(status, "PodScheduled");
    let reason = scheduled.and_then(|c| text(c, "reason"));
    if gated || reason == Some("SchedulingGated") {
        return "SchedulingGated".to_owned();
    }
    let (Some(reason), Some(condition)) = (reason, scheduled) else { return "Pending".to_owned() };
    let message = text(condition, "message").unwrap_or_default();
    let message = message.split("preemption:").next().unwrap_or_default();
    let mut classes: Vec<String> = message
        .match_indices("Insufficient ")
        .map(|(at, word)| {
            let name = message[at + word.len()..].split([',', ' ']).next().unwrap_or_default();
            format!("insufficient {}", name.trim_end_matches('.'))
        })
        .collect();
    classes.extend(CLASSES.iter().filter(|(word, _)| message.contains(word)).map(|(_, class)| (*class).to_owned()));
    classes.sort();
    classes.dedup();
    if classes.is_empty() { reason.to_owned() } else { format!("{reason}: {}", classes.join(", ")) }
}

/// Why its containers do not run yet, in the kubelet's word.
fn why_not_started(status: &Value) -> Option<String> {
    let waiting = |c: &Value| text(c.get("state")?.get("waiting")?, "reason").map(str::to_owned);
    statuses(status).filter_map(waiting).find(|r| r != "PodInitializing")
}

#[cfg(test)]
mod tests;
