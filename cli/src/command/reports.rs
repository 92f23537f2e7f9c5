//! `report`: what was asked, checked and handed to the one builder.

use gpuledger_aggregator::explain;
use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report::{self, Ask, Currency, Dimension, Format, Reader, Split, Step};
use gpuledger_control::RULES;
use gpuledger_schema::window::{self, Window};

use super::{budgets, print, show};
use crate::args::{Asked, Assets, FindingsAsked, Health, Job, Report, Watch};
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(super) async fn run(place: &Place, what: Report, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let any = Currency::none();
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
        Report::Findings(a) => findings(place, &lake, a).await?,
        Report::Job(a) => return job(place, &lake, a, format).await,
        Report::Fleet(a) => {
            let ask = ask(place, &a.asked, &[Dimension::Pool], currency_or_none(place, &lake)?)?;
            let split = a.split.as_deref().map(|s| s.parse::<Split>().map_err(|e| usage(format!("--split {e}"))));
            report::fleet(&place.reader(&lake).await?, &ask, split.transpose()?).await?
        }
        Report::Fragmentation(a) => {
            let ask = ask(place, &a.asked, &[], any)?;
            let reader = place.reader(&lake).await?;
            if a.jobs {
                report::fragmented_jobs(&reader, &ask).await?
            } else {
                report::fragmentation(&reader, &ask).await?
            }
        }
        Report::Quota(a) => {
            let ask = ask(place, &a.asked, &[], any)?;
            let reader = place.reader(&lake).await?;
            if a.runs { report::quota_runs(&reader, &ask).await? } else { report::quota(&reader, &ask).await? }
        }
        Report::Assets(a) => assets(place, &lake, a).await?,
        Report::Census(a) => {
            let (reader, ask) = of_week(place, &lake, &a.asked).await?;
            if a.hours { report::census_hours(&reader, &ask).await? } else { report::census(&reader, &ask).await? }
        }
        Report::Hours(a) => {
            let (reader, ask) = of_week(place, &lake, a).await?;
            report::card_hours(&reader, &ask).await?
        }
        Report::Week(a) => {
            let ask = ask(place, a, &[], any)?;
            report::run_week(&place.reader(&lake).await?, &ask).await?
        }
        Report::Health(a) => health(place, &lake, a).await?,
        Report::Watch(a) => watch(place, &lake, a).await?,
        Report::Assessment(a) => {
            let ask = ask(place, a, &[], currency_or_none(place, &lake)?)?;
            report::assessment(&place.reader(&lake).await?, &ask).await?
        }
        Report::Budgets(a) => budgets::budgets(place, &lake, a).await?,
        Report::Cost(a) => budgets::cost(place, &lake, a).await?,
        Report::Samples { zone } => {
            let zone = place.zone(zone.as_deref())?.unwrap_or(chrono_tz::UTC);
            report::samples(&place.reader(&lake).await?, zone).await?
        }
    };
    show(&made, format)?;
    Ok(Outcome::Done)
}

async fn findings(place: &Place, lake: &Lake, a: &FindingsAsked) -> anyhow::Result<report::Report> {
    if let Some(unknown) = a.rule.iter().find(|r| !RULES.contains(&r.as_str())) {
        return Err(usage(format!("--rule `{unknown}` is not one of: {}", RULES.join(", "))));
    }
    let lang = a.lang.parse().map_err(|e: report::UnknownLang| usage(format!("--lang {e}")))?;
    let grouped = a.asked.by.is_some() || a.asked.step.is_some();
    if grouped && !a.rule.is_empty() {
        return Err(usage("--rule lists findings one by one; to add them up use --by rule"));
    }
    let mut ask = ask(place, &a.asked, &[], currency_or_none(place, lake)?)?;
    ask.by = ask.step.map(Step::dimension).into_iter().chain(ask.by).collect();
    let asked = report::FindingsAsked { grouped, rules: a.rule.clone(), top: a.top, lang };
    Ok(report::findings(&place.reader(lake).await?, &ask, &asked).await?)
}

