//! `report assessment`: a half-year (or any window) of the fleet in a word, its figures beside those of the window before it, and
//! what to change.

use gpuledger_schema::window::{Window, show_ms};

use super::charge::charge;
use super::dimension::Dimension;
use super::findings::{Asked, findings};
use super::fleet_assets::assets;
use super::fleet_rows::{columns, percent, sums};
use super::fragment::fragment_steps;
use super::grouped::{Measure, ppm};
use super::health::direction;
use super::usage::usage;
use super::{Ask, Kind, Reader, Report, ReportError, Value, texts, whole};
use crate::engine::{Params, bigint, text};

/// The rule whose gaps say that work would fit on smaller or shared cards.
const TOO_LARGE: &str = "card_too_large";
/// Where the figures stand in a row of usage, in the order of this list: held, busy, held idle, held unmeasured, unallocated,
/// unavailable, unobserved, capacity.
const CLASSES: [&str; 8] = [
    "held_hours",
    "busy_hours",
    "held_idle_hours",
    "held_unmeasured_hours",
    "unallocated_hours",
    "unavailable_hours",
    "unobserved_hours",
    "capacity_hours",
];

/// Sums of a window.
#[derive(Debug, Clone, Copy, Default)]
struct Sums([i128; 8]);

impl Sums {
    fn capacity(self) -> i128 {
        self.0[7]
    }

    fn seen(self) -> i128 {
        self.capacity() - self.0[3] - self.0[6]
    }
}

fn total(report: &Report, column: &str) -> Option<i128> {
    let at = report.columns.iter().position(|c| c.name == column)?;
    match report.total.as_ref()?.get(at)? {
        Value::Ms(n) | Value::Money(n) | Value::Count(n) => Some(*n),
        _ => None,
    }
}

async fn classes(reader: &Reader, ask: &Ask) -> Result<Sums, ReportError> {
    let made = usage(reader, ask).await?;
    Ok(Sums(CLASSES.map(|name| total(&made, name).unwrap_or(0))))
}

/// The window before, as long as this one and adjoining it; of calendar months as many months.
fn before(ask: &Ask) -> Window {
    use gpuledger_schema::window::{month, month_name, month_number, month_of};
    let (from_ms, to_ms) = (ask.window.from_ms, ask.window.to_ms);
    let first = month_number(&month_of(from_ms, ask.zone));
    let end = month_number(&month_of(to_ms, ask.zone));
    let starts = |number: i64| month(&month_name(number), ask.zone).map(|w| w.from_ms);
    match (first, end) {
        (Ok(first), Ok(end)) if starts(first) == Ok(from_ms) && starts(end) == Ok(to_ms) => {
            let begins = starts(2 * first - end);
            Window { from_ms: begins.unwrap_or(2 * from_ms - to_ms), to_ms: from_ms }
        }
        _ => Window { from_ms: 2 * from_ms - to_ms, to_ms: from_ms },
    }
}

/// An assessment: rows `verdict` (its word), `figure` (parts of the capacity now and before, and the GPUs at the end) and `advice` (the
/// hours it is about and what they cost, where that is known).
///
/// # Errors
/// A failing lake or engine.
pub async fn assessment(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    reader.whole("assessment")?;
    let shown = columns(&[
        ("what", "what", Kind::Text),
        ("word", "", Kind::Text),
        ("now", "now", Kind::Percent),
        ("before", "before", Kind::Percent),
        ("hours", "GPU h", Kind::Hours),
        ("cost", "cost", Kind::Money),
        ("count", "", Kind::Count),
    ]);
    let ask = Ask { by: Vec::new(), step: None, ..ask.clone() };
    let earlier = Ask { window: before(&ask), ..ask.clone() };
    let then = classes(&reader.fork().await?, &earlier).await?;
    let now = classes(reader, &ask).await?;
    let mut rows = Vec::new();
    let said = said(reader, &ask, now).await?;
    rows.extend(said.iter().filter(|row| row[0] == Value::Text("verdict".to_owned())).cloned());
    rows.extend(figures(now, then));
    rows.push(gpus(reader, &ask).await?);
    rows.extend(said.into_iter().filter(|row| row[0] != Value::Text("verdict".to_owned())));
    let part = |n: i128| percent(Some(n), Some(now.capacity()));
    let sentence = if now.capacity() > 0 {
        format!(
            "from {} to {}: {} of the capacity busy, {} held and not used, {} nobody's, {} out of order, {} not measured or seen",
            show_ms(ask.window.from_ms, ask.zone),
            show_ms(ask.window.to_ms, ask.zone),
            part(now.0[1]),
            part(now.0[2]),
            part(now.0[4]),
            part(now.0[5]),
            part(now.0[3] + now.0[6])
        )
    } else {
        "nothing is known of any GPU in this time".to_owned()
    };
    Ok(Report {
        sentence,
        columns: shown,
        rows,
        total: None,
        notes: vec![format!("before: from {} on", show_ms(earlier.window.from_ms, ask.zone))],
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    })
}

