//! Budgets that reached one of their marks, from `report budgets`: each mark of each budget is told once.

use chrono_tz::Tz;
use gpuledger_notify::Notice;
use gpuledger_notify::notice::{BudgetAlert, Measure};
use gpuledger_schema::window::instant;
use serde_json::Value;

use super::figure::percent_of_share;
use super::link::Links;
use super::read::{Row, Trouble, rows};
use super::when;
use crate::answer::currency_of;

/// A mark that was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reached {
    /// Says which mark of which budget.
    pub(super) key: String,
    /// What is told.
    pub(super) notice: Notice,
}

/// The highest mark that each budget has reached in money, and in hours.
///
/// # Errors
/// A row lacks a figure, or says of marks what is not understood.
pub(super) fn reached(document: &Value, links: &Links, zone: Tz, now_ms: i64) -> Result<Vec<Reached>, Trouble> {
    let currency = currency_of(document);
    let mut out = Vec::new();
    for row in rows(document, "rows")? {
        let marks = row.text("reached")?.map(marks).transpose()?.unwrap_or_default();
        for measure in [Measure::Money, Measure::GpuHours] {
            let highest = marks.iter().filter(|m| m.0 == measure).map(|m| m.1).max();
            if let Some(mark) = highest {
                out.push(one(row, measure, mark, currency, links, zone, now_ms)?);
            }
        }
    }
    Ok(out)
}

/// `80 % 2026-10-21, 100 % of hours 2026-10-25`: what each is of, and the percent.
fn marks(text: &str) -> Result<Vec<(Measure, i64)>, Trouble> {
    let one = |part: &str| -> Option<(Measure, i64)> {
        let (percent, rest) = part.split_once(" % ")?;
        let measure = if rest.starts_with("of hours ") { Measure::GpuHours } else { Measure::Money };
        Some((measure, percent.parse().ok()?))
    };
    let wrong = |part: &str| format!("`{part}` is no mark of a budget");
    text.split(", ").map(|part| one(part).ok_or_else(|| wrong(part))).collect()
}

fn one(
    row: Row<'_>,
    measure: Measure,
    mark: i64,
    currency: &str,
    links: &Links,
    zone: Tz,
    now_ms: i64,
) -> Result<Reached, Trouble> {
    let (word, names) = match measure {
        Measure::Money => ("money", ["budget", "spent", "used", "run_rate"]),
        Measure::GpuHours => ("hours", ["budget_hours", "held_hours", "held_of_budget", "run_rate_hours"]),
    };
    let [budget, used, share, forecast] = names;
    let shown = |name: &str| -> Result<Option<String>, Trouble> {
        let number = row.decimal(name)?;
        Ok(number.map(|n| if measure == Measure::GpuHours { n.to_digits(1) } else { n }.to_string()))
    };
    let needed = |name: &str| shown(name)?.ok_or_else(|| format!("a budget that reached a mark has no `{name}`"));
    let (team, from) = (row.word("team")?, row.word("from")?);
    let ms = |text: &str| instant(text, zone).map_err(|e| e.to_string());
    let (from_ms, to_ms) = (ms(&from)?, ms(&row.word("to")?)?);
    let used_percent = row.text(share)?.and_then(|text| percent_of_share(text, 1));
    let first = when::day(from_ms, zone);
    Ok(Reached {
        key: format!("budget/{team}/{first}/{word}/{mark}"),
        notice: Notice::BudgetAlert(BudgetAlert {
            from: first,
            to: when::day(to_ms - 1, zone),
            zone: zone.name().to_owned(),
            measure,
            currency: currency.to_owned(),
            mark_percent: mark.to_string(),
            used_percent: used_percent.ok_or_else(|| format!("a budget that reached a mark has no `{share}`"))?,
            used: needed(used)?,
            budget: needed(budget)?,
            forecast: shown(forecast)?,
            days_left: when::days_between(now_ms, to_ms, zone),
            page: links.budgets(),
            team,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(reached: &str) -> Value {
        json!({"currency": "EUR", "rows": [{
            "team": "nlp", "from": "2026-10-01T00:00:00+02:00", "to": "2027-01-01T00:00:00+01:00", "budget": "150000.00",
            "spent": "124800.00", "used": "0.832000", "run_rate": null, "low": null, "high": null, "budget_hours": "1000.0000",
            "held_hours": "1012.3400", "held_of_budget": "1.012340", "run_rate_hours": "2024.0600", "reached": reached,
        }]})
    }

    #[test]
    fn the_highest_mark_of_each_measure_is_told() {
        let zone = Tz::Europe__Berlin;
        let now = instant("2026-11-01", zone).unwrap();
        let said = "50 % 2026-10-11, 80 % 2026-10-21, 100 % of hours 2026-10-25";
        let found = reached(&document(said), &Links::new(None), zone, now).unwrap();
        let keys: Vec<&str> = found.iter().map(|r| r.key.as_str()).collect();
        assert_eq!(keys, ["budget/nlp/2026-10-01/money/80", "budget/nlp/2026-10-01/hours/100"]);
        let Notice::BudgetAlert(money) = &found[0].notice else { panic!() };
        assert_eq!((money.used_percent.as_str(), money.to.as_str(), money.days_left), ("83.2", "2026-12-31", 61));
        assert_eq!(money.forecast, None, "what is not known is not zero");
        let Notice::BudgetAlert(hours) = &found[1].notice else { panic!() };
        assert_eq!((hours.used.as_str(), hours.forecast.as_deref()), ("1012.3", Some("2024.1")));
        assert!(reached(&document("-"), &Links::new(None), zone, now).unwrap().is_empty());
        assert!(reached(&document("soon"), &Links::new(None), zone, now).unwrap_err().contains("`soon`"));
    }
}
