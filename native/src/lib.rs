//! The driver's library and the kernel's clock behind safe calls.
