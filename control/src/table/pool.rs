//! Pools: named sets of devices by cluster, node pattern, queue and model. What no row names is in `default`.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::PoolRow;

use super::{Derived, FROM, Spec, TO, no_check, no_check_whole, optional, reference_row, regex_of, required};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: PoolRow::TABLE,
    columns: &[
        required("pool", "pool", Kind::Text),
        optional("cluster", "cluster", Kind::Text),
        optional("node_pattern", "node_pattern", Kind::Pattern),
        optional("queue", "queue", Kind::Text),
        optional("model", "model", Kind::Text),
        FROM,
        TO,
    ],
    selector: &["pool", "cluster", "node_pattern", "queue", "model"],
    beside: &[],
    derived: &[Derived { stored: "node_regex", make: |f| regex_of(f, "node_pattern") }],
    check: no_check,
    check_whole: no_check_whole,
};

reference_row!(PoolRow, Pools; pool, cluster, node_pattern, node_regex, queue, model, from_ms, to_ms);
