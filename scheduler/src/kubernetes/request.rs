//! What the containers of a pod ask for together, counted as Kubernetes counts: those that run side by side add up,
//! those that run before them one after the other need their greatest.

use std::collections::BTreeMap;

use serde_json::Value;

use super::quantity::{fraction, milli, whole};
use super::resource::{Fraction, Meaning, Resources};
use super::{list, text};

/// Most of one resource that a pod can ask for.
const COUNT_MAX: i64 = 1_000_000;

/// How much of each card is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nothing says that less is meant.
    Whole,
    /// This part of its cores (or of the whole).
    Part {
        /// Numerator.
        num: i64,
        /// Denominator.
        den: i64,
    },
    /// So much of its memory; what part that is depends on the card.
    MemoryMib(i64),
}

/// Some cards, instances or copies that are asked for alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The resource, or the annotation that grants it.
    pub resource: String,
    /// What it means.
    pub meaning: Meaning,
    /// How many.
    pub count: i64,
    /// How much of each.
    pub cut: Cut,
    /// GPU memory of each in MiB, where it is said.
    pub memory_mib: Option<i64>,
}

/// What a pod asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// GPUs; empty where it asks for none.
    pub gpus: Vec<Part>,
    /// Names of the containers that ask for GPUs (none where an annotation grants them to the pod).
    pub gpu_containers: Vec<String>,
    /// CPUs asked for, in thousandths.
    pub cpus_milli: Option<i64>,
    /// Host memory asked for.
    pub mem_bytes: Option<i64>,
    /// CPU limit in thousandths; absent where some container has none.
    pub limit_cpus_milli: Option<i64>,
    /// Memory limit; absent where some container has none.
    pub limit_mem_bytes: Option<i64>,
}

/// Reads what a pod asks for. `said` are its annotations and labels.
pub fn read(spec: &Value, said: &BTreeMap<&str, &str>, resources: &Resources) -> Request {
    let running: Vec<&Value> = list(spec, "containers").iter().chain(sidecars(spec)).collect();
    let mut out = Request::default();
    for container in &running {
        let parts = gpus(container, resources);
        out.gpu_containers.extend(text(container, "name").filter(|_| !parts.is_empty()).map(str::to_owned));
        out.gpus.extend(parts);
    }
    before(spec, &mut out, resources);
    if out.gpus.is_empty() {
        out.gpus.extend(resources.fractions.iter().find_map(|f| granted(f, said)));
    }
    out.cpus_milli = sum(spec, &running, "requests", "cpu", milli);
    out.mem_bytes = sum(spec, &running, "requests", "memory", whole);
    out.limit_cpus_milli = sum(spec, &running, "limits", "cpu", milli);
    out.limit_mem_bytes = sum(spec, &running, "limits", "memory", whole);
    out
}

/// Init containers that go on running beside the others.
fn sidecars(spec: &Value) -> impl Iterator<Item = &Value> {
    list(spec, "initContainers").iter().filter(|c| is_sidecar(c))
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == Some("Always")
}

/// Init containers that end before the others start: where one needs more of a resource than all that run later, it is
/// what the pod asks for. Sidecars that were started before it run beside it.
fn before(spec: &Value, out: &mut Request, resources: &Resources) {
    let mut beside: Vec<Part> = Vec::new();
    for container in list(spec, "initContainers") {
        let parts = gpus(container, resources);
        if is_sidecar(container) {
            beside.extend(parts);
            continue;
        }
        if !parts.is_empty()
            && let Some(name) = text(container, "name")
        {
            out.gpu_containers.push(name.to_owned());
        }
        let together: Vec<Part> = beside.iter().cloned().chain(parts).collect();
        let count =
            |parts: &[Part], name: &str| -> i64 { parts.iter().filter(|p| p.resource == name).map(|p| p.count).sum() };
        let names: Vec<String> = together.iter().map(|p| p.resource.clone()).collect();
        for name in names {
            if count(&together, &name) > count(&out.gpus, &name) {
                out.gpus.retain(|p| p.resource != name);
                out.gpus.extend(together.iter().filter(|p| p.resource == name).cloned());
            }
        }
    }
}

