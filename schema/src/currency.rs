//! Currencies: how many digits the minor unit of an ISO 4217 code has.

/// Digits of the minor unit of a currency: 0, 2 or 3. A code that is not listed has 2.
pub fn minor_digits(code: &str) -> u32 {
    match code {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX" | "UYI" | "VND"
        | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yen_have_no_digits_dinars_three_and_most_two() {
        assert_eq!(["JPY", "KWD", "EUR"].map(minor_digits), [0, 3, 2]);
    }
}
