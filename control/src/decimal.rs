//! Plain decimal numbers as scaled integers, both ways and exactly. No float is involved.

/// Why a number cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecimalError {
    #[error("`{0}` is not a plain decimal number (digits, with a point where needed)")]
    NotPlain(String),
    #[error("`{0}` is negative")]
    Negative(String),
    #[error("`{0}` is not a whole number")]
    NotWhole(String),
    #[error("`{text}` has more than {decimals} decimals")]
    TooFine { text: String, decimals: u32 },
    #[error("`{text}` is more than {max}")]
    TooLarge { text: String, max: String },
}

/// `text` times 10^`decimals`, at most `max` (already scaled). Exponents, signs and separators are refused.
pub(crate) fn scaled(text: &str, decimals: u32, max: i64) -> Result<i64, DecimalError> {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) if digits(fraction) => (whole, fraction),
        Some(_) => return Err(DecimalError::NotPlain(text.to_owned())),
        None => (text, ""),
    };
    if whole.strip_prefix('-').is_some_and(digits) {
        return Err(DecimalError::Negative(text.to_owned()));
    }
    if !digits(whole) {
        return Err(DecimalError::NotPlain(text.to_owned()));
    }
    if decimals == 0 && !fraction.is_empty() {
        return Err(DecimalError::NotWhole(text.to_owned()));
    }
    if fraction.len() > decimals as usize {
        return Err(DecimalError::TooFine { text: text.to_owned(), decimals });
    }
    let missing = decimals as usize - fraction.len();
    let mut value: i64 = 0;
    for digit in whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', missing)) {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(i64::from(digit - b'0')))
            .filter(|v| *v <= max)
            .ok_or_else(|| DecimalError::TooLarge { text: text.to_owned(), max: show(max, decimals) })?;
    }
    Ok(value)
}

/// A scaled integer as decimal text without trailing zeros.
pub(crate) fn show(value: i64, decimals: u32) -> String {
    let digits = format!("{value:0width$}", width = decimals as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_exact_to_six_decimals() {
        for (text, micros, shown) in [
            ("10", 10_000_000, "10"),
            ("120.50", 120_500_000, "120.5"),
            ("0.000001", 1, "0.000001"),
            ("0", 0, "0"),
            ("007.10", 7_100_000, "7.1"),
            ("1000000", 1_000_000_000_000, "1000000"),
        ] {
            assert_eq!(scaled(text, 6, 1_000_000_000_000), Ok(micros), "{text}");
            assert_eq!(show(micros, 6), shown);
        }
    }

    #[test]
    fn what_is_not_a_plain_decimal_is_refused() {
        for text in ["", ".", "1.", ".5", "1e3", "+1", "1,5", "1 000", "0x10", "NaN", "--1", "1.2.3", "-", "１０"] {
            assert_eq!(scaled(text, 6, 10), Err(DecimalError::NotPlain(text.to_owned())), "{text}");
        }
        assert_eq!(scaled("-1", 6, 10), Err(DecimalError::Negative("-1".into())));
        let reason = |text: &str| scaled(text, 6, 1_000_000_000_000).unwrap_err().to_string();
        assert_eq!(reason("0.0000001"), "`0.0000001` has more than 6 decimals");
        assert_eq!(reason("1000000.000001"), "`1000000.000001` is more than 1000000");
        assert_eq!(reason(&"9".repeat(40)), format!("`{}` is more than 1000000", "9".repeat(40)));
    }
}
