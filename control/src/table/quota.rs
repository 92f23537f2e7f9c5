//! Quotas: GPUs, or a share of a pool, that a team may hold before it borrows.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::QuotaRow;

use super::{FROM, Fields, Spec, TO, no_check_whole, optional, reference_row, required};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: QuotaRow::TABLE,
    columns: &[
        required("team", "team", Kind::Text),
        required("pool", "pool", Kind::Text),
        optional("gpus", "gpus", Kind::Count { min: 0, max: 10_000_000 }),
        optional("share_percent", "pool_share_ppm", Kind::Percent),
        FROM,
        TO,
    ],
    selector: &["team", "pool"],
    beside: &[],
    derived: &[],
    check,
    check_whole: no_check_whole,
};

reference_row!(QuotaRow, Quotas; team, pool, gpus, pool_share_ppm, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    match (row.int("gpus"), row.int("pool_share_ppm")) {
        (Some(_), Some(_)) => {
            Some(("share_percent", "`gpus` and `share_percent` are both filled: choose one".to_owned()))
        }
        (None, None) => Some(("gpus", "neither `gpus` nor `share_percent` is filled".to_owned())),
        _ => None,
    }
}
