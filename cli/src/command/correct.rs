//! `correct preview`: what closed periods would be corrected by.

use gpuledger_aggregator::close;
use gpuledger_aggregator::report::Format;
use gpuledger_schema::window;

use super::close::period;
use super::show;
use crate::args::Correct;
use crate::clock;
use crate::outcome::Outcome;
use crate::place::Place;

pub(super) async fn run(place: &Place, asked: &Correct, format: Format) -> anyhow::Result<Outcome> {
    let Correct::Preview { period: only, zone } = asked;
    let lake = place.lake()?;
    let now = window::month_of(clock::now_ms(), place.zone_needed(zone.as_deref())?);
    let into = period(place, &lake, &now, zone.as_deref())?;
    let reader = place.reader(&lake).await?;
    let found = close::preview(&lake, &reader, &into, only.as_deref()).await?;
    show(&close::preview_report(&into, &found), format)?;
    Ok(Outcome::Done)
}
