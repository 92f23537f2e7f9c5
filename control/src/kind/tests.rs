//! Cells as typed, as stored and as shown again.

use super::*;

const SHANGHAI: Context<'_> = Context { zone: Some(Tz::Asia__Shanghai), currency: None };

fn parse(kind: Kind, text: &str) -> Result<Cell, String> {
    kind.parse(Some(text), SHANGHAI)
}

#[test]
fn memory_80_and_80_0_are_the_same_bytes_and_every_size_reads_back() {
    assert_eq!(parse(Kind::Gib, "80"), Ok(Cell::Int(85_899_345_920)));
    assert_eq!(parse(Kind::Gib, "80.0"), parse(Kind::Gib, "80"));
    assert_eq!(parse(Kind::Gib, "79.6474609375"), Ok(Cell::Int(81_559 << 20)));
    for text in ["0", "80", "79.6", "0.5", "1048576", "79.6474609375", "0.0000000001", "23.999"] {
        let cell = parse(Kind::Gib, text).unwrap();
        let shown = Kind::Gib.show(&cell, Tz::UTC);
        assert_eq!(parse(Kind::Gib, &shown), Ok(cell), "{text} shown as {shown}");
    }
    assert_eq!(Kind::Gib.show(&parse(Kind::Gib, "79.6").unwrap(), Tz::UTC), "79.6");
    for bytes in (0..5_000).chain((81_559 << 20) - 50..(81_559 << 20) + 50) {
        assert_eq!(parse(Kind::Gib, &show_gib(bytes)), Ok(Cell::Int(bytes)));
    }
    assert_eq!(parse(Kind::Gib, "1048577"), Err("`1048577` is more than 1048576".into()));
}

#[test]
fn dates_are_local_midnights_and_instants_carry_their_offset() {
    let midnight = parse(Kind::From, "2026-03-15").unwrap();
    assert_eq!(midnight, Cell::Int(1_773_504_000_000));
    assert_eq!(parse(Kind::From, "2026-03-14T16:00:00Z"), Ok(midnight.clone()));
    assert_eq!(Kind::From.show(&midnight, Tz::Asia__Shanghai), "2026-03-15T00:00:00+08:00");
    assert_eq!(Kind::From.show(&midnight, Tz::Europe__Berlin), "2026-03-14T17:00:00+01:00");
    assert_eq!(Kind::To.show(&Cell::Int(1_773_504_000_007), Tz::UTC), "2026-03-14T16:00:00.007+00:00");
    assert_eq!(Kind::From.show(&Cell::Int(0), Tz::UTC), "");
    let zoneless = Context { zone: None, currency: None };
    assert_eq!(Kind::From.parse(Some("2026-03-15T00:00:00+08:00"), zoneless), Ok(midnight));
    for (text, context, reason) in [
        (
            "2026-03-15",
            zoneless,
            "the date `2026-03-15` starts at a different instant in each zone: give --zone, or configure `billing_zone`",
        ),
        (
            "2026-03-15 00:00",
            SHANGHAI,
            "`2026-03-15 00:00` is neither a date (YYYY-MM-DD) nor an instant (2026-03-01T00:00:00+01:00); \
             a time needs its offset",
        ),
        (
            "15.3.2026",
            zoneless,
            "`15.3.2026` is neither a date (YYYY-MM-DD) nor an instant (2026-03-01T00:00:00+01:00)",
        ),
        ("1970-01-01", SHANGHAI, "`1970-01-01` is before 1970; leave the cell empty for: from the beginning"),
        ("2026-03-15T00:00:00.0001Z", SHANGHAI, "`2026-03-15T00:00:00.0001Z` is finer than a millisecond"),
    ] {
        assert_eq!(Kind::To.parse(Some(text), context), Err(reason.into()));
    }
}

#[test]
fn words_outside_their_list_are_refused_with_the_list() {
    for (kind, text, reason) in [
        (
            Kind::TaskType,
            "training",
            "unknown task type `training`; it is one of train, finetune, infer, eval, debug, batch, data, unknown",
        ),
        (Kind::OwnerBy, "group", "unknown kind `group`; it is one of label, account, namespace, user"),
        (Kind::Flag, "yes", "`yes` is neither true nor false"),
        (Kind::Label, "team", "`team` is not a label of the form key=value"),
        (Kind::Team, "{account}", "`{account}` has a placeholder other than {value}"),
        (Kind::Currency, "eur", "`eur` is not a currency code of three capital letters (ISO 4217, e.g. EUR)"),
        (Kind::Count { min: 1, max: 9 }, "0", "`0` is less than 1"),
        (Kind::Count { min: 1, max: 9 }, "10", "`10` is more than 9"),
        (Kind::Count { min: 1, max: 9 }, "1.5", "`1.5` is not a whole number"),
        (Kind::Percent, "100.0001", "`100.0001` is more than 100"),
        (Kind::Share, "0.00", "a share is more than 0 %"),
        (Kind::Share, "33.333", "`33.333` has more than 2 decimals"),
        (Kind::Text, "a\nb", "the cell holds a line break: is a quote not closed?"),
        (Kind::Text, "a\u{1f}b", "the cell holds a control character"),
    ] {
        assert_eq!(parse(kind, text), Err(reason.into()), "{text}");
    }
    assert_eq!(parse(Kind::OwnerBy, "namespace"), Ok(Cell::Text("account".into())));
    assert_eq!(parse(Kind::Team, "nlp-{value}"), Ok(Cell::Text("nlp-{value}".into())));
    assert_eq!(parse(Kind::Flag, "TRUE"), Ok(Cell::Int(1)));
    assert!(parse(Kind::Text, &"x".repeat(1_001)).is_err());
}

#[test]
fn empty_cells_take_their_documented_meaning() {
    let of = |kind: Kind| kind.parse(None, Context { zone: None, currency: Some("CNY") });
    assert_eq!(of(Kind::From), Ok(Cell::Int(0)));
    assert_eq!(of(Kind::To), Ok(Cell::Absent));
    assert_eq!(of(Kind::Flag), Ok(Cell::Int(0)));
    assert_eq!(of(Kind::Share), Ok(Cell::Int(10_000)));
    assert_eq!(of(Kind::Currency), Ok(Cell::Text("CNY".into())));
    assert_eq!(of(Kind::Text), Ok(Cell::Absent));
    assert_eq!(
        Kind::Currency.parse(None, SHANGHAI),
        Err("there is no currency: fill the column, or configure `currency`".into())
    );
}
