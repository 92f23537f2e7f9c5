//! Units and the constants of the grid. Measures are integers and carry their unit in the name.

/// A ledger cell: 15 minutes. Every local midnight in use lies on this grid.
pub const CELL_MS: i64 = 900_000;
/// A UTC day.
pub const DAY_MS: i64 = 86_400_000;
/// An hour; the only divisor of money (price is per GPU-hour, held time is in milliseconds).
pub const HOUR_MS: i64 = 3_600_000;
/// A whole physical GPU in share units: exact for every denominator to 16, whole percents and thousandths.
pub const CARD_UNITS: i64 = 72_072_000;
/// One, in parts per million.
pub const PPM: i64 = 1_000_000;
/// One, in the parts of an owner split.
pub const SPLIT_PARTS: i64 = 10_000;
/// Greatest price a rate may have, in millionths of the currency per GPU-hour (checked at import, so sums cannot wrap).
pub const PRICE_MICROS_MAX: i64 = 1_000_000_000_000;
/// A telemetry gap up to this long is bridged on a bare host when the same holder stands on both sides.
pub const BRIDGE_MS: i64 = 600_000;

/// The unit of a column, a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// No unit: a name, a state, a flag.
    None,
    /// A 63-bit id (see [`crate::id`]).
    Id,
    /// Milliseconds since the Unix epoch.
    Instant,
    /// Milliseconds.
    Ms,
    /// Bytes.
    Bytes,
    /// Parts per million.
    Ppm,
    /// Milliwatts.
    Milliwatts,
    /// Millijoules.
    Millijoules,
    /// Degrees Celsius.
    Celsius,
    /// A plain count.
    Count,
    /// Millionths of the currency unit per GPU-hour.
    PriceMicros,
    /// Millionths of the currency unit.
    Micros,
    /// Exact money: GPU-ms x price in millionths per GPU-hour; 3 600 000 x 10^6 of it are one unit of the currency.
    ExactMoney,
    /// Minor units of the currency (cents).
    MinorUnits,
    /// Days since 1970-01-01, UTC.
    Day,
    /// 15-minute cells since 1970-01-01 UTC.
    Cell,
}

/// A share `num/den` of a card (or of several) in [`CARD_UNITS`]; the flag says whether it is exact.
///
/// Returns `None` when the share is negative, has no denominator, or does not fit.
pub fn share_units(num: i64, den: i64) -> Option<(i64, bool)> {
    if num < 0 || den <= 0 {
        return None;
    }
    let units = i128::from(num) * i128::from(CARD_UNITS);
    let exact = units % i128::from(den) == 0;
    i64::try_from(units / i128::from(den)).ok().map(|u| (u, exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_denominator_to_16_percents_and_thousandths_are_exact() {
        for den in (1..=16).chain([100, 1000]) {
            assert!(matches!(share_units(1, den), Some((_, true))), "1/{den}");
        }
        assert_eq!(share_units(3, 7), Some((30_888_000, true)));
        assert_eq!(share_units(1, 17), Some((4_239_529, false)));
        assert_eq!(share_units(1, 0), None);
        assert_eq!(share_units(-1, 2), None);
    }
}
