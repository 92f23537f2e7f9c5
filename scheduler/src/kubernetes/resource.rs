//! What the name of an extended resource means: a card, a copy of one, a MIG instance, or how much of a card is meant.

use std::collections::BTreeMap;

/// What is asked for by a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// A card; where its node cuts or shares cards under this name, a part of one.
    Card,
    /// One of the copies that a card is shared as.
    Copy,
    /// A MIG instance.
    Slice(Profile),
    /// One of the copies that a MIG instance is shared as.
    SliceCopy(Profile),
    /// Not a thing of its own: percent of the cores of each card that the container asks for.
    CoresPercent,
    /// The same for memory.
    MemoryPercent,
    /// The same for memory, in MiB.
    MemoryMib,
}

/// A MIG profile, e.g. `1g.10gb`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// As the resource name writes it.
    pub name: String,
    /// Compute slices.
    pub slices: i64,
}

/// Annotations by which a scheduler grants parts of cards without any resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fraction {
    /// Annotation (or label) with the part as a decimal, e.g. `0.5`.
    pub share: Option<String>,
    /// Annotation with the memory in MiB.
    pub memory_mib: Option<String>,
    /// Annotation with the number of cards of which that part is meant; absent: one.
    pub devices: Option<String>,
}

/// How resources are read: NVIDIA's names, and what a site configured beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Meaning of names that a site chose itself.
    pub named: BTreeMap<String, Meaning>,
    /// Annotations that grant parts.
    pub fractions: Vec<Fraction>,
}

/// A meaning that no word stands for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no meaning: card, shared, mig-<profile>, mig-<profile>.shared, cores-percent, memory-percent or memory-mib"
)]
pub struct NoMeaning(pub String);

impl Meaning {
    /// Reads the word of a configuration.
    pub fn of_word(word: &str) -> Result<Self, NoMeaning> {
        match word {
            "card" => Ok(Self::Card),
            "shared" => Ok(Self::Copy),
            "cores-percent" => Ok(Self::CoresPercent),
            "memory-percent" => Ok(Self::MemoryPercent),
            "memory-mib" => Ok(Self::MemoryMib),
            _ => slice(word).ok_or_else(|| NoMeaning(word.to_owned())),
        }
    }

    /// Whether it is a thing that is counted, and not how much of one is meant.
    pub const fn is_thing(&self) -> bool {
        matches!(self, Self::Card | Self::Copy | Self::Slice(_) | Self::SliceCopy(_))
    }
}

impl Profile {
    /// Reads `1g.10gb`, `1c.3g.40gb` (a compute instance in a GPU instance) and what stands behind them.
    pub fn of(name: &str) -> Option<Self> {
        let mut slices = None;
        for part in name.split('.') {
            let count = |suffix| part.strip_suffix(suffix).and_then(|n: &str| n.parse::<i64>().ok());
            slices = slices.or_else(|| count('c')).or_else(|| count('g'));
        }
        let slices = slices.filter(|s| (1..=16).contains(s))?;
        name.contains('g').then(|| Self { name: name.to_owned(), slices })
    }
}

impl Resources {
    /// What a resource means; none where it is no GPU.
    pub fn meaning(&self, name: &str) -> Option<Meaning> {
        if let Some(named) = self.named.get(name) {
            return Some(named.clone());
        }
        match name {
            "nvidia.com/gpu" | "volcano.sh/vgpu-number" => Some(Meaning::Card),
            "nvidia.com/gpu.shared" => Some(Meaning::Copy),
            "nvidia.com/gpucores" | "volcano.sh/vgpu-cores" => Some(Meaning::CoresPercent),
            "nvidia.com/gpumem-percentage" => Some(Meaning::MemoryPercent),
            "nvidia.com/gpumem" | "volcano.sh/vgpu-memory" => Some(Meaning::MemoryMib),
            _ => name.strip_prefix("nvidia.com/").and_then(slice),
        }
    }
}

fn slice(word: &str) -> Option<Meaning> {
    let profile = word.strip_prefix("mig-")?;
    match profile.strip_suffix(".shared") {
        Some(profile) => Profile::of(profile).map(Meaning::SliceCopy),
        None => Profile::of(profile).map(Meaning::Slice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str, slices: i64) -> Profile {
        Profile { name: name.to_owned(), slices }
    }

    #[test]
    fn names_of_the_plugin_mean_what_it_says() {
        let of = |name: &str| Resources::default().meaning(name);
        assert_eq!(of("nvidia.com/gpu"), Some(Meaning::Card));
        assert_eq!(of("nvidia.com/gpu.shared"), Some(Meaning::Copy));
        assert_eq!(of("nvidia.com/mig-3g.40gb"), Some(Meaning::Slice(profile("3g.40gb", 3))));
        assert_eq!(of("nvidia.com/mig-1c.3g.40gb"), Some(Meaning::Slice(profile("1c.3g.40gb", 1))));
        assert_eq!(of("nvidia.com/mig-1g.10gb.me"), Some(Meaning::Slice(profile("1g.10gb.me", 1))));
        assert_eq!(of("nvidia.com/mig-1g.5gb.shared"), Some(Meaning::SliceCopy(profile("1g.5gb", 1))));
        assert_eq!(of("nvidia.com/gpucores"), Some(Meaning::CoresPercent));
        for other in ["nvidia.com/hostdev", "rdma/hca", "cpu", "nvidia.com/mig-", "nvidia.com/mig-big"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_site_renames_and_a_wrong_word_is_refused() {
        let named = BTreeMap::from([("example.com/a100.small".to_owned(), Meaning::of_word("mig-1g.10gb").unwrap())]);
        let resources = Resources { named, fractions: vec![] };
        assert_eq!(resources.meaning("example.com/a100.small"), Some(Meaning::Slice(profile("1g.10gb", 1))));
        assert!(Meaning::of_word("quarter").unwrap_err().to_string().starts_with("`quarter` is no meaning"));
    }
}
