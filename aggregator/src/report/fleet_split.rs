//! `report fleet --split`: the classes per local week, or per part of the week, and whether too much was held for nothing.

use std::collections::BTreeSet;
use std::str::FromStr;

use gpuledger_schema::window::day_label;

use super::fleet::{CLASSES, INEFFECTIVE_PPM, at, in_hand};
use super::fleet_rows::{columns, share, sums};
use super::usage::{key_columns, row};
use super::{Ask, Kind, Reader, Report, ReportError, Value};

/// A row per week or part of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Per local week, from Monday.
    Week,
    /// Workday, night and weekend.
    Part,
}

/// Not a split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of: week, part")]
pub struct UnknownSplit(String);

impl FromStr for Split {
    type Err = UnknownSplit;

    fn from_str(word: &str) -> Result<Self, UnknownSplit> {
        match word {
            "week" => Ok(Self::Week),
            "part" => Ok(Self::Part),
            _ => Err(UnknownSplit(word.to_owned())),
        }
    }
}

/// Classes per week or part of the week.
pub(super) async fn split_up(reader: &Reader, ask: &Ask, split: Split) -> Result<Report, ReportError> {
    let word = match split {
        Split::Week => "week",
        Split::Part => "part",
    };
    let mut keys: Vec<&str> = ask.by.iter().map(|d| d.word()).collect();
    keys.push(word);
    let groups = sums(reader.engine(), "fleet_part", &keys, CLASSES).await?;
    let mut shown = key_columns(&ask.by);
    shown.extend(columns(&[
        (word, word, Kind::Text),
        ("held_hours", "held h", Kind::Hours),
        ("busy_hours", "busy h", Kind::Hours),
        ("held_idle_hours", "idle h", Kind::Hours),
        ("unallocated_hours", "free h", Kind::Hours),
        ("fill", "filled", Kind::Percent),
        ("busy_rate", "busy", Kind::Percent),
        ("coverage", "cover.", Kind::Percent),
        ("ineffective_occupancy", "ineffective", Kind::Percent),
        ("above_3_percent", "above 3 %", Kind::Text),
    ]));
    let mut above = BTreeSet::new();
    let rows = groups.iter().map(|g| {
        let c = |i| at(&g.sums, i);
        let measured = c(3).zip(c(2)).map(|(held, unmeasured)| held - unmeasured);
        let over = match share(c(1), measured) {
            Value::Ppm(p) if p > INEFFECTIVE_PPM => "yes",
            Value::Ppm(_) => "no",
            _ => "unknown",
        };
        let mut key = g.key.clone();
        if split == Split::Week {
            let week = key.pop().unwrap_or_default();
            key.push(week_name(&week));
        }
        if over == "yes" {
            above.insert(key.clone());
        }
        let known = |v: Option<i128>| v.filter(|_| c(5) > Some(0) || c(3) == Some(0)).map_or(Value::Unknown, Value::Ms);
        let ms = |v: Option<i128>| v.map_or(Value::Unknown, Value::Ms);
        let mut values = vec![ms(c(3)), known(c(0)), known(c(1)), ms(c(4)), share(c(3), in_hand(&g.sums))];
        values.extend([share(c(0), c(5)), share(c(5), c(3)), share(c(1), measured), Value::Text(over.to_owned())]);
        row(&key, values)
    });
    let rows: Vec<_> = rows.collect();
    Ok(Report::table(
        format!("ineffective occupancy was above 3 % in {} of {} rows", above.len(), rows.len()),
        shown,
        rows,
    ))
}

/// The Monday of a week in words.
pub(super) fn week_name(week: &str) -> String {
    week.parse().map_or_else(|_| week.to_owned(), day_label)
}
