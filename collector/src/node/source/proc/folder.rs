//! The folder of one process: its files, and why one could not be read.

use std::io::Read;
use std::path::Path;

use nix::errno::Errno;
use procfs::process::Stat;

use super::text;
use crate::node::seen::Absent;

/// Most bytes of any of these files that are read; the largest, a process's environment, is seldom over 64 KiB.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Why a process could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ProcError {
    /// It ended, or its pid is another's by now.
    #[error("process {pid} is gone")]
    Gone {
        /// Its pid.
        pid: u32,
    },
    /// The collector may not read it.
    #[error("may not read `{file}` of process {pid}")]
    NotPermitted {
        /// Its pid.
        pid: u32,
        /// Which of its files.
        file: &'static str,
    },
    /// Reading failed otherwise.
    #[error("cannot read `{file}` of process {pid}")]
    Unreadable {
        /// Its pid.
        pid: u32,
        /// Which of its files.
        file: &'static str,
        /// What the system says; none where the text is not what the kernel writes.
        source: Option<std::io::Error>,
    },
}

impl From<ProcError> for Absent {
    fn from(error: ProcError) -> Self {
        match error {
            ProcError::Gone { .. } => Self::Gone,
            ProcError::NotPermitted { .. } => Self::NotPermitted,
            ProcError::Unreadable { .. } => Self::Failed(error.to_string()),
        }
    }
}

/// A process's folder, held open: what is read through it is never another process's.
pub(super) struct Folder {
    pid: u32,
    folder: procfs::process::Process,
}

impl Folder {
    /// Opens the folder of whoever has a pid now.
    pub(super) fn open(proc_root: &Path, pid: u32) -> Result<Self, ProcError> {
        let path = proc_root.join(pid.to_string());
        let folder = procfs::process::Process::new_with_root(path).map_err(|e| failed(pid, "stat", e))?;
        Ok(Self { pid, folder })
    }

    /// Its `stat`.
    pub(super) fn stat(&self) -> Result<Stat, ProcError> {
        self.parse("stat", text::stat)
    }

    /// The bytes of one of its files, up to a bound.
    pub(super) fn bytes(&self, file: &'static str) -> Result<Vec<u8>, ProcError> {
        let opened = self.folder.open_relative(file).map_err(|e| failed(self.pid, file, e))?;
        let mut bytes = Vec::new();
        opened.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|e| failed(self.pid, file, e.into()))?;
        Ok(bytes)
    }

    /// The text of one of its files; what is no UTF-8 is replaced.
    pub(super) fn text(&self, file: &'static str) -> Result<String, ProcError> {
        self.bytes(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What one of its files says.
    pub(super) fn parse<T>(&self, file: &'static str, parse: impl Fn(&str) -> Option<T>) -> Result<T, ProcError> {
        let text = self.text(file)?;
        parse(&text).ok_or(ProcError::Unreadable { pid: self.pid, file, source: None })
    }
}

fn failed(pid: u32, file: &'static str, error: procfs::ProcError) -> ProcError {
    match error {
        procfs::ProcError::NotFound(_) => ProcError::Gone { pid },
        procfs::ProcError::PermissionDenied(_) => ProcError::NotPermitted { pid, file },
        // a process that ends while its open file is read
        procfs::ProcError::Io(source, _) if source.raw_os_error() == Some(Errno::ESRCH as i32) => {
            ProcError::Gone { pid }
        }
        procfs::ProcError::Io(source, _) => ProcError::Unreadable { pid, file, source: Some(source) },
        _ => ProcError::Unreadable { pid, file, source: None },
    }
}

#[cfg(test)]
mod tests;
