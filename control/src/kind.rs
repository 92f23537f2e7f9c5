//! Kinds of CSV cells: how a person types them, how they are stored, and back.

use chrono::{DateTime, SecondsFormat, TimeZone};
use chrono_tz::Tz;
use gpuledger_schema::state::TaskType;
use gpuledger_schema::unit::{PPM, PRICE_MICROS_MAX, SPLIT_PARTS};
use gpuledger_schema::window::{self, WindowError};

use crate::cell::Cell;
use crate::decimal;
use crate::week;

/// Longest text of a cell, in bytes.
const TEXT_BYTES_MAX: usize = 1_000;
/// A GiB in bytes.
const GIB: i128 = 1 << 30;
/// Decimals of a memory size: at ten, every byte has a number that stands for it alone.
const GIB_DECIMALS: u32 = 10;
/// Largest memory size, 2^20 GiB, in 10^-10 GiB.
const GIB_SCALED_MAX: i64 = (1 << 20) * 10_i64.pow(GIB_DECIMALS);
/// Greatest factor of a discount: ten times the price.
const FACTOR_E4_MAX: i64 = 100_000;
/// Greatest amount, in millionths: 10^12 units of the currency.
const AMOUNT_MICROS_MAX: i64 = 1_000_000_000_000_000_000;
/// Percents of a budget at which to say so, where none are typed.
const ALERTS: &str = "50,80,100";
/// Greatest of them.
const ALERT_MAX: i64 = 1_000;
/// Stands in a team for the value of the label, account or user.
const VALUE_TEMPLATE: &str = "{value}";

/// What an import gives to cells that leave it out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) zone: Option<Tz>,
    pub(crate) currency: Option<&'a str>,
}

/// Kind of a CSV cell, a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Free text.
    Text,
    /// Names of nodes, `gpu[01-08]` for several: one row each.
    Hosts,
    /// `*` and `?` stand for any run of characters and any one.
    Pattern,
    /// `key=value`.
    Label,
    /// Free text that may hold `{value}`.
    Team,
    /// label, account (also written namespace) or user.
    OwnerBy,
    /// A word of the closed list of task types.
    TaskType,
    /// `true` or `false`; empty is `false`.
    Flag,
    /// A whole number.
    Count { min: i64, max: i64 },
    /// A number to 4 decimals, stored as ten-thousandths.
    Number { max: i64 },
    /// GiB, stored as bytes (a fraction of a byte is dropped).
    Gib,
    /// Percent to 4 decimals, stored as parts per million.
    Percent,
    /// Percent to 2 decimals, stored as parts of 10 000; empty is 100.
    Share,
    /// Price per GPU-hour to 6 decimals, stored as millionths.
    Price,
    /// ISO 4217 code; empty takes the import's.
    Currency,
    /// A word of a closed list; what an empty cell stands for, where it may be empty.
    Word { of: &'static [&'static str], empty: Option<&'static str> },
    /// Days of the week: `mon-fri`, `sat,sun`, `fri-mon`; empty is every day.
    Days,
    /// Time of day on the quarter hour, stored as minutes; empty is midnight: that before the day, or (`end`) that after it.
    TimeOfDay { end: bool },
    /// Percent of a price to 2 decimals, stored as ten-thousandths.
    PercentOfPrice,
    /// Money to 6 decimals, stored as millionths; negative only where `signed`.
    Amount { signed: bool },
    /// Ascending whole percents, `50,80,100`, which empty stands for.
    Alerts,
    /// A month, YYYY-MM.
    Month,
    /// Valid from; empty is from the beginning (instant 0).
    From,
    /// Valid to (exclusive); empty is open.
    To,
}

