//! Where segments are delivered to.

use std::path::{Path, PathBuf};

use gpuledger_schema::path::{self, SegmentName, safe_writer};

use super::disk::{Disk, DiskError, put_whole};
use crate::segment::hash_of;

/// How a delivery ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// It was put there.
    Now,
    /// It was there already, byte for byte: an earlier delivery whose acknowledgement was lost.
    Before,
}

/// Why a segment was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// The inbox is not there: the lake is not mounted, or nobody has made it yet.
    #[error("there is no inbox at {}", .at.display())]
    Away {
        /// Where it should be.
        at: PathBuf,
    },
    /// Other bytes lie under the segment's name. They are left for ingest to judge; ours are sent when it is free.
    #[error("other bytes lie in the inbox under the name `{name}`")]
    Occupied {
        /// The segment's name.
        name: String,
    },
    /// It could not be written.
    #[error("cannot deliver `{name}`")]
    Disk {
        /// The segment's name.
        name: String,
        /// Why.
        source: DiskError,
    },
}

/// Takes whole segments. What it says it has taken is safe.
pub trait Inbox {
    /// Delivers a segment under its name. The same segment again is [`Delivered::Before`].
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Delivered, InboxError>;
}

/// The inbox of a lake that is a folder: `<lake>/inbox/<node>/`. A node writes nowhere else.
#[derive(Debug)]
pub struct FolderInbox<D> {
    disk: D,
    inbox: PathBuf,
    own: PathBuf,
}

impl<D: Disk> FolderInbox<D> {
    /// A node's own folder in a lake's inbox. Nothing is touched yet.
    pub fn new(disk: D, lake: &Path, node: &str) -> Self {
        let inbox = lake.join(path::INBOX);
        let own = inbox.join(safe_writer(node));
        Self { disk, inbox, own }
    }
}

impl<D: Disk> Inbox for FolderInbox<D> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Delivered, InboxError> {
        // Making the inbox itself would fill the node's own disk below the place where a lake is not mounted.
        if !self.disk.has_folder(&self.inbox) {
            return Err(InboxError::Away { at: self.inbox.clone() });
        }
        let failed = |source| InboxError::Disk { name: name.to_owned(), source };
        if !self.disk.has_folder(&self.own) {
            self.disk.make_folder(&self.own).and_then(|()| self.disk.sync(&self.inbox)).map_err(failed)?;
        }
        if let Some(there) = self.disk.read(&self.own.join(name)).map_err(failed)? {
            let same = SegmentName::parse(name).is_some_and(|n| n.hash == hash_of(&there));
            // the name may not have been durable when the acknowledgement was lost
            return if same {
                self.disk.sync(&self.own).map_err(failed).map(|()| Delivered::Before)
            } else {
                Err(InboxError::Occupied { name: name.to_owned() })
            };
        }
        // One collector a spool and one spool a node: between the look and the rename nobody else takes this name.
        put_whole(&self.disk, &self.own, name, bytes).and_then(|()| self.disk.sync(&self.own)).map_err(failed)?;
        Ok(Delivered::Now)
    }
}
