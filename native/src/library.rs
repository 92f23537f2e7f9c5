//! The driver's library, loaded once and kept for the life of the process.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::NvmlLib;

use crate::clock;
use crate::device::Device;
use crate::error::{Code, Error};

/// What the loader looks for where nobody named a file.
pub const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";
/// Longest text that a call gives, its closing NUL included.
pub(crate) const TEXT_BYTES: usize = 96;

/// The loaded library. It is never unloaded: a call that hangs may still be inside it when the process ends.
#[derive(Clone, Copy)]
pub struct Library {
    inner: &'static Inner,
}

struct Inner {
    nvml: Nvml,
    calls: Mutex<BTreeMap<&'static str, Calls>>,
}

/// How one call of the library has fared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// Times it was made and came back.
    pub count: u64,
    /// Times it answered with a number other than 0.
    pub refused: u64,
    /// Time it took in all, in microseconds.
    pub took_us: u64,
    /// The longest of them, in microseconds.
    pub longest_us: u64,
}

/// Makes one call of the library: a missing function and a refusal become errors, and it is counted.
macro_rules! call {
    ($library:expr, $name:ident($($arg:expr),* $(,)?)) => {{
        let library: $crate::library::Library = $library;
        match library.symbols().$name.as_ref() {
            Ok(function) => library.counted(stringify!($name), || {
                // SAFETY: the symbol was looked up under its documented type; every pointer given points to a live
                // value of that type, and a count beside a pointer never says more than the buffer holds.
                unsafe { function($($arg),*) }
            }),
            Err(_) => Err($crate::error::Error::Missing { call: stringify!($name) }),
        }
    }};
}
pub(crate) use call;

impl Library {
    /// Loads and initialises the library: an absolute path, or the loader's own search.
    pub fn load(path: Option<&Path>) -> Result<Self, Error> {
        let path = path.map_or(OsStr::new(DEFAULT_LIBRARY), Path::as_os_str);
        let nvml = Nvml::builder().lib_path(path).init().map_err(|error| load_error(path, error))?;
        Ok(Self { inner: Box::leak(Box::new(Inner { nvml, calls: Mutex::new(BTreeMap::new()) })) })
    }

    /// Initialises again after the driver was reloaded: every handle of before is dead.
    ///
    /// Only for a moment when no other thread is inside a call.
    pub fn restart(self) -> Result<(), Error> {
        // An uninitialised library refuses to be shut down, and that is no reason not to initialise it.
        let _ = self.shutdown();
        call!(self, nvmlInit_v2())
    }

    /// Says good-bye to the driver.
    pub fn shutdown(self) -> Result<(), Error> {
        call!(self, nvmlShutdown())
    }

    /// Version of the driver.
    pub fn driver_version(self) -> Result<String, Error> {
        text(|buffer, length| call!(self, nvmlSystemGetDriverVersion(buffer, length)))
    }

    /// Version of the library.
    pub fn nvml_version(self) -> Result<String, Error> {
        text(|buffer, length| call!(self, nvmlSystemGetNVMLVersion(buffer, length)))
    }

    /// Number of physical GPUs that this process may see.
    pub fn device_count(self) -> Result<u32, Error> {
        let mut count = 0;
        call!(self, nvmlDeviceGetCount_v2(&mut count))?;
        Ok(count)
    }

    /// A physical GPU by its number in PCI order; the number means nothing beyond this call.
    pub fn device_by_index(self, index: u32) -> Result<Device, Error> {
        let mut handle = std::ptr::null_mut();
        call!(self, nvmlDeviceGetHandleByIndex_v2(index, &mut handle))?;
        Ok(Device::new(self, handle))
    }

    /// A physical GPU by its UUID.
    pub fn device_by_uuid(self, uuid: &str) -> Result<Device, Error> {
        let call_name = "nvmlDeviceGetHandleByUUID";
        let Ok(uuid) = std::ffi::CString::new(uuid) else {
            return Err(Error::Refused { call: call_name, code: Code::INVALID_ARGUMENT });
        };
        let mut handle = std::ptr::null_mut();
        call!(self, nvmlDeviceGetHandleByUUID(uuid.as_ptr(), &mut handle))?;
        Ok(Device::new(self, handle))
    }

    /// How each call has fared since the library was loaded.
    pub fn calls(self) -> BTreeMap<&'static str, Calls> {
        self.inner.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn symbols(self) -> &'static NvmlLib {
        self.inner.nvml.lib()
    }

    /// A function that the bindings do not know, or only with a feature of theirs.
    pub(crate) fn symbol<F: Copy>(self, name: &'static str) -> Result<F, Error> {
        // SAFETY: callers in this crate give the C type of that symbol, which has not changed since it appeared.
        let symbol = unsafe { self.symbols().__library.get::<F>(name.as_bytes()) };
        symbol.map(|s| *s).map_err(|_| Error::Missing { call: name })
    }

    pub(crate) fn counted(self, name: &'static str, call: impl FnOnce() -> u32) -> Result<(), Error> {
        let before = clock::monotonic_us();
        let code = call();
        let took_us = clock::monotonic_us().saturating_sub(before);
        let mut calls = self.inner.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let own = calls.entry(name).or_default();
        own.count += 1;
        own.refused += u64::from(code != 0);
        own.took_us += took_us;
        own.longest_us = own.longest_us.max(took_us);
        if code == 0 { Ok(()) } else { Err(Error::Refused { call: name, code: Code(code) }) }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Library")
    }
}

/// Text that a call writes into a buffer. What is not UTF-8 is replaced: a name is for reading, not for keys.
pub(crate) fn text(fill: impl FnOnce(*mut std::ffi::c_char, u32) -> Result<(), Error>) -> Result<String, Error> {
    let mut buffer = [0u8; TEXT_BYTES];
    fill(buffer.as_mut_ptr().cast(), TEXT_BYTES as u32)?;
    Ok(until_nul(&buffer))
}

/// The text before the first NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// What the wrapper says of a failed start, with the number back where it took it away.
fn load_error(path: &OsStr, error: NvmlError) -> Error {
    let code = match error {
        NvmlError::Uninitialized => Code::UNINITIALIZED,
        NvmlError::InvalidArg => Code::INVALID_ARGUMENT,
        NvmlError::NotSupported => Code::NOT_SUPPORTED,
        NvmlError::NoPermission => Code::NO_PERMISSION,
        NvmlError::DriverNotLoaded => Code::DRIVER_NOT_LOADED,
        NvmlError::Timeout => Code::TIMEOUT,
        NvmlError::IrqIssue => Code::IRQ_ISSUE,
        NvmlError::LibraryNotFound => Code::LIBRARY_NOT_FOUND,
        NvmlError::GpuLost => Code::GPU_IS_LOST,
        NvmlError::OperatingSystem => Code::OPERATING_SYSTEM,
        NvmlError::LibRmVersionMismatch => Code::VERSION_MISMATCH,
        NvmlError::InsufficientMemory => Code::MEMORY,
        NvmlError::UnexpectedVariant(number) => Code(number),
        NvmlError::Unknown => Code::UNKNOWN,
        other => return Error::Load { path: path.to_string_lossy().into_owned(), why: other.to_string() },
    };
    Error::Refused { call: "nvmlInit_v2", code }
}
