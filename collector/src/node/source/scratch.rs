//! A folder for one test, taken away after it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder.
pub(super) struct Scratch {
    pub(super) path: PathBuf,
}

impl Scratch {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("gpuledger-source-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// Makes a folder in it.
    pub(super) fn make(&self, folder: &str) -> PathBuf {
        let path = self.path.join(folder);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Writes a file in it, and the folders above.
    pub(super) fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.path.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
