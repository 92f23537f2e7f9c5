//! What a key of a map may hold: a column's name alone, or a table that also says format and unit.

use std::fmt;
use std::marker::PhantomData;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A column's name alone, or a table that says more.
#[derive(Debug)]
pub(super) enum Short<T> {
    Column(String),
    Table(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Short<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a column's name, or a table such as { column = \"...\" }")
            }
            fn visit_str<E>(self, column: &str) -> Result<Short<T>, E> {
                Ok(Short::Column(column.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Short<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(table)).map(Short::Table)
            }
        }
        from.deserialize_any(Either(PhantomData))
    }
}

/// A text: from a column, or the same for every record.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Short<RawText>")]
pub(crate) enum Text {
    Column(String),
    Constant(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawText {
    column: Option<String>,
    constant: Option<String>,
}

impl TryFrom<Short<RawText>> for Text {
    type Error = &'static str;
    fn try_from(raw: Short<RawText>) -> Result<Self, Self::Error> {
        match raw {
            Short::Column(column) => Ok(Self::Column(column)),
            Short::Table(RawText { column: Some(column), constant: None }) => Ok(Self::Column(column)),
            Short::Table(RawText { column: None, constant: Some(text) }) => Ok(Self::Constant(text)),
            Short::Table(_) => Err("give either `column` or `constant`"),
        }
    }
}

impl Text {
    /// The column it is read from.
    pub(crate) fn column(&self) -> Option<&str> {
        match self {
            Self::Column(column) => Some(column),
            Self::Constant(_) => None,
        }
    }
}

/// A number of things; `of` parts are one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Short<RawCount>")]
pub(crate) struct Count {
    pub(crate) value: Text,
    pub(crate) of: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCount {
    column: Option<String>,
    constant: Option<i64>,
    of: Option<i64>,
}

impl TryFrom<Short<RawCount>> for Count {
    type Error = &'static str;
    fn try_from(raw: Short<RawCount>) -> Result<Self, Self::Error> {
        let RawCount { column, constant, of } = match raw {
            Short::Column(column) => RawCount { column: Some(column), constant: None, of: None },
            Short::Table(table) => table,
        };
        let value = match (column, constant) {
            (Some(column), None) => Text::Column(column),
            (None, Some(number)) if number >= 0 => Text::Constant(number.to_string()),
            _ => return Err("give either `column` or `constant` (not below 0)"),
        };
        let of = of.unwrap_or(1);
        if (1..=1_000_000).contains(&of) { Ok(Self { value, of }) } else { Err("`of` must be 1 to 1000000") }
    }
}

/// An amount of memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    pub(crate) column: String,
    pub(crate) unit: MemoryUnit,
}

/// What a number of memory counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemoryUnit {
    B,
    Kib,
    Mib,
    Gib,
    Tib,
    Kb,
    Mb,
    Gb,
    Tb,
}

impl MemoryUnit {
    /// Bytes in one.
    pub(crate) const fn bytes(self) -> i64 {
        match self {
            Self::B => 1,
            Self::Kib => 1 << 10,
            Self::Mib => 1 << 20,
            Self::Gib => 1 << 30,
            Self::Tib => 1 << 40,
            Self::Kb => 1_000,
            Self::Mb => 1_000_000,
            Self::Gb => 1_000_000_000,
            Self::Tb => 1_000_000_000_000,
        }
    }
}

/// A length of time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Span {
    pub(crate) column: String,
    pub(crate) unit: SpanUnit,
}

/// How a length of time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpanUnit {
    Ms,
    S,
    Min,
    H,
    /// `HH:MM:SS`, also `D-HH:MM:SS`, with or without a part of a second.
    Hms,
}

/// An instant: read from a column, or the same as another of the record's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawInstant")]
pub(crate) enum Instant {
    Column { column: String, format: Format, absent: Vec<String> },
    From(Anchor),
}

/// Another instant of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Anchor {
    Submit,
    Start,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInstant {
    column: Option<String>,
    format: Option<Format>,
    #[serde(default)]
    absent: Vec<String>,
    from: Option<Anchor>,
}

impl TryFrom<RawInstant> for Instant {
    type Error = &'static str;
    fn try_from(raw: RawInstant) -> Result<Self, Self::Error> {
        match raw {
            RawInstant { column: Some(column), format: Some(format), absent, from: None } => {
                Ok(Self::Column { column, format, absent })
            }
            RawInstant { column: None, format: None, from: Some(anchor), absent } if absent.is_empty() => {
                Ok(Self::From(anchor))
            }
            _ => Err("give `column` and `format`, or only `from = \"submit\"` or `from = \"start\"`"),
        }
    }
}

/// How an instant is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Format {
    /// Seconds or milliseconds since 1970 (milliseconds in one of the number).
    Epoch(i64),
    /// Seconds or milliseconds since the map's origin (milliseconds in one of the number).
    Relative(i64),
    /// RFC 3339, which carries its offset.
    Rfc3339,
    /// A pattern with an offset in it.
    Zoned(String),
    /// A pattern of a local time; its zone is the map's.
    Local(String),
}

impl TryFrom<String> for Format {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "epoch_s" => return Ok(Self::Epoch(1_000)),
            "epoch_ms" => return Ok(Self::Epoch(1)),
            "relative_s" => return Ok(Self::Relative(1_000)),
            "relative_ms" => return Ok(Self::Relative(1)),
            "rfc3339" => return Ok(Self::Rfc3339),
            _ => {}
        }
        if !text.contains('%') {
            let words = "epoch_s, epoch_ms, relative_s, relative_ms, rfc3339 or a pattern such as %Y-%m-%d %H:%M:%S";
            return Err(format!("unknown format `{text}`: use {words}"));
        }
        let zoned = ["%z", "%:z", "%#z", "%+"].iter().any(|z| text.contains(z));
        if !reads_back(&text, zoned) {
            return Err(format!("the pattern `{text}` does not give a whole date and time"));
        }
        Ok(if zoned { Self::Zoned(text) } else { Self::Local(text) })
    }
}

/// Whether a time written by the pattern can be read by it: patterns that cannot would refuse every record.
fn reads_back(pattern: &str, zoned: bool) -> bool {
    let Some(time) = NaiveDate::from_ymd_opt(2024, 2, 29).and_then(|d| d.and_hms_opt(13, 14, 15)) else {
        return false;
    };
    let mut text = String::new();
    if fmt::write(&mut text, format_args!("{}", time.and_utc().fixed_offset().format(pattern))).is_err() {
        return false;
    }
    if zoned {
        DateTime::parse_from_str(&text, pattern).is_ok()
    } else {
        NaiveDateTime::parse_from_str(&text, pattern).is_ok()
    }
}
