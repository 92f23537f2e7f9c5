//! Instants as Slurm prints them: naive local times, epoch seconds, or times with an offset.

use chrono::{DateTime, LocalResult, NaiveDateTime, TimeZone};
use chrono_tz::Tz;

use super::is_blank;

/// 1990-01-01T00:00:00Z: no accounting record is older.
const EARLIEST_MS: i64 = 631_152_000_000;
/// 2200-01-01T00:00:00Z: later instants are mistakes (milliseconds taken for seconds, or a broken clock).
const LATEST_MS: i64 = 7_258_118_400_000;

/// An instant field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// `Unknown`, `None`, `N/A` or empty.
    Absent,
    /// Epoch milliseconds.
    At(i64),
    /// A local time that the zone had twice: the earlier and the later reading.
    Twice(i64, i64),
}

/// Why an instant could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// No such time, or not a time at all.
    #[error("`{0}` is no time of the form 2026-03-01T07:15:12")]
    Unreadable(String),
    /// A local time, and nobody said of which zone.
    #[error("`{0}` is a naive local time and no zone is given")]
    NoZone(String),
    /// The zone skipped it.
    #[error("local time {time} does not exist in {zone} (clocks were put forward)")]
    Skipped {
        /// The naive time.
        time: String,
        /// The zone.
        zone: String,
    },
    /// Before 1990 or after 2199.
    #[error("`{0}` is an impossible time (before 1990 or after 2199)")]
    OutOfRange(String),
}

/// Reads an instant; a naive time is one of `zone`, and is refused where no zone is given.
pub fn moment(text: &str, zone: Option<Tz>) -> Result<Moment, TimeError> {
    let text = text.trim();
    if is_blank(text) {
        return Ok(Moment::Absent);
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let seconds: i64 = text.parse().map_err(|_| TimeError::OutOfRange(text.to_owned()))?;
        let ms = seconds.checked_mul(1_000).ok_or_else(|| TimeError::OutOfRange(text.to_owned()))?;
        return in_range(ms, text).map(Moment::At);
    }
    if let Ok(t) = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%z"))
    {
        return in_range(t.timestamp_millis(), text).map(Moment::At);
    }
    let naive =
        NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S").map_err(|_| TimeError::Unreadable(text.to_owned()))?;
    let zone = zone.ok_or_else(|| TimeError::NoZone(text.to_owned()))?;
    match zone.from_local_datetime(&naive) {
        LocalResult::Single(t) => in_range(t.timestamp_millis(), text).map(Moment::At),
        LocalResult::Ambiguous(a, b) => {
            let (a, b) = (in_range(a.timestamp_millis(), text)?, in_range(b.timestamp_millis(), text)?);
            Ok(Moment::Twice(a.min(b), a.max(b)))
        }
        LocalResult::None => Err(TimeError::Skipped { time: text.to_owned(), zone: zone.name().to_owned() }),
    }
}

fn in_range(ms: i64, text: &str) -> Result<i64, TimeError> {
    if (EARLIEST_MS..LATEST_MS).contains(&ms) { Ok(ms) } else { Err(TimeError::OutOfRange(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRUSSELS: Option<Tz> = Some(chrono_tz::Europe::Brussels);

    #[test]
    fn one_instant_in_every_form_slurm_prints() {
        let noon = Ok(Moment::At(1_482_387_312_000));
        assert_eq!(moment("2016-12-22T07:15:12", Some(Tz::America__New_York)), Ok(Moment::At(1_482_408_912_000)));
        assert_eq!(moment("2016-12-22T07:15:12", BRUSSELS), noon);
        assert_eq!(moment("1482387312", None), noon);
        assert_eq!(moment("2016-12-22T06:15:12Z", None), noon);
        assert_eq!(moment("2016-12-22T07:15:12+01:00", None), noon);
        assert_eq!(moment("2016-12-22T07:15:12+0100", None), noon);
        for absent in ["", "Unknown", "None", "N/A", " None "] {
            assert_eq!(moment(absent, None), Ok(Moment::Absent), "{absent}");
        }
    }

    #[test]
    fn a_naive_time_needs_a_zone() {
        assert_eq!(
            moment("2016-12-22T07:15:12", None).unwrap_err().to_string(),
            "`2016-12-22T07:15:12` is a naive local time and no zone is given"
        );
    }

    #[test]
    fn a_doubled_hour_has_two_readings_and_a_skipped_one_none() {
        assert_eq!(moment("2026-10-25T02:30:00", BRUSSELS), Ok(Moment::Twice(1_792_888_200_000, 1_792_891_800_000)));
        assert!(matches!(moment("2026-03-29T02:30:00", BRUSSELS), Err(TimeError::Skipped { .. })));
    }

    #[test]
    fn impossible_times_are_refused() {
        for bad in ["2016-13-45T00:00:00", "2016-02-30T00:00:00", "2016-12-22", "07:15:12", "yesterday", "Unknow"] {
            assert!(matches!(moment(bad, BRUSSELS), Err(TimeError::Unreadable(_))), "{bad}");
        }
        for bad in ["1969-12-31T23:59:59", "0", "1482387312000", "99999999999999999999"] {
            assert!(matches!(moment(bad, BRUSSELS), Err(TimeError::OutOfRange(_))), "{bad}");
        }
    }
}
