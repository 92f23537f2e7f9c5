//! `check`: every invariant that applies, a line each.

use gpuledger_aggregator::report::Format;
use gpuledger_aggregator::{check, close};

use super::print;
use crate::args::Check;
use crate::outcome::Outcome;
use crate::place::Place;

pub(super) async fn run(place: &Place, asked: &Check, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let zone = place.zone(asked.zone.as_deref())?.unwrap_or(chrono_tz::UTC);
    let reader = place.reader(&lake).await?;
    let mut found = check::check(&reader, zone).await?;
    if let Some(m2) = close::m2(&lake, place.partitions()).await? {
        let after_m1 = found.iter().position(|f| f.id == "M1").map_or(found.len(), |at| at + 1);
        found.insert(after_m1, m2);
    }
    let text = match format {
        Format::Json => format!("{:#}\n", serde_json::json!(found)),
        _ => check::text(&found, reader.cut()),
    };
    print(text.as_bytes())?;
    Ok(if found.iter().any(|f| f.violated) { Outcome::Failed } else { Outcome::Done })
}
