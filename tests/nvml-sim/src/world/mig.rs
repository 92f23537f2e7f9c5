//! How a GPU is cut at a time.

use crate::scenario::{Gpu, Instance, MigLayout, us};

/// The layout at `at` with its number in the scenario; None: MIG was never on.
pub(crate) fn layout(gpu: &Gpu, at: i64) -> Option<(usize, &MigLayout)> {
    gpu.mig.iter().enumerate().take_while(|(_, layout)| us(layout.at_s) <= at).last()
}

/// Whether MIG mode is on.
pub(crate) fn is_on(gpu: &Gpu, at: i64) -> bool {
    layout(gpu, at).is_some_and(|(_, layout)| layout.enabled)
}

/// The instance that the enumeration has at an index; one without a compute instance is no MIG device.
pub(crate) fn device(gpu: &Gpu, at: i64, index: u32) -> Option<&Instance> {
    let (_, layout) = layout(gpu, at).filter(|(_, layout)| layout.enabled)?;
    layout.instances.iter().find(|instance| instance.index == index && instance.ci.is_some())
}

/// A GPU instance by its id, with or without a compute instance.
pub(crate) fn instance(gpu: &Gpu, at: i64, gi: u32) -> Option<&Instance> {
    let (_, layout) = layout(gpu, at).filter(|(_, layout)| layout.enabled)?;
    layout.instances.iter().find(|instance| instance.gi == gi)
}

/// UUID of a GPU instance's MIG device.
pub(crate) fn uuid(gpu: &Gpu, gpu_index: usize, at: i64, instance: &Instance) -> String {
    let number = layout(gpu, at).map_or(0, |(number, _)| number);
    instance
        .uuid
        .clone()
        .unwrap_or_else(|| format!("MIG-{gpu_index:08x}-{number:04x}-{:04x}-0000-000000000001", instance.gi))
}
