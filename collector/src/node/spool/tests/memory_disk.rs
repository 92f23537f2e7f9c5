//! A disk in memory that stops, fails, fills or loses power at any step.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::node::spool::disk::{Disk, DiskError, Entry};

/// What happens at the chosen step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process dies before the step.
    DieBefore,
    /// The process dies in the middle of the step: half of the bytes are written.
    DieWithin,
    /// The process dies after the step.
    DieAfter,
    /// The step fails, with half of the bytes written, and all others go well.
    FailOnce,
    /// The step and the next one fail: what was half written cannot be cut off at once.
    FailTwice,
    /// The step goes well and says that it failed.
    LieOnce,
    /// So, and the next step fails.
    LieThenFail,
}

#[derive(Debug, Default, Clone)]
struct Inode {
    live: Vec<u8>,
    /// As of the last sync.
    safe: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    /// Names as of the last sync of their folder.
    safe_names: BTreeMap<PathBuf, usize>,
    folders: Vec<PathBuf>,
    steps: u64,
    fault: Option<(u64, Fault)>,
    dead: bool,
    capacity: Option<u64>,
    most_bytes: BTreeMap<PathBuf, u64>,
}

/// A handle; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryDisk(Arc<Mutex<State>>);

impl MemoryDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Steps that changed something, so far.
    pub(crate) fn steps(&self) -> u64 {
        self.state().steps
    }

    /// Lets a fault happen at a step, counted from 0.
    pub(crate) fn fault_at(&self, step: u64, fault: Fault) {
        self.state().fault = Some((step, fault));
    }

    pub(crate) fn dead(&self) -> bool {
        self.state().dead
    }

    /// The process is started again. A loss of power leaves only what was synced.
    pub(crate) fn restart(&self, power_lost: bool) {
        let mut state = self.state();
        (state.dead, state.fault) = (false, None);
        if power_lost {
            state.names = state.safe_names.clone();
            state.inodes.iter_mut().for_each(|i| i.live = i.safe.clone());
        }
    }

    /// Bytes that the disk holds in all, from now on.
    pub(crate) fn capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Removes a folder's being there, or brings it back: a mount.
    pub(crate) fn mount(&self, folder: &Path, there: bool) {
        let mut state = self.state();
        state.folders.retain(|f| f != folder);
        if there {
            state.folders.push(folder.to_owned());
        }
    }

    /// Names and contents of the files below a folder.
    pub(crate) fn files(&self, folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state();
        let below = state.names.iter().filter(|(p, _)| p.starts_with(folder));
        below.map(|(p, i)| (p.clone(), state.inodes[*i].live.clone())).collect()
    }

    /// Changes a file behind everybody's back.
    pub(crate) fn meddle(&self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        let at = state.names[file];
        change(&mut state.inodes[at].live);
    }

    /// The most bytes that a folder has held at any step.
    pub(crate) fn most_bytes(&self, folder: &Path) -> u64 {
        self.state().most_bytes.get(folder).copied().unwrap_or(0)
    }

    /// Measures a folder at every step from now on.
    pub(crate) fn watch(&self, folder: &Path) {
        self.state().most_bytes.insert(folder.to_owned(), 0);
    }
}

impl State {
    /// What is to be done of a step that would change `path`: all of it, half of it, none of it; and how it ends.
    fn begin(&mut self, path: &Path) -> Result<(bool, bool), DiskError> {
        let failed = |kind| DiskError { what: "do a step on", path: path.to_owned(), source: io::Error::from(kind) };
        if self.dead {
            return Err(failed(io::ErrorKind::BrokenPipe));
        }
        let step = self.steps;
        self.steps += 1;
        let Some((at, fault)) = self.fault else { return Ok((true, true)) };
        let twice = matches!(fault, Fault::FailTwice | Fault::LieThenFail);
        let hit = step == at || (twice && step == at + 1);
        match fault {
            _ if !hit => Ok((true, true)),
            Fault::DieBefore => {
                self.dead = true;
                Err(failed(io::ErrorKind::BrokenPipe))
            }
            Fault::DieWithin => {
                self.dead = true;
                Ok((false, false))
            }
            Fault::DieAfter => {
                self.dead = true;
                Ok((true, false))
            }
            Fault::LieOnce | Fault::LieThenFail if step == at => Ok((true, false)),
            _ => Ok((false, false)),
        }
    }

