//! The fields of one record, read as the map says.

use std::collections::HashMap;
use std::ops::Deref;

use chrono::{DateTime, NaiveDateTime};
use chrono_tz::Tz;
use csv::StringRecord;
use gpuledger_schema::window::local_to_ms;

use super::Fault;
use crate::import::decimal::{Decimal, Rounding};
use crate::import::map::{Count, Format, Instant, Map, Memory, Span, SpanUnit, Text};

/// First and last instant that a table of jobs can speak of (1970 to 2200); others are a wrong unit.
const INSTANTS_MS: std::ops::Range<i64> = 0..7_258_118_400_000;
/// Longest run or limit: a century; more is a wrong unit.
const SPAN_MS_MAX: i64 = 100 * 366 * 86_400_000;
/// Most things of a kind that one run can hold: more is garbage of the exporter.
const COUNT_MAX: i64 = 10_000_000;
/// Most memory that one run can hold or use: 1 PiB; more is garbage of the exporter.
pub(super) const BYTES_MAX: i64 = 1 << 50;

/// A record's fields, and the map of the job table they are of.
pub(super) struct Fields<'a> {
    pub(super) map: &'a Map,
    pub(super) values: Values<'a>,
}

impl<'a> Deref for Fields<'a> {
    type Target = Values<'a>;

    fn deref(&self) -> &Values<'a> {
        &self.values
    }
}

/// A record's fields by the names of their columns.
pub(in crate::import) struct Values<'a> {
    pub(in crate::import) absent: &'a [String],
    pub(in crate::import) origin_ms: Option<i64>,
    pub(in crate::import) columns: &'a HashMap<String, usize>,
    pub(in crate::import) zone: Option<Tz>,
    pub(in crate::import) record: &'a StringRecord,
}

