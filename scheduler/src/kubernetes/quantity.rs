//! Quantities of Kubernetes (`250m`, `1.5`, `64Gi`, `1e3`) as whole numbers. Exact, rounded up as the scheduler does.

use serde_json::Value;

/// Suffixes with what they multiply by: numerator and denominator.
const SUFFIXES: [(&str, i128, i128); 16] = [
    ("Ki", 1 << 10, 1),
    ("Mi", 1 << 20, 1),
    ("Gi", 1 << 30, 1),
    ("Ti", 1 << 40, 1),
    ("Pi", 1 << 50, 1),
    ("Ei", 1 << 60, 1),
    ("n", 1, 1_000_000_000),
    ("u", 1, 1_000_000),
    ("m", 1, 1_000),
    ("k", 1_000, 1),
    ("M", 1_000_000, 1),
    ("G", 1_000_000_000, 1),
    ("T", 1_000_000_000_000, 1),
    ("P", 1_000_000_000_000_000, 1),
    ("E", 1_000_000_000_000_000_000, 1),
    ("", 1, 1),
];
/// Most digits of a number that is believed.
const DIGITS_MAX: usize = 20;

/// A quantity as a whole number, rounded up; none where it is not one, is negative or does not fit.
pub fn whole(value: &Value) -> Option<i64> {
    scaled(value, 1)
}

/// A quantity in thousandths, rounded up.
pub fn milli(value: &Value) -> Option<i64> {
    scaled(value, 1_000)
}

/// A plain decimal such as `0.25` as a fraction: numerator and denominator.
pub fn fraction(text: &str) -> Option<(i64, i64)> {
    let (digits, shift) = digits(text.trim())?;
    let den = 10_i64.checked_pow(shift)?;
    Some((i64::try_from(digits).ok()?, den))
}

fn scaled(value: &Value, scale: i128) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return i64::try_from(i128::from(number.max(-1)) * scale).ok().filter(|n| *n >= 0);
    }
    let (number, exponent, (multiplier, divisor)) = parts(value.as_str()?.trim())?;
    let (digits, shift) = digits(number)?;
    let up = 10_i128.checked_pow(u32::try_from(exponent.max(0)).ok()?)?;
    let down = 10_i128.checked_pow(shift.checked_add(u32::try_from((-exponent).max(0)).ok()?)?)?;
    let top = digits.checked_mul(multiplier)?.checked_mul(up)?.checked_mul(scale)?;
    let bottom = down.checked_mul(divisor)?;
    i64::try_from(top / bottom + i128::from(top % bottom != 0)).ok()
}

/// The number, its decimal exponent and its suffix.
fn parts(text: &str) -> Option<(&str, i32, (i128, i128))> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '+').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let exponent = rest.strip_prefix(['e', 'E']).filter(|e| !e.is_empty() && e.len() <= 3);
    if let Some(exponent) = exponent.and_then(|e| e.parse::<i32>().ok()) {
        return Some((number, exponent, (1, 1)));
    }
    SUFFIXES.iter().find(|(suffix, ..)| *suffix == rest).map(|(_, by, over)| (number, 0, (*by, *over)))
}

/// The digits of a plain decimal and how many of them stand behind the point.
fn digits(number: &str) -> Option<(i128, u32)> {
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = part.trim_end_matches('0');
    let all = format!("{whole}{part}");
    let good = !all.is_empty() && all.len() <= DIGITS_MAX && all.bytes().all(|b| b.is_ascii_digit());
    if !good && !(whole.is_empty() && part.is_empty() && number.contains('0')) {
        return None;
    }
    let digits = if all.is_empty() { 0 } else { all.parse().ok()? };
    Some((digits, u32::try_from(part.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_exact_and_rounded_up() {
        for (text, wanted) in [
            ("1", 1),
            ("250m", 1),
            ("1001m", 2),
            ("1.5", 2),
            ("64Gi", 64 << 30),
            ("1.5Ki", 1536),
            ("16G", 16_000_000_000),
            ("1e3", 1_000),
            ("12E-1", 2),
            ("+4", 4),
            ("0", 0),
            ("0.0", 0),
            ("2k", 2_000),
            ("1E", 1_000_000_000_000_000_000),
        ] {
            assert_eq!(whole(&json!(text)), Some(wanted), "{text}");
        }
        assert_eq!(
            (milli(&json!("250m")), milli(&json!("1.0005")), milli(&json!(2))),
            (Some(250), Some(1_001), Some(2_000))
        );
    }

    #[test]
    fn what_is_no_quantity_is_absent_and_not_zero() {
        for text in ["", "-1", "1 Gi", "Gi", "1Zi", "1..2", ".", "99999999999999999999999", "9e30"] {
            assert_eq!(whole(&json!(text)), None, "{text}");
        }
        assert_eq!((whole(&json!(-3)), whole(&json!(null))), (None, None));
    }

    #[test]
    fn decimals_are_fractions() {
        assert_eq!(fraction("0.25"), Some((25, 100)));
        assert_eq!(fraction("0.50"), Some((5, 10)));
        assert_eq!(fraction("1"), Some((1, 1)));
        assert_eq!((fraction("half"), fraction("-0.5")), (None, None));
    }
}
