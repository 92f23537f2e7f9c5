//! Terms: how a pool is billed, and who bears what nobody used of it. A pool without a row: mode held, nothing shared out.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::money::TermsRow;

use super::{FROM, Spec, TO, no_check, no_check_whole, optional, reference_row, required};
use crate::kind::Kind;

/// How a pool is billed.
const MODES: &[&str] = &["held", "busy", "quota", "showback"];
/// Who bears a class of time that nobody used.
const SHARES: Kind = Kind::Word { of: &["none", "even", "held", "quota"], empty: Some("none") };

pub(crate) const SPEC: Spec = Spec {
    table: TermsRow::TABLE,
    columns: &[
        required("pool", "pool", Kind::Text),
        required("mode", "mode", Kind::Word { of: MODES, empty: None }),
        optional("share_unallocated", "share_unallocated", SHARES),
        optional("share_unavailable", "share_unavailable", SHARES),
        optional("share_unobserved", "share_unobserved", SHARES),
        FROM,
        TO,
    ],
    selector: &["pool"],
    beside: &[],
    derived: &[],
    check: no_check,
    check_whole: no_check_whole,
};

reference_row!(TermsRow, Terms;
    pool, mode, share_unallocated, share_unavailable, share_unobserved, from_ms, to_ms);
