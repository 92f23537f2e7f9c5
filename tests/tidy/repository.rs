//! The files of the repository, without what is built or made by running it.

use std::path::{Path, PathBuf};

/// A text file: its path from the root, with `/`, and its text.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Path from the root of the repository.
    pub(crate) path: String,
    /// What is in it.
    pub(crate) text: String,
}

/// The root: above the folder of this crate, or above the folder the test is run in when it was compiled alone.
fn root() -> PathBuf {
    Path::new(option_env!("CARGO_MANIFEST_DIR").unwrap_or(".")).join("..")
}

/// A file by its path from the root; none where it is not there.
pub(crate) fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// Every text file that a person wrote.
pub(crate) fn files() -> Vec<File> {
    let ignored: Vec<String> = read(".gitignore")
        .unwrap_or_default()
        .lines()
        .filter_map(|l| l.strip_prefix('/'))
        .map(|l| l.trim_end_matches('/').to_owned())
        .collect();
    let mut out = Vec::new();
    walk(&root(), "", &ignored, &mut out);
    out.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(out.len() > 100, "the repository was not found: {} files", out.len());
    out
}

fn walk(folder: &Path, above: &str, ignored: &[String], out: &mut Vec<File>) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
        if name == ".git" || name == "Cargo.lock" || name.ends_with(".tmp") || ignored.contains(&path) {
            continue;
        }
        if entry.file_type().expect("a kind").is_dir() {
            walk(&entry.path(), &path, ignored, out);
        } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
            out.push(File { path, text });
        }
    }
}

/// Lines of a section `[name]` of a manifest, without comments and blank lines.
pub(crate) fn section(manifest: &str, name: &str) -> Vec<String> {
    let head = format!("[{name}]");
    let after = manifest.lines().skip_while(|l| l.trim() != head).skip(1);
    after
        .take_while(|l| !l.starts_with('['))
        .map(|l| l.split('#').next().unwrap_or_default().trim().to_owned())
        .filter(|l| !l.is_empty())
        .collect()
}

/// Names of the crates that a manifest depends on, also for its tests.
pub(crate) fn own_dependencies(manifest: &str) -> Vec<String> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .flat_map(|kind| section(manifest, kind))
        .filter_map(|l| l.split(['.', ' ', '=']).next().map(str::to_owned))
        .collect()
}
