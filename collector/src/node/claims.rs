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
use gpuledger_schema::unit::{CARD_UNITS, share_units};
use serde::{Deserialize, Serialize};

use super::attribute::{Allocation, Site, hint};
use super::source::card::Card;
use super::source::kubelet::device::Device;
use super::source::kubelet::pods::PodUid;
use super::source::kubelet::{Holder, Record, Share};
use super::source::slurm::{IndexMeaning, Mapped};
use super::tick::{CardTick, NodeFacts};

pub mod memory;

/// A claim that lasts is written again after so long.
const AGAIN_MS: i64 = 6 * 3_600_000;
/// The kubelet's record.
const KUBELET: &str = "kubelet";
/// Slurm's facts on the node.
const SLURM: &str = "slurm";
/// Most reasons that a look names.
const REASONS_MAX: usize = 20;

/// A device given to somebody, by a record of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// UUID of the card.
    pub card: String,
    /// UUID of the MIG device, where one was given.
    pub instance: Option<String>,
    /// Whom it was given to, as process rows name it.
    pub hint_id: i64,
    /// The same in words.
    pub hint: String,
    /// Which record says so.
    pub evidence: &'static str,
    /// Share of the card in share units.
    pub share_units: i64,
    /// Share of the whole device that was given: no holder has more of it.
    pub whole_units: i64,
    /// Container of the pod.
    pub container: Option<String>,
    /// Resource that it was asked for by.
    pub resource: Option<String>,
}

/// What the records of one look say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looked {
    /// Records that were read, with the instant (epoch ms by the wall clock) at which each was.
    pub read: BTreeMap<&'static str, i64>,
    /// What they say.
    pub given: Vec<Given>,
    /// What they say and cannot be made a claim of, and why.
    pub unknown: BTreeSet<String>,
    /// Holders of whom something is unknown: no claim of theirs is over.
    unclear_hints: BTreeSet<i64>,
    /// Cards that somebody unknown holds: no claim on them is over.
    unclear_cards: BTreeSet<String>,
    /// Records in which an unknown holder has an unknown device: no claim of theirs is over.
    unclear_records: BTreeSet<&'static str>,
}

/// What a card or MIG device is of a card: its UUID, that of the card, and its slices of the card's.
struct Place {
    card: String,
    instance: Option<String>,
    num: i64,
    den: i64,
}

/// The cards of a tick as places.
struct Places<'a> {
    cards: &'a [Card],
    ticks: &'a [CardTick],
}

impl Places<'_> {
    /// What a UUID is; the reason where that cannot be told.
    fn of(&self, uuid: &str) -> Result<Place, String> {
        for tick in self.ticks {
            if tick.uuid == uuid {
                return Ok(Place { card: tick.uuid.clone(), instance: None, num: 1, den: 1 });
            }
            let Some(minute) = &tick.minute else { continue };
            let Some(instance) = minute.instances.iter().find(|i| i.facts.uuid == uuid) else { continue };
            let (Some(num), Some(den)) = (instance.facts.slices, minute.facts.card_slices) else {
                return Err(format!("{uuid}: the driver does not say how many slices it has"));
            };
            if num < 1 || num > den {
                return Err(format!("{uuid}: {num} of {den} slices is no part of a card"));
            }
            return Ok(Place { card: tick.uuid.clone(), instance: Some(uuid.to_owned()), num, den });
        }
        Err(format!("{uuid}: this node has no such device, or cannot read it"))
    }

    fn of_device(&self, device: &Device) -> Result<Place, String> {
        let uuid = device.uuid(self.cards).ok_or_else(|| format!("{device:?}: no device of this node is meant"))?;
        self.of(&uuid)
    }
}

impl Looked {
    /// Takes up the kubelet's record, as read at an instant. Ended pods are listed still and hold nothing.
    pub fn add_pods(&mut self, site: &Site, record: &Record, at_ms: i64, cards: &[Card], ticks: &[CardTick]) {
        self.read.insert(KUBELET, at_ms);
        let places = Places { cards, ticks };
        for holder in &record.holders {
            let Err(why) = pod_claim(site, holder, &places).map(|given| self.given.extend(given)) else { continue };
            self.unknown.insert(why);
            match (&holder.uid, places.of_device(&holder.device)) {
                (PodUid::Known(uid), _) => {
                    self.unclear_hints.insert(hint(site, &Allocation::Pod(uid.clone())).0);
                }
                (_, Ok(place)) => drop(self.unclear_cards.insert(place.card)),
                (_, Err(_)) => drop(self.unclear_records.insert(KUBELET)),
            }
        }
    }

