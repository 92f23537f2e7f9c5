//! Work hours: when somebody is there to answer.

use chrono::{DateTime, Datelike, Timelike, Weekday};
use chrono_tz::Tz;

/// Days and hours of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    /// The zone.
    pub zone: Tz,
    /// Days of the week.
    pub days: Vec<Weekday>,
    /// From, minutes since midnight.
    pub from_minute: u32,
    /// To (exclusive), minutes since midnight.
    pub to_minute: u32,
}

impl Hours {
    /// Whether an instant lies in them.
    pub fn has(&self, at_ms: i64) -> bool {
        let Some(local) = DateTime::from_timestamp_millis(at_ms).map(|t| t.with_timezone(&self.zone)) else {
            return false;
        };
        let minute = local.hour() * 60 + local.minute();
        self.days.contains(&local.weekday()) && (self.from_minute..self.to_minute).contains(&minute)
    }
}

/// Minutes since midnight of `09:30`; 24:00 is the end of a day.
pub(super) fn minute_of_day(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let at = hour * 60 + minute;
    (minute < 60 && at <= 24 * 60).then_some(at)
}
