//! The built library through the interface that programs use: nvml-wrapper where it can, the symbols where it cannot.

mod accounting;
mod environment;
mod failures;
mod gpm;
mod health;
mod lists;
mod machine;
mod mig;
mod profile;
mod ring;
