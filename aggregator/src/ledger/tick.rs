//! The steps up to ticks, for whoever reads minutes and no cells.

use gpuledger_schema::unit::DAY_MS;

use super::{LedgerError, NEAR_MS};
use crate::engine::{Engine, Params, bigint, int};

/// The steps up to who holds what and what each did in every tick, for a span of UTC days `[from, to)`: what verdicts of idleness
/// read. The whole-history steps have run before.
pub(crate) async fn tick_steps(engine: &Engine, span: (i32, i32)) -> Result<(), LedgerError> {
    let (lo, hi) = (i64::from(span.0) * DAY_MS, i64::from(span.1) * DAY_MS);
    let days = Params::from([("day_from", int(span.0 - 1)), ("day_to", int(span.1 + 1))]);
    let window = Params::from([("lo_ms", bigint(lo)), ("hi_ms", bigint(hi))]);
    let mut near = days.clone();
    near.extend([("near_from_ms", bigint(lo - NEAR_MS)), ("near_to_ms", bigint(hi + NEAR_MS))]);
    let mut offsets = days.clone();
    offsets.insert("near_day", int(span.0 - 1));
    let none = Params::new();
    for (step, params) in [
        ("ledger/12_sick", &days),
        ("ledger/20_boot_offset", &offsets),
        ("ledger/21_tick", &near),
        ("ledger/23_process", &days),
        ("ledger/25_holder_tick", &none),
        ("ledger/26_session", &none),
        ("ledger/27_held", &window),
        ("ledger/28_holder", &window),
    ] {
        engine.step(step, params).await?;
    }
    Ok(())
}
