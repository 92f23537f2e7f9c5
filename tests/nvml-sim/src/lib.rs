//! A simulated NVML.
//!
//! As a shared library it has the driver's C interface and answers from a scenario and a
//! clock; as a Rust library it is the scenario's types, and [`library`], which sets the shared library up for a test
//! or a demo. What a scenario says and how to run a program on it: `README.md`.
//!
//! The core is pure: what a GPU did is a function of the scenario and the time (`world`), so the same calls
//! at the same times get the same answers, whoever asks and how often.

pub mod control;
pub mod library;
pub mod scenario;

mod clock;
mod elf;
mod ffi;
mod profile;
mod sim;
mod world;
