//! `report budgets` and `report cost`: what was typed, handed to the builders.

use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report;
use gpuledger_schema::window;

use crate::args::{Budgets, Cost};
use crate::outcome::usage;
use crate::place::Place;

pub(super) async fn budgets(place: &Place, lake: &Lake, asked: &Budgets) -> anyhow::Result<report::Report> {
    let zone = place.zone_needed(asked.zone.as_deref())?;
    let at = asked.at.as_deref().map(|t| window::instant(t, zone).map_err(|e| usage(e.to_string()))).transpose()?;
    let currency = super::reports::currency_or_none(place, lake)?;
    Ok(report::budgets(&place.reader(lake).await?, at, zone, &currency).await?)
}

pub(super) async fn cost(place: &Place, lake: &Lake, asked: &Cost) -> anyhow::Result<report::Report> {
    let zone = place.zone_needed(asked.zone.as_deref())?;
    let window = window::month(&asked.month, zone).map_err(|e| usage(e.to_string()))?;
    let currency = super::reports::currency_or_none(place, lake)?;
    Ok(report::cost(&place.reader(lake).await?, &asked.month, window, zone, &currency).await?)
}