impl Kind {
    /// The stored value of a cell; the error is a reason for people.
    pub(crate) fn parse(self, text: Option<&str>, context: Context<'_>) -> Result<Cell, String> {
        let Some(text) = text else { return self.absent(context) };
        plain(text)?;
        let word = || Ok(Cell::Text(text.to_owned()));
        match self {
            Self::Text | Self::Hosts | Self::Pattern => word(),
            Self::Label if text.split_once('=').is_some_and(|(key, _)| !key.is_empty()) => word(),
            Self::Label => Err(format!("`{text}` is not a label of the form key=value")),
            Self::Team if text.replace(VALUE_TEMPLATE, "").contains(['{', '}']) => {
                Err(format!("`{text}` has a placeholder other than {VALUE_TEMPLATE}"))
            }
            Self::Team => word(),
            Self::OwnerBy => owner_kind(text),
            Self::TaskType => match text.parse::<TaskType>() {
                Ok(_) => word(),
                Err(unknown) => Err(format!("{unknown}; it is one of {}", task_types())),
            },
            Self::Flag if text.eq_ignore_ascii_case("true") => Ok(Cell::Int(1)),
            Self::Flag if text.eq_ignore_ascii_case("false") => Ok(Cell::Int(0)),
            Self::Flag => Err(format!("`{text}` is neither true nor false")),
            Self::Count { min, max } => match scaled(text, 0, max)? {
                n if n < min => Err(format!("`{text}` is less than {min}")),
                n => Ok(Cell::Int(n)),
            },
            Self::Number { max } => scaled(text, 4, max).map(Cell::Int),
            Self::Gib => scaled(text, GIB_DECIMALS, GIB_SCALED_MAX).map(|n| Cell::Int(bytes_of_gib(n, GIB_DECIMALS))),
            Self::Percent => scaled(text, 4, PPM).map(Cell::Int),
            Self::Share => match scaled(text, 2, SPLIT_PARTS)? {
                0 => Err("a share is more than 0 %".to_owned()),
                parts => Ok(Cell::Int(parts)),
            },
            Self::Price => scaled(text, 6, PRICE_MICROS_MAX).map(Cell::Int),
            Self::Currency => currency(text),
            Self::Word { of, .. } if of.contains(&text) => word(),
            Self::Word { of, .. } => Err(format!("unknown word `{text}`; it is one of {}", of.join(", "))),
            Self::Days => week::mask(text).map(|_| Cell::Text(text.to_owned())),
            Self::TimeOfDay { end } => week::minute(text, end).map(Cell::Int),
            Self::PercentOfPrice => scaled(text, 2, FACTOR_E4_MAX).map(Cell::Int),
            Self::Amount { signed } => amount(text, signed).map(Cell::Int),
            Self::Alerts => alerts(text),
            Self::Month => match window::month(text, Tz::UTC) {
                Ok(_) => word(),
                Err(e) => Err(e.to_string()),
            },
            Self::From | Self::To => instant(text, context.zone).map(Cell::Int),
        }
    }

    /// What an empty cell stands for.
    fn absent(self, context: Context<'_>) -> Result<Cell, String> {
        match self {
            Self::Flag | Self::From => Ok(Cell::Int(0)),
            Self::Share => Ok(Cell::Int(SPLIT_PARTS)),
            Self::Word { empty: Some(word), .. } => Ok(Cell::Text(word.to_owned())),
            Self::TimeOfDay { end } => Ok(Cell::Int(if end { week::DAY_MINUTES } else { 0 })),
            Self::Alerts => Ok(Cell::Text(ALERTS.to_owned())),
            Self::Currency => match context.currency {
                Some(code) => currency(code),
                None => Err("there is no currency: fill the column, or configure `currency`".to_owned()),
            },
            _ => Ok(Cell::Absent),
        }
    }

    /// The cell as it would be typed, with instants in `zone`.
    pub(crate) fn show(self, cell: &Cell, zone: Tz) -> String {
        let n = match cell {
            Cell::Absent => return String::new(),
            Cell::Text(text) => return text.clone(),
            Cell::Int(n) => *n,
        };
        match self {
            Self::Flag => (n != 0).to_string(),
            Self::Gib => show_gib(n),
            Self::Percent | Self::Number { .. } => decimal::show(n, 4),
            Self::Share | Self::PercentOfPrice => decimal::show(n, 2),
            Self::Price => decimal::show(n, 6),
            Self::Amount { .. } if n < 0 => format!("-{}", decimal::show(-n, 6)),
            Self::Amount { .. } => decimal::show(n, 6),
            Self::TimeOfDay { .. } => week::show_minute(n),
            Self::From if n == 0 => String::new(),
            Self::From | Self::To => show_instant(n, zone),
            _ => n.to_string(),
        }
    }
}

