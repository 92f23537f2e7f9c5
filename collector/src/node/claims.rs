//! Who was given which device, whether or not a process of theirs ever ran: what the node's records say (the kubelet's, or
//! Slurm's), as rows of `device_claim`. Pure but for [`memory`], which outlives the process.
//!
//! A claim is a holder on a device. Several containers of a pod on one card are one claim with the sum of their parts. A row
//! is written when a claim is first seen, again when a look no longer shows it, and every six hours and after every start
//! in between, so that a segment that was lost is made good. A record that could not be read closes nothing. A part that
//! nobody tells is no claim, and the reason is said.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::id::{device_id, id63};
use gpuledger_schema::table::{DeviceClaimRow, ReadingRow};
use serde::{Deserialize, Serialize};

use super::tick::NodeFacts;

mod given;
pub mod memory;

pub use given::{Given, Looked};

/// A claim that lasts is written again after so long.
const AGAIN_MS: i64 = 6 * 3_600_000;
/// Most reasons that a look names.
const REASONS_MAX: usize = 20;

/// A claim: a holder on a device, by a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Key {
    card: String,
    instance: Option<String>,
    hint_id: i64,
    evidence: String,
}

/// A claim that lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    hint: String,
    share_units: i64,
    containers: BTreeSet<String>,
    resources: BTreeSet<String>,
    from_ms: i64,
    /// When it was last written; none: not by this process.
    #[serde(skip)]
    written_ms: Option<i64>,
}

/// The claims of a node, from look to look.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(with = "as_list")]
    open: BTreeMap<Key, Open>,
    /// Rows that closed claims in the last look: written again after a start, since the last tick of a process may be lost.
    closed: Vec<DeviceClaimRow>,
    /// As-of of the last look of each record: the same one says nothing new.
    #[serde(skip)]
    looked_ms: BTreeMap<String, i64>,
    #[serde(skip)]
    said: BTreeSet<String>,
    #[serde(skip)]
    has_started: bool,
}

/// Rows of a look at the records.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ClaimRows {
    /// Claims that are new, gone, or due to be written again.
    pub claims: Vec<DeviceClaimRow>,
    /// A failed look, where something new cannot be made a claim of.
    pub reading: Option<ReadingRow>,
    /// Whether the memory changed and is to be stored.
    pub changed: bool,
}

impl Claims {
    /// What a look adds.
    pub fn take(&mut self, node: &NodeFacts, looked: &Looked) -> ClaimRows {
        let mut out = ClaimRows::default();
        if !self.has_started {
            self.has_started = true;
            out.claims.append(&mut self.closed.clone());
        }
        for (evidence, at_ms) in &looked.read {
            if self.looked_ms.get(*evidence).is_some_and(|before| before == at_ms) {
                continue;
            }
            self.looked_ms.insert((*evidence).to_owned(), *at_ms);
            self.look(node, evidence, *at_ms, looked, &mut out);
        }
        out.reading = self.reading(node, looked);
        out
    }

    fn look(&mut self, node: &NodeFacts, evidence: &str, at_ms: i64, looked: &Looked, out: &mut ClaimRows) {
        let now = together(looked.given.iter().filter(|g| g.evidence == evidence), at_ms);
        let of_record = |key: &Key| key.evidence == evidence;
        let gone: Vec<Key> = self
            .open
            .iter()
            .filter(|(key, open)| of_record(key) && now.get(*key).is_none_or(|n| !n.same_as(open)))
            .filter(|(key, _)| now.contains_key(*key) || !looked.is_unclear(key.hint_id, &key.card, &key.evidence))
            .map(|(key, _)| key.clone())
            .collect();
        if !gone.is_empty() {
            self.closed.retain(|row| row.evidence != evidence);
        }
        for key in gone {
            let Some(open) = self.open.remove(&key) else { continue };
            // a clock that was put back ends nothing before it began
            let row = DeviceClaimRow { to_ms: Some(at_ms.max(open.from_ms)), ..open.row(node, &key, at_ms) };
            self.closed.push(row.clone());
            out.claims.push(row);
            out.changed = true;
        }
        for (key, new) in now {
            let is_new = !self.open.contains_key(&key);
            let open = self.open.entry(key.clone()).or_insert(new);
            if open.written_ms.is_none_or(|at| at_ms - at >= AGAIN_MS || at_ms < at) {
                open.written_ms = Some(at_ms);
                out.claims.push(open.row(node, &key, at_ms));
            }
            out.changed |= is_new;
        }
    }

