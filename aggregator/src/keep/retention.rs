//! How long minutes are kept.

use chrono::{DateTime, Months};
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::day_of;

use crate::close::Manifest;
use crate::ledger::FAILURE_DAYS;

/// Months after the close of a period for which its minutes are kept.
const MONTHS: u32 = 13;
/// Days before a period whose minutes its cells are made with: how far back a failure of a device is looked for.
const DAYS_BEFORE: i64 = FAILURE_DAYS as i64 + 1;

/// The first UTC day whose minutes are kept at `now_ms`: those that the oldest period needs which is not closed, or not closed for
/// long enough. `first_day` is the first UTC day of the ledger. Without a closed period nothing goes.
pub(super) fn minutes_from(closed: &[Manifest], first_day: Option<i32>, now_ms: i64) -> Option<i32> {
    let mut sorted: Vec<&Manifest> = closed.iter().collect();
    sorted.sort_by_key(|m| m.from_ms);
    let (first, last) = (sorted.first()?, sorted.last()?);
    // what lies before the first closed period is of periods that are not closed
    let before = first_day.map(|day| i64::from(day) * DAY_MS).filter(|ms| day_of(*ms) < day_of(first.from_ms));
    // a period in between that is not closed keeps its minutes, as does everything after it
    let apart = sorted.windows(2).find(|pair| pair[0].to_ms != pair[1].from_ms).map(|pair| pair[0].to_ms);
    let young = sorted.iter().find(|m| !expired(m.closed_ms, now_ms)).map(|m| m.from_ms);
    let first_ms = [before, young, apart, Some(last.to_ms)].into_iter().flatten().min()?;
    i32::try_from(day_of(first_ms) - DAYS_BEFORE).ok()
}

fn expired(closed_ms: i64, now_ms: i64) -> bool {
    let until = DateTime::from_timestamp_millis(closed_ms).and_then(|t| t.checked_add_months(Months::new(MONTHS)));
    until.is_some_and(|t| t.timestamp_millis() <= now_ms)
}

/// Whether minutes of a closed period are past their time.
pub(crate) fn minutes_are_gone(manifest: &Manifest, minutes_from: Option<i32>) -> bool {
    minutes_from.is_some_and(|day| day_of(manifest.from_ms) - DAYS_BEFORE < i64::from(day))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn closed(month: i64, closed_day: i64) -> Manifest {
        Manifest {
            close_id: String::new(),
            period: format!("m{month}"),
            from_ms: month * 30 * DAY_MS,
            to_ms: (month + 1) * 30 * DAY_MS,
            zone: "UTC".into(),
            currency: "EUR".into(),
            issuer: String::new(),
            closed_ms: closed_day * DAY_MS,
            closed_by: String::new(),
            program: String::new(),
            cut: 1,
            tables: BTreeMap::new(),
            derived: BTreeMap::new(),
            written: BTreeMap::new(),
            days: None,
            ledger_rules: String::new(),
            rules: BTreeMap::new(),
            rules_sha256: String::new(),
            earlier: Vec::new(),
            corrects: Vec::new(),
            waived: Vec::new(),
            audit_head: None,
            files: Vec::new(),
            lines: 0,
            charges: 0,
            output_sha256: String::new(),
            billed_minor: 0,
            corrections_minor: 0,
            conservation: Default::default(),
            cost_centers: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn minutes_go_13_months_after_the_close() {
        let months = [closed(100, 3035), closed(101, 3065), closed(102, 3095)];
        assert_eq!(minutes_from(&[], None, 9_999 * DAY_MS), None);
        // nothing is old enough: everything from the first period on stays
        assert_eq!(minutes_from(&months, None, 3_100 * DAY_MS), Some(3_000 - 33));
        // day 3035 is 1978-04-24; 13 months later is 1979-05-24, day 3430
        assert_eq!(minutes_from(&months, None, 3_430 * DAY_MS - 1), Some(3_000 - 33));
        assert_eq!(minutes_from(&months, None, 3_430 * DAY_MS), Some(3_030 - 33));
        // all are: what is not closed yet stays
        assert_eq!(minutes_from(&months, None, 9_999 * DAY_MS), Some(3_090 - 33));
        // as does what came before them and was never closed
        assert_eq!(minutes_from(&months, Some(2_950), 9_999 * DAY_MS), Some(2_950 - 33));
        assert_eq!(minutes_from(&months, Some(3_000), 9_999 * DAY_MS), Some(3_090 - 33));
    }

    #[test]
    fn a_month_that_is_not_closed_keeps_its_minutes() {
        let months = [closed(100, 3035), closed(102, 3095)];
        assert_eq!(minutes_from(&months, None, 9_999 * DAY_MS), Some(3_030 - 33));
    }
}
