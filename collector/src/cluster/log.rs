//! What was written of a cluster, on disk: a file of lines, each with its checksum, that grows by a line a look.
//!
//! ```text
//! <CRC32C of the rest, 8 hex digits> <JSON>
//! ```
//!
//! The first line is everything as it was when the file was made; each further line is a look, or says that looks were
//! sealed. When the lines outgrow the first as looks are sealed, a new file takes the place of the old one. A line that was in flight when
//! the writer died is cut off: that look never was. A file that does not read otherwise is set aside, and a new epoch
//! begins.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::changes::{Change, Memory};
use crate::node::spool::{Disk, DiskError};

/// Name of the file in the spool folder.
const NAME: &str = "state";
/// Name under which a file that does not read is kept.
const ASIDE: &str = "state.aside";
/// The version of the lines that this code writes, and the only one it reads.
const VERSION: u32 = 1;
/// Lines are folded into the first one when they are longer than it and than this.
const FOLD_BYTES: u64 = 4 << 20;
/// Bytes before the JSON of a line: the checksum and a blank.
const HEAD_BYTES: usize = 9;

/// Everything that is known between two looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    version: u32,
    /// What was written.
    pub memory: Memory,
    /// Looks that are not sealed yet.
    pub unsealed: Vec<Change>,
    /// Number of the last sealed parcel.
    pub parcel: u64,
}

#[derive(Serialize)]
enum LineOut<'a> {
    Kept(&'a Kept),
    Look(&'a Change),
    Sealed(u64),
}

#[derive(Deserialize)]
enum LineIn {
    Kept(Box<Kept>),
    Look(Box<Change>),
    Sealed(u64),
}

/// The state of a collector and its file.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    kept: Kept,
    first_bytes: u64,
    more_bytes: u64,
    /// A line may be half written: the file is made anew before the next one.
    is_torn: bool,
}

/// How the state was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It goes on.
    Resumed,
    /// There was none: a new epoch.
    New,
    /// It could not be used and was set aside: a new epoch.
    Damaged(String),
}

