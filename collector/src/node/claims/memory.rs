//! The claims that last, in a file beside the spool: after a start they go on with the instant since which they are known,
//! and what ended meanwhile is closed.
//!
//! The file is written before the rows go into the journal. Whoever dies between the two writes all that lasts again after
//! the next start, with the closing rows of the last look among it.

use std::path::{Path, PathBuf};

use super::Claims;
use crate::node::spool::{Disk, DiskError, put_whole};

/// Its name in the spool's folder.
const NAME: &str = "claims.json";

/// The file.
#[derive(Debug)]
pub struct Memory {
    disk: Box<dyn Disk>,
    folder: PathBuf,
}

impl Memory {
    /// In the spool's folder.
    pub fn new(disk: Box<dyn Disk>, folder: &Path) -> Self {
        Self { disk, folder: folder.to_owned() }
    }

    /// What is in it. A file that does not read is taken as none: it is written whole, so that only a broken disk makes one;
    /// claims then begin again, and their older rows last until their run ends.
    pub fn load(&self) -> Result<Claims, DiskError> {
        let bytes = self.disk.read(&self.folder.join(NAME))?;
        Ok(bytes.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default())
    }

    /// Writes it anew.
    pub fn store(&self, claims: &Claims) -> Result<(), DiskError> {
        let bytes = serde_json::to_vec(claims).unwrap_or_default();
        self.disk.make_folder(&self.folder)?;
        put_whole(&*self.disk, &self.folder, NAME, &bytes)?;
        self.disk.sync(&self.folder)
    }
}