    /// Takes up the lines of the prolog's folders. A device that one job is written for is that job's whole; one of several
    /// jobs is shared in parts that the folder does not tell.
    pub fn add_jobs(
        &mut self,
        site: &Site,
        mapped: &[Mapped],
        meaning: &IndexMeaning,
        at_ms: i64,
        cards: &[Card],
        ticks: &[CardTick],
    ) {
        self.read.insert(SLURM, at_ms);
        let places = Places { cards, ticks };
        let mut jobs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for line in mapped {
            match meaning.uuid(&line.gpu, cards) {
                Some(uuid) => drop(jobs.entry(uuid).or_default().insert(&line.job)),
                None => {
                    self.unknown.insert(format!("{:?}: no device of this node is meant", line.gpu));
                    self.unclear_hints.insert(hint(site, &Allocation::Job(line.job.clone())).0);
                }
            }
        }
        for (uuid, jobs) in jobs {
            let mut jobs = jobs.into_iter();
            let (Some(job), None) = (jobs.next(), jobs.next()) else {
                self.unknown.insert(format!("{uuid}: several jobs share it, and nothing says by what parts"));
                continue;
            };
            let by = Allocation::Job(job.to_owned());
            let whole = Share { held: 1, of: 1 };
            match places.of(&uuid).and_then(|place| given(site, &by, SLURM, place, whole)) {
                Ok(one) => self.given.push(one),
                Err(why) => {
                    self.unknown.insert(why);
                    self.unclear_hints.insert(hint(site, &by).0);
                }
            }
        }
    }

    /// Whether a claim that is not shown may last all the same.
    fn is_unclear(&self, key: &Key) -> bool {
        self.unclear_hints.contains(&key.hint_id)
            || self.unclear_cards.contains(&key.card)
            || self.unclear_records.contains(key.evidence.as_str())
    }
}

/// The claim of a holder; none where it has ended.
fn pod_claim(site: &Site, holder: &Holder, places: &Places<'_>) -> Result<Option<Given>, String> {
    let name = format!("{}/{} {}", holder.namespace, holder.pod, holder.container);
    let uid = match &holder.uid {
        PodUid::Ended => return Ok(None),
        PodUid::Unknown => return Err(format!("{name}: its UID is not known")),
        PodUid::Known(uid) => uid.clone(),
    };
    let place = places.of_device(&holder.device).map_err(|why| format!("{name}: {why}"))?;
    let share = holder.share.ok_or_else(|| format!("{name}: nothing says as how many copies its device is shared"))?;
    let by = Allocation::Pod(uid);
    let one = given(site, &by, KUBELET, place, share).map_err(|why| format!("{name}: {why}"))?;
    let (container, resource) = (Some(holder.container.clone()), Some(holder.resource.clone()));
    Ok(Some(Given { container, resource, ..one }))
}

fn given(
    site: &Site,
    by: &Allocation,
    evidence: &'static str,
    place: Place,
    share: Share,
) -> Result<Given, String> {
    let (hint_id, hint) = hint(site, by);
    let num = place.num * i64::from(share.held);
    let den = place.den * i64::from(share.of);
    let (share_units, _) = share_units(num, den).ok_or_else(|| format!("{num} of {den} is no share"))?;
    let (whole_units, _) =
        gpuledger_schema::unit::share_units(place.num, place.den).unwrap_or((CARD_UNITS, false));
    let Place { card, instance, .. } = place;
    let (container, resource) = (None, None);
    Ok(Given { card, instance, hint_id, hint, evidence, share_units, whole_units, container, resource })
}

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
            .filter(|(key, _)| now.contains_key(*key) || !looked.is_unclear(key))
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
        self.share_units == other.share_units && self.containers == other.containers && self.resources == other.resources
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
