//! Everything that the spool and the folder inbox do to a file system, and nothing else does.
//!
//! Behind a trait, so that tests can stop, fill or break a disk at every single step.

use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is held is who ran what: for the owner, and for whoever shares the group of the lake's folder. The spool folder
/// itself, above these, is its owner's alone.
const FOLDER_MODE: u32 = 0o750;
/// See [`FOLDER_MODE`].
const FILE_MODE: u32 = 0o640;

/// A file of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// A step that failed on a file or folder.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}", .path.display())]
pub struct DiskError {
    /// What was tried.
    pub what: &'static str,
    /// On which file or folder.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// The steps. Each either happened whole and is on the platter when it returns (folders: after [`Disk::sync`]), or
/// failed and may have happened in part.
pub trait Disk: fmt::Debug + Send {
    /// Makes a folder and those above it; one that is there is left.
    fn make_folder(&self, folder: &Path) -> Result<(), DiskError>;
    /// Whether a folder is there.
    fn has_folder(&self, folder: &Path) -> bool;
    /// The files of a folder by name; folders in it are passed over.
    fn list(&self, folder: &Path) -> Result<Vec<Entry>, DiskError>;
    /// The content of a file, `None` where there is none of that name.
    fn read(&self, file: &Path) -> Result<Option<Vec<u8>>, DiskError>;
    /// Adds to the end of a file, which is made where there is none, and syncs it.
    fn append(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError>;
    /// Writes a file anew and syncs it. For temporary names only.
    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError>;
    /// Cuts a file to a length and syncs it; one that is not there is cut already.
    fn cut(&self, file: &Path, bytes: u64) -> Result<(), DiskError>;
    /// Gives a file another name in its folder, in place of whatever had that name.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
    /// Removes a file; one that is not there is removed already.
    fn remove(&self, file: &Path) -> Result<(), DiskError>;
    /// Makes the names of a folder survive a loss of power.
    fn sync(&self, folder: &Path) -> Result<(), DiskError>;
}

/// Writes a file so that its name is there with the whole content or not at all. The name is durable after
/// [`Disk::sync`] of the folder.
pub(crate) fn put_whole(disk: &dyn Disk, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
    let temporary = folder.join(temporary_of(name));
    disk.write(&temporary, bytes)?;
    disk.rename(&temporary, &folder.join(name))
}

/// The name under which a file is written until it is whole. Ingest passes over such names.
pub(super) fn temporary_of(name: &str) -> String {
    format!(".{name}.tmp")
}

/// Whether a name is one of [`temporary_of`].
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// The file system of the machine.
#[derive(Debug, Clone, Copy)]
pub struct RealDisk;

impl Disk for RealDisk {
    #[allow(clippy::disallowed_methods, reason = "the spool's and the node's inbox folder are made here")]
    fn make_folder(&self, folder: &Path) -> Result<(), DiskError> {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(failed("make folder", folder))
    }

    fn has_folder(&self, folder: &Path) -> bool {
        folder.is_dir()
    }

    fn list(&self, folder: &Path) -> Result<Vec<Entry>, DiskError> {
        let read = || -> io::Result<Vec<Entry>> {
            let mut found = Vec::new();
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let meta = entry.metadata()?;
                if let (true, Ok(name)) = (meta.is_file(), entry.file_name().into_string()) {
                    found.push(Entry { name, bytes: meta.len() });
                }
            }
            found.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(found)
        };
        read().map_err(failed("list", folder))
    }

    fn read(&self, file: &Path) -> Result<Option<Vec<u8>>, DiskError> {
        match fs::read(file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed("read", file)(e)),
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a journal grows at its end; its frames carry their own checksums")]
    fn append(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let write = || {
            let mut open = File::options().append(true).create(true).mode(FILE_MODE).open(file)?;
            open.write_all(bytes)?;
            open.sync_all()
        };
        write().map_err(failed("append to", file))
    }

    #[allow(clippy::disallowed_methods, reason = "half a file can stand only under a temporary name")]
    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let write = || {
            let mut open = File::options().write(true).create(true).truncate(true).mode(FILE_MODE).open(file)?;
            open.write_all(bytes)?;
            open.sync_all()
        };
        write().map_err(failed("write", file))
    }

    #[allow(clippy::disallowed_methods, reason = "a torn frame is cut off after it was set aside")]
    fn cut(&self, file: &Path, bytes: u64) -> Result<(), DiskError> {
        let cut = || {
            let open = File::options().write(true).open(file)?;
            open.set_len(bytes)?;
            open.sync_all()
        };
        absent_is_done(cut()).map_err(failed("cut", file))
    }

    #[allow(clippy::disallowed_methods, reason = "from a temporary name to a final one, or out of the way")]
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        fs::rename(from, to).map_err(failed("rename", from))
    }

    #[allow(clippy::disallowed_methods, reason = "what was sealed, acknowledged or dropped by the stated bound")]
    fn remove(&self, file: &Path) -> Result<(), DiskError> {
        absent_is_done(fs::remove_file(file)).map_err(failed("remove", file))
    }

    fn sync(&self, folder: &Path) -> Result<(), DiskError> {
        File::open(folder).and_then(|f| f.sync_all()).map_err(failed("sync folder", folder))
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    let path = path.to_owned();
    move |source| DiskError { what, path, source }
}

fn absent_is_done(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
