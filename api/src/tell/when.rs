//! When reports are due: the calendar alone. A report is due from the moment at which what it tells of is over, for a while: a server
//! that starts on old data does not send years of mail.

use chrono::{Datelike, Days, NaiveDate};
use chrono_tz::Tz;
use gpuledger_schema::window::{Window, day_start_ms, month, month_name, month_number, month_of};

const DAY_MS: i64 = 86_400_000;
/// How long a draft is told after the end of its month.
const DRAFT_MS: i64 = 10 * DAY_MS;
/// How long a close is told.
pub(super) const CLOSE_MS: i64 = 14 * DAY_MS;
/// How long a week is told after its end.
const WEEK_MS: i64 = 5 * DAY_MS;
/// How long a half-year is told after its end.
const HALF_MS: i64 = 45 * DAY_MS;

/// A stretch of local days that is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Its name in keys: `2026-10`, `2026-W44`, `2026-H1`.
    pub(super) name: String,
    /// From its first local midnight to that after its last day.
    pub(super) window: Window,
    /// First day, YYYY-MM-DD.
    pub(super) first: String,
    /// Last day, YYYY-MM-DD.
    pub(super) last: String,
}

impl Stretch {
    /// The month of its last day.
    pub(super) fn month(&self) -> &str {
        self.last.get(..7).unwrap_or(&self.last)
    }
}

fn local_date(ms: i64, zone: Tz) -> Option<NaiveDate> {
    chrono::DateTime::from_timestamp_millis(ms).map(|t| t.with_timezone(&zone).date_naive())
}

fn stretch(name: String, first: NaiveDate, end: NaiveDate, zone: Tz) -> Option<Stretch> {
    let window = Window { from_ms: day_start_ms(first, zone), to_ms: day_start_ms(end, zone) };
    let shown = |date: NaiveDate| date.format("%Y-%m-%d").to_string();
    Some(Stretch { name, window, first: shown(first), last: shown(end.pred_opt()?) })
}

fn due(stretch: &Stretch, now_ms: i64, for_ms: i64) -> bool {
    (stretch.window.to_ms..stretch.window.to_ms + for_ms).contains(&now_ms)
}

/// The month that ended last, while a draft of it is told.
pub(super) fn draft_month(now_ms: i64, zone: Tz) -> Option<String> {
    let name = month_name(month_number(&month_of(now_ms, zone)).ok()? - 1);
    let ended_ms = month(&name, zone).ok()?.to_ms;
    (now_ms < ended_ms + DRAFT_MS).then_some(name)
}

/// The week from Monday to Sunday that ended last, while it is told.
pub(super) fn week(now_ms: i64, zone: Tz) -> Option<Stretch> {
    let today = local_date(now_ms, zone)?;
    let monday = today.checked_sub_days(Days::new(u64::from(today.weekday().num_days_from_monday())))?;
    let first = monday.checked_sub_days(Days::new(7))?;
    let name = format!("{}-W{:02}", first.iso_week().year(), first.iso_week().week());
    stretch(name, first, monday, zone).filter(|s| due(s, now_ms, WEEK_MS))
}

/// The half-year that ended last, while it is told.
pub(super) fn half_year(now_ms: i64, zone: Tz) -> Option<Stretch> {
    let today = local_date(now_ms, zone)?;
    let (year, half) = if today.month() <= 6 { (today.year() - 1, 2) } else { (today.year(), 1) };
    let first = NaiveDate::from_ymd_opt(year, if half == 1 { 1 } else { 7 }, 1)?;
    let end = if half == 1 { NaiveDate::from_ymd_opt(year, 7, 1)? } else { NaiveDate::from_ymd_opt(year + 1, 1, 1)? };
    stretch(format!("{year}-H{half}"), first, end, zone).filter(|s| due(s, now_ms, HALF_MS))
}

/// Whole local days from an instant to another, at least 0.
pub(super) fn days_between(from_ms: i64, to_ms: i64, zone: Tz) -> i64 {
    let days = local_date(from_ms, zone).zip(local_date(to_ms, zone)).map_or(0, |(a, b)| (b - a).num_days());
    days.max(0)
}

/// The local day in which an instant lies, YYYY-MM-DD.
pub(super) fn day(ms: i64, zone: Tz) -> String {
    local_date(ms, zone).map_or_else(|| ms.to_string(), |date| date.format("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuledger_schema::window::instant;

    const ZONE: Tz = Tz::Europe__Berlin;

    fn at(text: &str) -> i64 {
        instant(text, ZONE).unwrap()
    }

    #[test]
    fn a_draft_is_told_after_the_month_and_not_for_ever() {
        assert_eq!(draft_month(at("2026-11-01"), ZONE).as_deref(), Some("2026-10"));
        assert_eq!(draft_month(at("2026-11-01") - 1, ZONE), None, "October is not over, September is told no more");
        assert_eq!(draft_month(at("2026-11-11") - 1, ZONE).as_deref(), Some("2026-10"));
        assert_eq!(draft_month(at("2026-11-11"), ZONE), None);
        assert_eq!(draft_month(at("2026-01-01"), ZONE).as_deref(), Some("2025-12"));
    }

    #[test]
    fn a_week_ends_at_the_local_midnight_before_monday() {
        // the week in which the clocks are put back has 169 hours
        let told = week(at("2026-10-26"), ZONE).unwrap();
        assert_eq!(
            (told.name.as_str(), told.first.as_str(), told.last.as_str()),
            ("2026-W43", "2026-10-19", "2026-10-25")
        );
        assert_eq!(told.window.to_ms - told.window.from_ms, 169 * 3_600_000);
        assert_eq!(week(at("2026-10-26") - 1, ZONE), None, "on Sunday the week before is told no more");
        assert_eq!(week(at("2026-10-30"), ZONE).unwrap().name, "2026-W43");
        // the first days of a year may lie in the last week of the one before
        assert_eq!(week(at("2027-01-04"), ZONE).unwrap().name, "2026-W53");
    }

    #[test]
    fn a_half_year_is_told_in_the_weeks_after_it() {
        let told = half_year(at("2026-07-01"), ZONE).unwrap();
        assert_eq!(
            (told.name.as_str(), told.first.as_str(), told.last.as_str()),
            ("2026-H1", "2026-01-01", "2026-06-30")
        );
        assert_eq!(half_year(at("2027-01-15"), ZONE).unwrap().name, "2026-H2");
        assert_eq!(half_year(at("2026-10-01"), ZONE), None);
    }

    #[test]
    fn days_are_those_of_the_zone() {
        assert_eq!(days_between(at("2026-10-24"), at("2026-10-26"), ZONE), 2);
        assert_eq!(days_between(at("2026-10-26"), at("2026-10-24"), ZONE), 0);
        assert_eq!(day(at("2026-10-26") - 1, ZONE), "2026-10-25");
    }
}
