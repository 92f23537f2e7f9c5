//! `report census`: what each card did over a week: means, troughs, peaks, spells at rest, hours of the week.

use gpuledger_schema::unit::{CELL_MS, DAY_MS};
use gpuledger_schema::window::{Window, show_ms};

use super::facts::price_facts;
use super::fleet_rows::{columns, rows, sums, window_days};
use super::grouped::{Measure, texts};
use super::{Ask, Column, Kind, Reader, Report, ReportError, Value};
use crate::engine::{Params, bigint};

/// Length of a census where no window is given.
const WEEK_MS: i64 = 7 * DAY_MS;

/// The seven days before the end of what is known, in whole cells.
///
/// # Errors
/// A lake in which nothing is known of any cluster.
pub async fn last_week(reader: &Reader) -> Result<Window, ReportError> {
    let engine = reader.engine();
    engine.step("ledger/01_as_of", &Params::new()).await?;
    let end = sums(engine, "as_of", &[], &[Measure::Max("as_of_ms")]).await?;
    let end = end.first().and_then(|g| g.sums[0]).and_then(|ms| i64::try_from(ms).ok());
    let end = end.ok_or_else(|| ReportError::Empty("cluster".to_owned()))?.div_euclid(CELL_MS) * CELL_MS;
    Ok(Window { from_ms: end - WEEK_MS, to_ms: end })
}

fn card_columns() -> Vec<Column> {
    columns(&[
        ("cluster", "", Kind::Text),
        ("node", "node", Kind::Text),
        ("device", "card", Kind::Text),
        ("model", "", Kind::Text),
        ("verdict", "enough", Kind::Text),
        ("coverage", "cover.", Kind::Percent),
        ("sm_mean", "SM", Kind::Percent),
        ("sm_trough", "", Kind::Percent),
        ("sm_peak", "peak", Kind::Percent),
        ("util_mean", "", Kind::Percent),
        ("util_trough", "", Kind::Percent),
        ("util_peak", "", Kind::Percent),
        ("mem_mean_gib", "", Kind::Gib),
        ("mem_trough_gib", "", Kind::Gib),
        ("mem_peak_gib", "mem peak", Kind::Gib),
        ("mem_total_gib", "", Kind::Gib),
        ("power_mean_mw", "", Kind::Count),
        ("power_trough_mw", "", Kind::Count),
        ("power_peak_mw", "peak mW", Kind::Count),
        ("temperature_mean_c", "", Kind::Count),
        ("temperature_trough_c", "", Kind::Count),
        ("temperature_peak_c", "C", Kind::Count),
        ("processes_mean_milli", "", Kind::Count),
        ("processes_trough", "", Kind::Count),
        ("processes_peak", "proc.", Kind::Count),
        ("rest_hours", "rest h", Kind::Hours),
        ("longest_rest_hours", "longest", Kind::Hours),
        ("rest_spells", "spells", Kind::Count),
    ])
}

/// The census of a window, a row per card.
///
/// # Errors
/// A failing lake or engine.
pub async fn census(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    reader.whole("census")?;
    let params = window_days(ask.window);
    let shown = card_columns();
    let (_, batches) = reader.engine().run("waste/87_census_card", &params).await?;
    let mut enough = Vec::new();
    for batch in &batches {
        enough.extend(texts(batch, "enough")?);
    }
    // the verdict is said in words; all else is as the statement gives it
    let told: Vec<Column> = shown.iter().filter(|c| c.name != "verdict").cloned().collect();
    let mut made = rows(reader.engine(), "waste/87_census_card", &params, &told).await?;
    for (row, enough) in made.iter_mut().zip(&enough) {
        let word = if enough == "true" { "yes" } else { "not enough to judge" };
        row.insert(4, Value::Text(word.to_owned()));
    }
    let judged = enough.iter().filter(|e| *e == "true").count();
    let days = (ask.window.to_ms - ask.window.from_ms) / DAY_MS;
    let sentence = if judged == made.len() && judged > 0 {
        format!("{judged} cards over {days} days")
    } else {
        format!(
            "not enough to judge {} of {} cards: that takes 7 days, 90 % of them measured (here {days} days)",
            made.len() - judged,
            made.len()
        )
    };
    Ok(Report {
        notes: vec![
            "at rest: no measured activity above 1 %; a spell ends where nobody looked; spells of an hour and more"
                .to_owned(),
        ],
        ..Report::table(sentence, shown, made)
    })
}

