//! Sealed segments that wait to be delivered, in parcels: what was sealed together is sent in order and dropped together.
//!
//! A file's name in `out/` is `<number>.<from_ms>.<to_ms>.<ticks>.<place>.<segment name>`, so that a listing of the
//! folder is all that has to be known after a restart.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use gpuledger_schema::path::SegmentName;

use super::disk::{Disk, DiskError, is_temporary, put_whole};
use super::inbox::{Inbox, InboxError};
use super::tick::Span;
use crate::segment::{Segment, hash_of};

/// The segments of one journal file.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) number: u64,
    pub(super) span: Span,
    /// In the order of delivery.
    files: VecDeque<Waiting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Waiting {
    name: String,
    segment: SegmentName,
    bytes: u64,
    /// Delivered, and only to be removed.
    acknowledged: bool,
}

/// The folder of waiting parcels, oldest first.
#[derive(Debug)]
pub(super) struct Outbox {
    folder: PathBuf,
    aside: PathBuf,
    pub(super) parcels: VecDeque<Parcel>,
}

/// What a round of sending came to.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Files acknowledged.
    pub(super) files: u64,
    /// Why the round ended early, or passed a parcel over.
    pub(super) failed: Vec<InboxError>,
    /// Why the own disk failed.
    pub(super) broken: Vec<DiskError>,
    /// Parcels whose bytes are not what was sealed; they are set aside.
    pub(super) rotten: Vec<Span>,
}

impl Outbox {
    /// Lists what waits; what was not written whole is removed.
    pub(super) fn open(disk: &dyn Disk, folder: PathBuf, aside: PathBuf) -> Result<Self, DiskError> {
        let mut outbox = Self { folder, aside, parcels: VecDeque::new() };
        for entry in disk.list(&outbox.folder)? {
            if is_temporary(&entry.name) {
                disk.remove(&outbox.folder.join(&entry.name))?;
            }
            let Some((number, span, segment)) = parse(&entry.name) else { continue };
            let file = Waiting { name: entry.name, segment, bytes: entry.bytes, acknowledged: false };
            match outbox.parcels.back_mut().filter(|p| p.number == number) {
                Some(parcel) => parcel.files.push_back(file),
                None => outbox.parcels.push_back(Parcel { number, span, files: VecDeque::from([file]) }),
            }
        }
        Ok(outbox)
    }

    /// Writes the segments of a journal file; all are durable when this returns. Repeated after a crash it comes to
    /// the same files.
    pub(super) fn park(
        &mut self,
        disk: &dyn Disk,
        number: u64,
        span: Span,
        segments: &[Segment],
    ) -> Result<(), DiskError> {
        let mut files = VecDeque::new();
        for (place, segment) in segments.iter().enumerate() {
            let name = name(number, span, place, &segment.name);
            put_whole(disk, &self.folder, &name, &segment.bytes)?;
            let bytes = u64::try_from(segment.bytes.len()).unwrap_or(u64::MAX);
            files.push_back(Waiting { name, segment: segment.name.clone(), bytes, acknowledged: false });
        }
        disk.sync(&self.folder)?;
        // What an earlier try left has the same names; another name can only be of other ticks, and must not be sent.
        let stale = self.parcels.iter().filter(|p| p.number == number).flat_map(|p| &p.files);
        for file in stale.filter(|f| !files.contains(f)) {
            disk.remove(&self.folder.join(&file.name))?;
        }
        self.parcels.retain(|p| p.number != number);
        let at = self.parcels.partition_point(|p| p.number < number);
        if !files.is_empty() {
            self.parcels.insert(at, Parcel { number, span, files });
        }
        Ok(())
    }

