//! Cost pools: what a pool really costs in an interval, by kind. A period takes its part by time.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::money::CostPoolRow;

use super::money::{in_minor_units, one_currency};
use super::{Spec, optional, reference_row, required};
use crate::kind::Kind;

/// What a cost is for.
const KINDS: &[&str] = &["depreciation", "power", "operations", "other"];

pub(crate) const SPEC: Spec = Spec {
    table: CostPoolRow::TABLE,
    columns: &[
        required("pool", "pool", Kind::Text),
        required("kind", "kind", Kind::Word { of: KINDS, empty: None }),
        required("amount", "amount_micros", Kind::Amount { signed: false }),
        optional("currency", "currency", Kind::Currency),
        // Both ends are asked for: the amount is for exactly this time.
        required("from", "from_ms", Kind::From),
        required("to", "to_ms", Kind::To),
    ],
    selector: &["pool", "kind"],
    beside: &[],
    derived: &[],
    check: in_minor_units,
    check_whole: one_currency,
};

reference_row!(CostPoolRow, CostPools; pool, kind, amount_micros, currency, from_ms, to_ms);
