//! The chain of statements from usage to priced charges, and to what reports read of them.

use chrono_tz::Tz;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::Window;

use super::{Ask, AskedTerms, Reader, ReportError};
use crate::engine::{Params, bigint, int, text};

/// How much of the chain a session has run for a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// Charges and money beside them: what a bill is made of.
    Charges,
    /// Charges with everything by which reports group them.
    Facts,
    /// Usage by cell, besides.
    Cells,
}

/// What a session has priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Priced {
    window: Window,
    zone: Tz,
    depth: Depth,
}

/// What a step is told.
#[derive(Debug, Clone, Copy)]
enum Told {
    Nothing,
    Instants,
    Days,
}

/// The step that gives each pool its terms.
const TERMS: &str = "charge/33_pool_terms";

/// Usage by cell, a view.
const USED: &str = "charge/88_used";

/// The steps, in order, each with what it is told and the depth that it belongs to.
const STEPS: &[(&str, Told, Depth)] = &[
    ("charge/05_edge", Told::Instants, Depth::Charges),
    ("charge/06_discount_cell", Told::Nothing, Depth::Charges),
    ("charge/07_slice", Told::Instants, Depth::Charges),
    ("charge/08_price_slot", Told::Nothing, Depth::Charges),
    ("charge/10_slot_use", Told::Days, Depth::Charges),
    ("charge/11_present", Told::Nothing, Depth::Charges),
    ("charge/20_owner_key", Told::Nothing, Depth::Charges),
    ("charge/21_owner_match", Told::Nothing, Depth::Charges),
    ("charge/22_owner_span", Told::Nothing, Depth::Charges),
    ("charge/30_place", Told::Nothing, Depth::Charges),
    ("charge/31_pool_span", Told::Nothing, Depth::Charges),
    ("charge/32_tier_span", Told::Nothing, Depth::Charges),
    ("charge/33_pool_terms", Told::Nothing, Depth::Charges),
    ("charge/40_placed", Told::Nothing, Depth::Charges),
    ("charge/41_reserve_kind", Told::Nothing, Depth::Charges),
    ("charge/42_use_kind", Told::Nothing, Depth::Charges),
    ("charge/43_rate_span", Told::Nothing, Depth::Charges),
    ("charge/44_owned_at", Told::Nothing, Depth::Charges),
    ("charge/45_price", Told::Nothing, Depth::Charges),
    ("charge/46_tariff", Told::Nothing, Depth::Charges),
    ("charge/50_lend_pool", Told::Nothing, Depth::Charges),
    ("charge/51_pool_slice", Told::Days, Depth::Charges),
    ("charge/52_team_row", Told::Days, Depth::Charges),
    ("charge/53_quota_slice", Told::Nothing, Depth::Charges),
    ("charge/54_borrowed_slice", Told::Nothing, Depth::Charges),
    ("charge/55_borrowed_row", Told::Days, Depth::Charges),
    ("charge/56_split", Told::Days, Depth::Charges),
    ("charge/57_charge", Told::Nothing, Depth::Charges),
    ("charge/70_reserved", Told::Nothing, Depth::Charges),
    ("charge/71_reserve_free", Told::Nothing, Depth::Charges),
    ("charge/72_idle_item", Told::Nothing, Depth::Charges),
    ("charge/73_share_weight", Told::Instants, Depth::Charges),
    ("charge/74_shared_team", Told::Nothing, Depth::Charges),
    ("charge/75_shared", Told::Nothing, Depth::Charges),
    ("charge/79_beside_item", Told::Nothing, Depth::Charges),
    ("charge/80_beside", Told::Nothing, Depth::Charges),
    ("charge/60_fact", Told::Nothing, Depth::Facts),
    ("charge/92_beside_fact", Told::Nothing, Depth::Facts),
];

/// Prices a window for reports that look at cells too; the session then has `charge`, `fact`, `used` and what they came from.
///
/// # Errors
/// When a statement fails.
pub async fn prepare(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    price(reader, ask.window, ask.zone, Depth::Cells).await
}

/// Prices a window for reports that group `fact`.
pub(crate) async fn price_facts(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    price(reader, ask.window, ask.zone, Depth::Facts).await
}

/// Runs the charge statements for a window as deep as asked, but for those that the session has of that window already.
pub(crate) async fn price(reader: &Reader, window: Window, zone: Tz, depth: Depth) -> Result<(), ReportError> {
    let mut priced = reader.priced().lock().await;
    let done = priced.filter(|p| p.window == window && p.zone == zone).map(|p| p.depth);
    if done.is_some_and(|done| done >= depth) {
        return Ok(());
    }
    *priced = None;
    if done.is_none() {
        reader.calendar(window, zone)?;
    }
    let day = |ms: i64| int(ms.div_euclid(DAY_MS) as i32);
    let instants = Params::from([("from_ms", bigint(window.from_ms)), ("to_ms", bigint(window.to_ms))]);
    let days = Params::from([("from_day", day(window.from_ms)), ("to_day", day(window.to_ms - 1))]);
    let none = Params::new();
    for (step, told, of) in STEPS {
        if *of > depth || done.is_some_and(|done| *of <= done) {
            continue;
        }
        let params = match told {
            Told::Nothing => &none,
            Told::Instants => &instants,
            Told::Days => &days,
        };
        reader.engine().step(step, params).await?;
        if *step == TERMS && reader.terms() != AskedTerms::default() {
            let AskedTerms { mode, share } = reader.terms();
            let asked =
                Params::from([("mode", text(mode.unwrap_or_default())), ("share", text(share.unwrap_or_default()))]);
            reader.engine().step("read/67_asked_terms", &asked).await?;
        }
    }
    if depth == Depth::Cells {
        reader.engine().view(USED, &days).await?;
    }
    *priced = Some(Priced { window, zone, depth });
    Ok(())
}
