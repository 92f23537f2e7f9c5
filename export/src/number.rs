//! Numbers as people and programs read them: exact decimals, made of integers.

pub(crate) use gpuledger_schema::decimal::decimal;

/// Milliseconds of an hour.
const HOUR_MS: i128 = 3_600_000;

/// A [`decimal`] without zeros at the end of the part after the point: `1.500000` is `1.5`, `2.000000` is `2`.
pub(crate) fn short_decimal(value: i128, digits: u32) -> String {
    let long = decimal(value, digits, false);
    if digits == 0 { long } else { long.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// `numerator x 10^digits / divisor`, rounded half away from zero. The divisor is positive.
pub(crate) fn scaled(numerator: i128, divisor: i128, digits: u32) -> i128 {
    let scaled = numerator * 10_i128.pow(digits);
    let half = if numerator < 0 { -divisor / 2 } else { divisor / 2 };
    (scaled + half) / divisor
}

/// Milliseconds as hours times `10^digits`, rounded half away from zero.
pub(crate) fn hours_scaled(ms: i128, digits: u32) -> i128 {
    scaled(ms, HOUR_MS, digits)
}

/// Milliseconds as hours with one digit after the point, thousands separated.
pub(crate) fn hours(ms: i128) -> String {
    decimal(hours_scaled(ms, 1), 1, true)
}

/// Part of a whole in percent with one digit after the point; `None` where the whole is 0.
pub(crate) fn percent(part: i128, whole: i128) -> Option<String> {
    (whole > 0).then(|| format!("{} %", decimal(scaled(part * 100, whole, 1), 1, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(2_307_253, 2, true), "23,072.53");
        assert_eq!(decimal(-5, 2, false), "-0.05");
        assert_eq!(decimal(7, 0, true), "7");
        assert_eq!(decimal(-1_234_567, 3, true), "-1,234.567");
        assert_eq!(decimal(i128::from(i64::MIN), 2, false), "-92233720368547758.08");
        assert_eq!(short_decimal(1_500_000, 6), "1.5");
        assert_eq!(short_decimal(-2_000_000, 6), "-2");
        assert_eq!(short_decimal(100, 0), "100");
        assert_eq!(short_decimal(0, 6), "0");
    }

    #[test]
    fn hours_and_parts_are_rounded_half_away_from_zero() {
        assert_eq!(hours(180_000), "0.1");
        assert_eq!(hours(179_999), "0.0");
        assert_eq!(hours(-180_000), "-0.1");
        assert_eq!(hours(4_444_560_000), "1,234.6");
        assert_eq!(percent(1, 3).as_deref(), Some("33.3 %"));
        assert_eq!(percent(0, 0), None);
        assert_eq!(hours_scaled(1, 9), 278);
    }
}
