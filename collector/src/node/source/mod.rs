//! What the node looks at: a closed list, one file each, each failing alone.

pub mod nvml;
