//! One collector a spool.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Name of the lock file in the spool folder.
const NAME: &str = "lock";
/// A holder's line is shorter; more is not read.
const HOLDER_CHARS_MAX: usize = 200;

/// The right to use a spool folder; let go when dropped or when the process dies, however it dies.
#[derive(Debug)]
pub struct SpoolLock {
    folder: PathBuf,
    _file: File,
}

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another collector uses it.
    #[error("the spool {} is in use by {holder}", .folder.display())]
    Held {
        /// The spool folder.
        folder: PathBuf,
        /// Who says to hold it.
        holder: String,
    },
    /// The lock file cannot be made or locked.
    #[error("cannot lock the spool {}", .folder.display())]
    Io {
        /// The spool folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl SpoolLock {
    /// Takes the lock of a spool folder, which is made where it is not there, for `holder`: a line that tells an
    /// operator who it is, e.g. `process 4711 of node gpu-7 since 2026-02-01T00:00:00Z`.
    pub fn take(folder: &Path, holder: &str) -> Result<Self, LockError> {
        let io = |source| LockError::Io { folder: folder.to_owned(), source };
        let mut file = open(folder).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = held_by(&folder.join(NAME));
                return Err(LockError::Held { folder: folder.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())).map_err(io)?;
        Ok(Self { folder: folder.to_owned(), _file: file })
    }

    /// The folder it is for.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

#[allow(clippy::disallowed_methods, reason = "the lock file holds no data, and the folder is where it must lie")]
fn open(folder: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    File::options().create(true).truncate(false).read(true).write(true).open(folder.join(NAME))
}

fn held_by(file: &Path) -> String {
    let said: String = fs::read_to_string(file).unwrap_or_default().chars().take(HOLDER_CHARS_MAX).collect();
    if said.trim().is_empty() { "another process that left no name".to_owned() } else { said.trim().to_owned() }
}
