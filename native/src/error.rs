//! Why a call gave nothing: the library's own number, kept.

use std::fmt;

/// A number with which the library answers; 0 is success and never stands here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u32);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $words:literal;)+) => {
        impl Code {
            $($(#[$doc])* pub const $name: Self = Self($number);)+

            /// What the number means, in words; `None` for a number of a newer driver.
            pub const fn words(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($words),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// The library was not initialised, or its driver was reloaded.
    UNINITIALIZED = 1, "not initialised";
    /// An argument was wrong.
    INVALID_ARGUMENT = 2, "invalid argument";
    /// The device or its mode does not have it.
    NOT_SUPPORTED = 3, "not supported";
    /// The caller may not have it.
    NO_PERMISSION = 4, "no permission";
    /// Initialised before.
    ALREADY_INITIALIZED = 5, "already initialised";
    /// There is no such thing; for process utilization: nobody used the device.
    NOT_FOUND = 6, "not found";
    /// The buffer was too small.
    INSUFFICIENT_SIZE = 7, "buffer too small";
    /// A power cable is missing.
    INSUFFICIENT_POWER = 8, "power cable missing";
    /// The driver is not loaded.
    DRIVER_NOT_LOADED = 9, "driver not loaded";
    /// Nothing came in time; for events: there was none.
    TIMEOUT = 10, "timeout";
    /// The kernel sees trouble with the device's interrupt.
    IRQ_ISSUE = 11, "interrupt trouble";
    /// A library is missing.
    LIBRARY_NOT_FOUND = 12, "library not found";
    /// A function is missing in the driver's library.
    FUNCTION_NOT_FOUND = 13, "function not found";
    /// The board's memory of itself is damaged.
    CORRUPTED_INFOROM = 14, "infoROM damaged";
    /// The device fell off the bus.
    GPU_IS_LOST = 15, "GPU is lost";
    /// The device needs a reset.
    RESET_REQUIRED = 16, "reset required";
    /// The operating system refused.
    OPERATING_SYSTEM = 17, "blocked by the operating system";
    /// Library and driver are of different versions: an upgrade under a running process.
    VERSION_MISMATCH = 18, "library and driver differ";
    /// Somebody else uses it.
    IN_USE = 19, "in use";
    /// No memory.
    MEMORY = 20, "out of memory";
    /// There is no data.
    NO_DATA = 21, "no data";
    /// A virtual GPU without ECC.
    VGPU_ECC_NOT_SUPPORTED = 22, "no ECC on this virtual GPU";
    /// Resources other than memory are short.
    INSUFFICIENT_RESOURCES = 23, "insufficient resources";
    /// A clock that the device does not have.
    FREQ_NOT_SUPPORTED = 24, "frequency not supported";
    /// A structure of a version that the driver does not know.
    ARGUMENT_VERSION_MISMATCH = 25, "structure version not known";
    /// A call that the driver has given up.
    DEPRECATED = 26, "call given up by the driver";
    /// Not ready yet.
    NOT_READY = 27, "not ready";
    /// There is no such GPU any more.
    GPU_NOT_FOUND = 28, "GPU not found";
    /// Not in this state.
    INVALID_STATE = 29, "invalid state";
    /// A reset of a kind that the device does not have.
    RESET_TYPE_NOT_SUPPORTED = 30, "reset type not supported";
    /// The library does not say.
    UNKNOWN = 999, "unknown error";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words() {
            Some(words) => write!(f, "{} ({words})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a call gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The library itself could not be loaded.
    #[error("cannot load `{path}`: {why}")]
    Load {
        /// What was asked for.
        path: String,
        /// What the loader says.
        why: String,
    },
    /// The library answered with a number.
    #[error("{call}: {code}")]
    Refused {
        /// The call, by its C name.
        call: &'static str,
        /// The number.
        code: Code,
    },
    /// The driver's library has no such function.
    #[error("{call}: this driver does not have it")]
    Missing {
        /// The call, by its C name.
        call: &'static str,
    },
}

impl Error {
    /// The library's number, where it gave one.
    pub const fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Load { .. } | Self::Missing { .. } => None,
        }
    }

    /// Whether the device or driver simply does not have it, now or ever: no failure, but no value.
    ///
    /// Old drivers answer a structure that they do not know with 25, new ones a call that they gave up with 26.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Missing { .. } => true,
            Self::Refused { code, .. } => matches!(
                *code,
                Code::NOT_SUPPORTED
                    | Code::FUNCTION_NOT_FOUND
                    | Code::VGPU_ECC_NOT_SUPPORTED
                    | Code::ARGUMENT_VERSION_MISMATCH
                    | Code::DEPRECATED
            ),
            Self::Load { .. } => false,
        }
    }

    /// Whether an older or newer sibling of the call may have it.
    pub(crate) fn has_sibling(&self) -> bool {
        self.is_unsupported()
    }

    /// Whether this device is gone, whatever its neighbours do.
    pub fn is_gone(&self) -> bool {
        matches!(self.code(), Some(Code::GPU_IS_LOST | Code::GPU_NOT_FOUND))
    }

    /// Whether every handle is dead and the library must be initialised again.
    pub fn needs_restart(&self) -> bool {
        matches!(self.code(), Some(Code::UNINITIALIZED | Code::DRIVER_NOT_LOADED | Code::VERSION_MISMATCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u32) -> Error {
        Error::Refused { call: "nvmlX", code: Code(code) }
    }

    #[test]
    fn numbers_keep_their_meaning_beyond_what_the_wrapper_knows() {
        assert_eq!(refused(27).to_string(), "nvmlX: 27 (not ready)");
        assert_eq!(refused(31).to_string(), "nvmlX: 31");
    }

    #[test]
    fn classes_do_not_overlap() {
        for code in 1..=30 {
            let error = refused(code);
            let classes = [error.is_unsupported(), error.is_gone(), error.needs_restart()];
            assert!(classes.iter().filter(|c| **c).count() <= 1, "{error}");
        }
        assert!(refused(25).is_unsupported() && refused(26).is_unsupported());
        assert!(refused(28).is_gone() && refused(18).needs_restart());
        assert!(!refused(999).is_unsupported(), "a failure once is no lack for ever");
    }
}
