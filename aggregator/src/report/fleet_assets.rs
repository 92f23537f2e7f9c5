//! `report assets`: GPUs registered, seen by the driver and offered by the scheduler, differences first.

use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::Window;

use super::fleet_rows::{columns, days, rows};
use super::{Kind, Reader, Report, ReportError, Value};
use crate::engine::bigint;

/// A card is measured where it has a minute in the days before the instant.
const LOOK_BACK_MS: i64 = 7 * DAY_MS;

/// The three lists at an instant (epoch milliseconds).
///
/// # Errors
/// A failing lake or engine.
pub async fn assets(reader: &Reader, at_ms: i64) -> Result<Report, ReportError> {
    reader.whole("assets")?;
    let mut params = days(Window { from_ms: at_ms - LOOK_BACK_MS, to_ms: at_ms });
    params.insert("at_ms", bigint(at_ms));
    let shown = columns(&[
        ("cluster", "cluster", Kind::Text),
        ("node", "node", Kind::Text),
        ("model", "model", Kind::Text),
        ("registered", "registered", Kind::Count),
        ("seen", "seen", Kind::Count),
        ("measured", "measured", Kind::Count),
        ("offered", "offered", Kind::Count),
        ("difference", "difference", Kind::Text),
    ]);
    let made = rows(reader.engine(), "waste/79_assets", &params, &shown).await?;
    let differ = made.iter().filter(|r| r.last() != Some(&Value::Text(String::new()))).count();
    Ok(Report {
        notes: vec!["unknown: that source never named the node; measured: with a minute in the last 7 days".to_owned()],
        ..Report::table(
            format!("{differ} of {} nodes differ between register, driver and scheduler", made.len()),
            shown,
            made,
        )
    })
}
