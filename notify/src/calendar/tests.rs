//! Hours as people keep them: nights, weekends, holidays, make-up days, and days on which clocks change.

use super::*;

fn office(zone: &str) -> WorkCalendar {
    let config = CalendarConfig {
        zone: zone.into(),
        days: vec![Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri],
        from: "09:00".into(),
        to: "18:00".into(),
        holidays: vec!["2026-10-01".parse().unwrap(), "2026-10-02".parse().unwrap()],
        workdays: vec!["2026-10-10".parse().unwrap()],
    };
    WorkCalendar::of("office", &config).unwrap()
}

fn ms(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
}

#[test]
fn what_is_not_urgent_waits_for_the_morning_the_monday_and_the_end_of_holidays() {
    let calendar = office("Asia/Shanghai");
    for (now, opens) in [
        ("2026-09-30T10:00:00+08:00", "2026-09-30T10:00:00+08:00"),
        ("2026-09-29T18:00:00+08:00", "2026-09-30T09:00:00+08:00"),
        ("2026-09-30T03:00:00+08:00", "2026-09-30T09:00:00+08:00"),
        // two holidays and a weekend
        ("2026-09-30T20:00:00+08:00", "2026-10-05T09:00:00+08:00"),
        // a Saturday on which people work
        ("2026-10-09T19:00:00+08:00", "2026-10-10T09:00:00+08:00"),
        ("2026-10-10T19:00:00+08:00", "2026-10-12T09:00:00+08:00"),
        // the same instant told in another zone
        ("2026-09-30T02:00:00Z", "2026-09-30T10:00:00+08:00"),
    ] {
        assert_eq!(calendar.opens_ms(ms(now)), ms(opens), "{now}");
    }
}

#[test]
fn hours_are_those_of_the_wall_clock_when_clocks_change() {
    let calendar = office("Europe/Berlin");
    assert_eq!(calendar.opens_ms(ms("2026-03-27T19:00:00+01:00")), ms("2026-03-30T09:00:00+02:00"));
    assert_eq!(calendar.opens_ms(ms("2026-10-23T19:00:00+02:00")), ms("2026-10-26T09:00:00+01:00"));
}

#[test]
fn what_cannot_be_a_calendar_is_refused() {
    let good = CalendarConfig {
        zone: "UTC".into(),
        days: vec![Weekday::Mon],
        from: "00:00".into(),
        to: "24:00".into(),
        holidays: Vec::new(),
        workdays: Vec::new(),
    };
    assert!(WorkCalendar::of("x", &good).is_ok());
    for (from, to) in [("9:00", "18:00"), ("18:00", "09:00"), ("09:00", "25:00"), ("09:60", "18:00"), ("", "18:00")] {
        let bad = CalendarConfig { from: from.into(), to: to.into(), ..good.clone() };
        assert!(matches!(WorkCalendar::of("x", &bad), Err(CalendarError::Hours { .. })), "{from} {to}");
    }
    let mars = CalendarConfig { zone: "Mars/Olympus".into(), ..good.clone() };
    assert!(matches!(WorkCalendar::of("x", &mars), Err(CalendarError::Zone { .. })));
    let never = CalendarConfig { days: Vec::new(), ..good.clone() };
    assert!(matches!(WorkCalendar::of("x", &never), Err(CalendarError::NeverOpen { .. })));
    // a year of holidays ends the search, and the message goes out
    let start: NaiveDate = "2026-01-01".parse().unwrap();
    let closed = CalendarConfig { holidays: start.iter_days().take(800).collect(), ..good };
    let now = ms("2026-03-03T12:00:00Z");
    assert_eq!(WorkCalendar::of("x", &closed).unwrap().opens_ms(now), now);
}
