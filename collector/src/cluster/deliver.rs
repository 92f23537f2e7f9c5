//! From changes to the inbox: segments that wait in `out/` until they are there.
//!
//! A file's name in `out/` is `<parcel>.<place>.<segment name>`, so that a listing of the folder is all that has to be
//! known after a restart. A parcel whose number the state does not know was in flight and is made again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpuledger_schema::path::{INBOX, SegmentName};

use super::changes::Change;
use crate::node::spool::{Delivered, Disk, DiskError, Inbox, InboxError};
use crate::segment::{Segment, SegmentError, hash_of, segment};

/// Folder of waiting segments, in the spool folder.
const OUT: &str = "out";
/// Folder of segments that do not read as they were written.
const ASIDE: &str = "aside";

/// Segments that wait.
#[derive(Debug)]
pub struct Outbox {
    out: PathBuf,
    aside: PathBuf,
    /// Bytes of each waiting file, by name: in the order in which they are sent.
    files: BTreeMap<String, u64>,
}

/// What sending came to.
#[derive(Debug, Default)]
#[must_use = "troubles have to be logged"]
pub struct Sent {
    /// Files acknowledged.
    pub files: u64,
    /// Files set aside because they do not read as they were written.
    pub rotten: Vec<String>,
    /// Why it stopped.
    pub failed: Option<SendError>,
}

