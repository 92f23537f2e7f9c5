//! Versions of devices: a row when a card or instance is new or not what it was.

use std::collections::BTreeMap;

use gpuledger_schema::id;
use gpuledger_schema::table::DeviceRow;

use super::{CardTick, NodeFacts};
use crate::node::seen::Moment;
use crate::node::source::nvml::look::{CardFacts, InstanceFacts};

/// A wall clock put back by less than this is an adjustment.
const STEP_MS: i64 = 1_000;

/// The devices that this run of the collector has written.
#[derive(Debug, Default)]
pub struct Versions {
    known: BTreeMap<i64, Known>,
    /// Wall clock less boot clock at the last tick.
    offset_ms: Option<i64>,
}

/// A device as last written.
#[derive(Debug)]
struct Known {
    row: DeviceRow,
    /// When this version was first seen, by the boot clock.
    first_boot_ms: i64,
}

impl Versions {
    /// Rows for what is new in a tick. A version is first seen at the start of the tick that found it, so that the
    /// whole tick is inside it.
    ///
    /// A wall clock that was put back leaves first-seen times in the future, where the ledger would not know the card
    /// yet: then every version is written again, placed by the boot clock.
    pub(super) fn changed(&mut self, node: &NodeFacts, start: Moment, cards: &[CardTick]) -> Vec<DeviceRow> {
        let mut out = Vec::new();
        let offset_ms = start.wall_ms - start.boot_ms;
        if self.offset_ms.is_some_and(|before| offset_ms < before - STEP_MS) {
            for known in self.known.values_mut() {
                known.row.first_seen_ms = known.first_boot_ms + offset_ms;
                out.push(known.row.clone());
            }
        }
        self.offset_ms = Some(offset_ms);
        for minute in cards.iter().filter_map(|c| c.minute.as_ref()) {
            let card = card_row(node, &minute.facts, start.wall_ms);
            for instance in &minute.instances {
                let row = instance_row(&card, &instance.facts);
                self.see(row, start.boot_ms, &mut out);
            }
            self.see(card, start.boot_ms, &mut out);
        }
        out
    }

    fn see(&mut self, row: DeviceRow, boot_ms: i64, out: &mut Vec<DeviceRow>) {
        let known = self.known.get(&row.device_id);
        let same = known.is_some_and(|k| DeviceRow { first_seen_ms: k.row.first_seen_ms, ..row.clone() } == k.row);
        if !same {
            out.push(row.clone());
            self.known.insert(row.device_id, Known { row, first_boot_ms: boot_ms });
        }
    }
}

fn card_row(node: &NodeFacts, facts: &CardFacts, first_seen_ms: i64) -> DeviceRow {
    DeviceRow {
        device_id: id::device_id(&facts.uuid),
        first_seen_ms,
        retired_ms: None,
        cluster: node.cluster.clone(),
        node: node.boot.node.clone(),
        uuid: facts.uuid.clone(),
        parent_id: None,
        model: facts.model.clone(),
        memory_bytes: facts.memory_bytes,
        mig_profile: None,
        compute_slices: None,
        card_slices: facts.card_slices,
        interconnect: node.interconnect.clone(),
        compute_capability: facts.compute_capability.clone(),
        driver: facts.driver.clone(),
        minor: facts.minor,
        pci: facts.pci.clone(),
        queue: node.queue.clone(),
        scheduler: node.scheduler.as_str().to_owned(),
    }
}

fn instance_row(card: &DeviceRow, facts: &InstanceFacts) -> DeviceRow {
    DeviceRow {
        device_id: id::device_id(&facts.uuid),
        uuid: facts.uuid.clone(),
        parent_id: Some(card.device_id),
        memory_bytes: facts.memory_bytes,
        mig_profile: facts.profile.clone(),
        compute_slices: facts.slices,
        ..card.clone()
    }
}