fn figures(now: Sums, then: Sums) -> Vec<Vec<Value>> {
    let row = |word: &str, of: fn(Sums) -> i128| {
        vec![
            Value::Text("figure".to_owned()),
            Value::Text(word.to_owned()),
            ppm(of(now), now.capacity()),
            ppm(of(then), then.capacity()),
            Value::Ms(of(now)),
            Value::Unknown,
            Value::Unknown,
        ]
    };
    vec![
        row("allocated", |s| s.0[0]),
        row("busy", |s| s.0[1]),
        row("not_used", |s| s.0[2]),
        row("unallocated", |s| s.0[4]),
        row("unavailable", |s| s.0[5]),
        row("coverage", Sums::seen),
    ]
}

/// GPUs at the end of the window: those that the driver shows, and where it shows none those that are registered.
async fn gpus(reader: &Reader, ask: &Ask) -> Result<Vec<Value>, ReportError> {
    let made = assets(reader, ask.window.to_ms - 1).await?;
    let at = |name: &str| made.columns.iter().position(|c| c.name == name);
    let of = |row: &Vec<Value>, name: &str| match at(name).and_then(|i| row.get(i)) {
        Some(Value::Count(n)) => Some(*n),
        _ => None,
    };
    let count: i128 = made.rows.iter().map(|row| of(row, "seen").or(of(row, "registered")).unwrap_or(0)).sum();
    let word = |w: &str| Value::Text(w.to_owned());
    let unknown = || Value::Unknown;
    Ok(vec![word("figure"), word("gpus"), unknown(), unknown(), unknown(), unknown(), Value::Count(count)])
}

/// Verdict and advice, by `read/96_assessment`.
async fn said(reader: &Reader, ask: &Ask, now: Sums) -> Result<Vec<Vec<Value>>, ReportError> {
    let (direction, waiting_ms) = direction(&reader.fork().await?, ask).await?;
    let by_rule = Ask { by: vec![Dimension::Rule], ..ask.clone() };
    let found = findings(&reader.fork().await?, &by_rule, &Asked { grouped: true, ..Asked::default() }).await?;
    let at = |name: &str| found.columns.iter().position(|c| c.name == name).unwrap_or(0);
    let large = found.rows.iter().find(|row| row[0] == Value::Text(TOO_LARGE.to_owned()));
    let of = |name: &str| match large.map(|row| &row[at(name)]) {
        Some(Value::Ms(n) | Value::Money(n)) => *n,
        _ => 0,
    };
    let apart = reader.fork().await?;
    fragment_steps(&apart, ask).await?;
    let fragment = sums(apart.engine(), "fragment_loss", &[], &[Measure::Sum("fragment_ms")]).await?;
    let fragment_ms = fragment.first().and_then(|g| g.sums[0]).unwrap_or(0);
    let number = |n: i128| bigint(i64::try_from(n).unwrap_or(i64::MAX));
    let params = Params::from([
        ("busy_ms", number(now.0[1])),
        ("idle_ms", number(now.0[2])),
        ("unmeasured_ms", number(now.0[3])),
        ("unallocated_ms", number(now.0[4])),
        ("unavailable_ms", number(now.0[5])),
        ("unobserved_ms", number(now.0[6])),
        ("share_ms", number(of("gap_hours"))),
        ("fragment_ms", number(fragment_ms)),
        ("waiting_ms", number(waiting_ms)),
        ("direction", text(&direction)),
    ]);
    let (_, batches) = reader.engine().run("read/96_assessment", &params).await?;
    let money = charge(reader, ask).await?.report;
    let priced = ask.currency != super::Currency::none();
    let cost = |word: &str| {
        let known = match word {
            "reclaim" => total(&money, "waste"),
            "share" => Some(of("gap_cost")),
            "repair" => total(&money, "unavailable_cost"),
            "do_not_buy" => total(&money, "unallocated_cost"),
            // of what was waited for, lies badly or was not seen nobody knows the price
            _ => None,
        };
        known.filter(|_| priced).map_or(Value::Unknown, Value::Money)
    };
    let mut out = Vec::new();
    for batch in &batches {
        let (what, word, ms) = (texts(batch, "what")?, texts(batch, "word")?, whole(batch, "ms")?);
        for i in 0..batch.num_rows() {
            let cost = if what[i] == "advice" { cost(&word[i]) } else { Value::Unknown };
            out.push(vec![
                Value::Text(what[i].clone()),
                Value::Text(word[i].clone()),
                Value::Unknown,
                Value::Unknown,
                ms[i].map_or(Value::Unknown, Value::Ms),
                cost,
                Value::Unknown,
            ]);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Currency;
    use gpuledger_schema::window::instant;

    fn asked(from: &str, to: &str) -> Ask {
        let zone = chrono_tz::Europe::Berlin;
        let window = Window { from_ms: instant(from, zone).unwrap(), to_ms: instant(to, zone).unwrap() };
        Ask { window, zone, by: Vec::new(), step: None, currency: Currency::none() }
    }

    #[test]
    fn before_a_half_year_stands_the_half_year_and_before_days_as_many_days() {
        let half = before(&asked("2026-07-01", "2027-01-01"));
        assert_eq!(half, asked("2026-01-01", "2026-07-01").window);
        let month = before(&asked("2026-03-01", "2026-04-01"));
        assert_eq!(month, asked("2026-02-01", "2026-03-01").window);
        let days = before(&asked("2026-06-11", "2026-06-21"));
        assert_eq!(days, asked("2026-06-01", "2026-06-11").window);
    }
}
