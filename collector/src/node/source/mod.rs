//! What the node looks at: a closed list, one file each, each failing alone.

pub mod card;
pub mod kubelet;
pub mod proc;
pub mod slurm;