async fn job(place: &Place, lake: &Lake, a: &Job, format: Format) -> anyhow::Result<Outcome> {
    let lang = a.lang.parse().map_err(|e: report::UnknownLang| usage(format!("--lang {e}")))?;
    let zone = place.zone_needed(a.zone.as_deref())?;
    let currency = currency_or_none(place, lake)?;
    let reader = place.reader(lake).await?;
    let mut told = Vec::new();
    for holder in explain::find(&reader, &a.job).await? {
        told.extend(report::job(&reader, holder, zone, &currency, lang).await?);
    }
    if told.is_empty() {
        return Err(usage(format!("no run `{}`; `gpuledger report usage --by job` lists them", a.job)));
    }
    match format {
        Format::Table => print(told.iter().map(report::JobReport::text).collect::<Vec<_>>().join("\n").as_bytes())?,
        Format::Json => print(format!("{:#}\n", serde_json::json!(told)).as_bytes())?,
        Format::Csv | Format::Parquet => return Err(usage("a job is shown as table or json")),
    }
    Ok(Outcome::Done)
}

async fn assets(place: &Place, lake: &Lake, a: &Assets) -> anyhow::Result<report::Report> {
    let zone = place.zone(a.zone.as_deref())?.unwrap_or(chrono_tz::UTC);
    let at = a.at.as_deref().map(|t| window::instant(t, zone).map_err(|e| usage(e.to_string()))).transpose()?;
    let reader = place.reader(lake).await?;
    let at_ms = match at {
        Some(at_ms) => at_ms,
        None => report::last_week(&reader).await?.to_ms,
    };
    Ok(report::assets(&reader, at_ms).await?)
}

async fn watch(place: &Place, lake: &Lake, a: &Watch) -> anyhow::Result<report::Report> {
    let zone = place.zone(a.zone.as_deref())?.unwrap_or(chrono_tz::UTC);
    let at_ms = a.at.as_deref().map(|t| window::instant(t, zone).map_err(|e| usage(e.to_string()))).transpose()?;
    let tell = &place.config.tell;
    let limits = report::WatchLimits {
        late_ms: i64::from(tell.late_minutes) * 60_000,
        gap_ms: i64::from(tell.gap_gpu_hours) * 3_600_000,
    };
    Ok(report::watch(&place.reader(lake).await?, at_ms, zone, limits).await?)
}

/// A window that was asked for; where there is none, the last week that is known.
async fn of_week(place: &Place, lake: &Lake, a: &Asked) -> anyhow::Result<(Reader, Ask)> {
    let currency = Currency::none();
    let reader = place.reader(lake).await?;
    let ask = if a.month.is_some() || a.from.is_some() {
        ask(place, a, &[], currency)?
    } else {
        let zone = place.zone(a.zone.as_deref())?.unwrap_or(chrono_tz::UTC);
        Ask { window: report::last_week(&reader).await?, zone, by: Vec::new(), step: None, currency }
    };
    Ok((reader, ask))
}

/// Periods of a health report: the one asked for and those before it.
const PERIODS: i64 = 6;

async fn health(place: &Place, lake: &Lake, a: &Health) -> anyhow::Result<report::Report> {
    let ask = ask(place, &a.asked, &[], currency_or_none(place, lake)?)?;
    let windows: Vec<Window> = match (a.period.as_str(), &a.asked.month) {
        ("month", Some(month)) => months_to(month, ask.zone)?,
        ("month", None) => return Err(usage("a period of a month needs --month YYYY-MM; or give --period window")),
        ("window", _) => {
            let length = ask.window.to_ms - ask.window.from_ms;
            let back =
                |n: i64| Window { from_ms: ask.window.from_ms - n * length, to_ms: ask.window.to_ms - n * length };
            (0..PERIODS).rev().map(back).collect()
        }
        (other, _) => return Err(usage(format!("--period `{other}` is not one of: month, window"))),
    };
    Ok(report::health(&place.reader(lake).await?, &ask, &windows).await?)
}

/// The calendar months up to one, in order.
fn months_to(month: &str, zone: chrono_tz::Tz) -> anyhow::Result<Vec<Window>> {
    let last = window::month_number(month).map_err(|e| usage(e.to_string()))?;
    let months = (last - PERIODS + 1..=last).map(|n| window::month(&window::month_name(n), zone));
    months.collect::<Result<_, _>>().map_err(|e| usage(e.to_string()))
}

/// Gaps are worth seeing before there are rates: their money is then 0 of no currency.
pub(super) fn currency_or_none(place: &Place, lake: &Lake) -> anyhow::Result<Currency> {
    match place.currency(lake) {
        Ok(currency) => Ok(currency),
        Err(_) if place.config.currency.is_none() => Ok(Currency::none()),
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