impl<'a> Values<'a> {
    /// A field as it stands, without the space around it.
    pub(in crate::import) fn raw(&self, column: &str) -> &'a str {
        self.columns.get(column).and_then(|at| self.record.get(*at)).unwrap_or_default().trim()
    }

    /// A field, where it holds a value.
    pub(in crate::import) fn value(&self, column: &str) -> Option<&'a str> {
        let raw = self.raw(column);
        (!raw.is_empty() && !self.absent.iter().any(|a| a == raw)).then_some(raw)
    }

    /// A text.
    pub(in crate::import) fn text(&self, text: Option<&Text>) -> Option<String> {
        match text? {
            Text::Column(column) => self.value(column).map(str::to_owned),
            Text::Constant(constant) => Some(constant.clone()),
        }
    }

    /// An instant that has a column; `Ok(None)` where the field holds no value.
    pub(in crate::import) fn instant(&self, instant: &Instant) -> Result<Option<i64>, Fault> {
        let Instant::Column { column, format, absent } = instant else { return Ok(None) };
        let Some(text) = self.value(column).filter(|v| !absent.iter().any(|a| a == v)) else { return Ok(None) };
        let ms = self.instant_ms(text, format).map_err(|reason| Fault::new(column, reason))?;
        if INSTANTS_MS.contains(&ms) {
            Ok(Some(ms))
        } else {
            Err(Fault::new(column, format!("`{text}` is not between 1970 and 2200: is the format right?")))
        }
    }

    fn instant_ms(&self, text: &str, format: &Format) -> Result<i64, String> {
        let number = |unit| {
            let ms = Decimal::parse(text).and_then(|d| d.scaled(unit, 1, Rounding::Down));
            ms.ok_or_else(|| format!("`{text}` is no number"))
        };
        match format {
            Format::Epoch(unit) => number(*unit),
            Format::Relative(unit) => {
                let too_far = || format!("`{text}` is too far from the origin");
                self.origin_ms.unwrap_or_default().checked_add(number(*unit)?).ok_or_else(too_far)
            }
            Format::Rfc3339 => match DateTime::parse_from_rfc3339(text) {
                Ok(time) => Ok(time.timestamp_millis()),
                Err(error) => Err(format!("`{text}` is no RFC 3339 time: {error}")),
            },
            Format::Zoned(pattern) => match DateTime::parse_from_str(text, pattern) {
                Ok(time) => Ok(time.timestamp_millis()),
                Err(error) => Err(format!("`{text}` does not read as `{pattern}`: {error}")),
            },
            Format::Local(pattern) => {
                let naive = NaiveDateTime::parse_from_str(text, pattern)
                    .map_err(|error| format!("`{text}` does not read as `{pattern}`: {error}"))?;
                let zone = self.zone.ok_or("no zone is known for local times")?;
                local_to_ms(naive, zone).map_err(|error| error.to_string())
            }
        }
    }

    /// A length of time in milliseconds.
    pub(in crate::import) fn span(&self, span: &Span) -> Result<Option<i64>, Fault> {
        let Some(text) = self.value(&span.column) else { return Ok(None) };
        let fault = |reason: &str| Fault::new(&span.column, format!("`{text}` {reason}"));
        let ms = match span.unit {
            SpanUnit::Ms => number_ms(text, 1),
            SpanUnit::S => number_ms(text, 1_000),
            SpanUnit::Min => number_ms(text, 60_000),
            SpanUnit::H => number_ms(text, 3_600_000),
            SpanUnit::Hms => clock_ms(text),
        };
        match ms {
            None => Err(fault("is no length of time")),
            Some(ms) if ms < 0 || text.starts_with('-') => Err(fault("is below zero")),
            Some(ms) if ms > SPAN_MS_MAX => Err(fault("is longer than a century: is the unit right?")),
            Some(ms) => Ok(Some(ms)),
        }
    }

    /// A number of things, not below zero, and the column it is from.
    pub(in crate::import) fn number(&self, count: &Count) -> Result<Option<Decimal>, Fault> {
        let (column, text) = match &count.value {
            Text::Column(column) => (column.as_str(), self.value(column)),
            Text::Constant(constant) => ("", Some(constant.as_str())),
        };
        let Some(text) = text else { return Ok(None) };
        let fault = |reason: &str| Fault::new(column, format!("`{text}` {reason}"));
        let number = Decimal::parse(text).ok_or_else(|| fault("is no number"))?;
        if number.is_negative() {
            return Err(fault("is below zero"));
        }
        match number.scaled(1, count.of, Rounding::Up) {
            Some(n) if n <= COUNT_MAX => Ok(Some(number)),
            _ => Err(fault(&format!("is more than {COUNT_MAX}, which is no count of such things"))),
        }
    }

    /// A whole number of things; a part of one counts as one.
    pub(in crate::import) fn count(&self, count: Option<&Count>) -> Result<Option<i64>, Fault> {
        let Some(count) = count else { return Ok(None) };
        Ok(self.number(count)?.and_then(|n| n.scaled(1, count.of, Rounding::Up)))
    }

    /// Memory in bytes.
    pub(in crate::import) fn memory(&self, memory: Option<&Memory>) -> Result<Option<i64>, Fault> {
        let Some(memory) = memory else { return Ok(None) };
        self.quantity(&memory.column, memory.unit.bytes(), BYTES_MAX)
    }

    /// A measured number in a unit, from 0 to the most it can be.
    pub(in crate::import) fn quantity(&self, column: &str, unit: i64, most: i64) -> Result<Option<i64>, Fault> {
        let Some(text) = self.value(column) else { return Ok(None) };
        let fault = |reason: &str| Fault::new(column, format!("`{text}` {reason}"));
        let number = Decimal::parse(text).ok_or_else(|| fault("is no number"))?;
        match number.scaled(unit, 1, Rounding::Nearest) {
            _ if number.is_negative() => Err(fault("is below zero")),
            Some(value) if value <= most => Ok(Some(value)),
            _ => Err(fault("is more than can be")),
        }
    }
}

fn number_ms(text: &str, unit: i64) -> Option<i64> {
    Decimal::parse(text)?.scaled(unit, 1, Rounding::Down)
}

/// `[D-]HH:MM:SS[.part]`; hours may be above 23 where no days are given.
fn clock_ms(text: &str) -> Option<i64> {
    let digits = |t: &str| (!t.is_empty() && t.bytes().all(|b| b.is_ascii_digit())).then(|| t.parse::<i64>().ok())?;
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(digits(days)?), clock),
        None => (None, text),
    };
    let mut parts = clock.split(':');
    let (hours, minutes, seconds) = (digits(parts.next()?)?, digits(parts.next()?)?, parts.next()?);
    let seconds_ms = seconds.starts_with(|c: char| c.is_ascii_digit()).then(|| number_ms(seconds, 1_000))??;
    let fits = parts.next().is_none() && minutes < 60 && seconds_ms < 60_000 && (days.is_none() || hours < 24);
    let whole = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?.checked_mul(60)?.checked_add(minutes)?;
    fits.then(|| whole.checked_mul(60_000)?.checked_add(seconds_ms))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_to_the_millisecond() {
        for (text, expected) in [
            ("00:00:00", Some(0)),
            ("01:02:03", Some(3_723_000)),
            ("100:00:00.5", Some(360_000_500)),
            ("2-03:00:00", Some(183_600_000)),
            ("2-24:00:00", None),
            ("01:60:00", None),
            ("01:00:60", None),
            ("-01:00:00", None),
            ("01:02", None),
            ("1:2:3:4", None),
            ("01:02:-3", None),
            ("", None),
        ] {
            assert_eq!(clock_ms(text), expected, "{text}");
        }
    }
}
