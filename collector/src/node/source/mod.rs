//! What the node looks at: a closed list, one file each, each failing alone.

pub mod card;
pub mod dcgm;
pub mod kubelet;
pub mod nvml;
pub mod probe;
pub mod proc;
#[cfg(test)]
mod scratch;
pub mod slurm;
pub mod smi;

/// A number as programs write it: digits alone. Rust's own parser would take a plus sign.
fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}
