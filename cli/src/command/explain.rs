//! `explain`: from a charge down to its minutes.

use gpuledger_aggregator::explain;
use gpuledger_aggregator::report::Format;

use super::print;
use crate::args::Explain;
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(super) async fn run(place: &Place, asked: &Explain, format: Format) -> anyhow::Result<Outcome> {
    if asked.allocation == "line" {
        return super::close::explain(place, &asked.line, asked.zone.as_deref(), format).await;
    }
    if !asked.line.is_empty() {
        return Err(usage("only one run is explained at a time"));
    }
    let lake = place.lake()?;
    let zone = place.zone_needed(asked.zone.as_deref())?;
    let reader = place.reader(&lake).await?;
    let currency = place.currency(&lake).ok();
    let found = explain::find(&reader, &asked.allocation).await?;
    if found.is_empty() {
        return Err(usage(format!(
            "no run `{}`; try `gpuledger sql \"SELECT cluster, job_raw FROM run\"`",
            asked.allocation
        )));
    }
    let depth = explain::Depth { cells: asked.cells, minutes: asked.minutes };
    let mut told = Vec::new();
    for holder in found {
        told.extend(explain::explain(&reader, holder, zone, currency.as_ref(), depth).await?);
    }
    if told.is_empty() {
        return Err(usage(format!("no run `{}` of yours", asked.allocation)));
    }
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(told)).as_bytes())?,
        _ => print(told.iter().map(explain::Told::text).collect::<Vec<_>>().join("\n").as_bytes())?,
    }
    Ok(Outcome::Done)
}
