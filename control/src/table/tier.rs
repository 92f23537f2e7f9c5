//! Tiers: capability classes by model pattern, card memory and interconnect. Models that no row names have none.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::TierRow;

use super::{Derived, FROM, Fields, Spec, TO, no_check_whole, optional, reference_row, regex_of, required};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: TierRow::TABLE,
    columns: &[
        required("tier", "tier", Kind::Text),
        optional("model_pattern", "model_pattern", Kind::Pattern),
        optional("memory_min_gib", "memory_min_bytes", Kind::Gib),
        optional("memory_max_gib", "memory_max_bytes", Kind::Gib),
        optional("interconnect", "interconnect", Kind::Text),
        FROM,
        TO,
    ],
    selector: &["tier", "model_pattern", "memory_min_bytes", "interconnect"],
    beside: &[],
    derived: &[Derived { stored: "model_regex", make: |f| regex_of(f, "model_pattern") }],
    check,
    check_whole: no_check_whole,
};

reference_row!(TierRow, Tiers;
    tier, model_pattern, model_regex, memory_min_bytes, memory_max_bytes, interconnect, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let (min, max) = (row.int("memory_min_bytes")?, row.int("memory_max_bytes")?);
    (min > max).then(|| ("memory_max_gib", "it is less than `memory_min_gib`: no card matches".to_owned()))
}
