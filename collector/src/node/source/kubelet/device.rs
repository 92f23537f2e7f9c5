//! Device ids as device plugins and resource drivers write them. Pure.

use crate::node::source::card::Card;
use crate::node::source::number;

/// What an id names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    /// `GPU-...` or `MIG-...`.
    Uuid(String),
    /// `MIG-GPU-.../gi/ci`, as before driver 470.
    LegacyMig {
        /// UUID of the card.
        gpu: String,
        /// GPU instance id.
        gi: u32,
        /// Compute instance id.
        ci: u32,
    },
    /// `nvidia0` or `nvidia0/gi1`, as Google's plugin writes them.
    File {
        /// Number of the device file.
        minor: u32,
        /// GPU instance id.
        gi: Option<u32>,
    },
    /// `gpu-0` or `gpu-0-mig-1g.10gb-19-4` of NVIDIA's resource driver.
    Claimed {
        /// Number of the device file.
        minor: u32,
        /// First memory slice of a MIG device.
        start: Option<u32>,
    },
    /// Anything else: it is shown, and nothing is made of it.
    Other(String),
}

/// A device id, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId {
    /// The device.
    pub device: Device,
    /// Whether this is one of several copies of it, shared by time or MPS.
    pub copy: bool,
}

impl DeviceId {
    /// Reads an id of a device plugin. `::n` and `/vgpu<n>` mark the copies of a device.
    pub fn of_plugin(id: &str) -> Self {
        let (id, copied) = match id.split_once("::") {
            Some((device, copy)) if number(copy).is_some() => (device, true),
            _ => (id, false),
        };
        let (id, sliced) = match id.rsplit_once("/vgpu") {
            Some((device, copy)) if number(copy).is_some() => (device, true),
            _ => (id, false),
        };
        let device = legacy(id).or_else(|| uuid(id)).or_else(|| file(id));
        Self { device: device.unwrap_or_else(|| Device::Other(id.to_owned())), copy: copied || sliced }
    }

    /// Reads a device name of NVIDIA's resource driver.
    pub fn of_claim(name: &str) -> Self {
        Self { device: claimed(name).unwrap_or_else(|| Device::Other(name.to_owned())), copy: false }
    }
}

impl Device {
    /// UUID of the card or MIG device that is meant; none where this node has none, or cannot tell which.
    pub fn uuid(&self, cards: &[Card]) -> Option<String> {
        let by_minor = |minor: u32| cards.iter().find(|c| c.minor == Some(minor));
        match self {
            Self::Uuid(uuid) => Some(uuid.clone()),
            Self::LegacyMig { gpu, gi, ci } => {
                let card = cards.iter().find(|c| c.uuid == *gpu)?;
                // the driver of that age gives its MIG devices the same names
                let named = format!("MIG-{gpu}/{gi}/{ci}");
                let by_name = card.instance(|i| i.uuid == named);
                by_name.or_else(|| card.instance(|i| i.gi == *gi && i.ci.is_none_or(|c| c == *ci)))
            }
            Self::File { minor, gi: None } | Self::Claimed { minor, start: None } => {
                Some(by_minor(*minor)?.uuid.clone())
            }
            Self::File { minor, gi: Some(gi) } => by_minor(*minor)?.instance(|i| i.gi == *gi),
            Self::Claimed { minor, start: Some(start) } => by_minor(*minor)?.instance(|i| i.start == Some(*start)),
            Self::Other(_) => None,
        }
    }
}

fn uuid(id: &str) -> Option<Device> {
    let known = (id.starts_with("GPU-") || id.starts_with("MIG-")) && !id.contains('/');
    known.then(|| Device::Uuid(id.to_owned()))
}

fn legacy(id: &str) -> Option<Device> {
    let mut parts = id.strip_prefix("MIG-")?.split('/');
    let (gpu, gi, ci) = (parts.next()?, number(parts.next()?)?, number(parts.next()?)?);
    let whole = gpu.starts_with("GPU-") && parts.next().is_none();
    whole.then(|| Device::LegacyMig { gpu: gpu.to_owned(), gi, ci })
}

fn file(id: &str) -> Option<Device> {
    let rest = id.strip_prefix("nvidia")?;
    let (minor, gi) = match rest.split_once("/gi") {
        Some((minor, gi)) => (minor, Some(number(gi)?)),
        None => (rest, None),
    };
    Some(Device::File { minor: number(minor)?, gi })
}

fn claimed(name: &str) -> Option<Device> {
    let rest = name.strip_prefix("gpu-")?;
    let (minor, start) = match rest.split_once("-mig-") {
        Some((minor, place)) => (minor, Some(number(place.rsplit_once('-')?.1)?)),
        None => (rest, None),
    };
    Some(Device::Claimed { minor: number(minor)?, start })
}

#[cfg(test)]
mod tests;
