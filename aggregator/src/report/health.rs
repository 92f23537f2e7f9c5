//! `report health`: the period in words, six trends, whether to grow or shrink, and what would save most.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::unit::CARD_UNITS;
use gpuledger_schema::window::{Window, show_ms};

use super::findings::judge;
use super::fleet::fleet_steps;
use super::fleet_rows::{columns, percent, share, sums};
use super::grouped::{Measure, texts, whole};
use super::money::round;
use super::render::{hours, money};
use super::{Ask, Kind, Reader, Report, ReportError, Value};
use crate::engine::{Params, bigint};

/// Busy under this part of the time in service makes a period a low one (in tenths).
const LOW_TENTHS: i128 = 3;

/// What is known of one period.
#[derive(Debug, Default)]
struct Period {
    /// Busy, held idle, unmeasured, held, unallocated, covered, effective, judged, unavailable, unobserved.
    classes: Vec<Option<i128>>,
    /// Card-days, judged, under, effective judged, effective under.
    days: Vec<Option<i128>>,
    /// Wait, run, jobs whose wait is known, wait x GPUs of those that started, and of those that still wait.
    waits: Vec<Option<i128>>,
    /// Outcomes, failed.
    ends: Vec<Option<i128>>,
}

impl Period {
    fn class(&self, i: usize) -> Option<i128> {
        self.classes.get(i).copied().flatten()
    }

    /// Time in which the fleet was in service.
    fn service(&self) -> Option<i128> {
        Some([3, 4, 9].iter().filter_map(|i| self.class(*i)).sum()).filter(|ms| *ms > 0)
    }

    /// What of it nobody measured or saw.
    fn unknown(&self) -> i128 {
        self.class(2).unwrap_or(0) + self.class(9).unwrap_or(0)
    }

    fn day(&self, i: usize) -> Option<i128> {
        self.days.get(i).copied().flatten()
    }

    fn wait(&self, i: usize) -> Option<i128> {
        self.waits.get(i).copied().flatten()
    }

    fn is_low(&self) -> bool {
        let known = self.service().filter(|ms| self.unknown() * 10 <= *ms);
        known.zip(self.class(0)).is_some_and(|(service, busy)| busy * 10 < service * LOW_TENTHS)
    }
}

async fn period(reader: &Reader, ask: &Ask) -> Result<Period, ReportError> {
    fleet_steps(reader, ask).await?;
    let engine = reader.engine();
    engine.step("waste/66_card_day", &Params::new()).await?;
    let one = async |table: &str, measures: &[Measure]| -> Result<Vec<Option<i128>>, ReportError> {
        Ok(sums(engine, table, &[], measures).await?.into_iter().next().map(|g| g.sums).unwrap_or_default())
    };
    let sum = Measure::Sum;
    Ok(Period {
        classes: one(
            "fleet_part",
            &[
                sum("busy_ms"),
                sum("held_idle_ms"),
                sum("held_unmeasured_ms"),
                sum("held_ms"),
                sum("unallocated_ms"),
                sum("covered_ms"),
                sum("effective_ms"),
                sum("judged_ms"),
                sum("unavailable_ms"),
                sum("unobserved_ms"),
            ],
        )
        .await?,
        days: one(
            "card_day",
            &[
                sum("card_days"),
                sum("judged_days"),
                sum("under_days"),
                sum("effective_judged_days"),
                sum("effective_under_days"),
            ],
        )
        .await?,
        waits: one(
            "job_wait",
            &[sum("wait_ms"), sum("run_ms"), sum("wait_known"), sum("wait_unit_ms"), sum("still_waiting_unit_ms")],
        )
        .await?,
        ends: one("run_end", &[sum("outcomes"), sum("failed")]).await?,
    })
}

