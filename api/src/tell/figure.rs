//! Figures as mails show them: exact decimals out of the decimal text of documents. Nothing is computed in floats.

use std::fmt;

/// Milliseconds of an hour.
const HOUR_MS: i128 = 3_600_000;

/// An exact decimal number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    /// The number x 10^digits.
    value: i128,
    digits: u32,
}

impl Decimal {
    /// Reads `-1248000.50`; anything else is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, part) = rest.split_once('.').unwrap_or((rest, ""));
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || whole.len() + part.len() > 36 {
            return None;
        }
        let value: i128 = format!("{whole}{part}").parse().ok()?;
        Some(Self { value: sign * value, digits: part.len() as u32 })
    }

    /// The same with so many digits after the point, rounded half away from zero.
    pub(super) fn to_digits(self, digits: u32) -> Self {
        let value = if digits >= self.digits {
            self.value * 10_i128.pow(digits - self.digits)
        } else {
            rounded(self.value, 10_i128.pow(self.digits - digits))
        };
        Self { value, digits }
    }

    /// The sum, with the digits of the one that has more.
    pub(super) fn plus(self, other: Self) -> Self {
        let digits = self.digits.max(other.digits);
        Self { value: self.to_digits(digits).value + other.to_digits(digits).value, digits }
    }

    /// Whether it is above zero.
    pub(super) fn is_positive(self) -> bool {
        self.value > 0
    }

    /// As an order: the number x 10^6.
    pub(super) fn order(self) -> i128 {
        self.to_digits(6).value
    }

    /// Zero with so many digits.
    pub(super) const fn zero(digits: u32) -> Self {
        Self { value: 0, digits }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits as usize;
        let sign = if self.value < 0 { "-" } else { "" };
        let padded = format!("{:0>width$}", self.value.unsigned_abs(), width = digits + 1);
        let (whole, part) = padded.split_at(padded.len() - digits);
        if part.is_empty() { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{part}") }
    }
}

/// `value / divisor`, rounded half away from zero. The divisor is positive.
fn rounded(value: i128, divisor: i128) -> i128 {
    let half = if value < 0 { -divisor / 2 } else { divisor / 2 };
    (value + half) / divisor
}

/// Hours with one digit of the milliseconds in a text; none where it is no number.
pub(super) fn hours_of_ms(ms: i128) -> String {
    Decimal { value: rounded(ms * 10, HOUR_MS), digits: 1 }.to_string()
}

/// A part of a whole in percent, with so many digits; none where there is no whole.
pub(super) fn percent(part: i128, whole: i128, digits: u32) -> Option<String> {
    (whole > 0).then(|| Decimal { value: rounded(part * 100 * 10_i128.pow(digits), whole), digits }.to_string())
}

/// A share (`0.832000`) in percent, with so many digits.
pub(super) fn percent_of_share(text: &str, digits: u32) -> Option<String> {
    let share = Decimal::read(text)?;
    Some(Decimal { value: share.value * 100, digits: share.digits }.to_digits(digits).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_rounded_half_away_from_zero() {
        let round = |text: &str, digits| Decimal::read(text).map(|d| d.to_digits(digits).to_string());
        for (text, digits, shown) in [
            ("12480.0500", 1, "12480.1"),
            ("12480.0499", 1, "12480.0"),
            ("-0.05", 1, "-0.1"),
            ("0", 2, "0.00"),
            ("1248000.50", 2, "1248000.50"),
            ("99999999999999999999.5", 0, "100000000000000000000"),
        ] {
            assert_eq!(round(text, digits).as_deref(), Some(shown), "{text}");
        }
        for text in ["", "-", "1.2.3", "1,000", "1e5", "unknown", "+1", ".5"] {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
        let sum = Decimal::read("0.1").unwrap().plus(Decimal::read("-12.345").unwrap());
        assert_eq!(sum.to_string(), "-12.245");
    }

    #[test]
    fn hours_and_percents_are_those_of_the_documents() {
        assert_eq!(hours_of_ms(180_000), "0.1");
        assert_eq!(hours_of_ms(44_928_000_000), "12480.0");
        assert_eq!(percent(61, 100, 0).as_deref(), Some("61"));
        assert_eq!(percent(1, 3, 1).as_deref(), Some("33.3"));
        assert_eq!(percent(1, 0, 0), None);
        assert_eq!(percent_of_share("0.832499", 1).as_deref(), Some("83.2"));
        assert_eq!(percent_of_share("1.250000", 0).as_deref(), Some("125"));
    }
}
