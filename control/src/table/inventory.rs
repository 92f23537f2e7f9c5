//! Inventory: GPUs a node or a cluster has. A bracketed `node` stands for one row per node, each with `gpus` GPUs.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::InventoryRow;

use super::{FROM, Spec, TO, no_check, no_check_whole, optional, reference_row, required};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: InventoryRow::TABLE,
    columns: &[
        required("cluster", "cluster", Kind::Text),
        optional("node", "node", Kind::Hosts),
        required("model", "model", Kind::Text),
        required("gpus", "gpus", Kind::Count { min: 1, max: 10_000_000 }),
        optional("memory_gib", "memory_bytes", Kind::Gib),
        optional("queue", "queue", Kind::Text),
        optional("interconnect", "interconnect", Kind::Text),
        optional("declared_up", "declared_up", Kind::Flag),
        FROM,
        TO,
    ],
    selector: &["cluster", "node", "model"],
    beside: &[],
    derived: &[],
    check: no_check,
    check_whole: no_check_whole,
};

reference_row!(InventoryRow, Inventory;
    cluster, node, model, gpus, memory_bytes, queue, interconnect, declared_up, from_ms, to_ms);
