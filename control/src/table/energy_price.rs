//! Energy prices: what a kWh costs, by pool or for any.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::money::EnergyPriceRow;

use super::money::one_currency;
use super::{FROM, Spec, TO, no_check, optional, reference_row, required};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: EnergyPriceRow::TABLE,
    columns: &[
        optional("pool", "pool", Kind::Text),
        required("price_per_kwh", "kwh_micros", Kind::Price),
        optional("currency", "currency", Kind::Currency),
        FROM,
        TO,
    ],
    selector: &["pool"],
    beside: &[],
    derived: &[],
    check: no_check,
    check_whole: one_currency,
};

reference_row!(EnergyPriceRow, EnergyPrices; pool, kwh_micros, currency, from_ms, to_ms);
