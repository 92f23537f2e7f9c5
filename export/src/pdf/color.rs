//! One meaning, one colour, everywhere.

/// Red, green, blue.
pub(super) type Color = (u8, u8, u8);

/// Measured, and kernels ran.
pub(super) const BUSY: Color = (0x0f, 0x76, 0x6e);
/// Measured, and nothing ran.
pub(super) const HELD_IDLE: Color = (0xf5, 0x9e, 0x0b);
/// Not measured: hatched.
pub(super) const HELD_UNMEASURED: Color = (0xa8, 0xa2, 0x9e);
/// Money, and headings.
pub(super) const MONEY: Color = (0x1e, 0x3a, 0x5f);
/// Text.
pub(super) const INK: Color = (0x1c, 0x19, 0x17);
/// Text beside text.
pub(super) const QUIET: Color = (0x57, 0x53, 0x4e);
/// Rules between rows.
pub(super) const RULE: Color = (0xcb, 0xd5, 0xe1);
/// What must not be overlooked.
pub(super) const ALERT: Color = (0x9f, 0x12, 0x39);
