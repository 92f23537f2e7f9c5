//! Numbers of GPUs, by type where Slurm says it, and the share of a card that a MIG type stands for.

use gpuledger_schema::unit::share_units;

/// More GPUs than any job holds; a greater number is a misread field.
const GPUS_MAX: i64 = 10_000_000;
/// Compute slices of a card that can be cut, A30 apart.
const CARD_SLICES: i64 = 7;
/// Compute slices of an A30.
const A30_SLICES: i64 = 4;

/// GPUs of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuType {
    /// Type as the site named it, e.g. `a100` or `nvidia_h200_nvl_4g.71gb`.
    pub name: String,
    /// How many.
    pub count: i64,
}

/// GPUs asked for or granted: each counted once, whether Slurm lists it untyped, typed or both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gpus {
    /// Devices or MIG instances.
    pub count: i64,
    /// How many of them are of a known type.
    pub types: Vec<GpuType>,
}

/// A number of GPUs that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// Not a number.
    #[error("GPU count `{count}` in `{part}` is no number")]
    NotANumber {
        /// The part of the field.
        part: String,
        /// Its count.
        count: String,
    },
    /// The typed counts add up to more than the untyped one.
    #[error("{typed} GPUs by type are more than the {untyped} in all")]
    Contradiction {
        /// By type.
        typed: i64,
        /// In all.
        untyped: i64,
    },
    /// More than any job holds.
    #[error("{0} GPUs are more than any job holds")]
    Absurd(i64),
    /// A MIG profile with more slices than its card has.
    #[error("MIG type `{name}` has more than the {slices} slices of its card")]
    Slices {
        /// The type.
        name: String,
        /// Slices of the card.
        slices: i64,
    },
}

impl Gpus {
    /// Puts the untyped count (the whole, where it stands) and the typed ones (parts of it) together.
    pub fn of(untyped: Option<i64>, types: Vec<GpuType>) -> Result<Self, GpuError> {
        let types: Vec<GpuType> = types.into_iter().filter(|t| t.count > 0).collect();
        let mut typed = 0i64;
        for t in &types {
            typed = typed.checked_add(t.count).filter(|n| *n <= GPUS_MAX).ok_or(GpuError::Absurd(t.count))?;
            mig_share(&t.name)?;
        }
        let count = untyped.unwrap_or(typed);
        if count > GPUS_MAX {
            return Err(GpuError::Absurd(count));
        }
        if typed > count {
            return Err(GpuError::Contradiction { typed, untyped: count });
        }
        Ok(Self { count, types })
    }

    /// The type, where all GPUs are of one.
    pub fn model(&self) -> Option<&str> {
        match self.types.as_slice() {
            [one] if one.count == self.count => Some(&one.name),
            _ => None,
        }
    }

    /// Share units of a card that they stand for in all, and whether that is exact.
    pub fn share_units(&self) -> Option<(i64, bool)> {
        let mut whole = self.count;
        let (mut units, mut exact) = (0i64, true);
        for t in &self.types {
            let (num, den) = mig_share(&t.name).ok()?.unwrap_or((1, 1));
            let (part, part_exact) = share_units(num.checked_mul(t.count)?, den)?;
            units = units.checked_add(part)?;
            exact &= part_exact;
            whole -= t.count;
        }
        Some((units.checked_add(share_units(whole, 1)?.0)?, exact))
    }
}

/// The part of a card that one device of this type is: `4g.71gb` anywhere in the name is 4 of 7 slices (of 4 on an
/// A30), `1c.3g.40gb` is one compute slice. Absent: a whole card.
pub fn mig_share(name: &str) -> Result<Option<(i64, i64)>, GpuError> {
    let lower = name.to_ascii_lowercase();
    let Some(slices) = profile_slices(&lower) else { return Ok(None) };
    let card = if lower.contains("a30") { A30_SLICES } else { CARD_SLICES };
    if slices > card || slices == 0 {
        return Err(GpuError::Slices { name: name.to_owned(), slices: card });
    }
    Ok(Some((slices, card)))
}

/// Compute slices of the first `[<c>c.]<n>g.<m>gb` in a name.
fn profile_slices(lower: &str) -> Option<i64> {
    for (at, _) in lower.match_indices("g.") {
        let (before, after) = (&lower[..at], &lower[at + 2..]);
        let memory = after.trim_start_matches(|c: char| c.is_ascii_digit());
        if memory.len() == after.len() || !memory.starts_with("gb") {
            continue;
        }
        let stem = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let Ok(slices) = before[stem.len()..].parse::<i64>() else { continue };
        let Some(stem) = stem.strip_suffix("c.") else { return Some(slices) };
        let digits = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        return stem[digits.len()..].parse().ok().or(Some(slices));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuledger_schema::unit::CARD_UNITS;

    fn t(name: &str, count: i64) -> GpuType {
        GpuType { name: name.to_owned(), count }
    }

    #[test]
    fn typed_and_untyped_are_counted_once() {
        assert_eq!(Gpus::of(Some(4), vec![t("a100", 4)]).unwrap().count, 4);
        assert_eq!(Gpus::of(None, vec![t("a100", 4), t("h100", 2)]).unwrap().count, 6);
        let mixed = Gpus::of(Some(6), vec![t("a100", 4)]).unwrap();
        assert_eq!((mixed.count, mixed.model()), (6, None));
        assert_eq!(Gpus::of(Some(0), vec![t("a100", 0)]), Ok(Gpus::default()));
        assert!(matches!(Gpus::of(Some(2), vec![t("a100", 4)]), Err(GpuError::Contradiction { .. })));
        assert!(matches!(Gpus::of(Some(i64::MAX), vec![]), Err(GpuError::Absurd(_))));
        assert!(matches!(Gpus::of(None, vec![t("a", i64::MAX), t("b", 1)]), Err(GpuError::Absurd(_))));
    }

    #[test]
    fn mig_types_are_slices_of_a_card() {
        for (name, share) in [
            ("nvidia_h200_nvl_4g.71gb", Some((4, 7))),
            ("1g.10gb", Some((1, 7))),
            ("a100_3g.20gb", Some((3, 7))),
            ("a30_2g.12gb", Some((2, 4))),
            ("1g.10gb+me", Some((1, 7))),
            ("1c.3g.40gb", Some((1, 7))),
            ("a100", None),
            ("2g.nothing", None),
            ("rtx_6000g.", None),
        ] {
            assert_eq!(mig_share(name), Ok(share), "{name}");
        }
        assert!(mig_share("9g.80gb").is_err());
        assert!(mig_share("0g.80gb").is_err());
        assert!(mig_share("a30_7g.24gb").is_err());
    }

    #[test]
    fn units_keep_slices_and_whole_cards_apart() {
        let g = Gpus::of(Some(5), vec![t("1g.10gb", 3), t("a100", 1)]).unwrap();
        assert_eq!(g.share_units(), Some((CARD_UNITS * 3 / 7 + 2 * CARD_UNITS, true)));
        assert_eq!(Gpus::default().share_units(), Some((0, true)));
        let big = Gpus { count: GPUS_MAX, types: Vec::new() };
        assert_eq!(big.share_units(), Some((GPUS_MAX * CARD_UNITS, true)));
    }
}
