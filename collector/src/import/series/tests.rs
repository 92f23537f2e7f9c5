//! A series keeps what it says, refuses what it cannot read, and leaves unknown what it does not say.

use gpuledger_schema::unit::CARD_UNITS;

use super::*;

const MAP: &str = r#"
source = "x"
[time]
zone = "UTC"
at = { column = "t", format = "%Y-%m-%d %H:%M:%S" }
[series]
team = "team"
quota = "quota"
held = "held"
queued = "queued"
"#;

fn input(text: &str) -> Input {
    Input { name: "s.csv".to_owned(), bytes: text.as_bytes().to_vec(), problem: None }
}

fn read(map: &str, text: &str, as_of_ms: Option<i64>) -> Imported {
    let map = SeriesMap::parse(map).unwrap();
    import(&[input(text)], &SeriesOptions { cluster: "alpha".to_owned(), map, zone: None, as_of_ms }).unwrap()
}

#[test]
fn points_are_units_of_cards_and_what_is_not_said_is_absent() {
    let got = read(MAP, "t,team,quota,held,queued\n1970-01-01 00:01:00,a,8,2.5,\n1970-01-01 00:02:00,a,8,3,0\n", None);
    let points: Vec<_> =
        got.queue_minutes.iter().map(|p| (p.at_ms, p.dur_ms, p.quota_units, p.held_units, p.queued_units)).collect();
    let card = CARD_UNITS;
    assert_eq!(
        points,
        [
            (60_000, None, Some(8 * card), Some(card * 5 / 2), None),
            (120_000, None, Some(8 * card), Some(3 * card), Some(0))
        ]
    );
    assert_eq!((got.queue_minutes[0].team.as_str(), got.queue_minutes[0].pool.as_str()), ("a", ""));
    let look = &got.readings[0];
    assert_eq!((look.kind.as_str(), look.from_ms, look.to_ms, look.rows), ("series", 60_000, 120_000, 2));
}

#[test]
fn the_as_of_ends_the_last_rows_and_a_step_every_row() {
    let text = "t,team,quota,held,queued\n1970-01-01 00:01:00,a,8,2,1\n1970-01-01 00:03:00,a,8,2,1\n";
    let got = read(&MAP.replace("zone = \"UTC\"", "zone = \"UTC\"\nstep_s = 60"), text, Some(120_000));
    assert_eq!(got.queue_minutes.iter().map(|p| p.dur_ms).collect::<Vec<_>>(), [Some(60_000)]);
    assert_eq!(got.readings[0].to_ms, 120_000);
    assert!(got.quarantine[0].reason.contains("after the as-of"), "{:?}", got.quarantine);
    assert_eq!(got.quarantine[0].line, Some(3));
}

#[test]
fn a_bad_row_is_refused_alone_with_its_line_and_field() {
    let text = "t,team,quota,held,queued\n1970-01-01 00:01:00,a,8,-1,0\n1970-01-01 00:02:00,,8,1,0\nsoon,a,8,1,0\n\
        1970-01-01 00:04:00,a,8,1,0\n1970-01-01 00:04:00,a,8,2,0\n1970-01-01 00:04:00,a,8,1,0\n";
    let got = read(MAP, text, None);
    assert_eq!(got.queue_minutes.len(), 1);
    let said: Vec<_> =
        got.quarantine.iter().map(|q| (q.line, q.field.as_deref(), q.reason.split(' ').next_back().unwrap())).collect();
    let expected = [
        (Some(2), Some("held"), "zero"),
        (Some(3), Some("team"), "name"),
        (Some(4), Some("t"), "`%Y-%m-%d"),
        (Some(6), None, "instant"),
    ];
    for (got, want) in said.iter().zip(expected) {
        assert_eq!((got.0, got.1), (want.0, want.1), "{:?}", said);
    }
    assert_eq!(said.len(), expected.len());
}

#[test]
fn a_map_that_could_be_misread_stops_before_the_first_record() {
    let says = |map: &str| {
        let error = SeriesMap::parse(map).unwrap_err();
        format!("{error}: {}", std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default())
    };
    for (map, expected) in [
        (MAP.replace("held = ", "heldd = "), "unknown field `heldd`"),
        (MAP.replace("team = \"team\"\n", ""), "give `team` or `pool`"),
        (MAP.replace("zone = \"UTC\"", "zone = \"Mars\""), "Mars"),
        (MAP.replace("zone = \"UTC\"", "step_s = 0"), "not between 1 and 86400"),
        (MAP.replace("column = \"t\", format = \"%Y-%m-%d %H:%M:%S\"", "from = \"start\""), "a row has one instant"),
        (MAP.replace("source = \"x\"", "source = \" \""), "name the system"),
    ] {
        assert!(says(&map).contains(expected), "{expected}: {}", says(&map));
    }
}

#[test]
fn local_times_need_one_zone() {
    let run = |map: &str, zone| {
        let map = SeriesMap::parse(map).unwrap();
        let options = SeriesOptions { cluster: "alpha".to_owned(), map, zone, as_of_ms: None };
        import(&[input("t,team,quota,held,queued\n")], &options).unwrap_err()
    };
    let bare = MAP.replace("zone = \"UTC\"\n", "");
    assert!(matches!(run(&bare, None), JobsError::NoZone { key: "time.at" }));
    assert!(matches!(run(MAP, Some(Tz::Asia__Shanghai)), JobsError::TwoZones { .. }));
}
