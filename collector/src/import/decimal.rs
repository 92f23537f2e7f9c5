//! Decimal numbers as they stand in text, exact: digits and a power of ten, never a float.

use gpuledger_schema::unit::share_units;

/// Most digits a number may have: more is no measurement, and this many leave room to multiply.
const DIGITS_MAX: usize = 30;
/// Greatest power of ten, either way.
const EXPONENT_MAX: i32 = 30;

/// `digits / 10^scale`, in lowest terms of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    scale: u32,
}

/// What becomes of a part that the unit cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Towards minus infinity: instants and durations.
    Down,
    /// To the nearest, a half away from zero: averages.
    Nearest,
    /// Towards plus infinity: things that are only given whole.
    Up,
}

impl Decimal {
    /// Reads `12`, `-0.5`, `193256.0`, `1.5e3`. No thousands separators, no `NaN`, no `inf`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((m, e)) => (m, e.parse::<i32>().ok().filter(|e| (-EXPONENT_MAX..=EXPONENT_MAX).contains(e))?),
            None => (text, 0),
        };
        let (negative, unsigned) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, part) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let part = part.trim_end_matches('0');
        let whole = whole.trim_start_matches('0');
        if whole.len() + part.len() > DIGITS_MAX {
            return None;
        }
        let mut digits = 0_i128;
        for byte in whole.bytes().chain(part.bytes()) {
            digits = digits * 10 + i128::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        }
        let scale = i32::try_from(part.len()).ok()? - exponent;
        Self::normal(if negative { -digits } else { digits }, scale)
    }

    /// The number times `num / den` as an integer; `None` where it does not fit.
    pub(crate) fn scaled(self, num: i64, den: i64, rounding: Rounding) -> Option<i64> {
        let over = self.digits.checked_mul(i128::from(num))?;
        let under = 10_i128.checked_pow(self.scale)?.checked_mul(i128::from(den))?;
        let floor = over.div_euclid(under);
        let rest = over.rem_euclid(under);
        let up = match rounding {
            Rounding::Down => false,
            Rounding::Up => rest > 0,
            Rounding::Nearest if over < 0 => rest > under - rest,
            Rounding::Nearest => rest > 0 && rest >= under - rest,
        };
        i64::try_from(floor + i128::from(up)).ok()
    }

    /// The product of two numbers.
    pub(crate) fn times(self, other: Self) -> Option<Self> {
        Self::normal(self.digits.checked_mul(other.digits)?, i32::try_from(self.scale + other.scale).ok()?)
    }

    /// The number of `of`-ths as cards, in share units, and whether those are exact.
    pub(crate) fn cards(self, of: i64) -> Option<(i64, bool)> {
        let den = 10_i64.checked_pow(self.scale)?.checked_mul(of)?;
        share_units(i64::try_from(self.digits).ok()?, den)
    }

    /// Whether it is below zero.
    pub(crate) const fn is_negative(self) -> bool {
        self.digits < 0
    }

    fn normal(mut digits: i128, mut scale: i32) -> Option<Self> {
        while scale > 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        while scale < 0 {
            digits = digits.checked_mul(10)?;
            scale += 1;
        }
        Some(Self { digits, scale: u32::try_from(scale).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Option<i64> {
        Decimal::parse(text)?.scaled(1_000, 1, Rounding::Down)
    }

    #[test]
    fn numbers_are_read_exactly() {
        for (text, expected) in [
            ("193256.0", 193_256_000),
            ("66", 66_000),
            ("0.001", 1),
            ("0.0019", 1),
            ("-0.0001", -1),
            ("1.5e3", 1_500_000),
            ("1E-3", 1),
            (".5", 500),
            ("5.", 5_000),
            ("+7", 7_000),
            ("0", 0),
            ("00012.50", 12_500),
        ] {
            assert_eq!(ms(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            ".",
            "-",
            "NaN",
            "inf",
            "1,5",
            "1_000",
            "0x10",
            "1e",
            "1e99",
            "1e-2147483648",
            "12 ",
            "--1",
            "1.2.3",
            &"9".repeat(40),
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(ms("9223372036854775808"), None);
    }

    #[test]
    fn rounding_is_named() {
        let third = Decimal::parse("0.27333333333333").unwrap();
        assert_eq!(third.scaled(1_000_000, 1, Rounding::Nearest), Some(273_333));
        for (text, down, nearest, up) in
            [("2.5", 2, 3, 3), ("-2.5", -3, -3, -2), ("2.4", 2, 2, 3), ("-2.4", -3, -2, -2)]
        {
            let number = Decimal::parse(text).unwrap();
            assert_eq!(number.scaled(1, 1, Rounding::Down), Some(down), "{text}");
            assert_eq!(number.scaled(1, 1, Rounding::Nearest), Some(nearest), "{text}");
            assert_eq!(number.scaled(1, 1, Rounding::Up), Some(up), "{text}");
        }
        assert_eq!(Decimal::parse("4.0").unwrap().scaled(1, 1, Rounding::Up), Some(4));
    }

    #[test]
    fn cards_in_thousandths_and_products() {
        let cards = |count: &str, share: &str| Decimal::parse(count)?.times(Decimal::parse(share)?)?.cards(1_000);
        assert_eq!(cards("1", "460"), Some((33_153_120, true)));
        assert_eq!(cards("8", "1000"), Some((8 * 72_072_000, true)));
        assert_eq!(cards("-1", "1000"), None);
        assert_eq!(Decimal::parse("0.3333333").unwrap().cards(1), Some((24_023_997, false)));
    }
}
