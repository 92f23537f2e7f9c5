//! The cards of this node, by all the names that a record may have for them.

/// A card as the driver shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its UUID, the only name that means the same everywhere.
    pub uuid: String,
    /// Its number in the driver's order.
    pub nvml_index: Option<u32>,
    /// Number of its device file.
    pub minor: Option<u32>,
    /// Its MIG devices; none where it is not cut.
    pub instances: Vec<Instance>,
}

/// A MIG device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its UUID.
    pub uuid: String,
    /// GPU instance id.
    pub gi: u32,
    /// Compute instance id.
    pub ci: Option<u32>,
    /// First memory slice of its GPU instance.
    pub start: Option<u32>,
}

impl Card {
    /// UUID of the only instance that fits; none where several do.
    pub fn instance(&self, fits: impl Fn(&Instance) -> bool) -> Option<String> {
        let mut found = self.instances.iter().filter(|i| fits(i));
        let (one, None) = (found.next()?, found.next()) else { return None };
        Some(one.uuid.clone())
    }
}
