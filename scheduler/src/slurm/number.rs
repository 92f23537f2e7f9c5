//! Decimal numbers read exactly, without floats.

/// Digits kept after the point; more than Slurm ever prints.
const FRACTION_DIGITS_MAX: usize = 15;

/// `digits[.digits]` times `unit`, rounded down; absent if it is no such number or does not fit.
pub(crate) fn scaled(text: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = match text.split_once('.') {
        Some((w, f)) => (w, f),
        None => (text, ""),
    };
    let has_bad_point = text.contains('.') && fraction.is_empty();
    let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || has_bad_point || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    if fraction.len() > FRACTION_DIGITS_MAX {
        return None;
    }
    let power = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let whole: i128 = whole.parse().ok()?;
    let fraction: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let total = whole.checked_mul(power)?.checked_add(fraction)?.checked_mul(i128::from(unit))? / power;
    i64::try_from(total).ok()
}

/// A plain count: digits only.
pub(crate) fn count(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_everything_else_is_refused() {
        assert_eq!(scaled("62.50", 1 << 30), Some(67_108_864_000));
        assert_eq!(scaled("0.1", 10), Some(1));
        assert_eq!(scaled("1.07", 1 << 20), Some(1_121_976), "rounded down to the byte");
        for bad in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1 ", "99999999999999999999999999999999999999999"] {
            assert_eq!(scaled(bad, 1), None, "{bad}");
        }
        assert_eq!(count("0012"), Some(12));
        assert_eq!(count("1+"), None);
    }
}
