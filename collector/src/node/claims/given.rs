//! What the node's records say of who was given which device, as far as that can be said of the cards that there are.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::unit::{CARD_UNITS, share_units};

use crate::node::attribute::{Allocation, Site, hint};
use crate::node::source::card::Card;
use crate::node::source::kubelet::device::Device;
use crate::node::source::kubelet::pods::PodUid;
use crate::node::source::kubelet::{Holder, Record, Share};
use crate::node::source::slurm::{IndexMeaning, Mapped};
use crate::node::tick::CardTick;

/// The kubelet's record.
const KUBELET: &str = "kubelet";
/// Slurm's facts on the node.
const SLURM: &str = "slurm";

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
    pub(super) fn is_unclear(&self, hint_id: i64, card: &str, evidence: &str) -> bool {
        self.unclear_hints.contains(&hint_id)
            || self.unclear_cards.contains(card)
            || self.unclear_records.contains(evidence)
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

fn given(site: &Site, by: &Allocation, evidence: &'static str, place: Place, share: Share) -> Result<Given, String> {
    let (hint_id, hint) = hint(site, by);
    let num = place.num * i64::from(share.held);
    let den = place.den * i64::from(share.of);
    let (share_units, _) = share_units(num, den).ok_or_else(|| format!("{num} of {den} is no share"))?;
    let (whole_units, _) = gpuledger_schema::unit::share_units(place.num, place.den).unwrap_or((CARD_UNITS, false));
    let Place { card, instance, .. } = place;
    let (container, resource) = (None, None);
    Ok(Given { card, instance, hint_id, hint, evidence, share_units, whole_units, container, resource })
}
