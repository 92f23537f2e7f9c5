//! What must hold for every table.

use super::*;

fn all() -> Vec<Table> {
    observed().into_iter().chain(derived()).chain(reference::all()).collect()
}

#[test]
fn keys_are_columns_and_lie_among_the_first_32() {
    for t in all() {
        let columns = (t.columns)();
        for k in t.key {
            let at = columns.iter().position(|c| c.name == *k);
            assert!(at.is_some_and(|i| i < 32), "{}.{k}", t.name);
        }
        assert_eq!(t.by_day, columns.iter().any(|c| c.name == "day"), "{} partition", t.name);
    }
}

#[test]
fn names_carry_their_unit() {
    for t in all() {
        for c in (t.columns)() {
            let suffix: &[&str] = match c.unit {
                Unit::Instant | Unit::Ms => &["_ms"],
                Unit::Bytes => &["_bytes"],
                Unit::Ppm => &["_ppm"],
                Unit::Milliwatts => &["_mw"],
                Unit::Millijoules => &["_mj"],
                Unit::PriceMicros => &["_micros"],
                _ => continue,
            };
            assert!(suffix.iter().any(|s| c.name.ends_with(s)), "{}.{} is {:?}", t.name, c.name, c.unit);
        }
    }
}

#[test]
fn no_float_unsigned_or_dictionary_type() {
    for t in all() {
        for c in (t.columns)() {
            assert!(
                matches!(c.data_type, DataType::Int64 | DataType::Int32 | DataType::Boolean | DataType::Utf8),
                "{}.{}",
                t.name,
                c.name
            );
        }
    }
}

#[test]
fn content_tells_absent_from_empty() {
    let mut a = ReadingRow {
        source: "s".into(),
        kind: "import".into(),
        cluster: "c".into(),
        node: None,
        read_at_ms: 1,
        from_ms: 0,
        to_ms: 1,
        ok: true,
        rows: 0,
        error: None,
    };
    let absent = a.content();
    a.node = Some(String::new());
    assert_ne!(absent, a.content());
}
