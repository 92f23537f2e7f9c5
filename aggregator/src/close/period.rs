//! Periods: calendar months of the billing zone, and what state each is in.

use chrono_tz::Tz;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::{self, Window, WindowError, day_of, month_name, month_number, month_of, show_ms};

use super::CloseError;
use super::manifest::Manifest;
use crate::bill::Period;
use crate::engine::{Params, bigint, int};
use crate::lake::Lake;
use crate::report::{Column, Currency, Kind, Reader, Report, Value};
use crate::rows::Columns;

/// State of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is not over.
    Open,
    /// It is over, and late data still joins it.
    Collecting,
    /// It is final.
    Closed,
}

impl Phase {
    /// The word for people and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Collecting => "COLLECTING",
            Self::Closed => "CLOSED",
        }
    }
}

/// A month of a zone as a period.
///
/// # Errors
/// When the text is not a month YYYY-MM.
pub fn period(name: &str, zone: Tz, currency: &Currency) -> Result<Period, WindowError> {
    Ok(Period { name: name.to_owned(), window: window::month(name, zone)?, zone, currency: currency.clone() })
}

/// The months from one to another, both included.
pub(super) fn months(first: &str, last: &str) -> Vec<String> {
    let numbers = month_number(first).ok().zip(month_number(last).ok());
    numbers.map_or_else(Vec::new, |(a, b)| (a..=b).map(month_name).collect())
}

/// State of a period at an instant.
pub fn phase(window: Window, closed: bool, now_ms: i64) -> Phase {
    match (closed, window.to_ms <= now_ms) {
        (true, _) => Phase::Closed,
        (false, true) => Phase::Collecting,
        (false, false) => Phase::Open,
    }
}

/// Whether a window has usage, and to which instant, epoch ms. Its last day is looked at first: nearly always it has some.
pub(super) async fn usage_to(reader: &Reader, window: Window) -> Result<Option<i64>, CloseError> {
    let Some((first, last)) = reader.build().days else { return Ok(None) };
    let first = first.max(day_of(window.from_ms) as i32);
    let last = last.min(day_of(window.to_ms - 1) as i32);
    for (from_day, to_day) in [(last, last), (first, last - 1)] {
        let params = Params::from([
            ("from_ms", bigint(window.from_ms)),
            ("to_ms", bigint(window.to_ms)),
            ("from_day", int(from_day)),
            ("to_day", int(to_day)),
        ]);
        let (_, rows) = reader.engine().run("close/34_any_usage", &params).await?;
        for b in &rows {
            if let Some(to_ms) = Columns(b).long("to_ms")?.into_iter().flatten().max() {
                return Ok(Some(to_ms));
            }
        }
    }
    Ok(None)
}

/// First and last month that the ledger has days of.
pub(super) fn months_of_ledger(reader: &Reader, zone: Tz) -> Option<(String, String)> {
    let (first, last) = reader.build().days?;
    let edge = |day: i32| i64::from(day) * DAY_MS;
    Some((month_of(edge(first), zone), month_of(edge(last + 1) - 1, zone)))
}

/// Every period from the first that has usage to now, and every closed one: state, totals and hash.
///
/// # Errors
/// When a document or usage cannot be read.
pub async fn periods(
    lake: &Lake,
    reader: &Reader,
    zone: Tz,
    currency: &Currency,
    now_ms: i64,
) -> Result<Report, CloseError> {
    let closed = Manifest::all(lake).await?;
    let mut names: Vec<String> = closed.iter().map(|m| m.period.clone()).collect();
    if let Some((first, last)) = months_of_ledger(reader, zone) {
        for month in months(&first, &last) {
            let window = window::month(&month, zone).unwrap_or(Window { from_ms: 0, to_ms: 0 });
            if window.from_ms <= now_ms && usage_to(reader, window).await?.is_some() {
                names.push(month);
            }
        }
    }
    names.sort();
    names.dedup();
    let mut rows = Vec::new();
    for month in names {
        rows.push(row(&month, closed.iter().find(|m| m.period == month), zone, now_ms));
    }
    let open = rows.iter().filter(|r| r.get(3) == Some(&Value::Unknown)).count();
    let column = |name: &str, heading: &str, kind| Column { name: name.to_owned(), heading: heading.to_owned(), kind };
    Ok(Report {
        sentence: format!("{} periods, {open} of them not closed", rows.len()),
        columns: vec![
            column("period", "period", Kind::Text),
            column("state", "state", Kind::Text),
            column("closed_at", "closed at", Kind::Text),
            column("lines", "lines", Kind::Count),
            column("billed", "billed", Kind::Money),
            column("corrections", "of it corrections", Kind::Money),
            column("fleet_cost", "fleet", Kind::Money),
            column("close_id", "close", Kind::Text),
            column("output_sha256", "", Kind::Text),
        ],
        rows,
        total: None,
        notes: Vec::new(),
        currency: Some(currency.clone()),
        table_decimals: 1,
    })
}

fn row(month: &str, closed: Option<&Manifest>, zone: Tz, now_ms: i64) -> Vec<Value> {
    let text = |t: &str| Value::Text(t.to_owned());
    match closed {
        Some(m) => vec![
            text(month),
            text(Phase::Closed.as_str()),
            Value::Text(show_ms(m.closed_ms, zone)),
            Value::Count(i128::from(m.lines)),
            Value::Money(i128::from(m.billed_minor)),
            Value::Money(i128::from(m.corrections_minor)),
            Value::Money(i128::from(m.conservation.fleet_minor)),
            text(&m.close_id),
            text(&m.output_sha256),
        ],
        None => {
            let over = window::month(month, zone).is_ok_and(|w| w.to_ms <= now_ms);
            let state = if over { Phase::Collecting } else { Phase::Open };
            let mut cells = vec![text(month), text(state.as_str()), text("")];
            cells.extend([const { Value::Unknown }; 4]);
            cells.extend([text(""), text("")]);
            cells
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_in_between_are_named_over_a_new_year() {
        assert_eq!(months("2025-11", "2026-02"), ["2025-11", "2025-12", "2026-01", "2026-02"]);
        assert_eq!(months("2026-02", "2026-01"), Vec::<String>::new());
        assert_eq!(month_of(1_772_294_400_000, chrono_tz::Asia::Shanghai), "2026-03");
        assert_eq!(month_of(1_772_294_399_999, chrono_tz::Asia::Shanghai), "2026-02");
    }

    #[test]
    fn a_period_is_collecting_from_its_last_instant_on() {
        let window = Window { from_ms: 0, to_ms: 10 };
        assert_eq!(phase(window, false, 9), Phase::Open);
        assert_eq!(phase(window, false, 10), Phase::Collecting);
        assert_eq!(phase(window, true, 10), Phase::Closed);
    }
}
