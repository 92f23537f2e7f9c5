//! `report`: what was asked, checked and handed to the one builder.

use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report::{self, Ask, Currency, Dimension, Format, Step};
use gpuledger_schema::window::{self, Window};

use super::show;
use crate::args::{Asked, Report};
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(super) async fn run(place: &Place, what: Report, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let any: Currency = "XXX".parse()?;
    let made = match &what {
        Report::Accounting(a) => {
            let ask = ask(place, a, &[Dimension::Cluster], any)?;
            report::accounting(&place.reader(&lake).await?, &ask).await?
        }
        Report::Usage(a) => {
            let ask = ask(place, a, &[Dimension::Cluster], any)?;
            report::usage(&place.reader(&lake).await?, &ask).await?
        }
        Report::Charge(a) => {
            let ask = ask(place, a, &[Dimension::Team], place.currency(&lake)?)?;
            report::charge(&place.reader(&lake).await?, &ask).await?.report
        }
        Report::Gaps(a) => {
            let ask = ask(place, &a.asked, &[Dimension::Team], currency_or_none(place, &lake)?)?;
            report::gaps(&place.reader(&lake).await?, &ask, a.top).await?
        }
        Report::Samples { zone } => {
            let zone = place.zone(zone.as_deref())?.unwrap_or(chrono_tz::UTC);
            report::samples(&place.reader(&lake).await?, zone).await?
        }
    };
    show(&made, format)?;
    Ok(Outcome::Done)
}

/// Gaps are worth seeing before there are rates: their money is then 0 of no currency.
fn currency_or_none(place: &Place, lake: &Lake) -> anyhow::Result<Currency> {
    match place.currency(lake) {
        Ok(currency) => Ok(currency),
        Err(_) if place.config.currency.is_none() => Ok("XXX".parse()?),
        Err(e) => Err(e),
    }
}

fn ask(place: &Place, a: &Asked, default: &[Dimension], currency: Currency) -> anyhow::Result<Ask> {
    let zone = place.zone_needed(a.zone.as_deref())?;
    let wrong = |e: window::WindowError| usage(e.to_string());
    let window = match (&a.month, &a.from, &a.to) {
        (Some(month), ..) => window::month(month, zone).map_err(wrong)?,
        (None, Some(from), Some(to)) => Window {
            from_ms: window::instant(from, zone).map_err(wrong)?,
            to_ms: window::instant(to, zone).map_err(wrong)?,
        },
        _ => return Err(usage("say which time: --month YYYY-MM, or --from and --to")),
    };
    if window.to_ms <= window.from_ms {
        return Err(wrong(window::WindowError::Empty));
    }
    let by = match &a.by {
        None => default.to_vec(),
        Some(words) => words
            .iter()
            .map(|w| w.trim().parse::<Dimension>().map_err(|e| usage(format!("--by {e}"))))
            .collect::<Result<_, _>>()?,
    };
    let step = a.step.as_deref().map(|s| s.parse::<Step>().map_err(|e| usage(format!("--step {e}")))).transpose()?;
    Ok(Ask { window, zone, by, step, currency })
}