    /// A look that failed in part, where a reason is new. It is said again only after it was gone.
    fn reading(&mut self, node: &NodeFacts, looked: &Looked) -> Option<ReadingRow> {
        let at_ms = looked.read.values().copied().max()?;
        let new: Vec<&str> = looked.unknown.iter().filter(|w| !self.said.contains(*w)).map(String::as_str).collect();
        new.iter().for_each(|why| tracing::warn!("no claim: {why}"));
        let text = new.iter().take(REASONS_MAX).copied().collect::<Vec<_>>().join("; ");
        let rest = new.len().saturating_sub(REASONS_MAX);
        let text = if rest == 0 { text } else { format!("{text}; and {rest} more") };
        let any = !new.is_empty();
        self.said = looked.unknown.clone();
        any.then(|| ReadingRow {
            source: format!("{} claims", node.boot.node),
            kind: "node".to_owned(),
            cluster: node.cluster.clone(),
            node: Some(node.boot.node.clone()),
            read_at_ms: at_ms,
            from_ms: at_ms,
            to_ms: at_ms,
            ok: false,
            rows: 0,
            error: Some(format!("no claim: {text}")),
        })
    }
}

/// Claims of a look: what containers of one holder have of one device adds up, to the whole device at most.
fn together<'a>(given: impl Iterator<Item = &'a Given>, at_ms: i64) -> BTreeMap<Key, Open> {
    let mut out: BTreeMap<Key, Open> = BTreeMap::new();
    for one in given {
        let key = Key {
            card: one.card.clone(),
            instance: one.instance.clone(),
            hint_id: one.hint_id,
            evidence: one.evidence.to_owned(),
        };
        let open = out.entry(key).or_insert_with(|| Open {
            hint: one.hint.clone(),
            share_units: 0,
            containers: BTreeSet::new(),
            resources: BTreeSet::new(),
            from_ms: at_ms,
            written_ms: None,
        });
        open.share_units = open.share_units.saturating_add(one.share_units).min(one.whole_units);
        open.containers.extend(one.container.clone());
        open.resources.extend(one.resource.clone());
    }
    out
}

impl Open {
    /// Whether it is the same claim: whoever has another part from now on has another claim.
    fn same_as(&self, other: &Self) -> bool {
        self.share_units == other.share_units
            && self.containers == other.containers
            && self.resources == other.resources
    }

    fn row(&self, node: &NodeFacts, key: &Key, as_of_ms: i64) -> DeviceClaimRow {
        let joined = |words: &BTreeSet<String>| {
            (!words.is_empty()).then(|| words.iter().map(String::as_str).collect::<Vec<_>>().join(","))
        };
        let instance = key.instance.as_deref().unwrap_or_default();
        let (hint_text, from_text) = (key.hint_id.to_string(), self.from_ms.to_string());
        DeviceClaimRow {
            claim_id: id63("claim", &[&key.card, instance, &hint_text, &key.evidence, &from_text]),
            cluster: node.cluster.clone(),
            node: node.boot.node.clone(),
            device_id: device_id(&key.card),
            instance_id: key.instance.as_deref().map(device_id),
            hint_id: key.hint_id,
            hint: self.hint.clone(),
            evidence: key.evidence.clone(),
            share_units: self.share_units,
            container: joined(&self.containers),
            resource: joined(&self.resources),
            from_ms: self.from_ms,
            to_ms: None,
            as_of_ms,
        }
    }
}

/// A map whose keys are no text, as a list of pairs.
mod as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Key, Open};

    pub(super) fn serialize<S: Serializer>(map: &BTreeMap<Key, Open>, to: S) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Key, Open>, D::Error> {
        Vec::<(Key, Open)>::deserialize(from).map(|pairs| pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
