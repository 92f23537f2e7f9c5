//! Days of the week and times of day as people type them, and whether two windows of the week meet.

/// Minutes of a day.
pub(crate) const DAY_MINUTES: i64 = 1_440;
/// Windows lie on the quarters of an hour: the cells of the ledger.
const QUARTER: i64 = 15;
/// Names of the days, in order; Monday is bit 1.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Every day.
pub(crate) const EVERY_DAY: i64 = 127;

/// The days of `mon-fri`, `sat,sun`, `fri-mon` as bits: Monday 1, Tuesday 2 ... Sunday 64.
pub(crate) fn mask(text: &str) -> Result<i64, String> {
    let bad = || format!("`{text}` is not days of the week such as mon-fri or sat,sun");
    let day = |name: &str| DAYS.iter().position(|d| *d == name.trim()).ok_or_else(bad);
    let mut mask = 0_i64;
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (day(first)?, day(last)?),
            None => (day(part)?, day(part)?),
        };
        let mut at = first;
        loop {
            if mask & (1 << at) != 0 {
                return Err(format!("`{text}` names {} twice", DAYS[at]));
            }
            mask |= 1 << at;
            if at == last {
                break;
            }
            at = (at + 1) % DAYS.len();
        }
    }
    Ok(mask)
}

/// The minute of the day of `HH:MM`, on a quarter of an hour. At the end of a window midnight is that after the day.
pub(crate) fn minute(text: &str, end: bool) -> Result<i64, String> {
    let bad = || format!("`{text}` is not a time of day HH:MM from 00:00 to {}", if end { "24:00" } else { "23:45" });
    let (hour, minute) = text.split_once(':').ok_or_else(bad)?;
    let number = |digits: &str| match digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit()) {
        true => digits.parse::<i64>().map_err(|_| bad()),
        false => Err(bad()),
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let at = hour * 60 + minute;
    if minute > 59 || at > DAY_MINUTES || (at == DAY_MINUTES && !end) {
        return Err(bad());
    }
    if at % QUARTER != 0 {
        return Err(format!("`{text}` is not on a quarter of an hour"));
    }
    Ok(if end && at == 0 { DAY_MINUTES } else { at })
}

/// A minute of the day as it is typed.
pub(crate) fn show_minute(minute: i64) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// A window of the week: the days on which it begins, and its first minute and the first after it; where that is not
/// later, it goes on into the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeekWindow {
    pub(crate) mask: i64,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl WeekWindow {
    /// Whether the two share a minute of the week.
    pub(crate) fn meets(self, other: Self) -> bool {
        let (mine, theirs) = (self.quarters(), other.quarters());
        mine.iter().zip(&theirs).any(|(a, b)| *a && *b)
    }

    /// Whether it is the whole week.
    pub(crate) fn is_whole(self) -> bool {
        self.quarters().iter().all(|q| *q)
    }

    /// The quarters of an hour of the week from Monday 00:00 that lie in it.
    fn quarters(self) -> Vec<bool> {
        let week = (7 * DAY_MINUTES / QUARTER) as usize;
        let mut inside = vec![false; week];
        let length = if self.to > self.from { self.to - self.from } else { self.to + DAY_MINUTES - self.from };
        for day in (0..7).filter(|day| self.mask & (1 << day) != 0) {
            let first = (day * DAY_MINUTES + self.from) / QUARTER;
            for quarter in first..first + length / QUARTER {
                inside[quarter as usize % week] = true;
            }
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_bits_and_ranges_may_pass_sunday() {
        for (text, bits) in
            [("mon-fri", 31), ("sat,sun", 96), ("fri-mon", 1 + 16 + 32 + 64), ("wed", 4), ("mon-sun", 127)]
        {
            assert_eq!(mask(text), Ok(bits), "{text}");
        }
        for text in ["", "monday", "mon-", "mon,,tue", "Mon", "1-5"] {
            assert_eq!(mask(text), Err(format!("`{text}` is not days of the week such as mon-fri or sat,sun")));
        }
        assert_eq!(mask("mon-fri,wed"), Err("`mon-fri,wed` names wed twice".to_owned()));
    }

    #[test]
    fn times_lie_on_quarters_and_midnight_ends_a_day() {
        assert_eq!(["00:00", "08:15", "23:45"].map(|t| minute(t, false)), [Ok(0), Ok(495), Ok(1_425)]);
        assert_eq!(["00:00", "24:00", "08:00"].map(|t| minute(t, true)), [Ok(1_440), Ok(1_440), Ok(480)]);
        assert_eq!(minute("08:10", false), Err("`08:10` is not on a quarter of an hour".to_owned()));
        for text in ["24:00", "8:00", "08:60", "25:00", "0800", "08:00:00", "+8:00"] {
            assert_eq!(minute(text, false), Err(format!("`{text}` is not a time of day HH:MM from 00:00 to 23:45")));
        }
        assert_eq!(show_minute(495), "08:15");
    }

    #[test]
    fn windows_of_the_week_meet_over_midnight_and_over_sunday() {
        let window = |days: &str, from: &str, to: &str| WeekWindow {
            mask: mask(days).unwrap(),
            from: minute(from, false).unwrap(),
            to: minute(to, true).unwrap(),
        };
        let nights = window("mon-fri", "22:00", "08:00");
        assert!(nights.meets(window("sat", "07:45", "09:00")), "Friday's night ends on Saturday");
        assert!(!nights.meets(window("sat", "08:00", "09:00")));
        assert!(!nights.meets(window("sun", "00:00", "24:00")));
        assert!(
            window("sun", "22:00", "08:00").meets(window("mon", "00:00", "00:15")),
            "Sunday's night ends on Monday"
        );
        assert!(window("mon-sun", "00:00", "24:00").is_whole());
        assert!(window("mon-sun", "08:00", "08:00").is_whole());
        assert!(!nights.is_whole());
    }
}
