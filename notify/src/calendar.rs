//! Work calendars: the hours in which what is not urgent may disturb somebody.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, TimeZone};
use chrono_tz::Tz;
use gpuledger_schema::window::{day_start_ms, zone};
use serde::Deserialize;

/// Longest time that is searched for an open hour, in days. A calendar that is never open defers nothing for ever.
const SEARCH_DAYS: usize = 400;

/// `[notify.calendar.NAME]` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalendarConfig {
    /// IANA zone of the hours, e.g. `Asia/Shanghai`.
    pub zone: String,
    /// Days of the week, e.g. `["mon", "tue", "wed", "thu", "fri"]`.
    pub days: Vec<Weekday>,
    /// First minute of the working day, `HH:MM`.
    pub from: String,
    /// First minute after it, `HH:MM`, later than `from`; `24:00` is the end of the day.
    pub to: String,
    /// Dates on which nobody works, `YYYY-MM-DD`.
    #[serde(default)]
    pub holidays: Vec<NaiveDate>,
    /// Dates on which people work although the day of the week is free, `YYYY-MM-DD`.
    #[serde(default)]
    pub workdays: Vec<NaiveDate>,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

impl Weekday {
    /// Monday 1 to Sunday 7.
    const fn number(self) -> u32 {
        self as u32 + 1
    }
}

/// What is wrong with a calendar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// The zone is unknown.
    #[error("calendar `{name}`: unknown time zone `{zone}` (use an IANA name such as Europe/Berlin)")]
    Zone {
        /// The calendar.
        name: String,
        /// The zone.
        zone: String,
    },
    /// An hour cannot be read, or they are the wrong way round.
    #[error(
        "calendar `{name}`: from `{from}` to `{to}` are no hours of a day of the form HH:MM, the first before the second"
    )]
    Hours {
        /// The calendar.
        name: String,
        /// From.
        from: String,
        /// To.
        to: String,
    },
    /// No day of the week, and no workdays.
    #[error("calendar `{name}` is never open: name days of the week")]
    NeverOpen {
        /// The calendar.
        name: String,
    },
}

/// A work calendar, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkCalendar {
    zone: Tz,
    days: BTreeSet<u32>,
    from_minute: i64,
    to_minute: i64,
    holidays: BTreeSet<NaiveDate>,
    workdays: BTreeSet<NaiveDate>,
}

impl WorkCalendar {
    /// Checks a configured calendar.
    pub fn of(name: &str, config: &CalendarConfig) -> Result<Self, CalendarError> {
        let name = || name.to_owned();
        let zone = zone(&config.zone).map_err(|_| CalendarError::Zone { name: name(), zone: config.zone.clone() })?;
        let hours = match (minute_of(&config.from), minute_of(&config.to)) {
            (Some(from), Some(to)) if from < to => Ok((from, to)),
            _ => Err(CalendarError::Hours { name: name(), from: config.from.clone(), to: config.to.clone() }),
        };
        let (from_minute, to_minute) = hours?;
        let days: BTreeSet<u32> = config.days.iter().map(|d| d.number()).collect();
        if days.is_empty() {
            return Err(CalendarError::NeverOpen { name: name() });
        }
        Ok(Self {
            zone,
            days,
            from_minute,
            to_minute,
            holidays: config.holidays.iter().copied().collect(),
            workdays: config.workdays.iter().copied().collect(),
        })
    }

    fn works(&self, date: NaiveDate) -> bool {
        let by_week = self.days.contains(&date.weekday().number_from_monday());
        self.workdays.contains(&date) || (by_week && !self.holidays.contains(&date))
    }

    /// The working hours of a local date, as instants: on a day of 23 or 25 hours those of the wall clock.
    fn hours(&self, date: NaiveDate) -> Option<(i64, i64)> {
        let at = |minute: i64| {
            if minute == 24 * 60 {
                return date.succ_opt().map(|next| day_start_ms(next, self.zone));
            }
            let time = NaiveTime::MIN + chrono::Duration::minutes(minute);
            let local = self.zone.from_local_datetime(&date.and_time(time));
            // an hour that was skipped begins with the day, one that was doubled at its first
            Some(local.earliest().map_or_else(|| day_start_ms(date, self.zone), |t| t.timestamp_millis()))
        };
        self.works(date).then(|| Some((at(self.from_minute)?, at(self.to_minute)?))).flatten()
    }

    /// The first instant from `now_ms` on at which it is open: `now_ms` itself where it is open. A calendar that stays
    /// closed for more than a year gives `now_ms`: nothing waits for ever.
    pub fn opens_ms(&self, now_ms: i64) -> i64 {
        let Some(now) = DateTime::from_timestamp_millis(now_ms) else { return now_ms };
        let today = now.with_timezone(&self.zone).date_naive();
        let next = today.iter_days().take(SEARCH_DAYS).filter_map(|date| self.hours(date)).find(|(_, to)| *to > now_ms);
        next.map_or(now_ms, |(from_ms, _)| from_ms.max(now_ms))
    }
}

/// Minutes since midnight of `HH:MM`.
fn minute_of(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let two = |t: &str| (t.len() == 2).then(|| t.parse::<i64>().ok()).flatten();
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    let minute = hours * 60 + minutes;
    (hours >= 0 && (0..60).contains(&minutes) && minute <= 24 * 60).then_some(minute)
}

#[cfg(test)]
mod tests;
