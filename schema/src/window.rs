//! Windows: cells, days, months in a zone, and the calendar that gives SQL its local days.
//!
//! SQL never sees a zone. It joins a calendar by cell; the calendar is made here with chrono-tz.

use chrono::{DateTime, Datelike, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};
use chrono_tz::Tz;

use crate::unit::{CELL_MS, DAY_MS};

/// A half-open interval of instants in epoch milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First instant inside.
    pub from_ms: i64,
    /// First instant after.
    pub to_ms: i64,
}

/// Why a window or an instant could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// The zone is not in the IANA database.
    #[error("unknown time zone `{0}` (use an IANA name such as Europe/Berlin)")]
    Zone(String),
    /// Not a month of the form `YYYY-MM`.
    #[error("`{0}` is not a month of the form YYYY-MM")]
    Month(String),
    /// Not a date or an instant.
    #[error("`{0}` is neither a date (YYYY-MM-DD) nor an instant (2026-03-01T00:00:00+01:00)")]
    Instant(String),
    /// A wall-clock time that the zone skipped.
    #[error("local time {time} does not exist in {zone} (clocks were put forward)")]
    Skipped {
        /// The naive time.
        time: String,
        /// The zone.
        zone: String,
    },
    /// A wall-clock time that the zone had twice.
    #[error("local time {time} is ambiguous in {zone} (clocks were put back)")]
    Ambiguous {
        /// The naive time.
        time: String,
        /// The zone.
        zone: String,
    },
    /// The end is not after the start.
    #[error("the window is empty: its end is not after its start")]
    Empty,
}

/// Reads an IANA zone name.
pub fn zone(name: &str) -> Result<Tz, WindowError> {
    name.parse().map_err(|_| WindowError::Zone(name.to_owned()))
}

/// The cell of an instant: `floor(ms / 900 000)`, also before 1970.
pub const fn cell_of(ms: i64) -> i64 {
    ms.div_euclid(CELL_MS)
}

/// The UTC day of an instant, in days since 1970-01-01.
pub const fn day_of(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS)
}

/// The instant of a naive local time; a skipped or doubled time is an error, never a guess.
pub fn local_to_ms(naive: NaiveDateTime, tz: Tz) -> Result<i64, WindowError> {
    match tz.from_local_datetime(&naive) {
        LocalResult::Single(t) => Ok(t.timestamp_millis()),
        LocalResult::None => Err(WindowError::Skipped { time: naive.to_string(), zone: tz.name().to_owned() }),
        LocalResult::Ambiguous(..) => {
            Err(WindowError::Ambiguous { time: naive.to_string(), zone: tz.name().to_owned() })
        }
    }
}

/// The first instant of a local date: midnight, or the first instant after a skipped midnight.
pub fn day_start_ms(date: NaiveDate, tz: Tz) -> i64 {
    let midnight = date.and_time(NaiveTime::MIN);
    match tz.from_local_datetime(&midnight) {
        LocalResult::Single(t) => t.timestamp_millis(),
        LocalResult::Ambiguous(earlier, _) => earlier.timestamp_millis(),
        LocalResult::None => {
            // The zone jumped over midnight: the day starts where the jump lands. Cells are 15 minutes.
            let mut probe = midnight;
            loop {
                probe += chrono::Duration::minutes(15);
                if let Some(t) = tz.from_local_datetime(&probe).earliest() {
                    return t.timestamp_millis();
                }
            }
        }
    }
}

/// A calendar month `YYYY-MM` of a zone.
pub fn month(text: &str, tz: Tz) -> Result<Window, WindowError> {
    let number = month_number(text)?;
    let first = |n: i64| {
        let year = i32::try_from(n.div_euclid(12)).ok()?;
        NaiveDate::from_ymd_opt(year, n.rem_euclid(12) as u32 + 1, 1)
    };
    let bad = || WindowError::Month(text.to_owned());
    let (first, next) = first(number).zip(first(number + 1)).ok_or_else(bad)?;
    Ok(Window { from_ms: day_start_ms(first, tz), to_ms: day_start_ms(next, tz) })
}

/// Number of a calendar month `YYYY-MM`, one more for each month. A month is written in one way only: its name is a key.
pub fn month_number(text: &str) -> Result<i64, WindowError> {
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i64>().ok()).flatten();
    let parts = text.split_once('-').filter(|(y, m)| y.len() == 4 && m.len() == 2);
    let number = parts.and_then(|(y, m)| digits(y).zip(digits(m)));
    let (year, month) =
        number.filter(|(_, m)| (1..=12).contains(m)).ok_or_else(|| WindowError::Month(text.to_owned()))?;
    Ok(year * 12 + month - 1)
}

/// The calendar month of a number.
pub fn month_name(number: i64) -> String {
    format!("{:04}-{:02}", number.div_euclid(12), number.rem_euclid(12) + 1)
}

/// The calendar month, `YYYY-MM`, in which an instant lies.
pub fn month_of(ms: i64, tz: Tz) -> String {
    tz.timestamp_millis_opt(ms).single().map_or_else(|| ms.to_string(), |t| t.format("%Y-%m").to_string())
}

/// An instant as a user types it: a date (midnight in `tz`) or RFC 3339 with an offset; a naive time is refused.
pub fn instant(text: &str, tz: Tz) -> Result<i64, WindowError> {
    if let Ok(t) = DateTime::parse_from_rfc3339(text) {
        return Ok(t.timestamp_millis());
    }
    if let Ok(d) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(day_start_ms(d, tz));
    }
    Err(WindowError::Instant(text.to_owned()))
}