/// An instant with its offset, to the millisecond where it has any.
pub(crate) fn show_instant(ms: i64, zone: Tz) -> String {
    let local = zone.timestamp_millis_opt(ms).single();
    local.map_or_else(|| ms.to_string(), |t| t.to_rfc3339_opts(SecondsFormat::AutoSi, false))
}

fn scaled(text: &str, decimals: u32, max: i64) -> Result<i64, String> {
    decimal::scaled(text, decimals, max).map_err(|e| e.to_string())
}

/// Refuses what no name has: control characters (a stray quote swallows lines) and texts without end.
fn plain(text: &str) -> Result<(), String> {
    if text.contains(['\n', '\r']) {
        return Err("the cell holds a line break: is a quote not closed?".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("the cell holds a control character".to_owned());
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("the cell is longer than {TEXT_BYTES_MAX} bytes"));
    }
    Ok(())
}

fn amount(text: &str, signed: bool) -> Result<i64, String> {
    match text.strip_prefix('-').filter(|_| signed) {
        Some(rest) => scaled(rest, 6, AMOUNT_MICROS_MAX).map(|n| -n),
        None => scaled(text, 6, AMOUNT_MICROS_MAX),
    }
}

fn alerts(text: &str) -> Result<Cell, String> {
    let mut last = 0;
    for percent in text.split(',').map(str::trim) {
        let n = scaled(percent, 0, ALERT_MAX)?;
        if n <= last {
            return Err(format!("`{text}` is not a list of ascending percents such as {ALERTS}"));
        }
        last = n;
    }
    Ok(Cell::Text(text.split(',').map(str::trim).collect::<Vec<_>>().join(",")))
}

fn owner_kind(text: &str) -> Result<Cell, String> {
    match text {
        "label" | "account" | "user" => Ok(Cell::Text(text.to_owned())),
        "namespace" => Ok(Cell::Text("account".to_owned())),
        _ => Err(format!("unknown kind `{text}`; it is one of label, account, namespace, user")),
    }
}

fn task_types() -> String {
    TaskType::ALL.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(", ")
}

fn currency(text: &str) -> Result<Cell, String> {
    if text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()) {
        Ok(Cell::Text(text.to_owned()))
    } else {
        Err(format!("`{text}` is not a currency code of three capital letters (ISO 4217, e.g. EUR)"))
    }
}

fn instant(text: &str, zone: Option<Tz>) -> Result<i64, String> {
    let ms = match DateTime::parse_from_rfc3339(text) {
        Ok(t) if t.timestamp_subsec_nanos() % 1_000_000 != 0 => {
            return Err(format!("`{text}` is finer than a millisecond"));
        }
        Ok(t) => t.timestamp_millis(),
        Err(_) => window::instant(text, zone.unwrap_or(Tz::UTC)).map_err(|e| match (&e, text.get(10..)) {
            (WindowError::Instant(_), Some(time)) if !time.is_empty() => format!("{e}; a time needs its offset"),
            _ => e.to_string(),
        })?,
    };
    if zone.is_none() && DateTime::parse_from_rfc3339(text).is_err() {
        return Err(format!(
            "the date `{text}` starts at a different instant in each zone: give --zone, or configure `billing_zone`"
        ));
    }
    if ms < 0 { Err(format!("`{text}` is before 1970; leave the cell empty for: from the beginning")) } else { Ok(ms) }
}

/// Whole bytes in `scaled` parts of 10^-`decimals` GiB.
fn bytes_of_gib(scaled: i64, decimals: u32) -> i64 {
    let bytes = i128::from(scaled) * GIB / 10_i128.pow(decimals);
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The shortest number of GiB that stands for exactly these bytes.
fn show_gib(bytes: i64) -> String {
    let rounded_up = |decimals: u32| {
        let scaled = (i128::from(bytes) * 10_i128.pow(decimals) + GIB - 1) / GIB;
        i64::try_from(scaled).unwrap_or(i64::MAX)
    };
    let exact = |decimals: &u32| bytes_of_gib(rounded_up(*decimals), *decimals) == bytes;
    let decimals = (0..GIB_DECIMALS).find(exact).unwrap_or(GIB_DECIMALS);
    decimal::show(rounded_up(decimals), decimals)
}

#[cfg(test)]
mod tests;
