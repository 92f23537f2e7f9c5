//! The driver's library and the kernel's clock behind safe calls: everything unsafe of the node collector.
//!
//! [`Library`] is loaded through `nvml-wrapper` (which tolerates drivers that lack functions) and never unloaded. The
//! calls themselves are made on the raw symbols, so that an answer keeps its number (the wrapper knows none above 22),
//! buffers have the size that a driver's race needs, and structures of several driver ages can be told apart.
//! Nothing here decides what a value means: absent, wrong and impossible values are for the reader to judge.

pub mod accounting;
pub mod clock;
pub mod device;
pub mod disk;
pub mod error;
pub mod event;
pub mod gpm;
pub mod library;
pub mod mig;
pub mod process;

pub use device::Device;
pub use error::{Code, Error};
pub use library::Library;
