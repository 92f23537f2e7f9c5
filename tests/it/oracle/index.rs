//! The device behind an index that Slurm gives, counted by hand at the instant at which the node was first seen in the run.

use gpuledger_schema::table::AllocationDeviceRow;

use super::Facts;
use super::tick::Version;

/// Whole cards of a node at an instant, in the order of a rule; none where the order is not certain.
fn in_order<'a>(at: &[&'a Version], rule: &str) -> Option<Vec<&'a Version>> {
    let key = |v: &Version| match rule {
        "minor" => v.minor.map(|m| format!("{m:09}")),
        "nvml" => v.pci.as_ref().map(|p| p.to_uppercase()),
        _ => None,
    };
    let mut keyed: Vec<(String, &Version)> = Vec::new();
    for v in at {
        let key = key(v)?;
        if keyed.iter().any(|(other, _)| *other == key) {
            return None;
        }
        keyed.push((key, v));
    }
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    Some(keyed.into_iter().map(|(_, v)| v).collect())
}

/// The device of a holding of `[from, to)` that has an index.
pub(super) fn device(facts: &Facts, versions: &[Version], h: &AllocationDeviceRow, from: i64, to: i64) -> Option<i64> {
    let (node, index, rule) = (h.node.as_ref()?, h.gres_index?, h.index_rule.as_deref()?);
    let here = || versions.iter().filter(|v| v.cluster == h.cluster && v.node == *node);
    let first = here().filter(|v| v.from < to && v.to > from).map(|v| v.from.max(from)).min()?;
    let cut = facts.device.iter().any(|d| {
        d.parent_id.is_some()
            && d.cluster == h.cluster
            && d.node == *node
            && d.first_seen_ms <= first
            && d.retired_ms.is_none_or(|retired| retired > first)
    });
    if cut {
        return None;
    }
    let cards: Vec<&Version> = here().filter(|v| v.from <= first && first < v.to).collect();
    in_order(&cards, rule)?.get(usize::try_from(index).ok()?).map(|v| v.device)
}
