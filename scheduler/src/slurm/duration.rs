//! Durations as Slurm prints them: `[D-]HH:MM:SS[.fff]`, `MM:SS`, minutes, or a word.

use super::{is_blank, number};

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A duration field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// No value.
    Absent,
    /// Milliseconds.
    Ms(i64),
    /// `UNLIMITED`.
    Unlimited,
    /// `Partition_Limit`: the partition's own, which the record does not say.
    PartitionLimit,
}

impl Span {
    /// The milliseconds, where it has some.
    pub const fn ms(self) -> Option<i64> {
        match self {
            Self::Ms(ms) => Some(ms),
            Self::Absent | Self::Unlimited | Self::PartitionLimit => None,
        }
    }
}

/// Not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no duration of the form [D-]HH:MM:SS")]
pub struct SpanError(String);

/// Reads a duration. A plain number counts minutes, as in Slurm's own time limits.
pub fn span(text: &str) -> Result<Span, SpanError> {
    let text = text.trim();
    match text {
        "UNLIMITED" | "INFINITE" | "infinite" => return Ok(Span::Unlimited),
        "Partition_Limit" => return Ok(Span::PartitionLimit),
        _ if is_blank(text) => return Ok(Span::Absent),
        _ => {}
    }
    clock_ms(text).map(Span::Ms).ok_or_else(|| SpanError(text.to_owned()))
}

/// Reads whole seconds (`ElapsedRaw`).
pub fn seconds(text: &str) -> Result<Span, SpanError> {
    let text = text.trim();
    if is_blank(text) {
        return Ok(Span::Absent);
    }
    let ms = number::count(text).and_then(|s| s.checked_mul(SECOND_MS));
    ms.map(Span::Ms).ok_or_else(|| SpanError(text.to_owned()))
}

/// Seconds as `D-HH:MM:SS`, the form that [`span`] reads.
pub(crate) fn show_seconds(seconds: i64) -> String {
    format!("{}-{:02}:{:02}:{:02}", seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

fn clock_ms(text: &str) -> Option<i64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number::count(days)?), clock),
        None => (None, text),
    };
    let parts: Vec<&str> = clock.split(':').collect();
    // With days in front the clock starts at hours; without, its last part is seconds, or minutes if it stands alone.
    let (hours, minutes, seconds) = match (days, parts.as_slice()) {
        (_, [h, m, s]) => (number::count(h)?, sixtieth(m)?, second_ms(s)?),
        (Some(_), [h, m]) => (number::count(h)?, sixtieth(m)?, 0),
        (Some(_), [h]) => (number::count(h)?, 0, 0),
        (None, [m, s]) => (0, number::count(m)?, second_ms(s)?),
        (None, [m]) => (0, number::count(m)?, 0),
        _ => return None,
    };
    if days.is_some() && hours > 23 {
        return None;
    }
    days.unwrap_or(0)
        .checked_mul(DAY_MS)?
        .checked_add(hours.checked_mul(HOUR_MS)?)?
        .checked_add(minutes.checked_mul(MINUTE_MS)?)?
        .checked_add(seconds)
}

fn sixtieth(text: &str) -> Option<i64> {
    number::count(text).filter(|n| *n < 60)
}

fn second_ms(text: &str) -> Option<i64> {
    number::scaled(text, SECOND_MS).filter(|ms| *ms < MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_duration() {
        for (text, ms) in [
            ("10-13:27:06", 912_426_000),
            ("00:00:24", 24_000),
            ("0:00", 0),
            ("4:59", 299_000),
            ("00:00.275", 275),
            ("37-14:00:00", 3_247_200_000),
            ("1-00", 86_400_000),
            ("1-12:30", 131_400_000),
            ("10080", 604_800_000),
            ("100:00:00", 360_000_000),
        ] {
            assert_eq!(span(text), Ok(Span::Ms(ms)), "{text}");
        }
        assert_eq!(span("UNLIMITED"), Ok(Span::Unlimited));
        assert_eq!(span("Partition_Limit"), Ok(Span::PartitionLimit));
        assert_eq!(span("Unknown"), Ok(Span::Absent));
        assert_eq!(seconds("35317"), Ok(Span::Ms(35_317_000)));
        assert_eq!(span(&show_seconds(912_426)), Ok(Span::Ms(912_426_000)));
    }

    #[test]
    fn what_is_no_duration() {
        for bad in ["INVALID", "1:60", "00:61:00", "1-24:00:00", "-1:00", "1:2:3:4", "9999999999999999-00:00:00", "x"] {
            assert!(span(bad).is_err(), "{bad}");
        }
        assert!(seconds("1:00").is_err());
    }
}