    /// Sends parcels, oldest first, and removes what is acknowledged. A parcel that is `held` (its sealing is not
    /// over) is passed over, and one whose name is occupied too; any other failure ends the round.
    pub(super) fn send(&mut self, disk: &dyn Disk, inbox: &dyn Inbox, most: usize, held: impl Fn(u64) -> bool) -> Sent {
        let mut sent = Sent::default();
        let mut at = 0;
        let mut left = most;
        while left > 0
            && let Some(parcel) = self.parcels.get_mut(at)
        {
            if held(parcel.number) {
                at += 1;
                continue;
            }
            match send_first(disk, inbox, &self.folder, parcel) {
                Ok(true) => {
                    sent.files += 1;
                    left -= 1;
                }
                Ok(false) => {
                    let span = parcel.span;
                    if let Err(e) = set_aside(disk, &self.folder, &self.aside, parcel) {
                        sent.broken.push(e);
                        break;
                    }
                    sent.rotten.push(span);
                }
                Err(SendError::Inbox(e @ InboxError::Occupied { .. })) => {
                    sent.failed.push(e);
                    at += 1;
                    continue;
                }
                Err(SendError::Inbox(e)) => {
                    sent.failed.push(e);
                    break;
                }
                Err(SendError::Own(e)) => {
                    sent.broken.push(e);
                    break;
                }
            }
            if parcel.files.is_empty() {
                self.parcels.remove(at);
            }
        }
        sent
    }

    /// Drops a parcel, the device file first: process rows without it are rows of an unmeasured tick, never proof.
    pub(super) fn drop_parcel(&mut self, disk: &dyn Disk, number: u64) -> Result<(), DiskError> {
        let Some(at) = self.parcels.iter().position(|p| p.number == number) else { return Ok(()) };
        while let Some(file) = self.parcels[at].files.back() {
            disk.remove(&self.folder.join(&file.name))?;
            self.parcels[at].files.pop_back();
        }
        self.parcels.remove(at);
        disk.sync(&self.folder)
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.parcels.iter().flat_map(|p| &p.files).map(|f| f.bytes).sum()
    }

    /// Files that wait.
    pub(super) fn files(&self) -> u64 {
        self.parcels.iter().map(|p| u64::try_from(p.files.len()).unwrap_or(u64::MAX)).sum()
    }
}

enum SendError {
    Inbox(InboxError),
    Own(DiskError),
}

/// Sends the first file of a parcel; `false` where its bytes are not what its name says.
fn send_first(disk: &dyn Disk, inbox: &dyn Inbox, folder: &Path, parcel: &mut Parcel) -> Result<bool, SendError> {
    let Some(file) = parcel.files.front_mut() else { return Ok(true) };
    let path = folder.join(&file.name);
    if !file.acknowledged {
        let bytes = match disk.read(&path).map_err(SendError::Own)? {
            Some(bytes) if hash_of(&bytes) == file.segment.hash => bytes,
            _ => return Ok(false),
        };
        inbox.put(&file.segment.file_name(), &bytes).map_err(SendError::Inbox)?;
        file.acknowledged = true;
    }
    // A crash here sends it again: under the same name, which is one segment.
    disk.remove(&path).map_err(SendError::Own)?;
    parcel.files.pop_front();
    Ok(true)
}

/// Moves what is left of a parcel out of the way: half a pair would make ingest wait for ever.
fn set_aside(disk: &dyn Disk, folder: &Path, aside: &Path, parcel: &mut Parcel) -> Result<(), DiskError> {
    while let Some(file) = parcel.files.back() {
        let path = folder.join(&file.name);
        if disk.read(&path)?.is_some() {
            disk.rename(&path, &aside.join(&file.name))?;
        }
        parcel.files.pop_back();
    }
    disk.sync(aside)?;
    disk.sync(folder)
}

fn name(number: u64, span: Span, place: usize, segment: &SegmentName) -> String {
    format!("{number:012}.{}.{}.{}.{place}.{}", span.from_ms, span.to_ms, span.ticks, segment.file_name())
}

fn parse(name: &str) -> Option<(u64, Span, SegmentName)> {
    let mut parts = name.splitn(6, '.');
    let number = parts.next()?.parse().ok()?;
    let (from_ms, to_ms) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let ticks = parts.next()?.parse().ok()?;
    let _place: usize = parts.next()?.parse().ok()?;
    Some((number, Span { from_ms, to_ms, ticks }, SegmentName::parse(parts.next()?)?))
}
