//! Slurm accounting text.
