//! The devices that a node's collector finds after a boot: cards, and the instances that some of them are cut into.

use gpuledger_schema::table::DeviceRow;
use gpuledger_schema::window::Window;

use super::hardware::card_slices;
use super::world::World;

/// A MiB.
const MIB: i64 = 1 << 20;

/// The versions of a card, and of its instances, that are first seen in a window.
pub(super) fn versions(world: &World, card_index: usize, day: Window, out: &mut Vec<DeviceRow>) {
    let card = &world.hardware.cards[card_index];
    let node = &world.hardware.nodes[card.node];
    let model = world.hardware.model(card_index);
    let seen =
        world.lives[card.node].iter().filter(|l| l.first && (day.from_ms..day.to_ms).contains(&l.window.from_ms));
    for life in seen {
        let whole = DeviceRow {
            device_id: card.id,
            first_seen_ms: life.window.from_ms,
            retired_ms: None,
            cluster: world.hardware.clusters[node.cluster].name.to_owned(),
            node: node.name.clone(),
            uuid: card.uuid.clone(),
            parent_id: None,
            model: Some(model.name.to_owned()),
            memory_bytes: Some(model.memory_mib * MIB),
            mig_profile: None,
            compute_slices: None,
            card_slices: card_slices(card),
            interconnect: node.queue.map(|_| format!("nvlink:{}", node.name)),
            compute_capability: Some(model.capability.to_owned()),
            driver: Some(life.driver.to_owned()),
            minor: Some(card.minor),
            pci: Some(format!("00000000:{:02X}:00.0", 0x17 + card.minor * 0x11)),
            queue: node.queue.map(str::to_owned),
            scheduler: world.hardware.clusters[node.cluster].scheduler.as_str().to_owned(),
        };
        for slot in card.slots.clone() {
            if let Some(instance) = &world.hardware.slots[slot].instance {
                out.push(DeviceRow {
                    device_id: instance.id,
                    uuid: instance.uuid.clone(),
                    parent_id: Some(card.id),
                    memory_bytes: Some(instance.memory_mib * MIB),
                    mig_profile: Some(instance.profile.to_owned()),
                    compute_slices: Some(instance.slices),
                    ..whole.clone()
                });
            }
        }
        out.push(whole);
    }
}