/// Why a segment was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The inbox did not take it.
    #[error("a segment is not delivered")]
    Inbox(#[source] InboxError),
    /// The own disk fails.
    #[error("the spool's disk fails")]
    Own(#[source] DiskError),
}

impl Outbox {
    /// What waits in the spool folder. Nothing is removed yet: the state says what was in flight.
    pub fn open(disk: &dyn Disk, folder: &Path) -> Result<Self, DiskError> {
        let (out, aside) = (folder.join(OUT), folder.join(ASIDE));
        disk.make_folder(&out)?;
        disk.make_folder(&aside)?;
        disk.sync(folder)?;
        let mut outbox = Self { out, aside, files: BTreeMap::new() };
        for entry in disk.list(&outbox.out)? {
            if parse(&entry.name).is_some() {
                outbox.files.insert(entry.name, entry.bytes);
            } else {
                disk.remove(&outbox.out.join(&entry.name))?;
            }
        }
        Ok(outbox)
    }

    /// The greatest number of a parcel that waits; 0 where none does.
    pub fn newest(&self) -> u64 {
        self.files.keys().filter_map(|n| parse(n)).map(|(number, _)| number).max().unwrap_or(0)
    }

    /// Removes parcels after `known`: they were in flight.
    pub fn cut(&mut self, disk: &dyn Disk, known: u64) -> Result<(), DiskError> {
        let in_flight = |name: &String| parse(name).is_none_or(|(number, _)| number > known);
        for name in self.files.keys().filter(|n| in_flight(n)).cloned().collect::<Vec<_>>() {
            disk.remove(&self.out.join(&name))?;
            self.files.remove(&name);
        }
        disk.sync(&self.out)
    }

    /// Puts segments into `out/` under their parcel's number. They are sent only once the state knows the number.
    pub fn park(&mut self, disk: &dyn Disk, number: u64, segments: &[Segment]) -> Result<(), DiskError> {
        // an earlier try at this number that failed half-way may have left others
        self.cut(disk, number - 1)?;
        for (place, segment) in segments.iter().enumerate() {
            let name = format!("{number:012}.{place}.{}", segment.name.file_name());
            put_whole(disk, &self.out, &name, &segment.bytes)?;
            self.files.insert(name, u64::try_from(segment.bytes.len()).unwrap_or(u64::MAX));
        }
        disk.sync(&self.out)
    }

    /// Sends the parcels up to `known`, oldest first, at most `most` files.
    pub fn send(&mut self, disk: &dyn Disk, inbox: &dyn Inbox, known: u64, most: usize) -> Sent {
        let mut sent = Sent::default();
        let ready: Vec<String> = self.files.keys().cloned().collect();
        for name in ready.into_iter().take(most) {
            let Some((number, segment)) = parse(&name) else { continue };
            if number > known {
                break;
            }
            match self.send_one(disk, inbox, &name, &segment) {
                Ok(true) => sent.files += 1,
                Ok(false) => sent.rotten.push(name),
                Err(e @ SendError::Inbox(InboxError::Occupied { .. })) => sent.failed = Some(e),
                Err(e) => {
                    sent.failed = Some(e);
                    break;
                }
            }
        }
        sent
    }

    /// Sends a file; false where it does not read as it was written and was set aside.
    fn send_one(
        &mut self,
        disk: &dyn Disk,
        inbox: &dyn Inbox,
        name: &str,
        segment: &SegmentName,
    ) -> Result<bool, SendError> {
        let path = self.out.join(name);
        let is_whole = match disk.read(&path).map_err(SendError::Own)? {
            Some(bytes) if hash_of(&bytes) == segment.hash => {
                inbox.put(&segment.file_name(), &bytes).map_err(SendError::Inbox)?;
                true
            }
            Some(_) => false,
            None => true,
        };
        // A crash here sends it again: under the same name, which is one segment.
        match is_whole {
            true => disk.remove(&path),
            false => disk.rename(&path, &self.aside.join(name)).and_then(|()| disk.sync(&self.aside)),
        }
        .map_err(SendError::Own)?;
        self.files.remove(name);
        Ok(is_whole)
    }

    /// Waiting files and their bytes.
    pub fn waiting(&self) -> (u64, u64) {
        (u64::try_from(self.files.len()).unwrap_or(u64::MAX), self.files.values().sum())
    }
}

/// The segments of some looks: runs and holdings before the readings that make them count.
pub fn segments(writer: &str, looks: &[Change]) -> Result<Vec<Segment>, SegmentError> {
    fn all<R: Clone>(looks: &[Change], rows: impl Fn(&Change) -> &Vec<R>) -> Vec<R> {
        looks.iter().flat_map(|l| rows(l).iter().cloned()).collect()
    }
    let mut out = Vec::new();
    out.extend(segment(writer, &all(looks, |l| &l.jobs))?);
    out.extend(segment(writer, &all(looks, |l| &l.allocations))?);
    out.extend(segment(writer, &all(looks, |l| &l.holdings))?);
    out.extend(segment(writer, &all(looks, |l| &l.nodes))?);
    out.extend(segment(writer, &all(looks, |l| &l.offers))?);
    out.extend(segment(writer, &all(looks, |l| &l.refused))?);
    out.extend(segment(writer, &all(looks, |l| &l.readings))?);
    Ok(out)
}

/// The inbox of a lake that is a folder. A cluster collector speaks of many nodes and has no folder of its own in it.
#[derive(Debug)]
pub struct ClusterInbox<D> {
    disk: D,
    inbox: PathBuf,
}

impl<D: Disk> ClusterInbox<D> {
    /// The inbox of a lake. Nothing is touched yet.
    pub fn new(disk: D, lake: &Path) -> Self {
        Self { disk, inbox: lake.join(INBOX) }
    }
}

impl<D: Disk> Inbox for ClusterInbox<D> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Delivered, InboxError> {
        // Making the inbox would fill the own disk below the place where a lake is not mounted.
        if !self.disk.has_folder(&self.inbox) {
            return Err(InboxError::Away { at: self.inbox.clone() });
        }
        let failed = |source| InboxError::Disk { name: name.to_owned(), source };
        if let Some(there) = self.disk.read(&self.inbox.join(name)).map_err(failed)? {
            let same = SegmentName::parse(name).is_some_and(|n| n.hash == hash_of(&there));
            // the name may not have been durable when the acknowledgement was lost
            return match same {
                true => self.disk.sync(&self.inbox).map_err(failed).map(|()| Delivered::Before),
                false => Err(InboxError::Occupied { name: name.to_owned() }),
            };
        }
        put_whole(&self.disk, &self.inbox, name, bytes).and_then(|()| self.disk.sync(&self.inbox)).map_err(failed)?;
        Ok(Delivered::Now)
    }
}

/// Half a file can stand only under a temporary name.
fn put_whole(disk: &dyn Disk, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
    let temporary = folder.join(format!(".{name}.tmp"));
    disk.write(&temporary, bytes)?;
    disk.rename(&temporary, &folder.join(name))
}

fn parse(name: &str) -> Option<(u64, SegmentName)> {
    let mut parts = name.splitn(3, '.');
    let number = parts.next()?.parse().ok()?;
    let _place: usize = parts.next()?.parse().ok()?;
    Some((number, SegmentName::parse(parts.next()?)?))
}