    fn end(&mut self, path: &Path, well: bool) -> Result<(), DiskError> {
        let names = &self.names;
        let inodes = &self.inodes;
        for (folder, most) in &mut self.most_bytes {
            let now = names.iter().filter(|(p, _)| p.starts_with(folder));
            *most = (*most).max(now.map(|(_, i)| inodes[*i].live.len() as u64).sum());
        }
        let failed = |kind| DiskError { what: "do a step on", path: path.to_owned(), source: io::Error::from(kind) };
        if well { Ok(()) } else { Err(failed(io::ErrorKind::BrokenPipe)) }
    }

    fn full(&self, more: usize) -> bool {
        let used: usize = self.names.values().map(|i| self.inodes[*i].live.len()).sum();
        self.capacity.is_some_and(|c| (used + more) as u64 > c)
    }

    fn inode(&mut self, file: &Path) -> usize {
        if let Some(at) = self.names.get(file) {
            return *at;
        }
        self.inodes.push(Inode::default());
        let at = self.inodes.len() - 1;
        self.names.insert(file.to_owned(), at);
        at
    }

    /// Writes to the end of a file, which is emptied before where `anew`.
    fn write(&mut self, file: &Path, bytes: &[u8], anew: bool) -> Result<(), DiskError> {
        let (whole, well) = self.begin(file)?;
        let full = self.full(bytes.len());
        let at = self.inode(file);
        if anew {
            self.inodes[at].live.clear();
        }
        if full || !whole {
            self.inodes[at].live.extend(&bytes[..bytes.len() / 2]);
            let source = io::Error::from(io::ErrorKind::StorageFull);
            self.end(file, true)?;
            return Err(DiskError { what: "write", path: file.to_owned(), source });
        }
        self.inodes[at].live.extend(bytes);
        self.inodes[at].safe = self.inodes[at].live.clone();
        self.end(file, well)
    }
}

impl Disk for MemoryDisk {
    fn make_folder(&self, folder: &Path) -> Result<(), DiskError> {
        let mut state = self.state();
        if !state.folders.iter().any(|f| f == folder) {
            state.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn has_folder(&self, folder: &Path) -> bool {
        self.state().folders.iter().any(|f| f == folder)
    }

    fn list(&self, folder: &Path) -> Result<Vec<Entry>, DiskError> {
        let state = self.state();
        let inside = state.names.iter().filter(|(p, _)| p.parent() == Some(folder));
        Ok(inside
            .map(|(p, i)| Entry {
                name: p.file_name().unwrap().to_str().unwrap().to_owned(),
                bytes: state.inodes[*i].live.len() as u64,
            })
            .collect())
    }

    fn read(&self, file: &Path) -> Result<Option<Vec<u8>>, DiskError> {
        let state = self.state();
        Ok(state.names.get(file).map(|i| state.inodes[*i].live.clone()))
    }

    fn append(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.state().write(file, bytes, false)
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.state().write(file, bytes, true)
    }

    fn cut(&self, file: &Path, bytes: u64) -> Result<(), DiskError> {
        let mut state = self.state();
        let (whole, well) = state.begin(file)?;
        if whole && let Some(at) = state.names.get(file).copied() {
            state.inodes[at].live.truncate(bytes as usize);
            state.inodes[at].safe = state.inodes[at].live.clone();
        }
        state.end(file, well)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let mut state = self.state();
        let (whole, well) = state.begin(from)?;
        if whole {
            let at = state.names.remove(from).expect("a file that is renamed is there");
            state.names.insert(to.to_owned(), at);
        }
        state.end(from, well)
    }

    fn remove(&self, file: &Path) -> Result<(), DiskError> {
        let mut state = self.state();
        let (whole, well) = state.begin(file)?;
        if whole {
            state.names.remove(file);
        }
        state.end(file, well)
    }

    fn sync(&self, folder: &Path) -> Result<(), DiskError> {
        let mut state = self.state();
        let (whole, well) = state.begin(folder)?;
        if whole {
            let State { names, safe_names, .. } = &mut *state;
            safe_names.retain(|p, _| p.parent() != Some(folder));
            let now = names.iter().filter(|(p, _)| p.parent() == Some(folder));
            safe_names.extend(now.map(|(p, i)| (p.clone(), *i)));
        }
        state.end(folder, well)
    }
}