/// The health of a period: `windows` are the periods in order, the one that is judged last.
///
/// # Errors
/// A failing lake or engine.
pub async fn health(reader: &Reader, ask: &Ask, windows: &[Window]) -> Result<Report, ReportError> {
    reader.whole("health")?;
    let shown = columns(&[
        ("from", "from", Kind::Text),
        ("busy_of_service", "busy", Kind::Percent),
        ("allocation_rate", "alloc.", Kind::Percent),
        ("effective_rate", "effect.", Kind::Percent),
        ("ineffective_occupancy", "ineff.", Kind::Percent),
        ("card_days", "card-days", Kind::Count),
        ("card_days_judged", "judged", Kind::Count),
        ("card_days_under_40", "under 40 %", Kind::Count),
        ("effective_days_under_40", "eff. under", Kind::Count),
        ("wait_of_run", "wait/run", Kind::Percent),
        ("failure_rate", "failed", Kind::Percent),
        ("coverage", "cover.", Kind::Percent),
    ]);
    let (mut rows, mut low, mut last) = (Vec::new(), 0_i64, Period::default());
    for window in windows {
        let of = Ask { window: *window, ..ask.clone() };
        let now = period(reader, &of).await?;
        low = if now.is_low() { low + 1 } else { 0 };
        rows.push(line(&now, &show_ms(window.from_ms, ask.zone)[..10]));
        last = now;
    }
    let mut notes = vec![advice(reader, &last, low).await?];
    notes.extend(savings(reader, ask).await?);
    Ok(Report {
        sentence: sentence(&last),
        columns: shown,
        rows,
        total: None,
        notes,
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    })
}

fn line(p: &Period, from: &str) -> Vec<Value> {
    let count = |v: Option<i128>| v.map_or(Value::Unknown, Value::Count);
    let held = p.class(3);
    let measured = held.zip(p.class(2)).map(|(held, unmeasured)| held - unmeasured);
    let known = p.service().filter(|ms| p.unknown() * 10 <= *ms);
    let judged = |i: usize, of: usize| count(p.day(i).filter(|_| p.day(of) > Some(0)));
    vec![
        Value::Text(from.to_owned()),
        share(p.class(0), known),
        share(held, held.zip(p.class(4)).map(|(held, free)| held + free)),
        share(p.class(6), p.class(7)),
        share(p.class(1), measured),
        count(p.day(0)),
        count(p.day(1)),
        judged(2, 1),
        judged(4, 3),
        share(p.wait(0), p.wait(1)),
        share(p.ends.get(1).copied().flatten(), p.ends.first().copied().flatten()),
        share(p.class(5), held),
    ]
}

fn sentence(p: &Period) -> String {
    let card_days = match (p.day(1), p.day(2)) {
        (Some(judged), Some(under)) if judged > 0 => {
            let effective = match (p.day(3), p.day(4)) {
                (Some(of), Some(n)) if of > 0 => format!("{n} of {of} by effective time"),
                _ => "unknown by effective time".to_owned(),
            };
            format!("{under} of {judged} judged card-days were busy under 40 % ({effective})")
        }
        _ => "no card-day was measured well enough to judge".to_owned(),
    };
    let n = p.wait(2).filter(|n| *n > 0);
    let waits = match (p.wait(0).zip(n), p.wait(1).zip(n)) {
        (Some((wait, n)), Some((run, _))) => {
            let word = if wait > run { "longer" } else { "not longer" };
            format!(
                "jobs waited {} h and ran {} h on average: {word} than they ran",
                hours(wait / n, 1),
                hours(run / n, 1)
            )
        }
        _ => "waits are unknown".to_owned(),
    };
    let (outcomes, failed) = (p.ends.first().copied().flatten(), p.ends.get(1).copied().flatten());
    format!("{card_days}; {waits}; {} of the runs with a known outcome failed", percent(failed, outcomes))
}

fn first(batches: &[RecordBatch]) -> Option<&RecordBatch> {
    batches.iter().find(|b| b.num_rows() > 0)
}

/// Periods that are looked at for whether a fleet is little used for long: the one that is judged and those before it.
const PERIODS: i64 = 6;

