//! What part of a card something that is asked for stands for, in share units of a card.

use gpuledger_schema::unit::{CARD_UNITS, share_units};

use super::node::Node;
use super::request::{Cut, Part};
use super::resource::{Meaning, Profile};

/// Compute slices of cards that can be cut, by a word in the model's name; all others have seven.
const SLICES_OF: [(&str, i64); 3] = [("A30", 4), ("RTX-PRO-6000", 4), ("RTX PRO 6000", 4)];
/// Compute slices of most cards that can be cut.
const SLICES: i64 = 7;

/// A share of cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// In share units of a card.
    pub units: i64,
    /// Whether that is exactly what was granted.
    pub exact: bool,
}

/// The share of a part on the node that it is on; none where only a node could tell (before it has one) or its node does
/// not say: how many copies, how large the card's memory.
pub fn of_part(part: &Part, node: Option<&Node>) -> Option<Units> {
    let (num, den, sure) = match (&part.meaning, part.cut) {
        (Meaning::Card, Cut::Part { num, den }) => (num.min(den), den, true),
        (Meaning::Card, Cut::MemoryMib(mib)) => {
            let card = node?.card_memory_mib?;
            (mib.min(card), card, true)
        }
        (meaning, _) => of_one(meaning, &part.resource, node)?,
    };
    let (units, exact) = share_units(num.checked_mul(part.count)?, den)?;
    Some(Units { units, exact: exact && sure })
}

/// The share of all parts of a pod. A part whose share nobody tells counts whole: the most that it can be, and marked as not
/// exact. None where there is no part.
pub fn of_parts(parts: &[Part], node: Option<&Node>) -> Option<Units> {
    let mut all = Units { units: 0, exact: true };
    for part in parts {
        let most = Units { units: CARD_UNITS.checked_mul(part.count)?, exact: false };
        let one = of_part(part, node).unwrap_or(most);
        all = Units { units: all.units.checked_add(one.units)?, exact: all.exact && one.exact };
    }
    (!parts.is_empty()).then_some(all)
}

/// What one unit of a resource stands for on a node, for what the node offers: numerator, denominator, and whether that is
/// sure.
pub fn of_one(meaning: &Meaning, resource: &str, node: Option<&Node>) -> Option<(i64, i64, bool)> {
    let model = node.and_then(|n| n.model.as_deref());
    let copies = || node.and_then(|n| n.copies(resource));
    match meaning {
        Meaning::Card => {
            let (num, den, sure) = match node.and_then(|n| n.single_profile.as_ref()) {
                Some(profile) => slice(profile, model),
                None => (1, 1, true),
            };
            Some((num, den.checked_mul(copies().unwrap_or(1))?, sure))
        }
        Meaning::Copy => Some((1, copies()?, true)),
        Meaning::Slice(profile) => Some(slice(profile, model)),
        Meaning::SliceCopy(profile) => {
            let (num, den, sure) = slice(profile, model);
            Some((num, den.checked_mul(copies()?)?, sure))
        }
        Meaning::CoresPercent | Meaning::MemoryPercent | Meaning::MemoryMib => None,
    }
}

/// The slices of a profile over those of its card. Where no model is named the card is taken to have seven, and the share
/// is marked as not sure.
fn slice(profile: &Profile, model: Option<&str>) -> (i64, i64, bool) {
    let known = SLICES_OF.iter().find(|(word, _)| model.is_some_and(|m| m.contains(word)));
    let of = known.map_or(SLICES, |(_, slices)| *slices);
    (profile.slices.min(of), of, model.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn node(model: &str, copies: &[(&str, i64)]) -> Node {
        Node {
            model: Some(model.to_owned()),
            card_memory_mib: Some(81_920),
            copies: copies.iter().map(|(r, n)| ((*r).to_owned(), *n)).collect(),
            ..Node::named("n1")
        }
    }

    fn part(resource: &str, count: i64, cut: Cut) -> Part {
        let meaning = super::super::resource::Resources::default().meaning(resource).unwrap();
        Part { resource: resource.to_owned(), meaning, count, cut, memory_mib: None }
    }

    fn units(part: &Part, node: Option<&Node>) -> Option<(i64, bool)> {
        of_part(part, node).map(|u| (u.units, u.exact))
    }

    #[test]
    fn cards_slices_and_copies() {
        let gpu = part("nvidia.com/gpu", 2, Cut::Whole);
        assert_eq!(units(&gpu, None), Some((2 * CARD_UNITS, true)));
        let h100 = node("NVIDIA-H100-80GB-HBM3", &[("nvidia.com/gpu", 4), ("nvidia.com/gpu.shared", 4)]);
        assert_eq!(units(&gpu, Some(&h100)), Some((CARD_UNITS / 2, true)));
        // three pods of one card that is shared as four, and seven slices of a card
        assert_eq!(units(&part("nvidia.com/gpu.shared", 3, Cut::Whole), Some(&h100)), Some((54_054_000, true)));
        assert_eq!(units(&part("nvidia.com/gpu.shared", 1, Cut::Whole), None), None);
        assert_eq!(units(&part("nvidia.com/mig-3g.40gb", 1, Cut::Whole), Some(&h100)), Some((30_888_000, true)));
        assert_eq!(units(&part("nvidia.com/mig-3g.40gb", 1, Cut::Whole), None), Some((30_888_000, false)));
        let a30 = node("NVIDIA-A30", &[("nvidia.com/mig-2g.12gb.shared", 2)]);
        assert_eq!(units(&part("nvidia.com/mig-2g.12gb.shared", 1, Cut::Whole), Some(&a30)), Some((18_018_000, true)));
    }

    #[test]
    fn parts_by_cores_and_by_memory() {
        // C16: one card of which a quarter of the cores is asked for
        let quarter = part("nvidia.com/gpu", 1, Cut::Part { num: 25, den: 100 });
        assert_eq!(units(&quarter, None), Some((18_018_000, true)));
        let memory = part("nvidia.com/gpu", 2, Cut::MemoryMib(20_480));
        assert_eq!(units(&memory, Some(&node("H100", &[]))), Some((36_036_000, true)));
        assert_eq!(units(&memory, None), None);
        let seventh = part("nvidia.com/gpu", 1, Cut::MemoryMib(11_703));
        assert_eq!(units(&seventh, Some(&node("H100", &[]))).unwrap().1, false);
    }

    #[test]
    fn what_nobody_tells_counts_whole_and_is_marked() {
        let parts =
            [part("nvidia.com/gpu", 1, Cut::Part { num: 5, den: 10 }), part("nvidia.com/gpu.shared", 1, Cut::Whole)];
        assert_eq!(of_parts(&parts, None), Some(Units { units: 108_108_000, exact: false }));
        assert_eq!(of_parts(&[], None), None);
    }

    #[test]
    fn a_card_under_one_name_for_its_slices() {
        let single =
            Node { single_profile: Profile::of("1g.10gb"), copies: BTreeMap::new(), ..node("NVIDIA-H100", &[]) };
        assert_eq!(units(&part("nvidia.com/gpu", 7, Cut::Whole), Some(&single)), Some((CARD_UNITS, true)));
    }
}
