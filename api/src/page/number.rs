//! Numbers as people read them, made of the decimal strings of answers. No number goes through a float: text is cut, rounded
//! half away from zero and grouped as text and integers.

use std::cmp::Ordering;

use gpuledger_schema::decimal::decimal;

/// A decimal: `units / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    units: i128,
    scale: u32,
}

/// Digits after the point that are kept of what is read.
const SCALE_MAX: usize = 18;

impl Decimal {
    /// Nothing.
    pub(super) const ZERO: Self = Self { units: 0, scale: 0 };

    /// A whole number.
    pub(super) const fn whole(units: i128) -> Self {
        Self { units, scale: 0 }
    }

    /// A number of hundredths.
    pub(super) const fn hundredths(units: i128) -> Self {
        Self { units, scale: 2 }
    }

    /// Milliseconds as hours, with the digits that show them.
    pub(super) const fn hours_of(ms: i64) -> Self {
        Self { units: (ms as i128 * 10_000) / 3_600_000, scale: 4 }
    }

    /// How many times `part` goes into a whole number, with three digits.
    pub(super) fn parts(of: Self, part: i128) -> Self {
        Self { units: (of.at(0) * 1000 + part / 2) / part, scale: 3 }
    }

    /// So many times a number.
    pub(super) const fn times(self, n: i128) -> Self {
        Self { units: self.units * n, scale: self.scale }
    }

    /// A number of thousandths as a percentage.
    pub(super) fn tenths(self) -> String {
        Self { units: self.units, scale: 3 }.percent()
    }

    /// Reads `-12.50`. Anything else is no number.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(part) || part.len() > SCALE_MAX {
            return None;
        }
        let units: i128 = format!("{whole}{part}").parse().ok()?;
        Some(Self { units: sign * units, scale: u32::try_from(part.len()).ok()? })
    }

    /// Whether it is zero.
    pub(super) const fn is_zero(self) -> bool {
        self.units == 0
    }

    /// Whether it is under zero.
    pub(super) const fn is_negative(self) -> bool {
        self.units < 0
    }

    /// The same number with `scale` digits after the point, rounded half away from zero.
    fn at(self, scale: u32) -> i128 {
        if scale >= self.scale {
            return self.units.saturating_mul(10_i128.saturating_pow(scale - self.scale));
        }
        let divisor = 10_i128.pow(self.scale - scale);
        let half = if self.units < 0 { -divisor / 2 } else { divisor / 2 };
        (self.units + half) / divisor
    }

    /// As a whole number of `1 / 10^scale`, for geometry.
    pub(super) fn scaled(self, scale: u32) -> i128 {
        self.at(scale)
    }

    /// With `digits` after the point and thousands separated. What rounds to nothing has no sign.
    pub(super) fn show(self, digits: u32) -> String {
        grouped(self.at(digits), digits)
    }

    /// As it was written, thousands separated.
    pub(super) fn show_all(self) -> String {
        grouped(self.units, self.scale)
    }

    /// A part of one as a percentage with one digit.
    pub(super) fn percent(self) -> String {
        format!("{} %", Self { units: self.units.saturating_mul(100), scale: self.scale }.show(1))
    }

    /// The difference.
    pub(super) fn less(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self { units: self.at(scale) - other.at(scale), scale }
    }

    /// The sum.
    pub(super) fn plus(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self { units: self.at(scale) + other.at(scale), scale }
    }

    /// How much of `whole` it is, in thousandths, for geometry; nothing of nothing.
    pub(super) fn per_mille_of(self, whole: Self) -> i128 {
        let scale = self.scale.max(whole.scale);
        let of = whole.at(scale);
        if of == 0 { 0 } else { (self.at(scale) * 1000 + of / 2) / of }
    }

    /// Which is greater.
    pub(super) fn order(self, other: Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        self.at(scale).cmp(&other.at(scale))
    }
}

/// With a minus sign that is as wide as a digit.
fn grouped(value: i128, digits: u32) -> String {
    decimal(value, digits, true).replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_rounded_and_grouped_as_text() {
        let show = |text: &str, digits| Decimal::read(text).expect("a number").show(digits);
        assert_eq!(show("12480.0499", 1), "12,480.0");
        assert_eq!(show("12480.05", 1), "12,480.1");
        assert_eq!(show("-1234567.895", 2), "\u{2212}1,234,567.90");
        assert_eq!(show("-0.004", 2), "0.00");
        assert_eq!(show("0", 0), "0");
        // far beyond what a float holds exactly
        assert_eq!(show("9007199254740993.01", 2), "9,007,199,254,740,993.01");
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "1e5", "NaN", " 1", "1,000", ".5", "--1", "+1"] {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_percentage_is_of_one() {
        assert_eq!(Decimal::read("0.612345").map(Decimal::percent).as_deref(), Some("61.2 %"));
        assert_eq!(Decimal::read("1").map(Decimal::percent).as_deref(), Some("100.0 %"));
    }

    #[test]
    fn numbers_of_several_scales_compare() {
        let of = |t: &str| Decimal::read(t).expect("a number");
        assert_eq!(of("10.5").order(of("9.75")), Ordering::Greater);
        assert_eq!(of("1.10").order(of("1.1")), Ordering::Equal);
        assert_eq!(of("1.10").less(of("0.2")).show_all(), "0.90");
        assert_eq!(of("1").per_mille_of(of("3")), 333);
        assert_eq!(of("1").per_mille_of(Decimal::ZERO), 0);
    }
}
