//! The right to write: one writer a lake.

use std::fs::File;
use std::path::Path;

use fs4::fs_std::FileExt;

use super::LakeError;

/// Held while a process writes; let go when dropped or when the process dies.
#[derive(Debug)]
pub struct WriterLock {
    _file: Option<File>,
}

impl WriterLock {
    /// Takes the lock of a lake in a folder. A lake in an object store has none here: its documents are written
    /// create-if-absent, so that of two writers one fails and repeats.
    #[allow(clippy::disallowed_methods, reason = "the lock file is the one file this crate opens for writing")]
    pub(super) fn take(folder: Option<&Path>, shown: &str) -> Result<Self, LakeError> {
        let Some(folder) = folder else { return Ok(Self { _file: None }) };
        let path = folder.join(".writer.lock");
        let lock = path.display().to_string();
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| LakeError::Lock { at: shown.to_owned(), lock: lock.clone(), source })?;
        match FileExt::try_lock_exclusive(&file) {
            Ok(true) => Ok(Self { _file: Some(file) }),
            Ok(false) => Err(LakeError::Locked { at: shown.to_owned(), lock }),
            Err(source) => Err(LakeError::Lock { at: shown.to_owned(), lock, source }),
        }
    }
}