/// One row of the calendar: a cell and the local date, month and hour it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarRow {
    /// The cell.
    pub cell: i64,
    /// Local date as the number YYYYMMDD.
    pub day: i32,
    /// Local month as the number YYYYMM.
    pub month: i32,
    /// First instant of the local hour, in epoch milliseconds (two different ones for a doubled hour).
    pub hour_start_ms: i64,
    /// Monday to Friday.
    pub workday: bool,
    /// Length of the local date in milliseconds (23, 23.5, 24, 24.5, 25 hours ...).
    pub day_ms: i64,
    /// Local hour of the day, 0 to 23.
    pub hour: i32,
    /// Day of the week: Monday 1 to Sunday 7.
    pub weekday: i32,
    /// Monday of the local week as the number YYYYMMDD.
    pub week: i32,
}

/// `YYYYMMDD` of a date.
fn day_number(date: NaiveDate) -> i32 {
    date.year() * 10_000 + date.month() as i32 * 100 + date.day() as i32
}

/// The calendar of a window in a zone: one row per cell, in order.
pub fn calendar(window: Window, tz: Tz) -> Vec<CalendarRow> {
    let mut rows = Vec::new();
    let mut cached: Option<(NaiveDate, i64)> = None;
    for cell in cell_of(window.from_ms)..=cell_of(window.to_ms - 1) {
        let start = cell * CELL_MS;
        let Some(local) = tz.timestamp_millis_opt(start).single() else { continue };
        let date = local.date_naive();
        let day_ms = match cached {
            Some((d, ms)) if d == date => ms,
            _ => {
                let next = date.succ_opt().unwrap_or(date);
                let ms = day_start_ms(next, tz) - day_start_ms(date, tz);
                cached = Some((date, ms));
                ms
            }
        };
        let weekday = date.weekday().number_from_monday();
        let monday = date - chrono::Duration::days(i64::from(weekday) - 1);
        let into_hour = i64::from(chrono::Timelike::minute(&local)) * 60_000;
        rows.push(CalendarRow {
            cell,
            day: day_number(date),
            month: date.year() * 100 + date.month() as i32,
            hour_start_ms: start - into_hour,
            workday: weekday <= 5,
            day_ms,
            hour: chrono::Timelike::hour(&local) as i32,
            weekday: weekday as i32,
            week: day_number(monday),
        });
    }
    rows
}

/// `YYYYMMDD` as a date text.
pub fn day_label(day: i32) -> String {
    format!("{:04}-{:02}-{:02}", day / 10_000, day / 100 % 100, day % 100)
}

/// An instant as local text with offset, for people.
pub fn show_ms(ms: i64, tz: Tz) -> String {
    tz.timestamp_millis_opt(ms)
        .single()
        .map_or_else(|| ms.to_string(), |t| t.format("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brussels_has_23_and_25_hour_days_and_743_and_745_hour_months() {
        let tz = zone("Europe/Brussels").unwrap();
        let h = |w: Window| (w.to_ms - w.from_ms) / 3_600_000;
        assert_eq!(h(month("2026-03", tz).unwrap()), 743);
        assert_eq!(h(month("2026-10", tz).unwrap()), 745);
        let day = |d: &str| {
            let d = NaiveDate::parse_from_str(d, "%Y-%m-%d").unwrap();
            (day_start_ms(d.succ_opt().unwrap(), tz) - day_start_ms(d, tz)) / 3_600_000
        };
        assert_eq!(day("2026-03-29"), 23);
        assert_eq!(day("2026-10-25"), 25);
    }

    #[test]
    fn skipped_and_doubled_local_times_are_errors() {
        let tz = zone("Europe/Brussels").unwrap();
        let at = |s: &str| local_to_ms(NaiveDateTime::parse_from_str(s, "%Y-%m-%dT%H:%M:%S").unwrap(), tz);
        assert!(matches!(at("2026-03-29T02:30:00"), Err(WindowError::Skipped { .. })));
        assert!(matches!(at("2026-10-25T02:30:00"), Err(WindowError::Ambiguous { .. })));
        assert!(at("2026-10-25T03:30:00").is_ok());
    }

    #[test]
    fn a_doubled_hour_has_two_starts_on_one_day() {
        let tz = zone("Europe/Brussels").unwrap();
        let day = Window { from_ms: instant("2026-10-25", tz).unwrap(), to_ms: instant("2026-10-26", tz).unwrap() };
        let rows = calendar(day, tz);
        assert_eq!(rows.len(), 100);
        let mut hours: Vec<i64> = rows.iter().map(|r| r.hour_start_ms).collect();
        hours.dedup();
        assert_eq!(hours.len(), 25);
        assert!(rows.iter().all(|r| r.day == 20_261_025 && r.day_ms == 25 * 3_600_000));
        assert!(rows.iter().all(|r| r.weekday == 7 && r.week == 20_261_019));
        assert_eq!(rows.iter().filter(|r| r.hour == 2).count(), 8);
    }

    #[test]
    fn months_and_instants_a_user_mistypes_are_refused() {
        let tz = zone("UTC").unwrap();
        for bad in ["2026", "2026-13", "2026-00", "26-01", "2026-1", "march", "2026-+3", "+026-03", "-202-03"] {
            assert!(month(bad, tz).is_err(), "{bad}");
        }
        assert!(instant("2026-04-01 00:00:00", tz).is_err());
        assert!(zone("Mars/Olympus").is_err());
        assert_eq!(month("2025-01", zone("Europe/Budapest").unwrap()).unwrap().from_ms, 1_735_686_000_000);
    }
}