/// Whether to grow or shrink (`out`, `in`, `stay` or `unknown`), and the time that was waited for, ms: of a window by its sixths.
pub(super) async fn direction(reader: &Reader, ask: &Ask) -> Result<(String, i128), ReportError> {
    let (from_ms, length) = (ask.window.from_ms, ask.window.to_ms - ask.window.from_ms);
    let mut low = 0;
    for n in 0..PERIODS {
        let edge = |n: i64| from_ms + length * n / PERIODS;
        let window = Window { from_ms: edge(n), to_ms: edge(n + 1) };
        let part = period(reader, &Ask { window, ..ask.clone() }).await?;
        low = if part.is_low() { low + 1 } else { 0 };
    }
    let whole_window = period(reader, ask).await?;
    let (word, _, waiting) = weighed(reader, &whole_window, low).await?;
    Ok((word, waiting))
}

/// The direction, the time that is spare, and the time that was waited for, ms.
async fn weighed(reader: &Reader, p: &Period, low: i64) -> Result<(String, i128, i128), ReportError> {
    let number = |v: i128| bigint(i64::try_from(v).unwrap_or(i64::MAX));
    let waiting = [3, 4].iter().filter_map(|i| p.wait(*i)).sum::<i128>() / i128::from(CARD_UNITS);
    let params = Params::from([
        ("busy_ms", number(p.class(0).unwrap_or(0))),
        ("service_ms", number(p.service().unwrap_or(0))),
        ("unknown_ms", number(p.unknown())),
        ("waiting_ms", number(waiting)),
        ("low_periods", bigint(low)),
    ]);
    let (_, batches) = reader.engine().run("waste/68_advice", &params).await?;
    let Some(batch) = first(&batches) else { return Ok(("unknown".to_owned(), 0, waiting)) };
    Ok((texts(batch, "direction")?[0].clone(), whole(batch, "spare_ms")?[0].unwrap_or(0), waiting))
}

/// Whether to grow or shrink, in words.
async fn advice(reader: &Reader, p: &Period, low: i64) -> Result<String, ReportError> {
    let (direction, spare, waiting) = weighed(reader, p, low).await?;
    let busy = percent(p.class(0), p.service());
    Ok(match direction.as_str() {
        "out" => format!(
            "advice: scale out; {busy} of the time in service was busy, and {} GPU-hours were waited for",
            hours(waiting, 1)
        ),
        "in" => format!(
            "advice: scale in; busy was under 30 % in {low} periods one after another; {} of the time in service is spare",
            percent(Some(spare), p.service())
        ),
        "stay" => format!("advice: stay; {busy} of the time in service was busy"),
        _ => "advice: none, because too little of the time in service is known".to_owned(),
    })
}

/// The changes that would save most, with figures: what rules found in the period, by team and queue.
async fn savings(reader: &Reader, ask: &Ask) -> Result<Vec<String>, ReportError> {
    judge(reader, ask).await?;
    let (_, batches) = reader.engine().run("waste/67_saving", &Params::new()).await?;
    let mut out = Vec::new();
    for batch in &batches {
        let words = ["rule", "team", "queue", "subject", "remedy"].map(|name| texts(batch, name));
        let [rule, team, queue, subject, remedy] = words;
        let (rule, team, queue, subject, remedy) = (rule?, team?, queue?, subject?, remedy?);
        let (idle, gap) = (whole(batch, "idle_ms")?, whole(batch, "gap_ms")?);
        let (subjects, cost) = (whole(batch, "subjects")?, whole(batch, "cost")?);
        for i in 0..batch.num_rows() {
            let worth = match cost[i] {
                None => "which has no price".to_owned(),
                Some(exact) => {
                    let minor = round(reader.engine(), &ask.currency, &[("saving", vec![exact])]).await?[0][0];
                    format!("worth {} {}", money(minor, ask.currency.digits(), true), ask.currency.code())
                }
            };
            out.push(format!(
                "change {}: {} of team {} in queue {} ({} jobs): {} GPU-hours, {worth}. The dearest is {}: {}",
                out.len() + 1,
                rule[i],
                team[i],
                queue[i],
                subjects[i].unwrap_or(0),
                hours(idle[i].unwrap_or(0) + gap[i].unwrap_or(0), 1),
                subject[i],
                remedy[i]
            ));
        }
    }
    if out.is_empty() {
        out.push("no change would save anything that was measured".to_owned());
    } else {
        out.push(
            "each change is by itself: several may speak of the same time, so that they are not added together"
                .to_owned(),
        );
    }
    Ok(out)
}
