//! What stands at the top of every document: period, zone, state, hash, as words of a language.

use chrono::{DateTime, Datelike, TimeZone, Utc};
use chrono_tz::Tz;
use gpuledger_schema::bill::{Bill, State};

use crate::error::ExportError;
use crate::text::Lang;

/// An instant as UTC.
pub(crate) fn utc(ms: i64) -> Result<DateTime<Utc>, ExportError> {
    DateTime::from_timestamp_millis(ms).ok_or(ExportError::NoDate(ms))
}

/// An instant as ISO 8601 in UTC, to the second where it is one: `2026-10-31T23:00:00Z`.
pub(crate) fn iso(ms: i64) -> Result<String, ExportError> {
    let format = if ms.rem_euclid(1000) == 0 { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%.3fZ" };
    Ok(utc(ms)?.format(format).to_string())
}

/// The zone of a bill.
pub(crate) fn zone(bill: &Bill) -> Result<Tz, ExportError> {
    bill.zone.parse().map_err(|_| ExportError::NoZone(bill.zone.clone()))
}

/// An instant in a zone, to the minute, with the zone's offset: `2026-11-04 09:00 +01:00`.
pub(crate) fn local(ms: i64, zone: Tz) -> Result<String, ExportError> {
    Ok(zone.from_utc_datetime(&utc(ms)?.naive_utc()).format("%Y-%m-%d %H:%M %:z").to_string())
}

/// The instant that a document carries as its time: of the close, or the one up to which a draft counts.
pub(crate) fn document_ms(bill: &Bill) -> i64 {
    match &bill.state {
        State::Draft { as_of_ms, .. } => *as_of_ms,
        State::Closed { closed_ms, .. } => *closed_ms,
    }
}

/// The state in words: a draft with its cut, or closed with its hash.
pub(crate) fn state(bill: &Bill, lang: Lang) -> Result<String, ExportError> {
    let zone = zone(bill)?;
    Ok(match &bill.state {
        State::Draft { cut, as_of_ms } => {
            lang.fill("state.draft", &[("cut", &cut.to_string()), ("time", &local(*as_of_ms, zone)?)])
        }
        State::Closed { closed_ms, close_id, .. } => {
            lang.fill("state.closed", &[("time", &local(*closed_ms, zone)?), ("close", close_id)])
        }
    })
}

/// The hash of the lines; a draft has none.
pub(crate) fn hash(bill: &Bill) -> Option<&str> {
    match &bill.state {
        State::Draft { .. } => None,
        State::Closed { output_sha256, .. } => Some(output_sha256),
    }
}

/// The days of the period in words: `1-31 October 2026`, both included; and for whatever is no month its first and last day.
pub(crate) fn days(bill: &Bill, lang: Lang) -> Result<String, ExportError> {
    let zone = zone(bill)?;
    let first = zone.from_utc_datetime(&utc(bill.from_ms)?.naive_utc());
    let last = zone.from_utc_datetime(&utc(bill.to_ms - 1)?.naive_utc());
    let (year, from, to) = (first.year().to_string(), first.day().to_string(), last.day().to_string());
    if (first.year(), first.month()) == (last.year(), last.month()) {
        let month = lang.month(first.month());
        return Ok(lang.fill("range.month", &[("from", &from), ("to", &to), ("month", month), ("year", &year)]));
    }
    let date = |d: DateTime<Tz>| d.format("%Y-%m-%d").to_string();
    Ok(lang.fill("range.long", &[("from", &date(first)), ("to", &date(last))]))
}

/// The period as a name in a sentence: `October 2026`, or what it is called where it is no month.
pub(crate) fn period_name(bill: &Bill, lang: Lang) -> String {
    let month = bill.period.split_once('-').and_then(|(y, m)| Some((y.to_owned(), m.parse::<u32>().ok()?)));
    match month {
        Some((year, m)) if bill.period.len() == 7 && (1..=12).contains(&m) => {
            lang.fill("period.month", &[("month", lang.month(m)), ("year", &year)])
        }
        _ => bill.period.clone(),
    }
}