/// Why the state cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The disk fails.
    #[error("the state cannot be kept")]
    Disk(#[source] DiskError),
    /// JSON refused it.
    #[error("the state cannot be written as JSON")]
    Json(#[source] serde_json::Error),
}

impl From<DiskError> for LogError {
    fn from(e: DiskError) -> Self {
        Self::Disk(e)
    }
}

impl Log {
    /// Goes on from the file in `folder`, or begins a new epoch at `now_ms`. `parcel` is the greatest number of a parcel
    /// that waits, so that a new epoch does not give it again.
    pub fn open(
        disk: &dyn Disk,
        folder: &Path,
        who: (&str, &str),
        now_ms: i64,
        parcel: u64,
    ) -> Result<(Self, Opened), LogError> {
        let file = folder.join(NAME);
        let (kind, cluster) = who;
        let fresh =
            || Kept { version: VERSION, memory: Memory::new(kind, cluster, now_ms), unsealed: Vec::new(), parcel };
        let (kept, opened) = match disk.read(&file)? {
            None => (fresh(), Opened::New),
            Some(bytes) => match replay(&bytes).and_then(|kept| of_this(kept, kind, cluster)) {
                Ok(kept) => (kept, Opened::Resumed),
                Err(why) => {
                    disk.rename(&file, &folder.join(ASIDE))?;
                    (fresh(), Opened::Damaged(why))
                }
            },
        };
        let mut log = Self { folder: folder.to_owned(), kept, first_bytes: 0, more_bytes: 0, is_torn: false };
        // also cuts off a line in flight, and makes the name of the epoch durable before a row carries it
        log.fold(disk)?;
        Ok((log, opened))
    }

    /// What is known.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Takes a look up. It is on disk when this returns.
    pub fn look(&mut self, disk: &dyn Disk, change: Change) -> Result<(), LogError> {
        self.line(disk, &LineOut::Look(&change))?;
        take(&mut self.kept, change);
        Ok(())
    }

    /// The looks so far are parked as parcel `number`.
    pub fn sealed(&mut self, disk: &dyn Disk, number: u64) -> Result<(), LogError> {
        self.line(disk, &LineOut::Sealed(number))?;
        self.kept.unsealed.clear();
        self.kept.parcel = number;
        self.fold_if_long(disk)
    }

    fn line(&mut self, disk: &dyn Disk, line: &LineOut<'_>) -> Result<(), LogError> {
        if self.is_torn {
            self.fold(disk)?;
        }
        let bytes = encode(line)?;
        self.is_torn = true;
        disk.append(&self.folder.join(NAME), &bytes)?;
        self.is_torn = false;
        self.more_bytes += length(&bytes);
        Ok(())
    }

    fn fold_if_long(&mut self, disk: &dyn Disk) -> Result<(), LogError> {
        if self.more_bytes <= self.first_bytes.max(FOLD_BYTES) {
            return Ok(());
        }
        // The line that made it too long is on disk: that folding fails is no failure of the look.
        if let Err(e) = self.fold(disk) {
            tracing::warn!(error = &e as &dyn std::error::Error, "the state is not folded; it is tried again");
        }
        Ok(())
    }

    /// Writes everything as the first line of a new file, which takes the place of the old one.
    fn fold(&mut self, disk: &dyn Disk) -> Result<(), LogError> {
        let bytes = encode(&LineOut::Kept(&self.kept))?;
        let temporary = self.folder.join(format!(".{NAME}.tmp"));
        disk.write(&temporary, &bytes)?;
        disk.rename(&temporary, &self.folder.join(NAME))?;
        disk.sync(&self.folder)?;
        (self.first_bytes, self.more_bytes, self.is_torn) = (length(&bytes), 0, false);
        Ok(())
    }
}

fn take(kept: &mut Kept, change: Change) {
    kept.memory.apply(&change);
    kept.unsealed.push(change.settled());
}

/// The state of another cluster or scheduler is not ours to go on with.
fn of_this(kept: Kept, kind: &str, cluster: &str) -> Result<Kept, String> {
    let memory = &kept.memory;
    let is_kind = memory.source.split(':').next() == Some(kind);
    match memory.cluster == cluster && is_kind {
        true => Ok(kept),
        false => Err(format!("it is of {} of cluster {}", memory.source, memory.cluster)),
    }
}

fn encode(line: &LineOut<'_>) -> Result<Vec<u8>, LogError> {
    let mut bytes = vec![b' '; HEAD_BYTES];
    serde_json::to_writer(&mut bytes, line).map_err(LogError::Json)?;
    let crc = format!("{:08x}", crc32c::crc32c(&bytes[HEAD_BYTES..]));
    bytes[..crc.len()].copy_from_slice(crc.as_bytes());
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a file back. What is behind the last whole line is one line in flight, if it holds no further line.
fn replay(bytes: &[u8]) -> Result<Kept, String> {
    let mut kept: Option<Kept> = None;
    let mut lines = bytes.split_inclusive(|b| *b == b'\n').enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let read = decode(line);
        match (read, &mut kept) {
            (Some(LineIn::Kept(first)), None) if first.version == VERSION => kept = Some(*first),
            (Some(LineIn::Look(change)), Some(kept)) => take(kept, *change),
            (Some(LineIn::Sealed(number)), Some(kept)) => {
                kept.unsealed.clear();
                kept.parcel = number;
            }
            (None, Some(_)) if lines.peek().is_none() => break,
            _ => return Err(format!("its line {} does not read as it was written", at + 1)),
        }
    }
    kept.ok_or_else(|| "it is empty".to_owned())
}

fn decode(line: &[u8]) -> Option<LineIn> {
    let line = line.strip_suffix(b"\n")?;
    let (crc, json) = line.split_at_checked(HEAD_BYTES)?;
    let crc = u32::from_str_radix(std::str::from_utf8(crc).ok()?.trim_end(), 16).ok()?;
    (crc == crc32c::crc32c(json)).then(|| serde_json::from_slice(json).ok())?
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