/// GPUs of one container: what it counts, cut by what it says of each.
fn gpus(container: &Value, resources: &Resources) -> Vec<Part> {
    let mut things = Vec::new();
    let (mut cores, mut memory, mut mib) = (None, None, None);
    let mut cut_by = None;
    for (name, amount) in amounts(container) {
        let (Some(meaning), Some(count)) = (resources.meaning(name), whole(amount)) else { continue };
        let count = count.min(COUNT_MAX);
        match meaning {
            _ if count == 0 => continue,
            Meaning::CoresPercent => (cores, cut_by) = (Some(count), Some(name)),
            Meaning::MemoryPercent => (memory, cut_by) = (Some(count), cut_by.or(Some(name))),
            Meaning::MemoryMib => (mib, cut_by) = (Some(count), cut_by.or(Some(name))),
            thing => things.push((name, thing, count)),
        }
    }
    let percent = |p: i64| Cut::Part { num: p.min(100), den: 100 };
    let cut = cores.or(memory).map(percent).or(mib.map(Cut::MemoryMib)).unwrap_or(Cut::Whole);
    if let (true, Some(name)) = (things.is_empty(), cut_by) {
        // a fraction without a count is of one card
        things.push((name, Meaning::Card, 1));
    }
    let part = |(name, meaning, count): (&str, Meaning, i64)| {
        let is_card = meaning == Meaning::Card;
        let cut = if is_card { cut } else { Cut::Whole };
        let memory_mib = mib.filter(|_| is_card);
        Part { resource: name.to_owned(), meaning, count, cut, memory_mib }
    };
    things.into_iter().map(part).collect()
}

/// What a container requests of each resource; a limit alone is also a request.
fn amounts(container: &Value) -> BTreeMap<&str, &Value> {
    let mut out = BTreeMap::new();
    for kind in ["limits", "requests"] {
        let map = container.get("resources").and_then(|r| r.get(kind)).and_then(Value::as_object);
        out.extend(map.into_iter().flatten().map(|(name, amount)| (name.as_str(), amount)));
    }
    out
}

fn granted<'a>(by: &'a Fraction, said: &BTreeMap<&str, &'a str>) -> Option<Part> {
    fn value<'a>(key: &'a Option<String>, said: &BTreeMap<&str, &'a str>) -> Option<(&'a str, &'a str)> {
        let key = key.as_deref()?;
        Some((key, *said.get(key)?))
    }
    let value = |key| value(key, said);
    let devices = value(&by.devices).and_then(|(_, v)| v.parse::<i64>().ok());
    let count = devices.unwrap_or(1).clamp(0, COUNT_MAX);
    let share = value(&by.share).and_then(|(key, v)| Some((key, fraction(v)?)));
    let memory = value(&by.memory_mib).and_then(|(key, v)| Some((key, v.parse::<i64>().ok()?)));
    let (key, cut) = match (share, memory) {
        (Some((key, (num, den))), _) => (key, Cut::Part { num, den }),
        (None, Some((key, mib))) => (key, Cut::MemoryMib(mib)),
        (None, None) => return None,
    };
    let empty = count == 0 || matches!(cut, Cut::Part { num: 0, .. } | Cut::MemoryMib(..=0));
    let memory_mib = memory.map(|(_, mib)| mib);
    (!empty).then(|| Part { resource: key.to_owned(), meaning: Meaning::Card, count, cut, memory_mib })
}

/// CPU or memory of the whole pod: what stands at the pod, else the sum over containers that run side by side, else the
/// greatest of those that run before. Absent where nothing says it, or for a limit where some container has none.
fn sum(spec: &Value, running: &[&Value], kind: &str, name: &str, read: fn(&Value) -> Option<i64>) -> Option<i64> {
    let of = |holder: &Value| holder.get("resources")?.get(kind)?.get(name).and_then(read);
    let asked = |holder: &Value| match kind {
        // a limit alone is also a request
        "requests" => of(holder).or_else(|| holder.get("resources")?.get("limits")?.get(name).and_then(read)),
        _ => of(holder),
    };
    if let Some(whole_pod) = of(spec) {
        return Some(whole_pod);
    }
    let each: Vec<Option<i64>> = running.iter().map(|c| asked(c)).collect();
    if kind == "limits" && each.iter().any(Option::is_none) {
        return None;
    }
    let total = each.iter().flatten().try_fold(0_i64, |a, b| a.checked_add(*b))?;
    let first = list(spec, "initContainers").iter().filter(|c| !is_sidecar(c)).filter_map(asked).max();
    (each.iter().any(Option::is_some) || first.is_some()).then(|| total.max(first.unwrap_or(0)))
}

#[cfg(test)]
mod tests;
