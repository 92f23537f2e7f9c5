//! The demo's time: the month, the days in it, and local hours without asking the zone for every minute.

use chrono::{Datelike, NaiveDate, TimeZone, Timelike};
use chrono_tz::Tz;
use gpuledger_schema::unit::{DAY_MS, HOUR_MS};
use gpuledger_schema::window::{Window, day_of, day_start_ms};

/// A minute in milliseconds.
pub(super) const MINUTE_MS: i64 = 60_000;
/// How long before the month people already submit jobs, so that it starts with a full fleet.
pub(super) const WARM_UP_MS: i64 = 6 * DAY_MS;

/// The span of the data and its local hours.
#[derive(Debug)]
pub(super) struct Clock {
    /// From the first instant of the local month to the end of the data, which is their as-of.
    pub(super) span: Window,
    /// First of the month.
    pub(super) first: NaiveDate,
    zone: Tz,
    hours_from: i64,
    /// Local hour, and whether it lies on a workday, per UTC hour.
    hours: Vec<(u8, bool)>,
}

impl Clock {
    /// The clock of a month in a zone, or of its first `days`.
    pub(super) fn new(month: (i32, u32), zone: Tz, days: Option<u32>) -> Self {
        let first = NaiveDate::from_ymd_opt(month.0, month.1, 1).unwrap_or_default();
        let next = first.checked_add_months(chrono::Months::new(1)).unwrap_or(first);
        let last = days.map_or(next, |d| next.min(first + chrono::Days::new(u64::from(d.max(1)))));
        let span = Window { from_ms: day_start_ms(first, zone), to_ms: day_start_ms(last, zone) };
        let hours_from = (span.from_ms - WARM_UP_MS).div_euclid(HOUR_MS);
        // All of the month, however few days are asked for: stories look ahead.
        let hours =
            (hours_from..=day_start_ms(next, zone).div_euclid(HOUR_MS)).map(|h| local(h * HOUR_MS, zone)).collect();
        Self { span, first, zone, hours_from, hours }
    }

    /// The instant `hours` and `minutes` of wall clock after midnight of a day of the month, the first being 1.
    pub(super) fn at(&self, day: u32, hours: i64, minutes: i64) -> i64 {
        let date = self.first + chrono::Days::new(u64::from(day - 1));
        day_start_ms(date, self.zone) + hours * HOUR_MS + minutes * MINUTE_MS
    }

    /// Days of the whole month.
    pub(super) fn month_days(&self) -> u32 {
        let next = self.first.checked_add_months(chrono::Months::new(1)).unwrap_or(self.first);
        u32::try_from((next - self.first).num_days()).unwrap_or(28)
    }

    /// Local hour of an instant, and whether it is a workday.
    pub(super) fn hour(&self, ms: i64) -> (u8, bool) {
        let at = ms.div_euclid(HOUR_MS) - self.hours_from;
        usize::try_from(at).ok().and_then(|i| self.hours.get(i)).copied().unwrap_or((12, true))
    }

    /// UTC days that the data touch, each clipped to the span.
    pub(super) fn days(&self) -> Vec<Window> {
        let (first, last) = (day_of(self.span.from_ms), day_of(self.span.to_ms - 1));
        (first..=last)
            .map(|d| Window {
                from_ms: (d * DAY_MS).max(self.span.from_ms),
                to_ms: ((d + 1) * DAY_MS).min(self.span.to_ms),
            })
            .collect()
    }

    /// A date as reference files write it.
    pub(super) fn date(&self, day: u32) -> String {
        (self.first + chrono::Days::new(u64::from(day - 1))).format("%Y-%m-%d").to_string()
    }
}

fn local(ms: i64, zone: Tz) -> (u8, bool) {
    zone.timestamp_millis_opt(ms)
        .single()
        .map_or((12, true), |t| (t.hour() as u8, t.weekday().number_from_monday() <= 5))
}

/// The part of two intervals that is in both, in milliseconds.
pub(super) fn overlap(a: Window, b: Window) -> i64 {
    (a.to_ms.min(b.to_ms) - a.from_ms.max(b.from_ms)).max(0)
}

/// Rounds an instant down to a full second: schedulers write no finer.
pub(super) fn whole_second(ms: i64) -> i64 {
    ms - ms.rem_euclid(1_000)
}
