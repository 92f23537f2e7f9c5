//! Exact decimals as text, made of integers: the one place where a figure gets its point and its thousands.

/// `value / 10^digits`, exactly; with thousands separated by commas if `grouped`.
pub fn decimal(value: i128, digits: u32, grouped: bool) -> String {
    let digits = digits as usize;
    let sign = if value < 0 { "-" } else { "" };
    let padded = format!("{:0>width$}", value.unsigned_abs(), width = digits + 1);
    let (whole, part) = padded.split_at(padded.len() - digits);
    let mut out = sign.to_owned();
    for (i, c) in whole.chars().enumerate() {
        if grouped && i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    if digits > 0 {
        out.push('.');
        out.push_str(part);
    }
    out
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
    }
}
