//! MIG instances of a card, enumerated anew every time: a handle or a number may come to mean another one.

use std::collections::BTreeMap;

use gpuledger_native::{Device, Error};

use super::look::InstanceFacts;

/// An instance with its handle, good for one look.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    /// Its handle.
    pub(super) device: Device,
    /// What it is.
    pub(super) facts: InstanceFacts,
}

/// The instances of a card.
#[derive(Debug, Default)]
pub(super) struct Instances {
    now: Vec<Instance>,
    /// What is known of each UUID: it does not change while the instance lives.
    known: BTreeMap<String, InstanceFacts>,
}

impl Instances {
    /// Finds the instances that there are now.
    pub(super) fn refresh(&mut self, card: Device) -> Result<&[Instance], Error> {
        let mut now = Vec::new();
        for slot in 0..card.mig_slots()? {
            if let Some(device) = card.mig_device(slot)? {
                let uuid = device.uuid()?;
                let facts = match self.known.get(&uuid) {
                    Some(facts) => facts.clone(),
                    None => read(device, uuid)?,
                };
                now.push(Instance { device, facts });
            }
        }
        for at in 0..now.len() {
            let gi = now[at].facts.gpu_instance;
            now[at].facts.whole_gpu_instance = now.iter().filter(|i| i.facts.gpu_instance == gi).count() == 1;
        }
        self.known = now.iter().map(|i| (i.facts.uuid.clone(), i.facts.clone())).collect();
        self.now = now;
        Ok(&self.now)
    }

    /// A text that changes whenever the card is cut anew, even into instances of the same numbers.
    pub(super) fn fingerprint(&self) -> String {
        let one = |i: &Instance| {
            format!("{}={}/{}", i.facts.gpu_instance, i.facts.uuid, i.facts.profile.as_deref().unwrap_or("?"))
        };
        self.now.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

fn read(device: Device, uuid: String) -> Result<InstanceFacts, Error> {
    // attributes and name may be refused, and the instance is there all the same
    let attributes = device.attributes().ok();
    let slices = attributes.map(|a| i64::from(a.compute_instance_slices)).filter(|s| *s > 0);
    Ok(InstanceFacts {
        uuid,
        gpu_instance: device.gpu_instance()?,
        profile: device.name().ok().as_deref().and_then(profile),
        slices,
        memory_bytes: attributes.and_then(|a| i64::try_from(a.memory_mib << 20).ok()),
        whole_gpu_instance: true,
    })
}

/// The profile at the end of an instance's name: `NVIDIA A100-SXM4-80GB MIG 3g.40gb`.
fn profile(name: &str) -> Option<String> {
    name.rsplit_once("MIG ").map(|(_, profile)| profile.trim().to_owned()).filter(|p| !p.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_is_the_end_of_the_name() {
        assert_eq!(profile("NVIDIA A100-SXM4-80GB MIG 3g.40gb").as_deref(), Some("3g.40gb"));
        assert_eq!(profile("NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb").as_deref(), Some("1c.3g.40gb"));
        assert_eq!(profile("NVIDIA H100 80GB HBM3"), None);
    }
}
