//! Why clocks are limited, in words.

/// Bits of the driver, in the order of their words.
const REASONS: [(u64, &str); 9] = [
    (0x1, "idle"),
    (0x2, "app_clocks"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal"),
    (0x40, "hw_thermal"),
    (0x80, "hw_power_brake"),
    (0x100, "display"),
];

/// The words of a set of bits; `none` where nothing limits, so that a limit of none differs from none known.
pub(super) fn words(bits: u64) -> String {
    let mut words: Vec<String> =
        REASONS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| (*word).to_owned()).collect();
    let unknown = bits & !REASONS.iter().fold(0, |all, (bit, _)| all | bit);
    if unknown != 0 {
        words.push(format!("0x{unknown:x}"));
    }
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_become_words_and_new_ones_stay_visible() {
        assert_eq!(words(0), "none");
        assert_eq!(words(0x4 | 0x40), "sw_power_cap hw_thermal");
        assert_eq!(words(0x1 | 0x800), "idle 0x800");
    }
}