/// The hours of the week of a window, over all cards.
///
/// # Errors
/// A failing lake or engine.
pub async fn census_hours(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    reader.whole("census")?;
    reader.calendar(ask.window, ask.zone)?;
    let shown = columns(&[
        ("weekday", "weekday", Kind::Count),
        ("hour", "hour", Kind::Count),
        ("ok_hours", "measured h", Kind::Hours),
        ("sm_mean", "SM", Kind::Percent),
        ("util_mean", "any kernel", Kind::Percent),
        ("mem_mean_gib", "memory GiB", Kind::Gib),
        ("power_mean_mw", "mW", Kind::Count),
        ("rest", "at rest", Kind::Percent),
    ]);
    let made = rows(reader.engine(), "waste/88_census_hour", &window_days(ask.window), &shown).await?;
    Ok(Report {
        notes: vec![format!("hours are of {}; weekday 1 is Monday", ask.zone.name())],
        ..Report::table(format!("{} of the 168 hours of the week were measured", made.len()), shown, made)
    })
}

/// What each card was most of the time in each local hour of a window, a row per card.
///
/// # Errors
/// A failing lake or engine.
pub async fn card_hours(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    reader.whole("hours of cards")?;
    reader.calendar(ask.window, ask.zone)?;
    let shown = columns(&[
        ("cluster", "", Kind::Text),
        ("node", "node", Kind::Text),
        ("device", "card", Kind::Text),
        ("from_ms", "", Kind::Count),
        ("hours", "hours", Kind::Text),
    ]);
    let made = rows(reader.engine(), "waste/88_card_hour", &window_days(ask.window), &shown).await?;
    Ok(Report {
        sentence: format!("{} cards, a character an hour from {}", made.len(), show_ms(ask.window.from_ms, ask.zone)),
        columns: shown,
        rows: made,
        total: None,
        notes: vec![
            "0 to 9: busy part of the measured time, in tenths; i idle, m not measured, f free, x unavailable, o unobserved".to_owned(),
        ],
        currency: None,
        table_decimals: 0,
    })
}

/// How long a run must have held GPUs in a window for its week to be looked at, GPU-ms.
const LONG_MS: i64 = DAY_MS;

/// When in the week each run that held GPUs for a day or more was busy, a row per run and who pays for it.
///
/// # Errors
/// A failing lake or engine.
pub async fn run_week(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    price_facts(reader, ask).await?;
    let shown = columns(&[
        ("cluster", "", Kind::Text),
        ("job", "job", Kind::Text),
        ("account", "", Kind::Text),
        ("team", "team", Kind::Text),
        ("user", "user", Kind::Text),
        ("model", "", Kind::Text),
        ("pool", "", Kind::Text),
        ("task_type", "type", Kind::Text),
        ("held_hours", "held", Kind::Hours),
        ("hours", "", Kind::Text),
    ]);
    let mut params = window_days(ask.window);
    params.insert("least_ms", bigint(LONG_MS));
    let made = rows(reader.engine(), "waste/88_run_week", &params, &shown).await?;
    let zone = ask.zone.name();
    let mut report = reader.narrow().rows(Report::table(String::new(), shown, made));
    report.sentence = format!("{} rows of runs that held GPUs for a day or more", report.rows.len());
    report.notes = vec![format!(
        "hours (csv, json, parquet): 168 characters from Monday 0:00 of {zone}; 0 to 9: busy part of the measured time, in tenths; a point: unknown"
    )];
    Ok(report)
}
