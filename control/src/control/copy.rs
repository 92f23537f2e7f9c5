//! A copy of the control file that is whole, also while somebody writes to it.

use std::path::Path;

use super::Control;
use crate::error::ControlError;

impl Control {
    /// Writes the control file as it is now to a new file. A copy of the file by the system could catch half a change.
    ///
    /// # Errors
    /// When there is a file of that name, or it cannot be written.
    pub fn copy_to(&self, path: &Path) -> Result<(), ControlError> {
        let name = path.to_string_lossy().into_owned();
        self.connection.execute("VACUUM INTO ?1", [name]).map(|_| ()).map_err(|e| self.error("copy", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReferenceTable;

    #[test]
    fn a_copy_opens_and_never_replaces_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let copy = folder.path().join("copy.sqlite");
        control.copy_to(&copy).unwrap();
        let read = Control::open_read_only(&copy).unwrap();
        assert_eq!(read.version(ReferenceTable::Rates).unwrap(), control.version(ReferenceTable::Rates).unwrap());
        assert!(control.copy_to(&copy).is_err());
    }
}
