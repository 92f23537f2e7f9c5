//! The chain of statements from usage to priced facts.

use gpuledger_schema::unit::DAY_MS;

use super::{Ask, Reader, ReportError};
use crate::engine::{Params, bigint, int};

/// Runs the charge statements for a window, unless the session has them of that window already; it then has `charge`,
/// `fact` and what they came from.
pub async fn prepare(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    let mut priced = reader.priced().lock().await;
    if *priced == Some((ask.window, ask.zone)) {
        return Ok(());
    }
    *priced = None;
    reader.calendar(ask.window, ask.zone)?;
    let day = |ms: i64| int(ms.div_euclid(DAY_MS) as i32);
    let window = Params::from([
        ("from_ms", bigint(ask.window.from_ms)),
        ("to_ms", bigint(ask.window.to_ms)),
        ("from_day", day(ask.window.from_ms)),
        ("to_day", day(ask.window.to_ms - 1)),
    ]);
    let none = Params::new();
    for (step, params) in [
        ("charge/10_used", &window),
        ("charge/20_owner_key", &none),
        ("charge/21_owner_match", &none),
        ("charge/22_owner_span", &none),
        ("charge/30_place", &none),
        ("charge/31_pool_span", &none),
        ("charge/32_tier_span", &none),
        ("charge/40_owned", &none),
        ("charge/41_rate_span", &none),
        ("charge/50_charge", &none),
        ("charge/60_fact", &none),
    ] {
        reader.engine().step(step, params).await?;
    }
    *priced = Some((ask.window, ask.zone));
    Ok(())
}
